"""The filters in a DataFrame's plan that apply to the table's rows, and not to other rows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from devtools.spark import session_settings
from devtools.tables import HudiTable, TableSpec, create
from pyhudi_expr.expr.nodes import ALWAYS, NEVER, Column, HudiExpression, Unknown, walk
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.spark.query.dataframes import pruned
from pyhudi_expr.spark.query.predicates import filters_of, predicate_of
from tests.example_counts import examples

pytestmark = pytest.mark.spark

#: Rows of file k are 10 k to 10 k + 9.
FILES, ROWS = 4, 10
Shape = Callable[[DataFrame], DataFrame]


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> HudiTable:
    rows = spark.range(0, FILES * ROWS, 1, FILES).selectExpr(
        "id",
        "cast(id as int) AS i",
        "39 - id AS l",
        "concat('s', id % 7) AS s",
        "timestamp_seconds(id * 86400) AS ts",
        "date_add(DATE '1970-01-01', cast(id as int)) AS dt",
        "array(cast(id as int), 100) AS arr",
        "id % 2 AS p",
    )
    parent = tmp_path_factory.mktemp("filters")
    return create(rows, TableSpec("shapes", partitions=("p",)), parent)


@pytest.fixture(scope="module")
def frame(spark: SparkSession, table: HudiTable) -> DataFrame:
    return spark.read.format("hudi").load(str(table.path))


@pytest.fixture(scope="module")
def rows(frame: DataFrame) -> DataFrame:
    """The frame's rows: plans of the same shapes are computed faster from them."""
    return frame.localCheckpoint()


@pytest.fixture(scope="module")
def pruner() -> Pruner:
    return Pruner()


@pytest.fixture(autouse=True)
def views(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> Iterator[None]:
    frame.createOrReplaceTempView("t")
    frame.selectExpr("i AS l", "l AS i", "s").createOrReplaceTempView("exchanged")
    spark.sparkContext.setCheckpointDir(str(tmp_path))
    yield
    spark.catalog.clearCache()


def table_filters(frame: DataFrame, table: str | None = None) -> HudiExpression:
    return filters_of(frame, table).expression


def is_unknown(predicate: HudiExpression) -> bool:
    return any(isinstance(node, Unknown) for node in walk(predicate))


def check(table: HudiTable, pruner: Pruner, frame: DataFrame, rows: DataFrame, shape: Shape) -> int:
    """How many files are dropped for a shape; fails if its rows differ without them."""
    found = filters_of(shape(frame))
    request = PruneRequest(found.expression, semantics=found.semantics)
    result = pruner.prune(str(table.path), request)
    names = [path.rpartition("/")[2] for path in result.kept_paths()]
    kept = shape(rows.where(f.col("_hoodie_file_name").isin(names))).collect()
    assert sorted(map(repr, kept)) == sorted(map(repr, shape(rows).collect()))
    return result.files_total - result.files_kept


#: Plans whose filters apply to the table.
EVALUATED: dict[str, Shape] = {
    "condition": lambda t: t.where("i > 35"),
    "two": lambda t: t.where("i > 35").select("s", "i").where("i < 38"),
    "renamed": lambda t: t.withColumnRenamed("i", "l2").where("l2 > 35"),
    "exchanged": lambda t: t.selectExpr("i AS l", "l AS i").where("i > 35"),
    "overwritten": lambda t: t.withColumn("i", f.col("l")).where("i > 35"),
    "computed": lambda t: t.withColumn("i", f.col("l") + 1).where("i > 35"),
    "grouped by it": lambda t: t.groupBy("i").count().where("i > 35"),
    "one of each": lambda t: t.select("i").distinct().where("i > 35"),
    "below a limit": lambda t: t.where("i > 35").orderBy("i").limit(2),
    "repartitioned": lambda t: t.repartition(3).where("i > 35"),
    "window": lambda t: t.withColumn(
        "n", f.row_number().over(Window.partitionBy("i").orderBy("l"))
    ).where("i > 35"),
    "exploded": lambda t: t.withColumn("e", f.explode("arr")).where("i > 35"),
    "partition": lambda t: t.where("p = 1 AND i > 35"),
    "hinted": lambda t: t.hint("broadcast").where("i > 35"),
    "aliased": lambda t: t.alias("a").where("a.i > 35"),
}
#: Plans with renamed columns, or with rows that the filter does not apply to.
OTHERS: dict[str, Shape] = {
    "limited": lambda t: t.orderBy("i").limit(3).where("i < 20 AND l > 38"),
    "aggregated": lambda t: t.groupBy("s").agg(f.max("i").alias("i")).where("i > 35"),
    "summed": lambda t: t.groupBy("s").agg(f.sum("i").alias("i")).where("i > 35"),
    "counted": lambda t: t.groupBy("s").count().withColumnRenamed("count", "i").where("i = 6"),
    "pivoted": lambda t: t.groupBy("p").pivot("s", ["s1", "s2"]).max("l").where("s1 > 35"),
    "exploded into it": lambda t: t.withColumn("i", f.explode("arr")).where("i = 100"),
    "numbered": lambda t: t.withColumn(
        "i", f.row_number().over(Window.partitionBy("p").orderBy("l"))
    ).where("i = 1"),
    "of a window": lambda t: t.withColumn("i", f.max("i").over(Window.partitionBy("s"))).where(
        "i = 39"
    ),
    "joined": lambda t: t.join(t.select("id", f.col("l").alias("r")), "id").where("i > 35"),
    "twice": lambda t: t.where("i > 35").union(t.where("i < 2")),
    "after none": lambda t: t.where("i < 0 AND i > 0").union(t.where("l > 35")),
}


@pytest.mark.smoke("repartitioned")
@pytest.mark.parametrize("name", EVALUATED)
def test_filters_on_the_table(
    table: HudiTable, pruner: Pruner, frame: DataFrame, rows: DataFrame, name: str
) -> None:
    assert check(table, pruner, frame, rows, EVALUATED[name]) > 0


@pytest.mark.smoke("joined")
@pytest.mark.parametrize("name", OTHERS)
def test_filters_on_other_rows(
    table: HudiTable, pruner: Pruner, frame: DataFrame, rows: DataFrame, name: str
) -> None:
    assert check(table, pruner, frame, rows, OTHERS[name]) == 0


KEEPING: Sequence[Callable[[DataFrame, int], DataFrame]] = (
    lambda t, n: t.cache(),
    lambda t, n: t.localCheckpoint(),
)
#: Of the columns i, l, s and p, which each of them has again.
STEPS: Sequence[Callable[[DataFrame, int], DataFrame]] = (
    lambda t, n: t.where(f"i > {n}"),
    lambda t, n: t.where(f"l <= {n}"),
    lambda t, n: t.where(f"i < {n} OR l < {n // 2}"),
    lambda t, n: t.where(f"s = 's{n % 7}'"),
    lambda t, n: t.where(f"p = {n % 2}"),
    lambda t, n: t.selectExpr("l AS i", "i AS l", "s", "p"),
    lambda t, n: t.withColumn("i", f.col("i") + n),
    lambda t, n: t.groupBy("s", "p").agg(f.max("i").alias("i"), f.min("l").alias("l")),
    lambda t, n: t.groupBy("i").agg(
        f.sum("l").alias("l"), f.max("s").alias("s"), f.max("p").alias("p")
    ),
    lambda t, n: t.withColumn("l", f.sum("i").over(Window.partitionBy("s"))),
    lambda t, n: t.orderBy("i", "l", "s", "p").limit(n),
    lambda t, n: t.select("i", "l", "s", "p").distinct(),
    *KEEPING,
    lambda t, n: t.union(t.where(f"i > {n}")),
    lambda t, n: t.repartition(2),
)


@pytest.mark.smoke("11", "25")
@pytest.mark.parametrize("seed", range(examples(30)))
def test_random_plans(
    table: HudiTable, pruner: Pruner, frame: DataFrame, rows: DataFrame, seed: int
) -> None:
    """A plan returns the same rows from the kept files.

    Two of three end with a condition on computed columns, every third after Spark has cached them.
    """
    chance = random.Random(seed)
    steps = [(chance.choice(STEPS), chance.randrange(40)) for _ in range(chance.randrange(1, 4))]
    if seed % 3 == 2:
        steps.append((chance.choice(KEEPING), 0))
    if seed % 3:
        steps.append((chance.choice(STEPS[:5]), chance.randrange(40)))

    def shape(t: DataFrame) -> DataFrame:
        t = t.select("i", "l", "s", "p", "_hoodie_file_name")
        for step, number in steps:
            t = step(t, number)
        return t.select("i", "l", "s", "p")

    check(table, pruner, frame, rows, shape)


def kept_by_spark(frame: DataFrame) -> Iterator[DataFrame]:
    """The rows of a frame, cached by Spark in each of its ways."""
    yield frame.cache()
    yield frame.persist()
    yield frame.checkpoint()
    yield frame.localCheckpoint()
    session = frame.sparkSession
    yield session.createDataFrame(frame.collect(), frame.schema)
    yield session.createDataFrame(frame.rdd, frame.schema)
    yield session.createDataFrame(frame.toPandas(), frame.schema)


@pytest.mark.parametrize(
    "name", ["summed", "aggregated", "counted", "numbered", "exploded into it", "limited"]
)
def test_rows_cached_by_spark_are_not_pruned(frame: DataFrame, name: str) -> None:
    made = OTHERS[name](frame).select("i")
    for kept in kept_by_spark(made):
        assert isinstance(table_filters(kept.where("i > 35")), Unknown)
        assert isinstance(table_filters(kept), Unknown)


def test_the_same_plan_cached_elsewhere(frame: DataFrame) -> None:
    condition = frame.where("i > 35")
    assert not is_unknown(table_filters(condition))
    frame.cache().count()
    assert isinstance(table_filters(frame.where("i > 35")), Unknown)
    frame.unpersist()
    assert not is_unknown(table_filters(frame.where("i > 35")))


def test_frames_without_a_table(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(5).selectExpr("cast(id as int) AS i")
    for format_ in ("json", "orc", "csv"):
        rows.write.format(format_).save(str(tmp_path / format_))
    reader = spark.read.schema("i int")
    for made in (
        *(rows, spark.range(5).withColumnRenamed("id", "i"), spark.sql("SELECT 1 AS i")),
        *(reader.format(one).load(str(tmp_path / one)) for one in ("json", "orc", "csv")),
        *(spark.sql("SELECT * FROM VALUES (1), (2) AS v(i)"), spark.sql("SHOW TABLES")),
        *(spark.createDataFrame([], rows.schema), spark.createDataFrame([(1,)], "i int")),
        spark.createDataFrame([], StructType()),
    ):
        assert isinstance(table_filters(made), Unknown)
        if "i" in made.columns:
            assert isinstance(table_filters(made.where("i > 3")), Unknown)
            assert isinstance(table_filters(made.where("i > 3 AND i < 3")), Unknown)


def test_sql_and_views(spark: SparkSession, frame: DataFrame) -> None:
    expected = table_filters(frame.where("l > 35"))
    for text in (
        "SELECT * FROM t WHERE l > 35",
        "SELECT * FROM exchanged WHERE i > 35",
        "WITH x AS (SELECT l AS i FROM t) SELECT i FROM x WHERE i > 35",
        "SELECT * FROM (SELECT l AS s FROM t) WHERE s > 35",
    ):
        assert table_filters(spark.sql(text)) == expected, text
    for text in (
        "SELECT * FROM t WHERE l > 35 AND i < (SELECT max(i) FROM t)",
        "SELECT *, (SELECT max(i) FROM t) AS m FROM t WHERE l > 35",
        "SELECT * FROM t WHERE l > 35 AND i IN (SELECT i FROM exchanged)",
        "SELECT * FROM t WHERE l > 35 AND EXISTS (SELECT 1 FROM exchanged e WHERE e.i = t.i)",
        "SELECT * FROM t a JOIN t b ON a.i = b.l WHERE a.i > 35",
        "WITH x AS (SELECT * FROM t WHERE l > 35) SELECT * FROM x UNION ALL SELECT * FROM x",
    ):
        assert isinstance(table_filters(spark.sql(text)), Unknown), text
    assert table_filters(spark.sql("SELECT count(*) FROM t WHERE l = NULL")) == NEVER
    assert table_filters(spark.sql("SELECT count(*) FROM t")) == ALWAYS


@pytest.mark.smoke("ts < now()-True")
@pytest.mark.parametrize(
    ("condition", "is_supported"),
    [
        ("ts < now()", True),
        ("dt <= current_date()", True),
        ("ts < 'now'", False),
        ("dt < 'today'", False),
        ("to_date('now') > dt", False),
    ],
)
def test_conditions_on_the_time(
    spark: SparkSession, table: HudiTable, frame: DataFrame, condition: str, is_supported: bool
) -> None:
    """For Spark's constant folding, 'today' is NULL and not a date."""
    assert frame.where(condition).count() == FILES * ROWS
    assert pruned(spark, str(table.path), condition).count() == FILES * ROWS
    assert isinstance(table_filters(frame.where(condition)), Unknown)
    assert is_unknown(predicate_of(frame, condition).expression) is not is_supported
    is_before = frame.withColumn("n", f.expr(f"coalesce({condition}, false)")).where("n")
    assert isinstance(table_filters(is_before), Unknown)
    assert isinstance(
        table_filters(is_before.where("i > 35").drop("n").union(frame.limit(0))), Unknown
    )


def test_a_column_of_the_time(frame: DataFrame) -> None:
    later = frame.withColumn("n", f.current_timestamp()).where("ts < n")
    assert isinstance(table_filters(later), Unknown)
    assert not is_unknown(predicate_of(later, "ts < n").expression)  # with the frame's columns


def test_files_of_a_table_and_others(
    spark: SparkSession, table: HudiTable, frame: DataFrame, tmp_path: Path
) -> None:
    path, other = str(table.path), str(tmp_path / "other")
    frame.write.parquet(other)
    condition = "i > 35"
    by_path = table_filters(frame.where(condition))
    for spelled in (path, f"{path}/", f"file:{path}", f"file://{path}"):
        assert table_filters(frame.where(condition), spelled) == by_path
    assert isinstance(table_filters(frame.where(condition), other), Unknown)
    assert isinstance(table_filters(frame.where(condition), f"{path}-2"), Unknown)

    for files in (spark.read.parquet(path), spark.read.parquet(f"{path}/p=1")):
        assert not is_unknown(table_filters(files.where(condition), path))
    assert isinstance(table_filters(spark.read.parquet(other).where(condition), path), Unknown)
    both = spark.read.parquet(f"{path}/p=1", other)
    assert isinstance(table_filters(both.where(condition), path), Unknown)
    metadata = spark.read.format("hudi").load(f"{path}/.hoodie/metadata")
    assert isinstance(table_filters(metadata.where("key > 'a'"), path), Unknown)


def test_columns_that_files_do_not_have(spark: SparkSession, table: HudiTable) -> None:
    files = spark.read.parquet(str(table.path))
    assert isinstance(table_filters(files.where("p = 1")), Unknown)  # from the path
    assert isinstance(table_filters(files.where("_metadata.file_size > 1")), Unknown)
    pieces = table_filters(files.where("p = 1 AND i > 35"))
    assert Column(("p",)) not in walk(pieces)


def test_data_source_v2(spark: SparkSession, table: HudiTable) -> None:
    """Spark's newer Parquet reader may aggregate, and then has other columns."""
    with ExitStack() as stack:
        stack.enter_context(session_settings(spark, {"spark.sql.sources.useV1SourceList": ""}))
        files = spark.read.parquet(str(table.path))
        assert isinstance(table_filters(files.where("i > 35")), Unknown)

"""The correctness table through Spark's SQL, DataFrames and pyarrow."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from devtools.matrix import FILES, Matrices, Partitioning
from devtools.tables import TableType
from pyhudi_expr.frontend.sql import SPARK, parse_predicate
from pyhudi_expr.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.reading.row_filter import FilterNotApplicable, row_filter
from pyhudi_expr.reading.scanning import scan
from pyhudi_expr.spark.predicates import filters_of, predicate_of
from pyhudi_expr.spark.pruned import pruned
from pyhudi_expr.table.hudi_table import HudiTable
from tests.prune import predicates
from tests.prune.judging import Group, groups, read

pytestmark = [pytest.mark.spark, pytest.mark.long]

MOR, NONE = TableType.MOR, Partitioning.NONE
EVERY = (*predicates.ALL, *predicates.ONLY_SPARK)
#: Spark takes NaN for the greatest value, pyarrow for none.
NANS = frozenset({*predicates.ORDERED_NANS, "NOT isnan(d) AND d > 30"})
#: Of so many predicates one is read by a DataFrame, too, which takes jobs of Spark's.
READ_EVERY = 8


def matches(frame: DataFrame, asked: tuple[str, ...]) -> dict[str, tuple[list[int], set[Group]]]:
    """For each predicate the keys of the rows for which Spark says TRUE, and their file groups."""
    truths = [f.expr(text).alias(f"t{n}") for n, text in enumerate(asked)]
    file_id = f.split("_hoodie_file_name", "_")[0].alias("file_id")
    rows = frame.select("id", "_hoodie_partition_path", file_id, *truths).collect()
    found = {}
    for n, text in enumerate(asked):
        true = [row for row in rows if row[n + 3] is True]
        found[text] = sorted(row[0] for row in true), {(row[1], row[2]) for row in true}
    return found


@pytest.mark.parametrize(
    ("type_", "version", "partitioning", "asked"), [(MOR, 8, NONE, EVERY[::24])], ids=["mor-8"]
)
def test_no_row_is_lost_by_any_of_them(
    spark: SparkSession,
    matrices: Matrices,
    type_: TableType,
    version: int,
    partitioning: Partitioning,
    asked: tuple[str, ...],
) -> None:
    table = matrices.get(type_, version, partitioning).table.path
    frame, schema = read(spark, table), HudiTable.open(str(table)).schema()
    frame.createOrReplaceTempView("asked")
    pruner = Pruner(PruneOptions(footer_wait=20))
    kept, scanned = 0, 0
    for n, (text, (ids, right)) in enumerate(matches(frame, asked).items()):
        for found in (
            predicate_of(frame, text),
            filters_of(spark.sql(f"SELECT * FROM asked WHERE {text}")),
        ):
            result = pruner.prune(str(table), PruneRequest(found.expression, zone=found.zone))
            assert right <= groups(result), text
            kept += int(result.keep.sum())
        if n % READ_EVERY == 0:
            rows = pruned(spark, str(table), text, pruner=pruner).select("id").collect()
            assert sorted(row[0] for row in rows) == ids, text
        try:
            condition = row_filter(parse_predicate(text, SPARK), schema, "UTC")
        except FilterNotApplicable:
            continue
        scanned += 1
        rows = scan(str(table), condition, ["id"], pruner=pruner).to_table()["id"].to_pylist()
        assert text in NANS or sorted(rows) == ids, text
    assert kept < FILES * len(asked)
    assert scanned > len(asked) / 2

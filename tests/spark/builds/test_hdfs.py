"""On HDFS indexes are built, read, refreshed and dropped as on a local disk, by Hudi's own URIs of
the tables, and while NameNodes change. Hudi works on the same tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.hdfs import HdfsPair, running_pair
from devtools.spark import session_settings
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.manage.indexing.index_plan import InvalidIndex
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable

pytestmark = [pytest.mark.spark, pytest.mark.long]

_SKIPPING = {"hoodie.enable.data.skipping": "true", "hoodie.metadata.enable": "true"}
_PREDICATES = ("id = '7'", "city = 'c3'", "city = 'new'", "amount BETWEEN 10 AND 12", "amount < 0")


@pytest.fixture(scope="module")
def pair(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsPair]:
    """The file system. Spark and this project know it by Hadoop's settings for clients."""
    with (
        running_pair(tmp_path_factory.mktemp("hdfs")) as found,
        pytest.MonkeyPatch.context() as here,
    ):
        here.setenv("PYHUDI_HDFS_VIA", "webhdfs")
        here.setenv("HADOOP_CONF_DIR", str(found.conf))
        configured = spark._jsc.hadoopConfiguration()
        for file in sorted(found.conf.glob("*-site.xml")):
            for name, value in properties(file).items():
                configured.set(name, value)
        yield found


def properties(file: Path) -> Mapping[str, str]:
    return {
        one.findtext("name") or "": one.findtext("value") or ""
        for one in ElementTree.parse(file).getroot()  # noqa: S314 - our own
    }


def test_indexes_of_a_table_on_hdfs(spark: SparkSession, pair: HdfsPair) -> None:
    path = pair.uri("warehouse/t")
    written(rows(spark, 0, 400), path, "bulk_insert")
    with ThreadPoolExecutor(1) as pool:
        switched = pool.submit(pair.switch)
        execute(spark, f"CREATE INDEX ranges ON '{path}' USING column_stats(city, amount)")
        switched.result()
    execute(spark, f"CREATE INDEX city ON '{path}' (city)")
    with pytest.raises(InvalidIndex, match=r"Java version.*extension"):
        execute(spark, f"CREATE INDEX amounts ON '{path}' (amount)")
    execute(spark, f"CREATE INDEX beside ON '{path}' (amount) OPTIONS (store = 'extension')")
    assert_right_rows(spark, path)
    assert_no_row_is_lost(spark, path)

    changed = rows(spark, 3, 400, 40).selectExpr("id", "'new' AS city", "amount")
    written(changed, path, "upsert", writer_options(path))
    assert {s.name for s in index_statuses(HudiTable.open(path)) if s.state == State.LAGGING} == {
        "beside"
    }
    assert_no_row_is_lost(spark, path)
    execute(spark, f"REFRESH INDEX beside ON '{path}'")
    assert_right_rows(spark, path)
    assert_no_row_is_lost(spark, path)

    for name in ("city", "record_index", "ranges", "beside"):
        execute(spark, f"DROP INDEX {name} ON '{path}'")
    assert index_statuses(HudiTable.open(path)) == []
    assert_no_row_is_lost(spark, path, dropped=False)


def rows(spark: SparkSession, *bounds: int) -> DataFrame:
    return spark.range(*bounds).selectExpr(
        "cast(id AS string) AS id", "concat('c', id div 50) AS city", "id * 0.5D AS amount"
    )


def written(
    frame: DataFrame, path: str, operation: str, options: Mapping[str, str] | None = None
) -> None:
    settings = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.operation": operation,
        "hoodie.bulkinsert.shuffle.parallelism": "4",
        "hoodie.bulkinsert.sort.mode": "NONE",
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.metadata.index.column.stats.enable": "false",
    }
    writer = frame.repartitionByRange(4, frame["amount"]).write.format("hudi")
    writer.options(**{**settings, **(options or {})}).mode("append").save(path)


def assert_right_rows(spark: SparkSession, path: str) -> None:
    table = HudiTable.open(path)
    for status in index_statuses(table):
        assert status.state == State.ACTIVE
        assert all(one.is_right for one in verify(spark, table, status))


def assert_no_row_is_lost(spark: SparkSession, path: str, dropped: bool = True) -> None:
    """Hudi finds the same rows with the indexes, and has no row in a file that is dropped here."""
    unpruned = spark.read.format("hudi").option("hoodie.enable.data.skipping", "false").load(path)
    pruner = Pruner(PruneOptions(footer_wait=20))
    kept = []
    for text in _PREDICATES:
        matching = unpruned.where(text)
        expected = sorted(row.id for row in matching.collect())
        with session_settings(spark, _SKIPPING):
            skipping = spark.read.format("hudi").options(**_SKIPPING).load(path).where(text)
            assert sorted(row.id for row in skipping.collect()) == expected, text
        result = pruner.prune(path, PruneRequest(parse_predicate(text), semantics=here("UTC")))
        names = {name.rpartition("/")[2] for name in result.kept_paths()}
        found = {row.name for row in matching.selectExpr("_hoodie_file_name AS name").collect()}
        assert found <= names, text
        kept.append(result.keep.all())
    assert all(kept) != dropped

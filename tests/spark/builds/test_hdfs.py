"""On HDFS files appear atomically, only one of two creators of a file succeeds, and indexes are
built, read, refreshed and dropped as on a local disk. Hudi works on the same tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.hdfs import Hdfs, running_hdfs
from devtools.spark import session_settings
from pyhudi_expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.indexing.index_plan import InvalidIndex
from pyhudi_expr.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import LockNotAcquired, TableLock
from pyhudi_expr.table.storage import Storage

pytestmark = [pytest.mark.spark, pytest.mark.long]

_WRITERS = 8
_SKIPPING = {"hoodie.enable.data.skipping": "true", "hoodie.metadata.enable": "true"}
_PREDICATES = ("id = '7'", "city = 'c3'", "city = 'new'", "amount BETWEEN 10 AND 12", "amount < 0")


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with running_hdfs(tmp_path_factory.mktemp("hdfs")) as found:
        yield found


def test_only_one_concurrent_creator_of_a_file_succeeds(hdfs: Hdfs) -> None:
    storage = Storage.open(hdfs.webhdfs("created"))
    contents = [b"%d" % number for number in range(_WRITERS)]
    with ThreadPoolExecutor(_WRITERS) as pool:
        for number in range(20):
            done = list(pool.map(partial(storage.create, f"file{number}"), contents))
            assert done.count(True) == 1
            assert storage.read(f"file{number}") == contents[done.index(True)]
    assert len(storage.list()) == 20  # nothing else is left


def test_a_rewritten_file_is_replaced(hdfs: Hdfs) -> None:
    storage = Storage.open(hdfs.webhdfs("written"))
    for content in (b"first", b"second"):
        storage.write("a/file", content)
        assert storage.read("a/file") == content
    storage.write("a/other", b"")
    with pytest.raises(HudiError, match="a/other"):
        storage.move("a/file", "a/other")
    storage.move("a/file", "a/third")
    assert sorted(entry.name for entry in storage.list("a")) == ["other", "third"]


def test_only_one_process_holds_the_lock(hdfs: Hdfs) -> None:
    storage = Storage.open(hdfs.webhdfs("locked"))
    with TableLock(storage).held("holds"):
        assert storage.stat(".hoodie/lock") is not None
        with pytest.raises(LockNotAcquired), TableLock(storage, wait=0.2).held("waits"):
            pass
    assert storage.stat(".hoodie/lock") is None


def test_indexes_of_a_table_on_hdfs(spark: SparkSession, hdfs: Hdfs) -> None:
    path, ours = hdfs.hdfs("warehouse/t"), hdfs.webhdfs("warehouse/t")
    written(rows(spark, 0, 400), path, "bulk_insert")
    execute(spark, f"CREATE INDEX ranges ON '{ours}' USING column_stats(city, amount)")
    execute(spark, f"CREATE INDEX city ON '{ours}' (city)")
    with pytest.raises(InvalidIndex, match=r"Java version.*extension"):
        execute(spark, f"CREATE INDEX amounts ON '{ours}' (amount)")
    execute(spark, f"CREATE INDEX beside ON '{ours}' (amount) OPTIONS (store = 'extension')")
    assert_right_rows(spark, ours)
    assert_no_row_is_lost(spark, path, ours)

    changed = rows(spark, 3, 400, 40).selectExpr("id", "'new' AS city", "amount")
    written(changed, path, "upsert", writer_options(ours))
    assert {s.name for s in index_statuses(HudiTable.open(ours)) if s.state == State.LAGGING} == {
        "beside"
    }
    assert_no_row_is_lost(spark, path, ours)
    execute(spark, f"REFRESH INDEX beside ON '{ours}'")
    assert_right_rows(spark, ours)
    assert_no_row_is_lost(spark, path, ours)

    for name in ("city", "record_index", "ranges", "beside"):
        execute(spark, f"DROP INDEX {name} ON '{ours}'")
    assert index_statuses(HudiTable.open(ours)) == []
    assert_no_row_is_lost(spark, path, ours, dropped=False)


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


def assert_no_row_is_lost(spark: SparkSession, path: str, ours: str, dropped: bool = True) -> None:
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
        result = pruner.prune(ours, PruneRequest(parse_predicate(text), zone="UTC"))
        names = {name.rpartition("/")[2] for name in result.kept_paths()}
        found = {row.name for row in matching.selectExpr("_hoodie_file_name AS name").collect()}
        assert found <= names, text
        kept.append(result.keep.all())
    assert all(kept) != dropped

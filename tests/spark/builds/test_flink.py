"""Tables written by Flink, indexed from PySpark. Our pruning and Hudi's own skipping return the
rows of a full scan, before and after Hudi 1.2 for Spark writes to them.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import State, checked_statuses
from pyhudi_expr.index.planner import LookupCost
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.layout import Layout
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.clustering.clustering import cluster
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.query.dataframes import prune_table
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.slices.log_rows import have_operations
from pyhudi_expr.tables.slices.slice_files import file_slices
from tests.flink_rows import COLUMNS, expected
from tests.index.prune.matching_slices import read

pytestmark = [pytest.mark.spark, pytest.mark.long]

_PREDICATES = (
    *("id = 3", "id IN (5, 8, 31)", "id = 9000", "name = 'name 2 of 2'", "ts < 1010"),
    *("name = 'late' AND amount > 2.5", "day = DATE'2024-02-28'", "city IS NULL OR id = 9999"),
)
_OF_NAN = ("score < -1", "score >= 2")
"""Predicates on files with NaN, for which Flink writes the range [0, 0]: Hudi loses rows."""
_STATEMENTS = {
    "ranges": "CREATE INDEX ranges ON '{path}' USING column_stats(id, ts, name, day)",
    "blooms": "CREATE INDEX blooms ON '{path}' USING bloom_filters",
    "keys": "CREATE INDEX keys ON '{path}' USING record_index",
    "names": "CREATE INDEX names ON '{path}' USING secondary_index(name)",
}
_IN_EXTENSION = " OPTIONS (store = 'extension')"
_BUCKETS = {
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.bucket.index.hash.field": "id",
}


@dataclass(frozen=True)
class Case:
    """A table and its writer. own: its existing indexes. writer: options of a writer with Spark."""

    name: str
    own: frozenset[str] = frozenset()
    writer: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def built(self) -> list[str]:
        """The indexes to be built in Hudi's metadata table. Version 6 has no secondary index."""
        return [name for name in ("ranges", "blooms", "keys") if name not in self.own]


_BY_CITY = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
}
_UNPARTITIONED = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "",
}
_CASES = [
    Case("cow_state", frozenset({"ranges", "blooms"}), _BY_CITY),
    Case("cow_cdc", writer=_BY_CITY),
    Case("mor_bucket", frozenset({"ranges"}), {**_BY_CITY, **_BUCKETS}),
]
_CHANGELOG = Case("mor_compacted", writer=_UNPARTITIONED)
"""Hudi for Spark cannot write to it if Hudi's own metadata table has a record index."""


@pytest.fixture
def path(case: Case, flink: Mapping[str, Path], tmp_path: Path) -> Path:
    """A copy of the table for a test."""
    return Path(shutil.copytree(flink[case.name], tmp_path / case.name))


@pytest.fixture(autouse=True)
def use_key_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes queries use indexes of keys, though reading such small files would cost less."""
    monkeypatch.setattr(LookupCost, "is_worth", lambda *_: True)


@pytest.mark.parametrize("case", [*_CASES, _CHANGELOG], ids=lambda case: case.name)
def test_indexes_of_the_extension(spark: SparkSession, case: Case, path: Path) -> None:
    """Hudi's table services wait for no writer, so Flink's open instant does not matter."""
    assert ids(read(spark, path)) == sorted(row["id"] for row in expected(case.name))
    for name in _STATEMENTS:
        execute(spark, _STATEMENTS[name].format(path=path) + _IN_EXTENSION)
    own = {"names", "keys", "ranges", "blooms"}
    assert_indexes_are_right(spark, path, own, Store.EXTENSION)
    assert dropping(spark, path)

    written(spark, case, path)
    rows_are_those_of_a_full_scan(spark, path)
    for name in own:
        execute(spark, f"REFRESH INDEX {name} ON '{path}'")
    assert_indexes_are_right(spark, path, own, Store.EXTENSION)
    assert dropping(spark, path)


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_indexes_of_hudis_own_metadata_table(spark: SparkSession, case: Case, path: Path) -> None:
    with pytest.raises(HudiError, match=r"did not complete within|are pending"):
        execute(spark, _STATEMENTS["keys"].format(path=path), BuildOptions(wait=0.2))
    written(spark, case, path)  # rolls back the instant that Flink has left open
    for name in case.built:
        execute(spark, _STATEMENTS[name].format(path=path))
    assert_indexes_are_right(spark, path, {"keys", *case.built}, Store.HUDI)
    assert dropping(spark, path)

    written(spark, case, path, ts=200_000)
    assert_indexes_are_right(spark, path, {"keys", *case.built}, Store.HUDI)
    assert dropping(spark, path)


@pytest.mark.parametrize("name", ["mor_changelog", "mor_compacted"])
def test_rows_deleted_by_a_changelog_do_not_come_back(
    spark: SparkSession, flink: Mapping[str, Path], tmp_path: Path, name: str
) -> None:
    path = Path(shutil.copytree(flink[name], tmp_path / name))
    expected_ids = sorted(row["id"] for row in expected(name))
    assert ids(prune_table(spark, str(path), "id >= 0").frame) == expected_ids
    take_back_open_instant(path)
    assert cluster(spark, str(path), Layout(("id",))).instant is not None
    assert ids(read(spark, path)) == expected_ids
    assert "_hoodie_operation" not in read(spark, path).columns


def test_slices_logged_by_flink_and_spark_are_not_clustered(
    spark: SparkSession, flink: Mapping[str, Path], tmp_path: Path
) -> None:
    """Hudi's reader returns rows that the changelog deleted. Clustering would keep them."""
    path = Path(shutil.copytree(flink[_CHANGELOG.name], tmp_path / _CHANGELOG.name))
    written(spark, _CHANGELOG, path)
    table = HudiTable.open(str(path))
    logs = [[one.path(log) for log in one.logs] for one in file_slices(table.listing())]
    assert frozenset({True, False}) in [have_operations(table.storage, some) for some in logs]
    with pytest.raises(HudiError, match="of Flink's changelog and of another writer"):
        cluster(spark, str(path), Layout(("id",)))
    later = HudiTable.open(str(path))
    assert later.timeline.writes == table.timeline.writes
    assert not later.timeline.pending
    assert later.listing().file_name.equals(table.listing().file_name)


def take_back_open_instant(path: Path) -> None:
    """As Flink's job does when it restarts."""
    (pending,) = HudiTable.open(str(path)).timeline.pending
    for file in path.glob(f".hoodie/{pending}.*"):
        file.unlink()


def assert_indexes_are_right(
    spark: SparkSession, path: Path, names: set[str], store: Store
) -> None:
    """The indexes of these names are right, and no row is lost by them."""
    table = HudiTable.open(str(path))
    statuses = checked_statuses(IndexCatalog.open(table))
    found = {one.name: one for one in statuses if one.store is store}
    assert names <= found.keys()
    for name in names:
        assert found[name].state is State.ACTIVE, found[name]
        for one in verify(spark, table, found[name]):
            assert one.is_right, one
            assert one.checked, one
    rows_are_those_of_a_full_scan(spark, path)


def rows_are_those_of_a_full_scan(spark: SparkSession, path: Path) -> None:
    """Our pruning, and Hudi's with all its skipping."""
    expected_by_predicate = of_full_scan(spark, path, (*_PREDICATES, *_OF_NAN))
    for text, expected_rows in expected_by_predicate.items():
        assert rows(prune_table(spark, str(path), text).frame) == expected_rows, text
    skipping = read(spark, path, skipping=True, **_ALL_SKIPPING)
    for text in _PREDICATES:
        assert rows(skipping.where(text)) == expected_by_predicate[text], text


def of_full_scan(
    spark: SparkSession, path: Path, predicates: Sequence[str]
) -> dict[str, list[str]]:
    """For each predicate, the rows for which Spark returns TRUE."""
    truths = [f.expr(f"coalesce({text}, false)") for text in predicates]
    every = read(spark, path).select(f.struct(*COLUMNS).alias("row"), f.array(*truths).alias("is"))
    found = every.collect()
    return {
        text: sorted(repr(one.row) for one in found if one["is"][n])
        for n, text in enumerate(predicates)
    }


_ALL_SKIPPING = {
    "hoodie__metadata__record__index__enable": "true",
    "hoodie__metadata__global__record__level__index__enable": "true",
}


def dropping(spark: SparkSession, path: Path) -> list[str]:
    """The predicates that drop files."""
    found = {text: prune_table(spark, str(path), text).result for text in _PREDICATES}
    return [text for text, result in found.items() if result.files_kept < result.files_total]


def written(spark: SparkSession, case: Case, path: Path, ts: int = 100_000) -> None:
    """A commit by Hudi 1.2 for Spark: rows are changed and added."""
    every = read(spark, path)
    # Flink's milliseconds are not a type of Spark, and Hudi refuses microseconds instead.
    left_out = ("at", *(name for name in every.columns if name.startswith("_hoodie_")))
    own = every.drop(*left_out)
    later = own.where("id IN (2, 3, 8)").withColumn("ts", f.col("ts") + ts)
    fresh = own.where("id = 3").withColumn("id", f.lit(9000).cast("long"))
    properties = HudiTable.open(str(path)).properties
    options = {
        "hoodie.table.name": properties.name,
        "hoodie.datasource.write.table.type": properties.table_type.name,
        "hoodie.write.set.null.for.missing.columns": "true",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.hive_style_partitioning": "false",
        "hoodie.write.table.version": "6",
        "hoodie.write.auto.upgrade": "false",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.upsert.shuffle.parallelism": "2",
        "hoodie.clean.automatic": "false",
        "hoodie.metadata.index.column.stats.enable": "false",
        **writer_options(str(path)),
        **case.writer,
    }
    rows_ = later.withColumn("name", f.lit("late")).unionByName(fresh)
    rows_.write.format("hudi").options(**options).mode("append").save(str(path))


def rows(frame: DataFrame) -> list[str]:
    return sorted(map(repr, frame.select(*COLUMNS).collect()))


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())

"""Laying out tables: rows are kept, indexes follow, and interrupted runs are rolled back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from devtools.runtime import ROOT, hudi_bundle
from devtools.tables import HudiTable as Written
from devtools.tables import TableSpec, TableType, create, delete, upsert
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.index.catalog.status import State, checked_statuses, index_statuses
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.statements import CreateIndex
from pyhudi_expr.manage.laying_out import Clustered
from pyhudi_expr.manage.layout import Curve, InvalidLayout, Layout
from pyhudi_expr.manage.layout.selection import LAYOUT, Size
from pyhudi_expr.manage.operations import OperationFailed
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.clustering.clustering import ClusterOptions, cluster
from pyhudi_expr.spark.indexes import create_index, execute
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.index.prune.matching_slices import assert_no_row_lost, read, request

pytestmark = [pytest.mark.spark, pytest.mark.long]

_ROWS = 6_000
_KEYS = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX",
}
_VIRTUAL = {"hoodie.populate.meta.fields": "false", "hoodie.index.type": "SIMPLE"}
_SPECS = {
    "copy on write, record index": TableSpec("cow9", partitions=("p",), extra=_KEYS),
    "merge on read": TableSpec("mor9", TableType.MOR, partitions=("p",)),
    "merge on read, version 8, no partitions": TableSpec("mor8", TableType.MOR, version=8),
    "copy on write, version 6": TableSpec("cow6", version=6, partitions=("p",)),
    "virtual keys": TableSpec(
        "virtual", key=("id", "u"), partitions=("p",), stats_columns=None, extra=_VIRTUAL
    ),
}
_SKIPPING = {key.replace(".", "__"): "true" for key in _KEYS if key.endswith(".enable")}
_LAYOUT = Layout(("a", "u"))
_PREDICATES = (
    *("a BETWEEN 1000 AND 2000", "u < 'https://www.example.com/02'", "a > 900000 AND p = '1'"),
    *("id = '17'", "id IN ('5', '5999')", "v = 1", "d > 0.5", "a IS NULL"),
)


def frame(spark: SparkSession, rows: int = _ROWS) -> DataFrame:
    """Rows in no order of `a` and `u`, in files by ascending id."""
    return spark.range(0, rows, numPartitions=4).select(
        f.col("id").cast("string").alias("id"),
        f.when(f.col("id") % 50 != 0, f.pmod(f.hash("id"), f.lit(1_000_000))).alias("a"),
        f.format_string(
            "https://www.example.com/%06d", f.pmod(f.xxhash64("id"), f.lit(1_000_000))
        ).alias("u"),
        f.lit(0).alias("v"),
        (f.pmod(f.hash("id", f.lit(1)), f.lit(1000)) / 1000).alias("d"),
        (f.col("id") % 3).cast("string").alias("p"),
    )


def changed(frame: DataFrame, ids: int) -> DataFrame:
    return frame.where(f.col("id").cast("int") < ids).withColumn("v", f.lit(1))


def contents(spark: SparkSession, table: Written) -> list[tuple[object, ...]]:
    """The rows with their keys and commit times; their files may change."""
    found = read(spark, table.path).drop("_hoodie_file_name")
    return sorted(map(tuple, found.collect()), key=repr)


def with_places(spark: SparkSession, table: Written) -> DataFrame:
    """The rows with their file groups, which Hudi does not show of a table without meta fields."""
    rows = read(spark, table.path)
    if "_hoodie_file_name" in rows.columns:
        return rows
    name = f.element_at(f.split(f.input_file_name(), "/"), -1)
    places = {"_hoodie_file_name": name, "_hoodie_partition_path": f.concat(f.lit("p="), "p")}
    return rows.withColumns(places)


def slices(path: Path) -> set[tuple[str, str]]:
    listing = HudiTable.open(str(path)).listing()
    return set(
        zip(listing.slice_file_id.to_pylist(), listing.slice_base_instant.to_pylist(), strict=True)
    )


def assert_nothing_pending(path: Path) -> None:
    assert not HudiTable.open(str(path)).timeline.pending


@pytest.fixture(scope="module")
def create_table_with_history(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Written]:
    """Creates tables with distinct names: a bulk insert, an update and a delete."""
    root = tmp_path_factory.mktemp("clustering")

    def make(spec: TableSpec, rows: int = _ROWS) -> Written:
        parent = root / str(len(list(root.iterdir())))
        every = frame(spark, rows)
        table = create(every, spec, parent)
        upsert(table, changed(every, 40))
        delete(table, every.where("id IN ('50', '51')"))
        return table

    return make


@pytest.mark.parametrize("spec", _SPECS.values(), ids=_SPECS.keys())
def test_rows_are_kept_and_indexes_follow(
    spark: SparkSession, create_table_with_history: Callable[..., Written], spec: TableSpec
) -> None:
    table = create_table_with_history(spec)
    before = contents(spark, table)
    indexes = {status.name for status in index_statuses(HudiTable.open(str(table.path)))}

    done = cluster(spark, str(table.path), _LAYOUT, ClusterOptions(size=Size(files=12)))

    assert contents(spark, table) == before
    now = HudiTable.open(str(table.path))
    last = now.timeline.last_write
    assert last is not None
    assert (last.requested, last.action) == (done.instant, "replacecommit")
    assert json.loads(now.commit_metadata(last).extra[LAYOUT])["curve"] == "hilbert"
    assert not now.listing().has_logs
    assert now.listing().num_slices == done.files_after == 12
    assert_nothing_pending(table.path)
    assert {status.name for status in index_statuses(now)} == indexes | {"column_stats"}
    assert ("built column_stats of a, u" in str(done.notes)) is (spec.stats_columns is None)
    assert all(status.state is State.ACTIVE for status in index_statuses(now))
    kept = assert_no_row_lost(Pruner(), table.path, with_places(spark, table), _PREDICATES)
    assert kept["a BETWEEN 1000 AND 2000"] <= 6

    again = cluster(spark, str(table.path), _LAYOUT, ClusterOptions(size=Size(files=12)))
    assert again.instant is None
    assert "laid out so already" in " ".join(again.notes)

    upsert(table, changed(frame(spark), 60))
    delete(table, frame(spark).where("id = '70'"))
    rows = read(spark, table.path)
    assert rows.count() == _ROWS - 1
    assert rows.select("id").distinct().count() == _ROWS - 1
    assert rows.where("v = 1").count() == 60
    if spec.stats_columns is not None:
        assert_no_row_lost(Pruner(), table.path, rows, _PREDICATES)


@pytest.mark.parametrize("kind", [TableType.COW, TableType.MOR], ids=["cow", "mor"])
def test_every_index_of_hudis_metadata_table_follows(
    spark: SparkSession, create_table_with_history: Callable[..., Written], kind: TableType
) -> None:
    """For a partitioned table with partition aggregates and a secondary index."""
    table = create_table_with_history(
        TableSpec(f"indexed-{kind.name}", kind, partitions=("p",), stats_columns=None)
    )
    location = str(table.path)
    for index in ("stats USING column_stats(u, d, v)", "urls USING secondary_index(u)"):
        name, using = index.split(" ", 1)
        execute(spark, f"CREATE INDEX {name} ON '{location}' {using}")
    before, url = contents(spark, table), frame(spark).where("id = '100'").collect()[0]["u"]

    done = cluster(spark, location, _LAYOUT, ClusterOptions(size=Size(files=12)))

    assert done.files_after == 12
    assert contents(spark, table) == before
    kept = assert_indexes_are_right(spark, table, (*_PREDICATES, f"u = '{url}'"))
    assert kept[f"u = '{url}'"] == 1  # by the secondary index
    upsert(with_its_indexes(table), changed(frame(spark), 60))
    cluster(spark, location, Layout(("u",)), ClusterOptions(size=Size(files=9)))
    rows = read(spark, table.path)
    assert (rows.count(), rows.where("v = 1").count()) == (_ROWS, 60)
    kept = assert_indexes_are_right(spark, table, (*_PREDICATES, f"u = '{url}'"))
    # After log files the secondary index is not trusted; ranges keep a file of each partition.
    assert kept[f"u = '{url}'"] == (1 if kind is TableType.COW else 3)


def with_its_indexes(table: Written) -> Written:
    """For writers that maintain the indexes of the table."""
    server = {"hoodie.embed.timeline.server": "true"}
    extra = {**table.spec.extra, **server, **writer_options(str(table.path))}
    return replace(table, spec=replace(table.spec, extra=extra))


def assert_indexes_are_right(
    spark: SparkSession, table: Written, predicates: Sequence[str]
) -> dict[str, int]:
    """The indexes agree with the files, and neither we nor Hudi lose rows by them. Returns how many
    slices each predicate keeps.
    """
    opened = HudiTable.open(str(table.path))
    found = checked_statuses(IndexCatalog.open(opened))
    assert {status.state for status in found} == {State.ACTIVE}, found
    wrong = [one for status in found for one in verify(spark, opened, status) if not one.is_right]
    assert not wrong
    rows = read(spark, table.path)
    kept = assert_no_row_lost(Pruner(), table.path, rows, predicates)
    skipping = read(spark, table.path, skipping=True, **_SKIPPING)
    for text in predicates:
        expected = sorted(row.id for row in rows.where(text).select("id").collect())
        assert sorted(row.id for row in skipping.where(text).select("id").collect()) == expected, (
            text
        )
    return kept


def test_chosen_partitions_and_file_groups_only(
    spark: SparkSession, create_table_with_history: Callable[..., Written]
) -> None:
    table = create_table_with_history(_SPECS["copy on write, record index"])
    before, rows = slices(table.path), contents(spark, table)
    done = cluster(
        spark, str(table.path), _LAYOUT, ClusterOptions(frozenset({"p=1"}), size=Size(files=3))
    )
    assert done.partitions == ("p=1",)
    after = slices(table.path)
    assert len(before - after) == 4
    assert len(after - before) == 3
    chosen = sorted(file_id for file_id, instant in after if instant != done.instant)[:2]
    done = cluster(spark, str(table.path), _LAYOUT, ClusterOptions(file_groups=frozenset(chosen)))
    assert done.files_before == 2
    assert {file_id for file_id, _ in after - slices(table.path)} == set(chosen)
    assert contents(spark, table) == rows


def test_linear_order_and_a_target_size(
    spark: SparkSession, create_table_with_history: Callable[..., Written]
) -> None:
    table = create_table_with_history(TableSpec("sized"))
    rows = contents(spark, table)
    size = Size(file_bytes=sum(file.stat().st_size for file in table.path.glob("*.parquet")) // 8)
    layout = Layout(("u",), Curve.LINEAR)
    done = cluster(spark, str(table.path), layout, ClusterOptions(size=size))
    assert contents(spark, table) == rows
    assert 3 <= done.files_after <= 8
    result = Pruner().prune(str(table.path), request("u = 'https://www.example.com/500000'"))
    assert result.files_kept <= 1


def test_old_files_are_deleted_by_hudis_cleaner(
    spark: SparkSession, create_table_with_history: Callable[..., Written]
) -> None:
    cleaned = {"hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "1"}
    table = create_table_with_history(TableSpec("cleaned", extra=cleaned))
    old = set(table.data_files())
    cluster(spark, str(table.path), _LAYOUT)
    assert old <= set(table.data_files())
    for ids in (10, 20, 30):
        upsert(table, changed(frame(spark), ids))
    assert not old & set(table.data_files())
    assert read(spark, table.path).count() == _ROWS - 2


def test_indexes_of_the_extension_are_refreshed(
    spark: SparkSession, create_table_with_history: Callable[..., Written]
) -> None:
    table = create_table_with_history(TableSpec("extended", partitions=("p",)))
    location = str(table.path)
    definition = CreateIndex("urls", location, "secondary_index", ("u",), {"store": "extension"})
    create_index(spark, definition, BuildOptions())
    url = frame(spark).where("id = '100'").collect()[0]["u"]
    assert Pruner().prune(location, request(f"u = '{url}'")).files_kept == 1

    done = cluster(spark, location, Layout(("a",), Curve.LINEAR))

    assert "refreshed the index urls" in done.notes
    assert {status.state for status in index_statuses(HudiTable.open(location))} == {State.ACTIVE}
    assert Pruner().prune(location, request(f"u = '{url}'")).files_kept == 1
    assert_no_row_lost(Pruner(), table.path, read(spark, table.path), [f"u = '{url}'"])


def test_writers_cannot_update_slices_that_are_being_laid_out(
    spark: SparkSession,
    create_table_with_history: Callable[..., Written],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hudi refuses a writer that starts after the plan; nothing is lost."""
    from pyhudi_expr.spark.clustering.clustering_commit import Clustering

    table = create_table_with_history(TableSpec("concurrent"))
    refused: list[str] = []
    commit = Clustering.commit

    def with_a_writer(self: Clustering, *arguments: Any) -> int:
        try:
            upsert(table, changed(frame(spark), 80))
        except Exception as error:
            refused.append(str(error))
        return commit(self, *arguments)

    monkeypatch.setattr(Clustering, "commit", with_a_writer)
    cluster(spark, str(table.path), _LAYOUT)
    assert len(refused) == 1
    assert "clustering" in refused[0].lower()
    monkeypatch.undo()
    upsert(table, changed(frame(spark), 80))
    rows = read(spark, table.path)
    assert (rows.count(), rows.where("v = 1").count()) == (_ROWS, 80)


def _command(table: Written, files: int) -> list[str]:
    """`pyhudi layout cluster` in a separate process."""
    settings = {
        "spark.driver.extraClassPath": str(hudi_bundle()),
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
    }
    conf = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    return [
        *(sys.executable, "-m", "pyhudi_expr.cli", "layout", "cluster", str(table.path)),
        *("--columns", "a,u", "--files", str(files), "--master", "local[2]", "--json", *conf),
    ]


def _is_writing(path: Path) -> bool:
    """Whether a clustering is in flight, and a first new file exists."""
    timeline = HudiTable.open(str(path)).timeline
    return any(any(path.glob(f"**/*_{instant}.parquet")) for instant in timeline.pending)


def test_a_killed_run_is_rolled_back(
    spark: SparkSession, create_table_with_history: Callable[..., Written]
) -> None:
    table = create_table_with_history(TableSpec("killed", partitions=("p",)), rows=40_000)
    rows = contents(spark, table)
    child = subprocess.Popen(_command(table, 64), cwd=ROOT, start_new_session=True)
    while not _is_writing(table.path):
        assert child.poll() is None, "the command completed before it could be killed"
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    (pending_instant,) = HudiTable.open(str(table.path)).timeline.pending
    assert contents(spark, table) == rows

    again = subprocess.run(
        _command(table, 12), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    done = json.loads(again.stdout)

    assert done["files_after"] == 12
    assert any(pending_instant in note for note in done["notes"])
    assert_nothing_pending(table.path)
    assert not list(table.path.glob(f"**/*_{pending_instant}.parquet"))
    assert contents(spark, table) == rows


def test_a_failure_does_not_change_the_table(
    spark: SparkSession, create_table_with_history: Callable[..., Written]
) -> None:
    table = create_table_with_history(TableSpec("failing"))
    rows, before = contents(spark, table), slices(table.path)
    options = ClusterOptions(writer={"hoodie.parquet.compression.codec": "nonsense"})
    with pytest.raises(OperationFailed, match=r"NONSENSE.*files and rows are as before"):
        cluster(spark, str(table.path), _LAYOUT, options)
    assert_nothing_pending(table.path)
    assert (contents(spark, table), slices(table.path)) == (rows, before)


@pytest.mark.parametrize(
    ("layout", "options", "message"),
    [
        (Layout(("nowhere",)), ClusterOptions(), "there is no column 'nowhere'"),
        (_LAYOUT, ClusterOptions(frozenset({"p=9"})), "no partition with files p=9"),
        (_LAYOUT, ClusterOptions(file_groups=frozenset({"x-0"})), "no file group x-0"),
    ],
)
def test_invalid_arguments_are_refused_before_any_change(
    spark: SparkSession,
    create_table_with_history: Callable[..., Written],
    layout: Layout,
    options: ClusterOptions,
    message: str,
) -> None:
    table = create_table_with_history(TableSpec("refused", partitions=("p",)), rows=200)
    before = HudiTable.open(str(table.path)).timeline
    with pytest.raises(InvalidLayout, match=message):
        cluster(spark, str(table.path), layout, options)
    assert HudiTable.open(str(table.path)).timeline == before


def test_more_files_than_rows_and_no_row_at_all(
    spark: SparkSession, create_table_with_history: Callable[..., Written]
) -> None:
    table = create_table_with_history(TableSpec("few"), rows=2)
    assert cluster(
        spark, str(table.path), _LAYOUT, ClusterOptions(size=Size(files=9))
    ).files_after in (1, 2)
    assert read(spark, table.path).count() == 2
    delete(table, frame(spark, 2))
    emptied = cluster(spark, str(table.path), Layout(("v",)))
    assert isinstance(emptied, Clustered)
    assert read(spark, table.path).count() == 0
    assert_nothing_pending(table.path)

"""A process is killed while it builds, refreshes or compacts: at each step, and by a signal.

Files of executors are invisible until the driver publishes them, so only its steps matter.
Afterwards the table is read as before or as after the change, and the next command continues.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import pytest
from pyspark.sql import SparkSession

from devtools.runtime import java
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.status import State, index_statuses
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.reverse_mapping import REVERSE_DIR
from pyhudi_expr.spark.builds.extension_indexes import extension_compact, extension_refresh
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.jobs.job_errors import translate_spark_errors
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, PARTITION_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt.changes import partitions
from pyhudi_expr.tables.mdt.index_definitions import index_definitions
from tests.failure_fixtures import Disk
from tests.index.prune.matching_slices import INDEXES_ALONE, read, request
from tests.tables.directory_contents import contents, linked, without_metadata_table
from tests.tables.mdt.changes import index_builds

pytestmark = [pytest.mark.spark, pytest.mark.long]

_OPTIONS = BuildOptions()
_PATIENCE = 600
"""Seconds within which a command ends, even on a busy machine."""
_PAGE = 4096
_RETRY_EVERY = 5
"""After one in this many kills, the command is tried again."""
_QUESTIONS = ("merchant_name = 'nobody'", "merchant_name = 'Amazon'", "txn_id = 'TXN-017'")
KillAfterChanges = Callable[[Callable[[], None], int], bool]


@pytest.fixture
def table(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    """A table without a metadata table."""
    path = tmp_path / "table"
    shutil.copytree(golden["cow_v9_txns_simple_meta"], path)
    without_metadata_table(path)
    return path


def kept(path: Path) -> dict[str, set[str]]:
    pruner = Pruner(INDEXES_ALONE)
    return {text: set(pruner.prune(str(path), request(text)).kept_paths()) for text in _QUESTIONS}


@pytest.mark.parametrize("step", ["refresh", "compaction"])
def test_being_killed_at_any_step_loses_nothing(
    spark: SparkSession,
    table: Path,
    tmp_path: Path,
    kill_after_changes: KillAfterChanges,
    step: str,
) -> None:
    newest = max((table / ".hoodie/timeline").glob("*_*.commit"))
    newest.rename(tmp_path / newest.name)
    execute(
        spark,
        f"CREATE INDEX i ON '{table}' (merchant_name) OPTIONS (store = 'extension', shards = 1)",
    )
    (tmp_path / newest.name).rename(newest)
    if step == "compaction":
        refresh(spark, table)
    before, change = kept(table), {"refresh": refresh, "compaction": compact}[step]
    assert (state(table) is State.LAGGING) == (step == "refresh")
    table.rename(tmp_path / "prepared")
    linked(tmp_path / "prepared", table)
    change(spark, table)
    after = kept(table)
    assert (before != after) == (step == "refresh")

    completed, changes = False, 0
    while not completed:
        shutil.rmtree(table)
        linked(tmp_path / "prepared", table)
        completed = kill_after_changes(lambda: change(spark, table), changes)
        for leftover in table.glob(".hoodie/**/lock"):
            leftover.unlink()  # as if its owner's lock had expired
        assert kept(table) in (before, after)
        if not completed and changes % _RETRY_EVERY == 0:
            change(spark, table)
            assert kept(table) == after
        changes += 1
    assert changes > 10  # it did die in between, often
    compact(spark, table)
    slices = HudiTable.open(str(table)).listing().num_slices
    for index in ("record_index", "secondary_index_i"):
        assert len(list((table / REVERSE_DIR / index).rglob("*.arrow"))) == slices


def test_a_killed_command_is_completed_by_the_next(table: Path) -> None:
    before = kept(table)
    inflight_before = len(list(table.glob(".hoodie/timeline/*.indexing.inflight")))
    given = ("create", str(table), "i", "--columns", "merchant_name")
    killed = subprocess.Popen(
        [sys.executable, "-m", "pyhudi_expr.cli", "index", *given],
        env=environment(),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    give_up = monotonic() + _PATIENCE
    while len(list(table.glob(".hoodie/timeline/*.indexing.inflight"))) == inflight_before:
        assert killed.poll() is None
        assert monotonic() < give_up
        sleep(0.01)
    os.killpg(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    assert state(table) is State.BUILDING
    assert kept(table) == before

    command = [sys.executable, "-m", "pyhudi_expr.cli", "index", *given]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, check=False, timeout=_PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert "note: rolled back record_index, secondary_index_i" in done.stdout
    assert "hoodie.metadata.record.index.enable=true" in done.stdout
    # There is no bar where there is no terminal, nor Spark's.
    assert "building i" not in done.stderr
    assert "[Stage" not in done.stderr
    assert state(table) is State.ACTIVE
    assert len(kept(table)["merchant_name = 'nobody'"]) == 0


@pytest.mark.parametrize("step", ["hudi", "extension", "refresh", "compaction"])
def test_a_full_disk_changes_nothing(
    spark: SparkSession, golden: Mapping[str, Path], disk: Disk, tmp_path: Path, step: str
) -> None:
    path = disk.path / "table"
    shutil.copytree(golden["cow_v9_txns_simple_meta"], path)
    create = f"CREATE INDEX i ON '{path}' (currency) OPTIONS (store = '{{}}', shards = 3)"

    def change() -> None:
        if step == "compaction":
            with translate_spark_errors():
                compact(spark, path)
        else:
            refreshes = f"REFRESH INDEX i ON '{path}'"
            execute(spark, refreshes if step == "refresh" else create.format(step))

    if step in ("refresh", "compaction"):
        newest = max((path / ".hoodie/timeline").glob("*_*.commit"))
        shutil.move(newest, tmp_path)
        execute(spark, create.format("extension"))
        shutil.move(tmp_path / newest.name, newest)
    if step == "compaction":
        refresh(spark, path)
    before, messages, pages, done = contents(path), [], 0, False
    while not done:
        disk.fill(pages * _PAGE)
        try:
            change()
            done = True
        except HudiError as error:
            messages.append(str(error))
        disk.empty()
        assert done or contents(path) == before, (pages, messages[-1])
        pages += 3
    assert state(path) is State.ACTIVE
    assert contents(path) != before
    assert all("No space left" in text and "\n" not in text for text in messages), messages
    assert len(messages) > 5


def environment() -> dict[str, str]:
    return {**os.environ, "JAVA_HOME": str(java().resolve().parent.parent)}


def state(table: Path) -> State:
    (found,) = [s.state for s in index_statuses(HudiTable.open(str(table))) if s.name == "i"]
    return found


def refresh(spark: SparkSession, table: Path) -> None:
    extension_refresh(spark, HudiTable.open(str(table)), "i", _OPTIONS)


def compact(spark: SparkSession, table: Path) -> None:
    extension_compact(spark, HudiTable.open(str(table)), _OPTIONS)


def test_hudi_reads_a_table_after_a_killed_build(
    spark: SparkSession,
    golden: Mapping[str, Path],
    tmp_path: Path,
    kill_after_changes: KillAfterChanges,
) -> None:
    path = tmp_path / "started"
    shutil.copytree(golden["cow_v9_txns_simple_meta"], path)
    records = index_builds.entries(str(path))
    definition = index_definitions(HudiTable.open(str(path)))[COLUMN_STATS]
    partition = replace(index_builds.STATISTICS, definition=definition)
    lock = TableLock(HudiTable.open(str(path)).storage)
    partitions.drop(HudiTable.open(str(path)), [COLUMN_STATS, PARTITION_STATS], lock)
    path.rename(tmp_path / "dropped")
    text = "amount > 100 AND merchant_name < 'M'"
    expected = matching(spark, tmp_path / "dropped", text, skipping=False)
    assert expected
    seen = []
    for changes in (8, 12, 23, 25):
        shutil.copytree(tmp_path / "dropped", path)
        kill_after_changes(lambda: index_builds.build(str(path), records, partition), changes)
        index_builds.unlock(str(path))
        properties = HudiTable.open(str(path)).properties
        inflight, complete = (
            COLUMN_STATS in names
            for names in (properties.metadata_partitions_inflight, properties.metadata_partitions)
        )
        seen.append("complete" if complete else "inflight" if inflight else "started")
        assert matching(spark, path, text, skipping=True) == expected, changes
        shutil.rmtree(path)
    assert seen == ["started", "inflight", "inflight", "complete"]


def matching(spark: SparkSession, path: Path, text: str, *, skipping: bool) -> list[str]:
    rows = read(spark, path, skipping=skipping).where(text).select("txn_id").collect()
    return sorted(row.txn_id for row in rows)

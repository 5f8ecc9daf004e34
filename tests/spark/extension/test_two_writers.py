"""Two writers of one table at the same time, one with the extension and one without it.

They take turns by Hudi's own optimistic concurrency control, with a lock that processes share. In
the meantime queries that are pruned have the rows of those that are not.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from devtools.runtime import ROOT
from devtools.service import ServiceProcess
from devtools.tables import HudiTable as Written
from devtools.tables import TableSpec, TableType, create
from pyhudi_expr.index.catalog.status import IndexStatus, State, index_statuses
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.spark.extension import shared_table
from tests.spark.extension.conftest import UNPRUNED, pruned_by
from tests.spark.extension.scans import load, shown, slices_read, whole

pytestmark = pytest.mark.spark

SPECS = {
    TableType.COW: TableSpec("cow", stats_columns=None),
    # Not partitioned: Hudi 1.2 cannot write `partition_stats` in a task that does not reach its
    # timeline server, as happened here once.
    TableType.MOR: TableSpec("mor", TableType.MOR, stats_columns=None),
}
INDEXES = (
    "CREATE INDEX cities ON '{}' USING secondary_index(city)",
    "CREATE INDEX filters ON '{}' USING bloom_filters",
    "CREATE INDEX ranges ON '{}' USING column_stats(a, id)",
    "CREATE INDEX own ON '{}' USING bloom_filters(city) OPTIONS (store = 'extension')",
)
CONDITIONS = ("city IN ('w1r0', 'c3')", "id = 7", "id >= 1000 AND a < 200")
#: Options that statements have from the catalog.
OF_TABLE = ("hoodie.datasource.", "hoodie.table.", "hoodie.write.table.")
OWN_SECONDS = 240


class Outsider:
    """A process that writes without the extension, which has started when it is made."""

    def __init__(self, log: IO[bytes]) -> None:
        command = [sys.executable, "-m", shared_table.__name__]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=log)

    def begin(self, table: Written, options: Mapping[str, str]) -> None:
        """Have it write, once its session is there."""
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        while (line := self._process.stdout.readline().strip()) != b"ready":
            assert line or self._process.poll() is None, "the other writer did not start"
        given = json.dumps({"uri": table.uri, "options": options})
        self._process.stdin.write(f"{given}\n".encode())
        self._process.stdin.flush()

    def attempts(self) -> list[int]:
        """How often it tried each change, when it has ended."""
        printed, _ = self._process.communicate(timeout=OWN_SECONDS)
        assert self._process.returncode == 0, "the other writer failed"
        found: list[int] = json.loads(printed.splitlines()[-1])
        return found

    def kill(self) -> None:
        """End it if it runs."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def outsider(tmp_path: Path) -> Iterator[Outsider]:
    """Starts first, as that takes as long as to write the table."""
    with (tmp_path / "outsider.log").open("wb") as log:
        started = Outsider(log)
        yield started
        started.kill()


def with_settings(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """A session of its own, for a thread of its own."""
    session = spark.newSession()
    for name, value in settings.items():
        session.conf.set(name, value)
    return session


def ordinary(table: Written) -> dict[str, str]:
    """The options of a writer who does not know of indexes."""
    options = {**table.spec.options(), **shared_table.SHARED}
    return {
        name: value
        for name, value in options.items()
        if not name.startswith(("hoodie.metadata.", "hoodie.embed."))
    }


@contextmanager
def in_catalog(spark: SparkSession, table: Written) -> Iterator[str]:
    """The table's name in the catalog."""
    spark.sql("CREATE DATABASE IF NOT EXISTS at_once")
    spark.sql(f"CREATE TABLE at_once.{table.name} USING hudi LOCATION '{table.uri}'")
    yield f"at_once.{table.name}"
    spark.sql("DROP DATABASE at_once CASCADE")


def statuses(table: Written) -> dict[str, IndexStatus]:
    return {status.name: status for status in index_statuses(HudiTable.open(table.uri))}


def compare(pruned: SparkSession, plain: SparkSession, table: Written) -> int | None:
    """Compare the rows of one state; return how many slices were skipped.

    None: a commit came between the moments at which the two sessions look, or at one of them.
    """
    known = HudiTable.open(table.uri).timeline.instants
    try:
        frame, expected = load(pruned, table.path), whole(plain, table.path)
    except Py4JJavaError as error:
        # Hudi opens no table while a writer, who has deleted an index, replaces its properties.
        if "TableNotFoundException" not in str(error):
            raise
        return None
    if HudiTable.open(table.uri).timeline.instants != known:
        return None
    skipped = 0
    for text in CONDITIONS:
        found = frame.where(text)
        assert shown(found) == shown(expected.where(text)), text
        skipped += len(slices_read(expected)) - len(slices_read(found))
    return skipped


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("type_", list(TableType))
def test_rows_are_those_without_pruning(
    outsider: Outsider,
    spark: SparkSession,
    pruning_service: ServiceProcess,
    tmp_path: Path,
    type_: TableType,
    keeps: bool,
) -> None:
    """The other one knows of no indexes, and deletes some, or has the options that keep them."""
    table = create(spark.sql(shared_table.ROWS), SPECS[type_], tmp_path)
    for statement in INDEXES:
        execute(spark, statement.format(table.uri))
    options = ordinary(table)
    extension = {
        **pruned_by(pruning_service.address),
        "spark.pyhudi.statements": "true",
        "spark.pyhudi.indexes.keep": "true",
    }
    own = {name: value for name, value in options.items() if not name.startswith(OF_TABLE)}
    writer = with_settings(spark, {**own, **extension})
    pruned, plain = with_settings(spark, extension), with_settings(spark, UNPRUNED)
    with in_catalog(writer, table) as name, ThreadPoolExecutor(2) as threads:
        outsider.begin(table, {**options, **(writer_options(table.uri) if keeps else {})})
        ours = threads.submit(shared_table.write_all, 0, shared_table.by_statements(writer, name))
        theirs = threads.submit(outsider.attempts)
        skipped = []
        while not (ours.done() and theirs.done()):
            skipped.append(compare(pruned, plain, table))
        assert len(ours.result()) == len(theirs.result()) > 0
        compared = [each for each in skipped if each is not None]
        assert len(compared) > 2
        assert sum(compared) > 0
        assert compare(pruned, plain, table)
        rows = whole(plain, table.path).select("id", "city").collect()
        assert sorted(map(tuple, rows)) == shared_table.rows_at_last()
        check_indexes(spark, table, keeps)
        # What the other writer has deleted comes back by a statement. It waits for pending writes,
        # and one that failed stays pending until Hudi cleans.
        writer.sql(f"CALL run_clean(table => '{name}')").collect()
        assert not HudiTable.open(table.uri).timeline.pending
        writer.sql(f"REFRESH INDEX cities ON {name}").collect()
        assert statuses(table)["cities"].state is State.ACTIVE
        assert compare(pruned, plain, table)


def check_indexes(spark: SparkSession, table: Written, is_kept: bool) -> None:
    """Check what has become of the indexes, and that no entry of them is wrong."""
    found = statuses(table)
    assert {"cities", "filters", "ranges", "own"} <= found.keys()
    assert found["ranges"].state is State.ACTIVE  # Hudi's writers make it by default
    if is_kept:
        assert {status.state for name, status in found.items() if name != "own"} == {State.ACTIVE}
    opened = HudiTable.open(table.uri)
    for status in found.values():
        if status.state is State.ACTIVE:
            for one in verify(spark, opened, status):
                # Each writer makes ranges of its own columns; a file without is read.
                assert one.is_right or (not is_kept and not one.different), one

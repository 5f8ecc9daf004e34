"""After a statement has rewritten a table's files, what a session had of the table is of now."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.service import ServiceProcess
from devtools.spark import session_settings
from devtools.tables import TableSpec, TableType
from tests.spark.extension.conftest import pruned_by
from tests.spark.extension.scans import files_read, load, plan_text
from tests.spark.statements.test_statements import written

pytestmark = pytest.mark.spark

_OPTIMIZE = "OPTIMIZE {} LINEAR BY (a) OPTIONS (files = 2)"
_CONDITION = "a < 40"


@pytest.fixture
def pruning(session: SparkSession, pruning_service: ServiceProcess) -> Iterator[SparkSession]:
    with session_settings(session, pruned_by(pruning_service.address)):
        yield session


def shown_files(frame: DataFrame) -> int:
    """How many files the plan says that it reads."""
    shown = re.findall(r"\[pruning \w+, reads (\d+) of \d+ files", plan_text(frame))
    (count,) = set(shown)  # the plan's tree and its details
    return int(count)


def assert_honest(frame: DataFrame) -> None:
    assert shown_files(frame) == len(files_read(frame))


def change(session: SparkSession, name: str) -> None:
    """Change rows by SQL, and look at them."""
    session.sql(f"UPDATE {name} SET a = 1000 WHERE id = 7")
    session.sql(f"DELETE FROM {name} WHERE id = 9")
    rows = session.sql(f"SELECT id FROM {name} WHERE a = 1000 OR id = 9").collect()
    assert [row.id for row in rows] == [7]
    assert session.table(name).count() == 399


@pytest.mark.smoke
def test_the_session_changes_rows_after_a_layout(pruning: SparkSession, tmp_path: Path) -> None:
    written(pruning, tmp_path, "laid")
    assert pruning.sql(f"SELECT * FROM laid WHERE {_CONDITION}").count() == 40
    pruning.sql(_OPTIMIZE.format("laid"))
    laid = pruning.sql(f"SELECT * FROM laid WHERE {_CONDITION}")
    assert shown_files(laid) == 1
    assert_honest(laid)
    change(pruning, "laid")


def test_frames_of_before_read_the_files_of_now(pruning: SparkSession, tmp_path: Path) -> None:
    table = written(pruning, tmp_path, "laid", TableSpec("laid", TableType.MOR, stats_columns=None))
    pruning.sql("UPDATE laid SET a = a WHERE id < 9")
    frames = [pruning.table("laid"), load(pruning, table.path)]
    assert [frame.count() for frame in frames] == [400, 400]
    unplanned = pruning.table("laid").where(_CONDITION)
    pruning.sql(_OPTIMIZE.format(f"'{table.uri}'"))
    for found in (unplanned, *(frame.where(_CONDITION) for frame in frames)):
        assert shown_files(found) == 1
        assert_honest(found)
        assert found.count() == 40

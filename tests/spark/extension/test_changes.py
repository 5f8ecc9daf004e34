"""Incremental queries through the extension: the rows without it, of fewer files."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.spark import session_settings
from devtools.tables import TableSpec, TableType, create, upsert
from pyhudi_expr.tables.hudi_table import HudiTable as OpenTable
from tests.hive.history_tables import FILES_AT_FIRST, FIXTURE_CASES, Histories, History, case_id
from tests.hive.queries.test_incremental import RANGES
from tests.spark.extension.conftest import UNPRUNED
from tests.spark.extension.scans import files_read, load, plan_text, slices_read, whole

pytestmark = pytest.mark.spark

CONDITIONS = (
    "id BETWEEN 18 AND 33",
    "v > 900",
    "v % 10 = 2",
    "p = 'p1' AND name LIKE 'updated%'",
    "name < 'b' OR name > 'late_2'",
    "extra > 1050",
    "extra IS NULL AND id < 20",
    "_hoodie_record_key = '20'",
)
OPTION = "hoodie__datasource__"


@pytest.fixture(scope="module", params=FIXTURE_CASES, ids=case_id)
def history(request: pytest.FixtureRequest, spark: SparkSession, shared_root: Path) -> History:
    """A table and its commits."""
    return Histories(spark, shared_root / "histories").get(*request.param)


@pytest.fixture(scope="module")
def cow(spark: SparkSession, shared_root: Path) -> History:
    """A table without log files, for what does not depend on them."""
    return Histories(spark, shared_root / "histories").get(TableType.COW, 8)


def bounds(history: History, start: str | None, end: str | None) -> dict[str, str]:
    """The options that read the commits after one until another."""
    options = {
        f"{OPTION}query__type": "incremental",
        f"{OPTION}read__begin__instanttime": history.completed[start] if start else "000",
    }
    if end:
        options[f"{OPTION}read__end__instanttime"] = history.completed[end]
    return options


def rows(frame: DataFrame) -> Sequence[str]:
    """All rows with the commits that wrote them."""
    return sorted(map(repr, frame.drop("_hoodie_commit_seqno").collect()))


def check(spark: SparkSession, path: Path, text: str, **options: str) -> DataFrame:
    """Compare the rows of a condition with and without pruning; return the pruned frame."""
    frame = load(spark, path, **options).where(text)
    found, read = rows(frame), files_read(frame)
    with session_settings(spark, UNPRUNED):
        expected = whole(spark, path, **options).where(text)
        assert found == rows(expected), (text, options)
        assert {*read} <= {*files_read(expected)}
    return frame


@pytest.mark.parametrize("range_", RANGES, ids=str)
def test_rows_are_those_without_pruning(
    extended: SparkSession, history: History, range_: tuple[str | None, str | None]
) -> None:
    for text in CONDITIONS:
        check(extended, history.table.path, text, **bounds(history, *range_))


def test_files_are_pruned_by_their_values(extended: SparkSession, cow: History) -> None:
    frame = check(extended, cow.table.path, "id = 20", **bounds(cow, None, "inserted"))
    assert len(files_read(frame)) == 1
    assert f"pruning PRUNED, reads 1 of {FILES_AT_FIRST} files" in plan_text(frame)
    changed = check(extended, cow.table.path, "id = 119", **bounds(cow, "deleted", "added"))
    assert len(files_read(changed)) == 1
    absent = check(extended, cow.table.path, "id = 3000", **bounds(cow, None, None))
    assert files_read(absent) == []


def test_slices_with_log_files_are_read(
    extended: SparkSession, spark: SparkSession, tmp_path: Path
) -> None:
    rows_of_files = spark.range(0, 80, 1, 4).selectExpr("id", "id * 2 AS v")
    spec = TableSpec("logged", TableType.MOR, ordering="v")
    table = create(rows_of_files, spec, tmp_path)
    upsert(table, spark.range(5, 7, 1, 1).selectExpr("id", "id * 3 AS v"))
    first = OpenTable.open(str(table.path)).timeline.writes[0].completed
    begin, incremental = f"{OPTION}read__begin__instanttime", f"{OPTION}query__type"
    everything = {incremental: "incremental", begin: "000"}
    with session_settings(extended, UNPRUNED):
        updates = {incremental: "incremental", begin: str(first)}
        logged = slices_read(whole(extended, table.path, **updates))
    assert len(logged) == 1
    # Log files are merged with the rows of the range only, not as in the table's state.
    assert slices_read(check(extended, table.path, "id = 3000", **everything)) == logged
    assert len(slices_read(check(extended, table.path, "id = 70", **everything))) == 2


def test_a_range_whose_files_are_gone(extended: SparkSession, cow: History, tmp_path: Path) -> None:
    path = tmp_path / "table"
    shutil.copytree(cow.table.path, path)
    with session_settings(extended, UNPRUNED):
        old = files_read(whole(extended, path, **bounds(cow, None, "inserted")))
        new = files_read(whole(extended, path))
    for name in {*old} - {*new}:
        next(path.rglob(name)).unlink()
    fallback = f"{OPTION}read__incr__fallback__fulltablescan__enable"
    options = {**bounds(cow, None, "inserted"), fallback: "true"}
    found = [check(extended, path, text, **options) for text in ("id = 20", "id = 21", "v > 500")]
    assert len(rows(found[0])) == 1


def test_the_function_of_sql(extended: SparkSession, cow: History) -> None:
    path, start = cow.table.path, cow.completed["deleted"]
    for arguments in (f"'latest_state', '{start}'", "'latest_state', 'earliest'"):
        query = f"SELECT * FROM hudi_table_changes('{path}', {arguments}) WHERE id = 119"
        frame = extended.sql(query)
        found = rows(frame)
        with session_settings(extended, UNPRUNED):
            assert found == rows(extended.sql(query))
        assert len(found) == len(files_read(frame)) == 1
        assert "pruning PRUNED, reads 1 of " in plan_text(frame)


def test_joins_of_changes_with_the_table(extended: SparkSession, cow: History) -> None:
    path = cow.table.path
    load(extended, path, **bounds(cow, "deleted", "added")).createOrReplaceTempView("changed")
    load(extended, path).createOrReplaceTempView("now")
    query = "SELECT c.id, n.v FROM changed c JOIN now n ON c.id = n.id WHERE c.id > 110"
    found = sorted(map(repr, extended.sql(query).collect()))
    with session_settings(extended, UNPRUNED):
        assert found == sorted(map(repr, extended.sql(query).collect()))
    assert len(found) == 9


def test_a_range_without_commits(extended: SparkSession, cow: History) -> None:
    frame = check(extended, cow.table.path, "id = 20", **bounds(cow, "widened", None))
    assert rows(frame) == []
    assert "not pruned: no commit is in the range" in plan_text(frame)

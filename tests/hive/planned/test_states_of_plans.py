"""A small table whose keys are in a plan is read in their state, whatever is written later."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.hiveserver import ENGINES
from devtools.runtime import HIVE_LIB
from devtools.tables import TableType
from tests.hive.planned.conftest import move_line, stops_table
from tests.hive.query_results import TEZ, Answer, Hive
from tests.hive.session_jars import compiled_jar

pytestmark = [pytest.mark.spark, pytest.mark.hive]

_HOOK = Path(__file__).with_name("HeldQuery.java")
_SECONDS, _POLL_SECONDS = 120.0, 0.05


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_jar(_HOOK, HIVE_LIB, tmp_path_factory.mktemp("held-query"))


def held(
    hive: Hive,
    query: str,
    hook: Path,
    directory: Path,
    meanwhile: Callable[[], None],
    settings: Mapping[str, str],
) -> Answer:
    """Plan a query, do something else, and run it."""
    waiting = {"held.query.directory": str(directory), "hive.exec.pre.hooks": "HeldQuery"}
    with ThreadPoolExecutor(1) as thread, hive.session({**settings, **waiting}) as session:
        session.run(f"ADD JAR {hook}")
        answer = thread.submit(session.query, query)
        try:
            deadline = time.monotonic() + _SECONDS
            while not (directory / "planned").exists():
                assert time.monotonic() < deadline, "the query is not planned"
                assert not answer.done(), answer.result()
                time.sleep(_POLL_SECONDS)
            meanwhile()
        finally:
            (directory / "go").touch()
        return answer.result()


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("type_", "splits"),
    [
        pytest.param(TableType.COW, "true", id="cow, splits in a master"),
        *(
            pytest.param(type_, splits, id=name, marks=pytest.mark.long)
            for name, type_, splits in (
                ("mor, splits in a master", TableType.MOR, "true"),
                ("cow, splits in HiveServer2", TableType.COW, "false"),
                ("mor, splits in HiveServer2", TableType.MOR, "false"),
            )
        ),
    ],
)
def test_stops_that_another_commit_moves_to_the_line_are_no_part_of_the_query(
    hive: Hive,
    spark: SparkSession,
    table_root: Path,
    tmp_path: Path,
    hook: Path,
    fact: str,
    type_: TableType,
    splits: str,
) -> None:
    """Else they would have no row of the fact, whose files were chosen before."""
    name = f"planned_moved_{type_.name.lower()}_{splits}"
    table = stops_table(spark, table_root, name, type_)
    hive.register(table)
    settings = {**ENGINES[TEZ], "hive.compute.splits.in.am": splits}
    query = f"SELECT s.id, f.id FROM {name} s LEFT JOIN {fact} f ON f.stop = s.k WHERE s.line = 2"
    before = hive.query(query, TEZ).rows
    assert len(before) == 10

    answer = held(hive, query, hook, tmp_path, lambda: move_line(spark, table, 4, 2), settings)

    assert answer.rows == before
    # HiveServer2 has the table open, a master opens it anew.
    assert len(answer.scan.states) == (splits == "true")
    after = hive.query(query, TEZ)
    assert (len(after.rows), after.scan.states) == (20, ())
    assert all(None not in row for row in after.rows)

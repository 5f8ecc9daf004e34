"""Hive skips rows inside of the files that it reads, and its rows are the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.hiveserver import HiveServer
from tests.hive.query_results import FETCH, MR, TEZ, Hive
from tests.hive.rows.checked_queries import LAYOUTS, PREDICATES, check, tables_of_pages
from tests.hive.rows.paged_tables import FILE_ROWS, FILES
from tests.marks import long

pytestmark = [pytest.mark.hive]

_FLAT = "id, i, l, f, d, b, s, word, x, m, w, day, at"
_EVERY = f"{_FLAT}, st, li, mp, deep"


@pytest.fixture(scope="module")
def hive(hive_server: HiveServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hive]:
    with tables_of_pages(hive_server, tmp_path_factory.mktemp("rows"), {}) as running:
        yield running


@pytest.mark.smoke("unpaged")
@pytest.mark.parametrize("name", LAYOUTS)
def test_rows_are_equal_and_fewer_are_read(hive: Hive, name: str) -> None:
    selected, considered = 0, 0
    for predicate in PREDICATES:
        answer = check(hive, f"SELECT {_EVERY} FROM {name} WHERE {predicate}", FETCH)
        assert answer.rows, predicate
        considered += answer.scan.rows_of_files_in_part
        selected += answer.scan.rows_selected
    assert considered > len(PREDICATES) * FILE_ROWS
    assert selected < considered / (2 if name == "unpaged" else 4)


@pytest.mark.parametrize("vectorised", ["true", "false"])
@pytest.mark.parametrize(
    ("engine", "name"), [(TEZ, "paged_v1"), long(TEZ, "paged_v2"), long(MR, "paged_v1")]
)
def test_engines_read_equal_rows(hive: Hive, name: str, engine: str, vectorised: str) -> None:
    settings = {"hive.vectorized.execution.enabled": vectorised}
    for columns, predicate in [
        (_FLAT, "id IN (1, 2999, 3000, 12345, 17999) OR s LIKE 's0000801%'"),
        ("id, st, li, mp", "id BETWEEN 4990 AND 5010 OR id > 17990"),
        (_EVERY, "word = 'word 20' OR day = DATE '2000-01-20'"),
    ]:
        query = f"SELECT {columns} FROM {name} WHERE {predicate}"
        answer = check(hive, query, engine, **settings)
        assert answer.rows
        assert 0 < answer.scan.rows_selected < answer.scan.rows_of_files_in_part


@pytest.mark.parametrize("engine", [TEZ, MR])
def test_scans_of_one_table_keep_the_rows_of_each(hive: Hive, engine: str) -> None:
    query = (
        "SELECT a.id, b.id, a.s, b.l, b.li FROM paged_v1 a JOIN paged_v1 b ON a.id = b.id + 5000"
        " WHERE a.id BETWEEN 7000 AND 7010 AND b.id > 1990"
    )
    for converted in ("true", "false"):
        answer = check(hive, query, engine, **{"hive.auto.convert.join": converted})
        assert len(answer.rows) == 11


def test_counts_need_no_column(hive: Hive) -> None:
    answer = check(hive, "SELECT count(*) FROM paged_v2 WHERE id BETWEEN 100 AND 4321", TEZ)
    assert answer.rows == [(4222,)]


def test_explain_tells_of_rows(hive: Hive) -> None:
    plan = "\n".join(
        row[0] for row in hive.query("EXPLAIN SELECT s FROM paged_v1 WHERE id = 7123").rows
    )
    assert f"of {FILES} files" in plan
    assert f"1000 of {FILES * FILE_ROWS} rows of {FILES} of them" in plan


def test_a_predicate_that_skips_nothing_reads_files_whole(hive: Hive) -> None:
    answer = check(hive, "SELECT id, s FROM paged_v1 WHERE id >= 0 AND id % 999 = 0", FETCH)
    assert answer.scan.files_in_part == 0

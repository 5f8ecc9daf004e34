"""A LIMIT and the first rows of an order read the files that have enough rows, and no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random

import pytest

from tests.hive.limits.limited_tables import FILES
from tests.hive.query_results import FETCH, MR, TEZ, Answer, Hive
from tests.marks import long

pytestmark = [pytest.mark.spark, pytest.mark.hive]

ROW_BY_ROW = {"hive.vectorized.execution.enabled": "false"}
#: One of Hive's own, which runs beside ours.
HOOK = "org.apache.hadoop.hive.ql.hooks.CompileTimeCounterPreHook"
NULLS_FIRST = {"hive.default.nulls.last": "false"}

both_engines = pytest.mark.parametrize("engine", [TEZ, long(MR)])
every_engine = pytest.mark.parametrize("engine", [FETCH, TEZ, long(MR)])


def limited(hive: Hive, query: str, rows: int, engine: str, settings: Mapping[str, str]) -> Answer:
    """Checks that a query without an order returns so many of the rows without its limit."""
    answer = hive.query(f"{query} LIMIT {rows}", engine, settings=settings)
    every = Counter(map(repr, hive.query(query, engine, pruning=False).rows))
    assert len(answer.rows) == min(rows, every.total())
    assert not Counter(map(repr, answer.rows)) - every
    return answer


@every_engine
@pytest.mark.parametrize("settings", [{}, ROW_BY_ROW], ids=["vectorised", "row by row"])
def test_a_limit_reads_one_file_of_rows_that_all_match(
    hive: Hive, table: str, engine: str, settings: dict[str, str]
) -> None:
    query = f"SELECT * FROM {table} WHERE day = '2024-01-03'"
    assert limited(hive, query, 10, engine, settings).files == (FILES, 1)


@pytest.mark.parametrize(
    ("query", "rows", "files"),
    [
        ("SELECT id, day FROM {t}", 10, 1),
        ("SELECT id FROM {t} WHERE id BETWEEN 150 AND 450", 10, 1),
        ("SELECT id + 1, day FROM {t} WHERE day >= '2024-01-05' AND id > 3", 250, 3),
        ("SELECT id FROM {t} WHERE n > 5", 10, FILES),  # a row with NULL does not match
        long("SELECT id FROM {t} WHERE late IS NOT NULL", 100, 1),
        long("SELECT id FROM {t} WHERE n IS NULL", 10, FILES),
        long("SELECT id FROM {t} WHERE id % 2 = 0 AND day = '2024-01-03'", 10, 4),
        long("SELECT id FROM {t} WHERE id < 0", 10, 0),
        long("SELECT id FROM {t} WHERE id < 250", 5_000, 3),
        long("SELECT id FROM {t} WHERE rand(7) < 2 AND id < 250", 5, FILES),
    ],
)
def test_files_of_a_limit(hive: Hive, table: str, query: str, rows: int, files: int) -> None:
    assert limited(hive, query.format(t=table), rows, TEZ, {}).files == (FILES, files)


def explained(hive: Hive, query: str, engine: str) -> str:
    """What EXPLAIN says of a query's only scan."""
    settings = {"hive.explain.user": "false"}
    lines = [
        str(row[0]).strip()
        for row in hive.query(f"EXPLAIN {query}", engine, settings=settings).rows
    ]
    (found,) = [line for line in lines if line.startswith("hudi.pruning ")]
    return found


@pytest.mark.smoke("fetch-SELECT id +")
@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("SELECT id FROM {t} WHERE day = '2024-01-03' LIMIT 10", 1),
        ("SELECT id FROM {t} WHERE day = '2024-01-03'", 4),
        ("SELECT id FROM {t} WHERE rand(7) < 2 AND id < 250 LIMIT 5", FILES),
        ("SELECT id + 1 FROM (SELECT id FROM {t} WHERE id < 1000 LIMIT 150) q WHERE id > 5", 2),
    ],
)
@every_engine
def test_explain_shows_what_a_limit_leaves(
    hive: Hive, table: str, query: str, files: int, engine: str
) -> None:
    text = query.format(t=table)
    assert f"reads {files} of {FILES} files" in explained(hive, text, engine)
    assert hive.query(text, engine).files == (FILES, files)


@both_engines
def test_explain_shows_what_an_order_leaves(hive: Hive, table: str, engine: str) -> None:
    query = f"SELECT id, ts FROM {table} ORDER BY ts DESC LIMIT 100"
    assert f"reads 1 of {FILES} files" in explained(hive, query, engine)


def test_a_fetch_task_goes_on_after_rows_that_do_not_match(hive: Hive, table: str) -> None:
    """Only its own limit ends it: rows of files that surely match suffice, and others may not."""
    query = f"SELECT id FROM {table} WHERE mixed % 3 = 0 AND id < 400"
    assert limited(hive, query, 120, FETCH, {}).files == (FILES, 4)


def test_the_hook_stays_in_its_query(hive: Hive, table: str) -> None:
    with hive.session({"hive.exec.pre.hooks": HOOK}) as session:
        assert len(session.query(f"SELECT id FROM {table} LIMIT 3").rows) == 3
        assert session.run("SET hive.exec.pre.hooks") == [(f"hive.exec.pre.hooks={HOOK}",)]


def test_rows_that_an_offset_passes_over_are_read(hive: Hive, table: str) -> None:
    query = f"SELECT id FROM {table} WHERE day = '2024-01-02' LIMIT 150, 200"
    answer = hive.query(query, TEZ)
    assert len(answer.rows) == 200
    assert answer.files == (FILES, 4)


def test_no_rows_of_log_files_are_counted(hive: Hive, logged: str) -> None:
    answer = limited(hive, f"SELECT id, ts FROM {logged} WHERE id < 1000", 10, TEZ, {})
    assert answer.scan.files_kept == 1
    every = limited(hive, f"SELECT id, ts FROM {logged}", 5_000, TEZ, {})
    assert every.scan.files_kept == every.scan.files_considered


@both_engines
@pytest.mark.parametrize("settings", [{}, ROW_BY_ROW], ids=["vectorised", "row by row"])
def test_the_newest_rows_are_in_the_last_file(
    hive: Hive, table: str, engine: str, settings: dict[str, str]
) -> None:
    query = f"SELECT * FROM {table} ORDER BY ts DESC LIMIT 100"
    assert hive.query_both_ways(query, engine, settings).files == (FILES, 1)


@pytest.mark.smoke("SELECT id, ts FROM")
@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("SELECT id, ts FROM {t} ORDER BY ts LIMIT 30", 1),
        ("SELECT id, ts AS x FROM {t} WHERE id < 1000 ORDER BY x DESC LIMIT 30", 1),
        ("SELECT id, at FROM {t} ORDER BY at DESC LIMIT 30", 1),
        ("SELECT id, tied FROM {t} ORDER BY tied DESC, id LIMIT 10", 6),
        ("SELECT id, n FROM {t} ORDER BY n NULLS LAST, id LIMIT 100", 2),
        ("SELECT id, n FROM {t} ORDER BY n NULLS FIRST, id LIMIT 100", FILES),
        ("SELECT id, n FROM {t} ORDER BY n DESC NULLS LAST LIMIT 100", 2),
        ("SELECT id, mixed FROM {t} ORDER BY mixed LIMIT 10", FILES),
        long("SELECT id, n FROM {t} ORDER BY n DESC NULLS FIRST, id LIMIT 1000", FILES),
        long("SELECT id, dt FROM {t} ORDER BY dt DESC, id DESC LIMIT 60", 1),
        long("SELECT id, late FROM {t} ORDER BY late DESC NULLS LAST LIMIT 10", 1),
        long("SELECT id, late FROM {t} ORDER BY late NULLS FIRST, id LIMIT 10", 13),
        long("SELECT id, ts FROM {t} ORDER BY ts DESC LIMIT 95, 10", 2),
        long("SELECT id, d FROM {t} ORDER BY d DESC LIMIT 10", FILES),
        long("SELECT id, -ts FROM {t} ORDER BY -ts LIMIT 10", FILES),
        long("SELECT id, ts FROM {t} WHERE id % 3 = 0 ORDER BY ts DESC LIMIT 10", FILES),
    ],
)
def test_files_of_an_order(hive: Hive, table: str, query: str, files: int) -> None:
    answer = hive.query_both_ways(query.format(t=table), TEZ)
    assert answer.files == (FILES, files)


@pytest.mark.parametrize("nulls", [{}, NULLS_FIRST], ids=["as it is", "the other way"])
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_nulls_stand_where_hive_places_them(
    hive: Hive, table: str, direction: str, nulls: dict[str, str]
) -> None:
    query = f"SELECT id, n FROM {table} ORDER BY n {direction}, id LIMIT 40"
    hive.query_both_ways(query, TEZ, nulls)


@pytest.mark.smoke("SELECT id, ts FROM {t} ORDER BY ts DESC LIMIT 20")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, ts FROM {t} ORDER BY ts DESC LIMIT 20",
        "SELECT id, ts FROM {t} ORDER BY ts DESC LIMIT 90",  # fewer are left of the last file
        "SELECT id, ts FROM {t} ORDER BY ts, id DESC LIMIT 20",
        long("SELECT id, ts FROM {t} WHERE id < 600 ORDER BY ts DESC LIMIT 20"),
        long("SELECT id, n FROM {t} ORDER BY n DESC NULLS LAST, id LIMIT 120"),
    ],
)
def test_replaced_and_deleted_rows_keep_their_order(hive: Hive, logged: str, query: str) -> None:
    answer = hive.query_both_ways(query.format(t=logged), TEZ)
    assert answer.scan.files_kept < answer.scan.files_considered


@pytest.mark.parametrize(
    "query",
    [
        "SELECT tied, count(*) FROM {t} GROUP BY tied ORDER BY tied LIMIT 2",
        "SELECT DISTINCT tied FROM {t} LIMIT 3",
        "SELECT id, row_number() OVER (ORDER BY mixed) AS r FROM {t} ORDER BY id LIMIT 5",
        "SELECT a.id FROM {t} a JOIN {t} b ON a.id = b.mixed ORDER BY a.id LIMIT 5",
        "SELECT id, x FROM {t} LATERAL VIEW explode(array(1, 2)) e AS x ORDER BY id, x LIMIT 5",
        "SELECT count(*) FROM (SELECT id FROM {t} WHERE id % 2 = 0 LIMIT 700) q",
        long(
            "SELECT id, rank() OVER (PARTITION BY tied ORDER BY id) r FROM {t} ORDER BY id LIMIT 5"
        ),
        long("SELECT tied, sum(id) s FROM {t} GROUP BY tied ORDER BY s DESC LIMIT 1"),
        long("SELECT id FROM {t} WHERE id IN (SELECT mixed FROM {t}) ORDER BY id LIMIT 3"),
    ],
)
def test_all_rows_are_read_where_others_need_them(hive: Hive, table: str, query: str) -> None:
    answer = hive.query_both_ways(query.format(t=table), TEZ)
    assert answer.scan.files_kept == answer.scan.files_considered


def test_each_side_of_a_union_has_first_rows_of_its_own(hive: Hive, table: str) -> None:
    sides = f"SELECT id FROM {table} UNION ALL SELECT mixed FROM {table}"
    answer = hive.query_both_ways(f"SELECT id FROM ({sides}) u ORDER BY id LIMIT 5", TEZ)
    assert answer.files == (2 * FILES, 1 + FILES)


def test_a_group_by_without_its_first_step_reads_all_rows(hive: Hive, table: str) -> None:
    settings = {"hive.map.aggr": "false", "hive.optimize.ppd": "true"}
    query = f"SELECT tied, count(*) FROM {table} GROUP BY tied ORDER BY tied LIMIT 2"
    answer = hive.query_both_ways(query, TEZ, settings)
    assert answer.scan.files_kept == answer.scan.files_considered


def test_a_limit_in_a_subquery_is_one_of_its_own(hive: Hive, table: str) -> None:
    query = f"SELECT count(*), max(day) FROM (SELECT * FROM {table} WHERE id < 300 LIMIT 50) q"
    answer = hive.query(query, TEZ)
    assert answer.rows[0][0] == 50
    assert answer.scan.files_kept == 1


@pytest.mark.smoke
def test_the_setting_switches_it_off(hive: Hive, table: str) -> None:
    off = {"hudi.pruning.limit": "false"}
    query = f"SELECT id FROM {table} WHERE day = '2024-01-03'"
    assert hive.query(f"{query} LIMIT 5", TEZ, settings=off).files == (FILES, 4)
    assert hive.query(f"{query} ORDER BY id LIMIT 5", TEZ, settings=off).files == (FILES, 4)


def test_another_limit_is_another_question(hive: Hive, table: str) -> None:
    query = f"SELECT id FROM {table} WHERE day = '2024-01-04'"
    found = [hive.query(f"{query} LIMIT {n}", TEZ).scan.files_kept for n in (5, 350, 5)]
    assert found == [1, 4, 1]
    assert hive.query(query, TEZ).scan.files_kept == 4


def test_random_orders(hive: Hive, table: str, logged: str) -> None:
    random = Random(29)
    for _ in range(6):
        keys = random.sample(["ts", "at", "n", "tied", "late", "dt", "mixed"], 2)
        order = ", ".join(
            f"{key} {random.choice(['ASC', 'DESC'])} NULLS {random.choice(['FIRST', 'LAST'])}"
            for key in keys
        )
        condition = random.choice(["id < 1300", "day > '2024-01-02'", "n > 700", "true"])
        limit = random.choice([1, 10, 333])
        name = random.choice([table, logged])
        query = f"SELECT * FROM {name} WHERE {condition} ORDER BY {order}, id LIMIT {limit}"
        hive.query_both_ways(query, TEZ)

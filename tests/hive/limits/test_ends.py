"""Minimum and maximum values are read from the files that have them, and no others."""

from __future__ import annotations

from random import Random

import pytest

from tests.hive.limits.limited_tables import FILES
from tests.hive.query_results import FETCH, MR, NOTHING, TEZ, Hive
from tests.marks import long

pytestmark = [pytest.mark.spark, pytest.mark.hive]

ROW_BY_ROW = {"hive.vectorized.execution.enabled": "false"}
BY_FETCH_TASK = {"hive.fetch.task.aggr": "true"}


@pytest.mark.parametrize(
    ("engine", "settings"),
    [
        (TEZ, NOTHING),
        (TEZ, ROW_BY_ROW),
        (TEZ, {"hive.map.aggr": "false"}),
        (FETCH, BY_FETCH_TASK),
        long(MR, NOTHING),
    ],
)
def test_the_newest_row_of_a_filter_is_in_one_file(
    hive: Hive, table: str, engine: str, settings: dict[str, str]
) -> None:
    query = f"SELECT max(ts) FROM {table} WHERE day >= '2024-01-03' AND id > 900"
    answer = hive.query_both_ways(query, engine, settings)
    assert answer.rows == [(23990,)]
    assert answer.files == (FILES, 15 if "hive.map.aggr" in settings else 1)


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("SELECT min(ts), max(ts) FROM {t} WHERE day > '2024-01-02'", 2),
        ("SELECT min(mixed) FROM {t} WHERE day > '2024-01-02'", 1),
        ("SELECT min(n), max(n), max(tied) FROM {t} WHERE id > 150", 4),
        ("SELECT max(day) FROM {t} WHERE dt >= '2024-01-09'", 1),
        ("SELECT max(ts) FROM {t} WHERE id < 250", 2),  # the last file matches in part
        ("SELECT max(ts) FROM {t} WHERE mixed < 2000", FILES),
        ("SELECT max(ts) + 1, min(tied) FROM {t} WHERE id > 100 HAVING max(ts) > 5", 2),
        long("SELECT min(late), max(late) FROM {t} WHERE day > '2024-01-01'", 2),
        long("SELECT min(late) FROM {t} WHERE day < '2024-01-02'", 4),
        long("SELECT max(at), min(dt) FROM {t} WHERE tied > 0", 2),
        long("SELECT max(d) FROM {t} WHERE id > 100", 23),
        long("SELECT max(ts), count(*) FROM {t} WHERE id > 100", 23),
        long("SELECT max(ts), sum(tied) FROM {t} WHERE id > 100", 23),
        long("SELECT max(ts + id) FROM {t} WHERE id > 100", 23),
        long("SELECT tied, max(ts) FROM {t} WHERE id > 100 GROUP BY tied", 23),
        long("SELECT max(ts) FROM {t} WHERE id > 100 AND rand(7) < 2", FILES),
    ],
)
def test_files_of_ends(hive: Hive, table: str, query: str, files: int) -> None:
    answer = hive.query_both_ways(query.format(t=table), TEZ)
    assert answer.files[1] == files


@pytest.mark.smoke
@pytest.mark.parametrize(
    "query",
    [
        "SELECT max(ts), min(ts) FROM {t} WHERE id < 700",
        long("SELECT max(ts) FROM {t}"),  # fewer rows are left of the last file
        long("SELECT min(ts), max(n), min(late) FROM {t} WHERE id BETWEEN 80 AND 2350"),
    ],
)
def test_replaced_and_deleted_rows_are_no_ends(hive: Hive, logged: str, query: str) -> None:
    answer = hive.query_both_ways(query.format(t=logged), TEZ)
    assert answer.scan.files_kept < answer.scan.files_considered


def test_one_file_shows_that_there_is_a_row(hive: Hive, table: str, logged: str) -> None:
    outer = f"SELECT count(*) FROM {logged} t WHERE t.id BETWEEN 1000 AND 1050 AND EXISTS"
    some = f"{outer} (SELECT 1 FROM {table} WHERE day = '2024-01-03')"
    answer = hive.query_both_ways(some, TEZ)
    assert (answer.rows, answer.scan.files_kept) == ([(51,)], 1 + 1)
    none = f"{outer} (SELECT 1 FROM {table} WHERE id % 100 = 7 AND mixed < 0)"
    assert hive.query_both_ways(none, TEZ).rows == [(0,)]


def test_no_rows_need_no_file(hive: Hive, table: str) -> None:
    answer = hive.query(f"SELECT * FROM {table} WHERE id > 5 LIMIT 0", TEZ)
    assert (answer.rows, answer.scan.files_kept) == ([], 0)


def test_random_ends(hive: Hive, table: str, logged: str) -> None:
    random = Random(31)
    for _ in range(6):
        names = random.sample(["ts", "at", "n", "tied", "late", "dt", "mixed", "day"], 2)
        ends = ", ".join(f"{random.choice(['min', 'max'])}({name})" for name in names)
        condition = random.choice(["id < 1300", "day > '2024-01-02'", "n > 700", "tied <> 1"])
        name = random.choice([table, logged])
        hive.query_both_ways(f"SELECT {ends} FROM {name} WHERE {condition}", TEZ)

"""Comparing rows of TPC-DS and TPC-H, and keeping the results; Hive itself: tests/hive/suites."""

from __future__ import annotations

import dataclasses
import datetime
import io
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from rich.console import Console

from bench.tpc import report, results
from bench.tpc.__main__ import chosen
from bench.tpc.cells import unmatched
from bench.tpc.data import Data, generated
from bench.tpc.dialect import hive_text
from bench.tpc.figures import figures, look_slower
from bench.tpc.modes import MODES
from bench.tpc.oracle import EQUAL, OTHER_TIES, Oracle, oracle
from bench.tpc.results import Result, Results
from bench.tpc.suites import SUITES, TPCH

NAN = float("nan")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return generated(TPCH, 0.01, tmp_path_factory.mktemp("tpch") / "data")


@pytest.fixture(scope="module")
def numbers() -> Iterator[Oracle]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT i, i // 3 AS third FROM range(9) r(i)")
        yield Oracle(connection)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ((1, "a"), (1, "a")),
        ((1,), (Decimal("1.00"),)),
        ((None, "x"), (None, "x  ")),
        ((Decimal("0.33"),), (1 / 3,)),
        ((100000.01,), (100000.02,)),
        ((NAN,), (NAN,)),
        (("2000-01-31",), (datetime.date(2000, 1, 31),)),
        ((True,), ("true",)),
    ],
)
def test_engines_may_give_equal_values_other_types(
    ours: tuple[object, ...], theirs: tuple[object, ...]
) -> None:
    assert unmatched([ours], [theirs]) == []


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ((1,), (2,)),
        ((None,), (0,)),
        (("",), (None,)),
        ((" a",), ("a",)),
        ((Decimal("0.33"),), (Decimal("0.34"),)),
        ((Decimal("0.33"),), (0.35,)),
        ((100.0,), (100.1,)),
        ((NAN,), (0.0,)),
        (("x",), (7,)),
        (("7",), (7,)),
        ((1, 1), (1,)),
    ],
)
def test_other_values_are_told_apart(ours: tuple[object, ...], theirs: tuple[object, ...]) -> None:
    assert unmatched([ours], [theirs]) == [ours]


def test_a_row_is_the_partner_of_one_row() -> None:
    assert unmatched([(1, "a"), (1, "a"), (2, "a")], [(2, "a"), (1, "a")]) == [(1, "a")]


def test_rows_may_come_in_any_order_and_none_may_be_missing(numbers: Oracle) -> None:
    query = "SELECT i FROM t WHERE i < 3"
    assert numbers.verdict(query, [(2,), (0,), (1,)]).text == EQUAL
    lost = numbers.verdict(query, [(2,), (0,)])
    assert (lost.is_equal, lost.text, lost.only_expected) == (False, "2 rows, not 3", [(1,)])
    other = numbers.verdict(query, [(2,), (0,), (3,)])
    assert (other.text, other.only_found, other.only_expected) == (
        "1 of 3 rows differ",
        [(3,)],
        [(1,)],
    )


def test_a_limit_may_take_any_of_the_rows_that_its_order_does_not_distinguish(
    numbers: Oracle,
) -> None:
    query = "SELECT i, third FROM t ORDER BY third LIMIT 2"
    assert numbers.verdict(query, [(2, 0), (1, 0)]).text in (EQUAL, OTHER_TIES)
    assert numbers.verdict(query, [(2, 0), (1, 0)]).is_equal
    assert not numbers.verdict(query, [(2, 0), (9, 3)]).is_equal
    assert not numbers.verdict(query, [(2, 0), (2, 0)]).is_equal


def test_every_table_is_generated_once(small: Data) -> None:
    assert all(small.source(table).is_file() for table in TPCH.tables)
    assert set(small.queries()) == {str(number) for number in range(1, 23)}
    before = small.source("lineitem").stat().st_mtime_ns
    assert generated(TPCH, 0.01, small.directory) == small
    assert small.source("lineitem").stat().st_mtime_ns == before


def test_layouts_name_columns_of_the_tables_and_keys_are_unique(small: Data) -> None:
    with oracle(small) as opened:
        for table, layout in TPCH.tables.items():
            key = ", ".join(layout.key)
            (counts,) = opened.rows(f"SELECT count(*), count(DISTINCT ({key})) FROM {table}")
            assert counts[0] == counts[1] > 0, table
            named = filter(None, (layout.order, layout.updated))
            opened.rows(f"SELECT {', '.join([key, *named])} FROM {table}")


def test_updates_leave_the_keys_and_the_smallest_table_exists() -> None:
    for suite in SUITES.values():
        assert suite.smallest in suite.tables
        assert not any(one.updated in one.key for one in suite.tables.values())


def test_names_in_quotes_and_rollups_are_put_as_hive_takes_them() -> None:
    assert hive_text("tpcds", "50", 'SELECT 1 AS "30 days", \'"\'') == "SELECT 1 AS `30 days`, '\"'"
    with pytest.raises(ValueError, match="query 86 of tpcds has no 'WHEN"):
        hive_text("tpcds", "86", "SELECT 1")


def test_queries_are_chosen_by_numbers_and_ranges() -> None:
    assert list(chosen("1-3,67")) == ["1", "2", "3", "67"]
    assert list(chosen("")) == []


def result(query: str, mode: str, **values: object) -> Result:
    known = {"scale": 0.2, "verdict": EQUAL, "is_equal": True, "rows": 5, "seconds": 1.5}
    scan = {"files_considered": 10, "files_kept": 3, "outcomes": ("PRUNED",), "load": 2.0}
    return Result(**{"query": query, "mode": mode, **known, **scan, **values})


def test_later_runs_replace_earlier_ones_of_the_same_scale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "DIRECTORY", tmp_path)
    first = [result("10", "cow-on"), result("9", "cow-on"), result("9", "cow-on", scale=1.0)]
    results.load("tpcds").updated(first).save()
    kept = results.load("tpcds").updated([result("9", "cow-on", seconds=7.0)])
    assert [(one.scale, one.query, one.seconds) for one in kept.results] == [
        (0.2, "9", 7.0),
        (0.2, "10", 1.5),
        (1.0, "9", 1.5),
    ]
    kept.save()
    assert results.load("tpcds") == kept
    assert [one.query for one in kept.at(1.0).results] == ["9"]


#: Two queries in all modes, and one in one mode only.
FOUND = Results(
    "tpcds",
    (
        result("1", "control", files_considered=0, files_kept=0, seconds=2.0),
        result("1", "cow-off", files_kept=10, seconds=2.5),
        result("1", "cow-on", verdict="1 of 5 rows differ", is_equal=False),
        result("2", "control", files_considered=0, files_kept=0, seconds=0.2),
        result("2", "cow-off", files_kept=10, seconds=1.0),
        result("2", "cow-on", outcomes=("PRUNED", "TIMED_OUT")),
        result("3", "cow-on", files_kept=9),
    ),
)


def test_the_table_shows_each_query_and_the_sums_of_those_run_in_all_modes() -> None:
    console = Console(width=180, record=True, file=io.StringIO())
    console.print(report.table(FOUND))
    shown = [" ".join(line.split()) for line in console.export_text().splitlines()]
    assert any("control, cow-off: equal; cow-on: 1 of 5 rows differ" in line for line in shown)
    assert any("2.2" in line and "20/20 3.5" in line and "6/20 3.0" in line for line in shown)
    assert any("control: 2 of 2, cow-off: 2 of 2, cow-on: 1 of 2" in line for line in shown)


def test_figures_of_all_queries_have_bars() -> None:
    found = {one.name.partition(", ")[2]: one for one in figures(FOUND)}
    assert {name: one.value for name, one in found.items()} == {
        "control, queries with DuckDB's rows": 2,
        "cow-off, queries with DuckDB's rows": 2,
        "cow-on, queries with DuckDB's rows": 2,
        "cow, files considered": 30,
        "cow, files read of them": 50.0,
        "cow, queries without an answer in time": 1,
        "cow, unpruned / pruned time": 3.5 / 3.0,
        "cow, queries that pruning makes slower": 1,
        "cow, control / pruned time": 2.2 / 3.0,
    }
    assert found["cow-on, queries with DuckDB's rows"].holds is False
    assert found["control, queries with DuckDB's rows"].holds is True
    assert found["cow, control / pruned time"].bar is None
    (at_one,) = (
        one
        for one in figures(
            Results("tpcds", tuple(dataclasses.replace(one, scale=1.0) for one in FOUND.results))
        )
        if "control / pruned" in one.name
    )
    assert at_one.bar == ">= 1.5"


def test_queries_of_several_servers_at_once_have_figures_of_their_own() -> None:
    mode = MODES["cow-on"].at_once(4)
    late = result("2", mode, outcomes=("UNREACHABLE",))
    found = Results("tpcds", (*FOUND.results, result("1", mode), late))
    added = {one.name.partition(", ")[2]: one for one in figures(found)}
    for one in figures(FOUND):
        assert added.pop(one.name.partition(", ")[2]) == one
    assert {name: (one.value, one.bar) for name, one in added.items()} == {
        "cow-on, 4 at once, queries with DuckDB's rows": (2, ">= 2"),
        "cow-on, 4 at once, queries without an answer in time": (1, "<= 0"),
    }


def test_a_query_looks_slower_by_a_fraction_and_by_seconds() -> None:
    def pair(on: float, off: float, scale: float = 1.0) -> dict[str, Result]:
        times = {"cow-on": on, "cow-off": off}
        return {mode: result("1", mode, seconds=s, scale=scale) for mode, s in times.items()}

    assert look_slower(pair(2.0, 1.6))
    assert not look_slower(pair(1.2, 1.0))
    assert not look_slower(pair(10.4, 10.0))
    assert not look_slower(pair(2.0, 1.6, scale=0.2))
    assert not look_slower({"cow-on": result("1", "cow-on", scale=1.0)})


def test_of_several_runs_the_shortest_counts_and_no_fault_is_forgotten() -> None:
    long, short = result("1", "cow-on", seconds=3.0), result("1", "cow-on", seconds=2.0)
    assert long.best_of(short) == short.best_of(long) == short
    wrong = result("1", "cow-on", seconds=9.0, is_equal=False)
    assert short.best_of(wrong) == wrong.best_of(short) == wrong
    late = result("1", "cow-on", seconds=9.0, outcomes=("TIMED_OUT",))
    assert short.best_of(late).outcomes == ("PRUNED", "TIMED_OUT")
    assert short.best_of(late).seconds == 2.0

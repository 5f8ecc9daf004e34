"""Rows of tables that Flink wrote: the state after its changelog, in whichever files it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr import scan
from pyhudi_expr.expr.frontend.sql.parser import HIVE, parse_predicate
from pyhudi_expr.rows.arrow_filter import arrow_filter
from tests.flink_rows import COLUMNS, NAMES, expected

FILTERS = (
    *("id IN (0, 3, 11)", "name = 'name 2 of 2'", "name IS NULL", "amount > 12.5", "score < 0"),
    *("day = DATE '2024-02-28'", "at >= TIMESTAMP '2024-02-29 08:00:00'", "place.storey = 7"),
    *("city IS NULL", "city <> 'Oslo' AND id < 9", "NOT (ts < 2000)"),
)


@pytest.mark.parametrize("name", NAMES)
def test_each_row_is_read_once_in_its_last_version(flink: Mapping[str, Path], name: str) -> None:
    rows = scan(str(flink[name]), columns=COLUMNS).to_table().to_pylist()
    assert sorted(map(repr, rows)) == sorted(map(repr, expected(name)))


@pytest.mark.parametrize("name", NAMES)
def test_filtered_rows_equal_those_of_a_full_read(flink: Mapping[str, Path], name: str) -> None:
    path = str(flink[name])
    all_rows = scan(path).to_table()
    for text in FILTERS:
        found = scan(path, text, zone="UTC")
        condition = arrow_filter(parse_predicate(text, HIVE), all_rows.schema, "UTC")
        expected_rows = all_rows.filter(condition).to_pylist()
        assert sorted(map(repr, found.to_table().to_pylist())) == sorted(
            map(repr, expected_rows)
        ), text

"""Matrix tables for the tests with Hive 3.1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from devtools.matrix import Partitioning
from devtools.tables import HudiTable, TableType
from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.duckdb_rows import KnownRows
from tests.hive.query_results import MR, Hive

COW, MOR = TableType.COW, TableType.MOR
VECTORISED = {"hive.vectorized.execution.enabled": "true"}
BY_ROWS = {"hive.vectorized.execution.enabled": "false"}


@dataclass(frozen=True)
class Table:
    """A matrix table: its name in Hive, its specification, and its rows for DuckDB as `t`."""

    name: str
    written: HudiTable
    known: KnownRows


Tables = Callable[..., Table]


def id_of(value: object) -> str | None:
    return value.name.lower() if isinstance(value, (TableType, Partitioning)) else None


def refusal(hive: Hive, statement: str) -> str:
    """The error message with which Hive refuses the statement."""
    with pytest.raises(QueryError) as caught:
        hive.run(statement)
    return str(caught.value)


def assert_same_rows_everywhere(hive: Hive, query: str, rows: list[tuple[object, ...]]) -> None:
    """Checks that all readers return these rows of the query."""
    assert hive.query_both_ways(query).rows == rows
    for settings in (VECTORISED, BY_ROWS):
        assert hive.query_both_ways(query, MR, settings).rows == rows

"""The rows that a query has, by DuckDB."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from bench.tpc.cells import Row, unmatched
from bench.tpc.data import Data

EQUAL = "equal"
OTHER_TIES = "equal, but for ties at LIMIT"
_LIMIT = re.compile(r"\bLIMIT\s+\d+\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Verdict:
    """The comparison of rows with DuckDB's.

    Attributes:
        text: `EQUAL`, `OTHER_TIES`, or how many rows differ.
        only_found: Rows that DuckDB does not have.
        only_expected: Rows that only DuckDB has.
    """

    text: str
    only_found: Sequence[Row] = ()
    only_expected: Sequence[Row] = ()

    @property
    def is_equal(self) -> bool:
        """Whether the rows are an answer of the query."""
        return self.text in (EQUAL, OTHER_TIES)


class Oracle:
    """DuckDB with the tables of a suite."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Take a connection that has them."""
        self._connection = connection

    def rows(self, query: str) -> list[Row]:
        """Return the rows of DuckDB's text of a query."""
        return self._connection.execute(query).fetchall()

    def verdict(self, query: str, found: Sequence[Row]) -> Verdict:
        """Compare rows, in any order, with those of DuckDB's text of the query.

        Of rows that the query's order does not distinguish, LIMIT takes some: every row then has
        to be one of the query without its LIMIT.
        """
        expected = self.rows(query)
        if len(found) != len(expected):
            text = f"{len(found)} rows, not {len(expected)}"
            return Verdict(text, unmatched(found, expected), unmatched(expected, found))
        strange = unmatched(found, expected)
        if not strange:
            return Verdict(EQUAL)
        if _LIMIT.search(query) and not unmatched(found, self.rows(_LIMIT.sub("", query))):
            return Verdict(OTHER_TIES)
        text = f"{len(strange)} of {len(found)} rows differ"
        return Verdict(text, strange, unmatched(expected, found))


@contextmanager
def oracle(data: Data) -> Iterator[Oracle]:
    """Open DuckDB over the generated files."""
    with duckdb.connect() as connection:
        connection.execute("SET memory_limit='3GB'")
        for table in data.suite.tables:
            connection.execute(f"CREATE VIEW {table} AS FROM '{data.source(table)}'")
        yield Oracle(connection)

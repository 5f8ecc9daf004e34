"""The rows that a table must have, in DuckDB: the judge's own idea of what each write means."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import duckdb

from tests.lives.shapes import Ordering, Shape

PARTITIONS = 3
SOFT_DELETE = "_hoodie_is_deleted"
COLUMNS: Mapping[str, str] = {
    "id": "int",
    "p": "string",
    "x": "int",
    "s": "string",
    "d": "double",
    "m": "decimal(9,2)",
    "ts": "timestamp",
    "ord": "bigint",
    SOFT_DELETE: "boolean",
}
"""The columns of each table at first, with their types in Spark."""
ADDED: Mapping[str, str] = {"n1": "string", "n2": "bigint"}
"""Columns that a life may add."""

_IN_DUCKDB = {"string": "varchar", "int": "integer"}
_TEXTS = ("", "row 1", "row 7", "Row", "é", "😀", "x" * 40, None)
_DOUBLES = (0.0, -1.5, 3.25, 101.0, math.inf, None)
"""Not NaN: Hudi's statistics of it are wrong, and the audit says so."""
_START = datetime(2024, 1, 1)

Row = dict[str, Any]
Canonical = tuple[Any, ...]


@dataclass
class RowModel:
    """Rows by `id`; the partition follows from it, so no row ever moves."""

    ordering: Ordering
    types: dict[str, str] = field(default_factory=lambda: dict(COLUMNS))
    ticks: int = 0
    _states: dict[str, dict[str, str]] = field(default_factory=dict)
    _database: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)

    def __post_init__(self) -> None:
        columns = ", ".join(f"{name} {duckdb_type(type_)}" for name, type_ in self.types.items())
        self._database.execute(f"CREATE TABLE rows ({columns}, PRIMARY KEY (id))")

    @classmethod
    def of(cls, shape: Shape) -> RowModel:
        """An empty model of a table."""
        types = dict(COLUMNS)
        if shape.has_partial_logs:
            del types[SOFT_DELETE]
        return cls(shape.ordering, types)

    def copied(self) -> RowModel:
        """A model of its own with the same rows."""
        other = RowModel(self.ordering, dict(self.types), self.ticks)
        other.put(self.rows())
        return other

    # ---- what is there

    @property
    def ids(self) -> list[int]:
        """The keys, in order."""
        return [one for (one,) in self._fetched("SELECT id FROM rows ORDER BY id")]

    def rows(self, condition: str = "true") -> list[Row]:
        """The rows for which a condition is TRUE, by key."""
        names = list(self.types)
        found = self._fetched(f"SELECT {', '.join(names)} FROM rows WHERE {condition} ORDER BY id")
        return [dict(zip(names, values, strict=True)) for values in found]

    def canonical(self, condition: str = "true") -> list[Canonical]:
        """The same, in a form that can be compared with what a reader returns."""
        return canonical(self.rows(condition), self.types)

    # ---- what writes do

    def tick(self) -> int:
        """The next value of the ordering column."""
        self.ticks += 1
        return self.ticks

    def put(self, rows: Iterable[Row]) -> None:
        """Insert or replace whole rows, as an upsert does; soft deletes remove theirs."""
        for row in rows:
            if self._is_older(row):
                continue
            self.remove([row["id"]])
            if not row.get(SOFT_DELETE):
                names = [name for name in self.types if name in row]
                marks = ", ".join("?" * len(names))
                self._database.execute(
                    f"INSERT INTO rows ({', '.join(names)}) VALUES ({marks})",
                    [row[name] for name in names],
                )

    def change(self, assignments: str, condition: str) -> None:
        """Change some columns of rows, as UPDATE does."""
        self._database.execute(f"UPDATE rows SET {assignments} WHERE {condition}")

    def remove(self, ids: Sequence[int]) -> None:
        """Delete rows."""
        self._database.execute("DELETE FROM rows WHERE id IN (SELECT unnest(?))", [list(ids)])

    def remove_where(self, condition: str) -> None:
        """Delete the rows for which a condition is TRUE."""
        self._database.execute(f"DELETE FROM rows WHERE {condition}")

    def add_column(self, name: str, type_: str) -> None:
        """Add a column, NULL in all rows."""
        self._database.execute(f"ALTER TABLE rows ADD COLUMN {name} {duckdb_type(type_)}")
        self.types[name] = type_

    def widen(self, name: str, type_: str) -> None:
        """Change a column's type to a wider one."""
        self._database.execute(f"ALTER TABLE rows ALTER {name} TYPE {duckdb_type(type_)}")
        self.types[name] = type_

    # ---- earlier states

    def remember(self, state: str) -> None:
        """Keep the rows of now under a name."""
        self._database.execute(f'CREATE OR REPLACE TABLE "{state}" AS SELECT * FROM rows')
        self._states[state] = dict(self.types)

    def recall(self, state: str) -> None:
        """Return to the rows of a name."""
        self.types = dict(self._states[state])
        columns = ", ".join(f"{name} {duckdb_type(type_)}" for name, type_ in self.types.items())
        self._database.execute("DROP TABLE rows")
        self._database.execute(f"CREATE TABLE rows ({columns}, PRIMARY KEY (id))")
        self._database.execute(f'INSERT INTO rows SELECT * FROM "{state}"')

    def remembered(self, state: str) -> list[Canonical]:
        """The rows of a name."""
        names = list(self._states[state])
        found = self._fetched(f'SELECT {", ".join(names)} FROM "{state}" ORDER BY id')
        rows = [dict(zip(names, values, strict=True)) for values in found]
        return canonical(rows, self._states[state])

    # ---- rows to write

    def drawn(self, random: Random, ids: Iterable[int]) -> list[Row]:
        """Draw whole new rows for these keys, newer than all that are there."""
        order = self.tick()
        return [self._drawn(random, one, order) for one in ids]

    def some(self, random: Random, most: int = 6) -> list[int]:
        """Draw some of the keys that are there."""
        known = self.ids
        return sorted(random.sample(known, min(len(known), random.randint(1, most))))

    def unused(self, random: Random, most: int = 6) -> list[int]:
        """Draw some keys that are not there."""
        free = sorted({*range(400)} - {*self.ids})
        return sorted(random.sample(free, min(len(free), random.randint(1, most))))

    def _drawn(self, random: Random, one: int, order: int) -> Row:
        row: Row = {
            "id": one,
            "p": partition(one),
            "x": random.choice([None, one, one * 7 % 50, -random.randrange(9)]),
            "s": random.choice(_TEXTS),
            "d": random.choice(_DOUBLES),
            "m": Decimal(random.randrange(-9999, 9999)).scaleb(-2),
            "ts": _START + timedelta(seconds=random.randrange(10**6), microseconds=one),
            "ord": order,
            SOFT_DELETE: False,
        }
        if "n1" in self.types:
            row["n1"] = random.choice([None, "new", f"n {one}"])
        if "n2" in self.types:
            row["n2"] = random.choice([None, one, 2**40])
        return row

    def _is_older(self, row: Row) -> bool:
        if self.ordering is not Ordering.EVENT_TIME:
            return False
        found = self._fetched(f"SELECT ord FROM rows WHERE id = {row['id']}")
        return bool(found) and found[0][0] > row["ord"]

    def _fetched(self, query: str) -> list[tuple[Any, ...]]:
        return self._database.execute(query).fetchall()


def partition(one: int) -> str:
    """The partition of a key."""
    return f"p{one % PARTITIONS}"


def duckdb_type(type_: str) -> str:
    """The name in DuckDB of a type of Spark's."""
    return _IN_DUCKDB.get(type_, type_)


def canonical(rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> list[Canonical]:
    """Rows as tuples that are equal if the rows are: NaN is a text, and all times are naive."""
    names = list(columns)
    found = [tuple(_value(row.get(name)) for name in names) for row in rows]
    return sorted(found, key=lambda values: (values[0], repr(values)))


def _value(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return value


def difference(expected: Sequence[Canonical], found: Sequence[Canonical]) -> str:
    """The first differing rows, in words; "" if there are none."""
    if list(expected) == list(found):
        return ""
    missing = [row for row in expected if row not in found]
    extra = [row for row in found if row not in expected]
    return (
        f"{len(expected)} rows expected, {len(found)} found; "
        f"missing {missing[:2]}, not expected {extra[:2]}"
    )


Draw = Callable[[Random], Any]

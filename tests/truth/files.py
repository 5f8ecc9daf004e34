"""Rows thrown together into files, with bounds as each kind of index makes them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Domain,
    Kind,
    domain_of,
    float_ordinals,
)

_MOST_ROWS = 5
#: The share of files whose rows are not neighbours.
_SCATTERED = 0.2
#: Files around the rows of one truth value.
_AROUND = 12


class Told(Enum):
    """What an index tells of one column of one file."""

    EXACT = "exact"
    WIDENED = "widened"
    TRUNCATED = "truncated"
    NO_LOWER = "without the lower bound"
    NO_UPPER = "without the upper bound"
    NO_NULLS = "without the number of nulls"
    NOTHING = "nothing"


_TOLD = (*[Told.EXACT] * 6, *Told)


@dataclass(frozen=True)
class Files:
    """F files over N rows.

    members: for each file the numbers of its rows. told: for each column what is told of each file.
    drawn: so many of the first files have rows at random, whatever is asked of them.
    A `Statistics` of `pyhudi_expr.expr.evaluate`.
    """

    rows: pa.Table
    members: Sequence[tuple[int, ...]]
    told: dict[str, Sequence[Told]]
    known: dict[str, Bounds]
    drawn: int

    @cached_property
    def matrix(self) -> npt.NDArray[np.bool_]:
        """F x N: whether a row is in a file."""
        matrix = np.zeros((len(self.members), len(self.rows)), dtype=np.bool_)
        for file, rows in enumerate(self.members):
            matrix[file, list(rows)] = True
        return matrix

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """See `pyhudi_expr.expr.evaluate.Statistics`."""
        return self.known.get(column.name)


class SortedRows:
    """Rows, and their order by each column: files mostly hold neighbours in an order."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows
        self._cells = {
            name: _physical(rows[name], domain_of(rows[name].type)) for name in rows.schema.names
        }
        self._orders = {
            name: sorted(range(len(rows)), key=_sort_key(cells))
            for name, cells in self._cells.items()
        }
        self._places = {
            name: {row: place for place, row in enumerate(order)}
            for name, order in self._orders.items()
        }

    def files(
        self, names: Sequence[str], around: Sequence[Sequence[int]], drawn: int, seed: int
    ) -> Files:
        """Files of one to five rows, with bounds of these columns.

        around: rows, of each of which a file is made that holds it: some in each sequence.
        drawn: so many files more, of any rows.
        """
        chance = random.Random(seed)
        anchors = [chance.randrange(len(self._rows)) for _ in range(drawn)]
        anchors += [row for rows in around if rows for row in chance.choices(rows, k=_AROUND)]
        members = [self._members(row, names, chance) for row in anchors]
        told = {name: [chance.choice(_TOLD) for _ in members] for name in names}
        known = {
            name: _bounds(self._cells[name], members, told[name], domain_of(self._rows[name].type))
            for name in names
        }
        return Files(self._rows, members, told, known, drawn)

    def _members(self, row: int, names: Sequence[str], chance: random.Random) -> tuple[int, ...]:
        name = chance.choice(names or self._rows.schema.names)
        order, size = self._orders[name], chance.randint(1, _MOST_ROWS)
        if chance.random() < _SCATTERED:
            return tuple(sorted({row, *chance.choices(order, k=size - 1)}))
        begin = max(0, self._places[name][row] - chance.randrange(size))
        return tuple(sorted(order[begin : begin + size]))


def _sort_key(cells: Sequence[Any]) -> Any:
    return lambda row: (cells[row] is not None, cells[row] if cells[row] is not None else 0)


def _bounds(
    cells: Sequence[Any],
    members: Sequence[tuple[int, ...]],
    told: Sequence[Told],
    domain: Domain | None,
) -> Bounds:
    assert domain is not None
    lowers, uppers, values, nulls = [], [], [], []
    for rows, what in zip(members, told, strict=True):
        given = [cells[row] for row in rows if cells[row] is not None]
        low, high = min(given, default=None), max(given, default=None)
        if domain.kind is Kind.FLOAT and high == MAX_ORDINAL:
            high = None
        low, high = _as_told(low, high, what)
        untold = what in (Told.NO_NULLS, Told.NOTHING)
        lowers.append(low)
        uppers.append(high)
        values.append(bool(given) or untold)
        nulls.append(len(given) < len(rows) or untold)
    flags = (np.array(values, dtype=np.bool_), np.array(nulls, dtype=np.bool_))
    return Bounds(_ends(lowers, domain, MIN_ORDINAL), _ends(uppers, domain, MAX_ORDINAL), *flags)


def _as_told(low: Any, high: Any, what: Told) -> tuple[Any, Any]:
    match what:
        case Told.NOTHING:
            return None, None
        case Told.NO_LOWER:
            return None, high
        case Told.NO_UPPER:
            return low, None
        case Told.WIDENED if isinstance(low, int) and isinstance(high, int):
            return max(low - 3, MIN_ORDINAL), min(high + 3, MAX_ORDINAL)
        case Told.TRUNCATED | Told.WIDENED if isinstance(low, bytes) and isinstance(high, bytes):
            return low[:2], _above(high[:2]) if len(high) > 2 else high
    return low, high


def _above(begin: bytes) -> bytes | None:
    """The least bytes above all that begin so; None: there are none."""
    kept = begin.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def _ends(values: list[Any], domain: Domain, unknown: int) -> Any:
    if not domain.is_ordinal:
        return pa.array(values, type=domain.arrow_type)
    return np.array([unknown if value is None else value for value in values], dtype=np.int64)


def _physical(column: pa.ChunkedArray, domain: Domain | None) -> list[Any]:
    """The column's values as ordinals, bytes or decimals (`pyhudi_expr.expr.domains`)."""
    assert domain is not None
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if domain.kind is Kind.DATE else pa.int64())
    values = column.to_pylist()
    match domain.kind:
        case Kind.FLOAT:
            return [None if one is None else int(float_ordinals([one])[0]) for one in values]
        case Kind.TEXT:
            return [None if one is None else one.encode() for one in values]
        case Kind.DECIMAL if domain.is_ordinal:
            return [None if one is None else int(one.scaleb(domain.scale)) for one in values]
        case Kind.DECIMAL | Kind.BINARY:
            return list(values)
    return [None if one is None else int(one) for one in values]

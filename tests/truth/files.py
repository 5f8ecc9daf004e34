"""Random files over given rows, with bounds as each kind of index records them."""

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
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Kind,
    domain_of,
    float_ordinals,
)
from pyhudi_expr.rows.row_filter import RowValues

_MAX_ROWS = 5
#: The share of files with random rows instead of neighbours.
_SCATTERED = 0.2
#: The share of files of one row, whose columns have a single value each.
_SINGLE = 0.25
#: The number of files around rows of one truth value.
_AROUND = 12


class BoundKind(Enum):
    """How the bounds of one column of one file are recorded."""

    EXACT = "exact"
    WIDENED = "widened"
    TRUNCATED = "truncated"
    NO_LOWER = "without the lower bound"
    NO_UPPER = "without the upper bound"
    NO_NULLS = "without the number of nulls"
    NOTHING = "nothing"


_BOUND_KINDS = (*[BoundKind.EXACT] * 6, *BoundKind)


@dataclass(frozen=True)
class Files:
    """F files over N rows. Implements `Statistics` of `pyhudi_expr.expr.evaluate`.

    members: for each file the indexes of its rows. bound_kinds: by column, one for each file.
    random_files: how many of the first files have random rows, independent of the predicate.
    """

    rows: pa.Table
    members: Sequence[tuple[int, ...]]
    bound_kinds: dict[str, Sequence[BoundKind]]
    known: dict[str, Bounds]
    random_files: int

    @cached_property
    def matrix(self) -> npt.NDArray[np.bool_]:
        """F x N: whether a row is in a file."""
        matrix = np.zeros((len(self.members), len(self.rows)), dtype=np.bool_)
        for file, rows in enumerate(self.members):
            matrix[file, list(rows)] = True
        return matrix

    @cached_property
    def singles(self) -> Files:
        """A file of each row, with the bounds that a filter of rows makes."""
        schema = self.rows.schema
        (values,) = self.rows.combine_chunks().to_batches()
        known = {name: _row_bounds(values, name) for name in self.known}
        kinds = {name: [BoundKind.EXACT] * len(self.rows) for name in schema.names}
        return Files(self.rows, [(row,) for row in range(len(self.rows))], kinds, known, 0)

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """See `pyhudi_expr.expr.evaluate.Statistics`."""
        return self.known.get(column.name)


def _row_bounds(rows: pa.RecordBatch, name: str) -> Bounds:
    type_ = rows.schema.field(name).type
    domain = domain_of(type_)
    assert domain is not None
    found = RowValues(rows).bounds(BoundColumn(name, type_, domain))
    assert found is not None
    return found


class SortedRows:
    """Rows, and their order by each column: most files hold neighbours in an order."""

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
        self, names: Sequence[str], around: Sequence[Sequence[int]], random_files: int, seed: int
    ) -> Files:
        """Builds files of one to five rows, with bounds of these columns.

        around: sequences of rows. For each sequence, some files are built around rows of it.
        random_files: the number of additional files around any rows.
        """
        rng = random.Random(seed)
        anchors = [rng.randrange(len(self._rows)) for _ in range(random_files)]
        anchors += [row for rows in around if rows for row in rng.choices(rows, k=_AROUND)]
        members = [self._members(row, names, rng) for row in anchors]
        bound_kinds = {name: [rng.choice(_BOUND_KINDS) for _ in members] for name in names}
        known = {
            name: _bounds(
                self._cells[name], members, bound_kinds[name], domain_of(self._rows[name].type)
            )
            for name in names
        }
        return Files(self._rows, members, bound_kinds, known, random_files)

    def _members(self, row: int, names: Sequence[str], rng: random.Random) -> tuple[int, ...]:
        name = rng.choice(names or self._rows.schema.names)
        order = self._orders[name]
        size = 1 if rng.random() < _SINGLE else rng.randint(1, _MAX_ROWS)
        if rng.random() < _SCATTERED:
            return tuple(sorted({row, *rng.choices(order, k=size - 1)}))
        begin = max(0, self._places[name][row] - rng.randrange(size))
        return tuple(sorted(order[begin : begin + size]))


def _sort_key(cells: Sequence[Any]) -> Any:
    return lambda row: (cells[row] is not None, cells[row] if cells[row] is not None else 0)


def _bounds(
    cells: Sequence[Any],
    members: Sequence[tuple[int, ...]],
    bound_kinds: Sequence[BoundKind],
    domain: Domain | None,
) -> Bounds:
    assert domain is not None
    lowers, uppers, values, nulls = [], [], [], []
    for rows, kind in zip(members, bound_kinds, strict=True):
        given = [cells[row] for row in rows if cells[row] is not None]
        low, high = min(given, default=None), max(given, default=None)
        if domain.kind is Kind.FLOAT and high == MAX_ORDINAL:
            high = None
        low, high = _record_bounds(low, high, kind)
        no_null_count = kind in (BoundKind.NO_NULLS, BoundKind.NOTHING)
        lowers.append(low)
        uppers.append(high)
        values.append(bool(given) or no_null_count)
        nulls.append(len(given) < len(rows) or no_null_count)
    flags = (np.array(values, dtype=np.bool_), np.array(nulls, dtype=np.bool_))
    return Bounds(
        _bound_array(lowers, domain, MIN_ORDINAL), _bound_array(uppers, domain, MAX_ORDINAL), *flags
    )


def _record_bounds(low: Any, high: Any, kind: BoundKind) -> tuple[Any, Any]:
    match kind:
        case BoundKind.NOTHING:
            return None, None
        case BoundKind.NO_LOWER:
            return None, high
        case BoundKind.NO_UPPER:
            return low, None
        case BoundKind.WIDENED if isinstance(low, int) and isinstance(high, int):
            return max(low - 3, MIN_ORDINAL), min(high + 3, MAX_ORDINAL)
        case BoundKind.TRUNCATED | BoundKind.WIDENED if isinstance(low, bytes) and isinstance(
            high, bytes
        ):
            return low[:2], _above(high[:2]) if len(high) > 2 else high
    return low, high


def _above(begin: bytes) -> bytes | None:
    """The least byte string above all with this prefix, or None."""
    kept = begin.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def _bound_array(values: list[Any], domain: Domain, unknown: int) -> Any:
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

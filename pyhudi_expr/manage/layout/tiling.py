"""Divide rows into files, and compute what the files' statistics would be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, Float64Array, Int64Array
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Bounds,
    Domain,
    Kind,
    Values,
    float_ordinals,
)
from pyhudi_expr.manage.layout.mappings import Boundaries, limbs

_DEPTH = 12


@dataclass(frozen=True)
class Tiling:
    """The file of each row.

    Attributes:
        of: Numbers of files; some may have no row.
    """

    of: Int64Array

    @computed_once
    def _dense(self) -> tuple[Int64Array, Int64Array]:
        _, numbers, rows = np.unique(self.of, return_inverse=True, return_counts=True)
        return numbers.astype(np.int64), rows.astype(np.int64)

    @property
    def numbers(self) -> Int64Array:
        """The file of each row from 0 to `count` - 1, without files that have no rows."""
        return self._dense[0]

    @property
    def rows(self) -> Int64Array:
        """The number of rows of each file."""
        return self._dense[1]

    @property
    def count(self) -> int:
        """The number of files with rows."""
        return len(self.rows)

    def least(self, values: Int64Array, above: int) -> Int64Array:
        """Return the least of each file's values; no value is above `above`."""
        found = np.full(self.count, above, np.int64)
        np.minimum.at(found, self.numbers, values)
        return found

    def greatest(self, values: Int64Array, below: int) -> Int64Array:
        """Return the greatest of each file's values; no value is below `below`."""
        found = np.full(self.count, below, np.int64)
        np.maximum.at(found, self.numbers, values)
        return found


class PieceStatistics:
    """The statistics that files would have; a `pyhudi_expr.expr.evaluate.Statistics`."""

    def __init__(self, rows: pa.Table, tiling: Tiling) -> None:
        self._rows = rows
        self._tiling = tiling

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return bounds, see `Statistics`; None for struct fields and columns not in the files."""
        if column.name not in self._rows.column_names:
            return None
        values = self._rows.column(column.name).combine_chunks()
        numbers, count = self._tiling.numbers, self._tiling.count
        is_null = values.is_null().to_numpy(zero_copy_only=False)
        nulls = np.bincount(numbers[is_null], minlength=count)
        if column.domain.is_ordinal:
            ordinals = _ordinals(values, column.domain)
            lower: Values = self._tiling.least(
                np.where(is_null, MAX_ORDINAL, ordinals), MAX_ORDINAL
            )
            upper: Values = self._tiling.greatest(
                np.where(is_null, MIN_ORDINAL, ordinals), MIN_ORDINAL
            )
        else:
            lower, upper = self._arrow_extremes(values.cast(column.domain.arrow_type))
        return Bounds(lower, upper, nulls < self._tiling.rows, nulls > 0)

    def _arrow_extremes(self, values: AnyArray) -> tuple[AnyArray, AnyArray]:
        table = pa.table({"piece": pa.array(self._tiling.numbers), "value": values})
        found = table.group_by("piece").aggregate([("value", "min"), ("value", "max")])
        found = found.sort_by("piece")
        return found["value_min"].combine_chunks(), found["value_max"].combine_chunks()


def quantile_boxes(rows: pa.Table, tiling: Tiling, columns: tuple[str, str]) -> Float64Array:
    """Return the files as boxes over two columns, (files, 4), as shares of the rows below.

    A box is least and greatest of the first column, then of the second. Nulls are above all.
    """
    edges = []
    for name in columns:
        values = rows.column(name).combine_chunks()
        numbers = Boundaries.of(values, _DEPTH).numbers(values).astype(np.int64)
        edges += [tiling.least(numbers, 1 << _DEPTH), tiling.greatest(numbers, 0)]
    return np.stack(edges, axis=1) / (1 << _DEPTH)


def _ordinals(values: AnyArray, domain: Domain) -> Int64Array:
    """Return the values' ordinals, any values for nulls."""
    if domain.kind is Kind.FLOAT:
        return float_ordinals(values.fill_null(0).to_numpy(zero_copy_only=False))
    if domain.kind is Kind.DECIMAL:
        return limbs(values)[:, 0].astype(np.int64)
    if domain.kind is Kind.BOOLEAN:
        values = values.cast(pa.int8())
    elif domain.kind is Kind.DATE:
        values = values.cast(pa.int32())
    elif domain.kind is not Kind.INTEGER:
        values = values.cast(pa.int64())
    return np.asarray(values.fill_null(0).to_numpy(zero_copy_only=False), np.int64)

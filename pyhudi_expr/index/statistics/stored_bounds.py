"""Which bounds of Parquet's footers and page indexes are trusted, and what they are in a domain.

A footer and its page indexes are by the same writer, so the same is trusted of both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.arrays import AnyField, BoolArray
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Domain,
    Kind,
    Values,
    domain_of,
    exact_decimal,
    float_ordinals,
    widens,
)
from pyhudi_expr.expr.terms import resolve
from pyhudi_expr.index.statistics.bound_decoding import widen_float32

if TYPE_CHECKING:
    import pyarrow.parquet as pq

#: The first two numbers of a version.
_Version: TypeAlias = tuple[int, int]

_WRITER = re.compile(r"(.+?) version (?:v|py-)?(\d+)\.(\d+)")
#: By the writer that a footer names: the first version whose bounds of floats are those of all
#: numbers, and the first one after those that were seen to write no upper bound where there is NaN.
#: Files of each are in `tests/data/float_writers`.
FLOAT_WRITERS: Mapping[str, tuple[_Version, _Version]] = {
    "parquet-mr": ((1, 10), (1, 18)),
    "DuckDB": ((1, 1), (2, 1)),
    "Polars (python)": ((2, 0), (2, 1)),
    "parquet-cpp-arrow": ((10, 0), (10, 0)),
    "parquet-rs": ((34, 0), (34, 0)),
    "datafusion": ((43, 0), (43, 0)),
    "delta-rs": ((1, 6), (1, 6)),
    "fastparquet-python": ((2023, 10), (2023, 10)),
}


class FloatBounds(Enum):
    """What a writer's bounds of floats are bounds of."""

    NOTHING = "nothing"
    NUMBERS = "all values but NaN"
    VALUES = "all values"

    @staticmethod
    def of(footer: pq.FileMetaData) -> FloatBounds:
        """Return what is known of a footer's writer."""
        writer = _WRITER.match(footer.created_by or "")
        if writer is None or writer[1] not in FLOAT_WRITERS:
            return FloatBounds.NOTHING
        version = int(writer[2]), int(writer[3])
        of_numbers, without_nan = FLOAT_WRITERS[writer[1]]
        if version < of_numbers:
            return FloatBounds.NOTHING
        return FloatBounds.VALUES if version < without_nan else FloatBounds.NUMBERS


@dataclass(frozen=True)
class FooterColumns:
    """The columns of a file; to find them takes longer than to read the bounds of one.

    Attributes:
        positions: The place of each leaf in the row groups, by its dotted name; of none that is
            there twice.
    """

    schema: pa.Schema
    positions: Mapping[str, int]

    @staticmethod
    def of(footer: pq.FileMetaData) -> FooterColumns:
        """Return the columns of a footer. Raises ArrowException if Arrow lacks a type."""
        paths = [footer.schema.column(i).path for i in range(footer.num_columns)]
        twice = {path for path, count in Counter(paths).items() if count > 1}
        positions = {path: i for i, path in enumerate(paths) if path not in twice}
        return FooterColumns(footer.schema.to_arrow_schema(), positions)

    def lack(self, name: str) -> bool:
        """Return whether no column of the file has the dotted name, in any letter case."""
        fields: Iterable[AnyField] = self.schema
        for step in name.split("."):
            found = [field for field in fields if field.name.lower() == step.lower()]
            if len(found) != 1:
                return not found
            if not pa.types.is_struct(found[0].type):
                return False
            fields = found[0].type
        return False


@dataclass(frozen=True)
class StoredColumn:
    """A table's column in one file, whose bounds are trusted.

    Attributes:
        position: Its place in the row groups.
        stored: Its type in the file.
        domain: The domain of the table's column.
        may_be_nan: Whether there may be NaN, whatever the bounds.
    """

    position: int
    stored: Domain
    domain: Domain
    may_be_nan: bool

    @staticmethod
    def of(
        footer: pq.FileMetaData, columns: FooterColumns, column: BoundColumn
    ) -> StoredColumn | None:
        """Find a column in a file; None if its bounds are not trusted.

        Raises:
            ValueError: The file does not have it.
        """
        name, type_ = resolve(tuple(column.name.split(".")), columns.schema)
        stored, position = domain_of(type_), columns.positions.get(name)
        if stored is None or not widens(stored, column.domain) or position is None:
            return None
        if stored.kind is not Kind.FLOAT:
            return StoredColumn(position, stored, column.domain, may_be_nan=False)
        known = FloatBounds.of(footer)
        if known is FloatBounds.NOTHING:
            return None
        may_be_nan = known is FloatBounds.NUMBERS
        return StoredColumn(position, stored, column.domain, may_be_nan)


def physical_bounds(
    raw: Sequence[Any] | npt.NDArray[Any], column: StoredColumn, outward: float
) -> tuple[Values, BoolArray]:
    """Return bounds as stored in the physical form of the column's domain.

    Args:
        raw: N bounds as pyarrow shows them: numbers, or bytes.
        column: The column.
        outward: The infinity towards which a bound may be moved.

    Returns:
        N ordinals, or a list of values for Arrow; and flags for those that are known.
    """
    stored, domain = column.stored, column.domain
    every = np.ones(len(raw), np.bool_)
    match stored.kind:
        case Kind.BOOLEAN | Kind.INTEGER | Kind.DATE:
            return np.asarray(raw, np.int64), every
        case Kind.FLOAT:
            floats = np.asarray(raw, np.float64)
            if stored.bits < domain.bits:
                floats = widen_float32(floats, outward)
            ordinals = float_ordinals(floats)
            # NaN is above all numbers, and below none.
            return ordinals, every if outward > 0 else ordinals != MAX_ORDINAL
        case Kind.WALL_CLOCK | Kind.INSTANT:
            if _are_bytes(raw):  # of INT96
                return np.zeros(len(raw), np.int64), ~every
            factor = domain.units // stored.units
            times = np.asarray(raw, np.int64)
            fits = (times > MIN_ORDINAL // factor) & (times < MAX_ORDINAL // factor)
            return np.where(fits, times, 0) * np.int64(factor), fits
        case Kind.DECIMAL:
            return _decimals(raw, column)
        case Kind.TEXT | Kind.BINARY:
            return [bytes(value) for value in raw], every


def _are_bytes(raw: Sequence[Any] | npt.NDArray[Any]) -> bool:
    return any(not isinstance(value, int | np.integer) for value in raw[:1])


def _decimals(
    raw: Sequence[Any] | npt.NDArray[Any], column: StoredColumn
) -> tuple[Values, BoolArray]:
    domain = column.domain
    unscaled = [
        int.from_bytes(value, "big", signed=True) if isinstance(value, bytes) else int(value)
        for value in raw
    ]
    has_scale = column.stored.scale == domain.scale
    if domain.is_ordinal:
        fits = [has_scale and MIN_ORDINAL < value < MAX_ORDINAL for value in unscaled]
        numbers = [value if fit else 0 for value, fit in zip(unscaled, fits, strict=True)]
        return np.array(numbers, np.int64), np.array(fits, np.bool_)
    return [exact_decimal(v, domain.scale) for v in unscaled], np.full(len(unscaled), has_scale)

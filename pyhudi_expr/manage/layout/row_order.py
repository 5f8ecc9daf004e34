"""Layouts of a table, and the order of rows in a layout.

A layout is the columns, the curve and one of RFC-28's mappings. With a sample of the rows it
becomes an `Order` (`row_order`), which gives every row its place; `Pieces` divides places into a
number of files of about equal size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, Int32Array, UInt64Array
from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.layout import mappings
from pyhudi_expr.manage.layout.curves import (
    MAX_BYTES,
    MAX_COLUMNS,
    Curve,
    Places,
    hilbert,
    interleave,
)
from pyhudi_expr.manage.layout.mappings import Boundaries, UnorderedType, distinguishing_words

_MIN_DEPTH = 8
_MAX_DEPTH = 16
_SLACK = 0.1
_BUCKETS_OF_FILE_BITS = 8
"""Quantiles of a column for each file: enough to lay out by any one column alone."""


class InvalidLayout(HudiError):  # noqa: N818 - names the finding
    """The table cannot be laid out so; the message says why, and what can be done."""


class Mapping(str, Enum):
    """How values are mapped to numbers; the value is the name for users."""

    DIRECT = "direct"
    """By their type alone."""
    SAMPLED = "sampled"
    """By the sample's quantiles."""


@dataclass(frozen=True)
class Layout:
    """A layout.

    Attributes:
        columns: 1 to 16 names of top-level columns, the most significant first.
    """

    columns: tuple[str, ...]
    curve: Curve = Curve.HILBERT
    mapping: Mapping = Mapping.SAMPLED

    def check(self, schema: pa.Schema) -> None:
        """Check that the schema's columns can be laid out so. Raises InvalidLayout."""
        if not 1 <= len(self.columns) <= MAX_COLUMNS:
            raise InvalidLayout(f"a layout takes 1 to {MAX_COLUMNS} columns: {self.columns}")
        for index, column in enumerate(self.columns):
            if column in self.columns[:index]:
                raise InvalidLayout(f"the layout names the column {column!r} twice")
            if schema.get_field_index(column) < 0:
                raise InvalidLayout(
                    f"there is no column {column!r} to lay out by; there are "
                    f"{', '.join(schema.names)} (fields of structs cannot be chosen)"
                )
            try:
                mappings.domain(schema.field(column).type)
            except UnorderedType as error:
                raise InvalidLayout(f"column {column!r}: {error}") from error

    def __str__(self) -> str:
        mapping = "" if self.curve is Curve.LINEAR else f", {self.mapping.value}"
        return f"{self.curve.value} ({', '.join(self.columns)}{mapping})"


class Order(Protocol):
    """Gives rows their places."""

    def places(self, columns: Sequence[AnyArray]) -> Places:
        """Return the rows' places, at most `curves.MAX_BYTES` wide, for the layout's columns."""


def row_order(layout: Layout, sample: pa.Table, files: int) -> Order:
    """Return the order of a layout, for rows like those of the sample.

    Args:
        layout: The layout.
        sample: Random rows with the layout's columns.
        files: The number of files.

    Raises:
        InvalidLayout: The layout is not possible.
    """
    layout.check(sample.schema)
    columns = [sample.column(name).combine_chunks() for name in layout.columns]
    if layout.curve is Curve.LINEAR:
        return _Lexicographic.of(columns)
    if layout.mapping is Mapping.DIRECT:
        return _Direct(layout.curve)
    target = max(files - 1, 1).bit_length() + _BUCKETS_OF_FILE_BITS
    depth = min(max(target, _MIN_DEPTH), _MAX_DEPTH)
    return _Sampled(layout.curve, tuple(Boundaries.of(column, depth) for column in columns))


@dataclass(frozen=True)
class _Direct:
    """A curve through the values' own bits."""

    curve: Curve

    def places(self, columns: Sequence[AnyArray]) -> Places:
        numbers = [mappings.direct(each) for each in columns]
        return _CURVES[self.curve](numbers, mappings.BITS)


@dataclass(frozen=True)
class _Sampled:
    """A curve through the numbers of quantiles."""

    curve: Curve
    boundaries: tuple[Boundaries, ...]

    def places(self, columns: Sequence[AnyArray]) -> Places:
        numbers = [own.numbers(each) for own, each in zip(self.boundaries, columns, strict=True)]
        return _CURVES[self.curve](numbers, mappings.BOUNDARY_BITS)


@dataclass(frozen=True)
class _Lexicographic:
    """Whole values, one column after the other.

    Attributes:
        words: The words of `direct_mapping.exact`, by column; 0 if `direct_mapping.direct`
            suffices.
    """

    words: tuple[int, ...]

    @staticmethod
    def of(columns: Sequence[AnyArray]) -> _Lexicographic:
        most = (MAX_BYTES // len(columns) - 1) // 8
        return _Lexicographic(
            tuple(
                distinguishing_words(column.drop_null(), most)
                if mappings.is_wide(column.type)
                else 0
                for column in columns
            )
        )

    def places(self, columns: Sequence[AnyArray]) -> Places:
        parts = [_bytes(each, words) for each, words in zip(columns, self.words, strict=True)]
        return np.concatenate(parts, axis=1)


def _bytes(values: AnyArray, words: int) -> Places:
    """Return values as bytes of one width; wide ones with a first byte that puts nulls last."""
    if not words:
        return mappings.direct(values).astype(">u8").view(np.uint8).reshape(-1, 8)
    known = mappings.exact(values.drop_null(), words)
    parts = np.zeros((len(values), 1 + known.dtype.itemsize), np.uint8)
    is_valid = values.is_valid().to_numpy(zero_copy_only=False)
    parts[is_valid, 1:] = known.view(np.uint8).reshape(len(known), known.dtype.itemsize)
    parts[~is_valid, 0] = 1
    return parts


_CURVES = {Curve.Z_ORDER: interleave, Curve.HILBERT: hilbert}


@dataclass(frozen=True)
class Pieces:
    """The division of an order of rows.

    Attributes:
        splits: The last place in each piece but the last one.
    """

    splits: npt.NDArray[Any]

    @staticmethod
    def of(places: Places, pieces: int) -> Pieces:
        """Divide a sample's places into about equal shares; rows in one place stay together.

        A cut is moved by up to a tenth of a piece to where the curve leaves the largest cell: a
        piece that reached slightly into the next cell would have that one's ranges, too.
        """
        ordered = places[np.argsort(comparable(places), kind="stable")]
        if not len(ordered) or pieces == 1:
            return Pieces(comparable(ordered[:0]))
        steps = _steps(ordered)
        size = len(ordered) / pieces
        ends = np.rint(np.arange(1, pieces) * size).astype(np.int64)
        reach = int(size * _SLACK)
        if reach and len(steps):
            window = np.clip(ends[:, None] + np.arange(-reach, reach + 1) - 1, 0, len(steps) - 1)
            ends = 1 + window[np.arange(len(ends)), np.argmax(steps[window], axis=1)]
        return Pieces(comparable(ordered[np.maximum(ends - 1, 0)]))

    @property
    def count(self) -> int:
        """The number of pieces."""
        return len(self.splits) + 1

    def numbers(self, places: Places) -> Int32Array:
        """Return the piece of each place, from 0 on."""
        return np.searchsorted(self.splits, comparable(places)).astype(np.int32)


def _steps(ordered: Places) -> UInt64Array:
    """Return for all places but the last a number that grows with the cell that the curve leaves.

    It is the bits in which the next place differs, from the first such bit of any two.
    """
    varying = np.flatnonzero((ordered != ordered[0]).any(axis=0))
    first = int(varying[0]) if len(varying) else 0
    words = np.zeros((len(ordered), 8), np.uint8)
    taken = ordered[:, first : first + 8]
    words[:, : taken.shape[1]] = taken
    numbers = words.view(">u8")[:, 0].astype(np.uint64)
    return numbers[1:] ^ numbers[:-1]


def comparable(places: Places) -> npt.NDArray[Any]:
    """Return places as values that numpy compares as unsigned bytes, (rows,)."""
    rows, width = places.shape
    if not rows:
        return np.zeros(0, f"S{max(width, 1)}")
    if width == 8:
        return places.view(">u8")[:, 0].astype(np.uint64)
    return np.ascontiguousarray(places).view(f"S{width}")[:, 0]

"""Column and offset indexes: what is known of each page of a column chunk.

A page index is trusted only as a whole. What contradicts itself, the chunk or the footer is no
page index (`NotParquetError`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.tables.parquet.compact_protocol import NotParquetError, read_struct

#: Fields of ColumnIndex and OffsetIndex.
_NULL_PAGES, _MIN_VALUES, _MAX_VALUES, _NULL_COUNTS = 1, 2, 3, 5
_PAGE_LOCATIONS = 1
_OFFSET, _SIZE, _FIRST_ROW = 1, 2, 3
#: The bytes between the three numbers of a page's location: field types, and the end.
_HEADS = np.array([0x16, 0x15, 0x16, 0x00], np.uint64)


@dataclass(frozen=True, eq=False)
class PageLocations:
    """The pages of a column chunk, in their order.

    Attributes:
        first_row: The first row of each page, counted in the row group; the first one is 0.
    """

    first_row: Int64Array

    def rows(self, rows_of_group: int) -> Int64Array:
        """Return the number of rows of each page."""
        return np.diff(np.append(self.first_row, rows_of_group))


@dataclass(frozen=True, eq=False)
class PageStatistics:
    """The statistics of N pages.

    Attributes:
        is_null: Whether all values of the page are null.
        lower: Their lower bounds, as stored; empty for pages of nulls.
        upper: Their upper bounds.
        nulls: Their numbers of nulls; None: unknown.
    """

    is_null: BoolArray
    lower: Sequence[bytes]
    upper: Sequence[bytes]
    nulls: Int64Array | None


def read_locations(data: bytes, rows: int, chunk: tuple[int, int]) -> PageLocations:
    """Decode an offset index.

    Args:
        data: The bytes of the index.
        rows: Rows of the row group.
        chunk: The first byte of the column chunk in the file, and the first one behind it.

    Raises:
        NotParquetError: It is none, or not of this chunk.
    """
    offset, size, first_row = _locations(data)
    if not len(offset) or first_row[0] != 0 or first_row[-1] >= rows:
        raise NotParquetError("an offset index is not of these rows")
    ends = offset + size
    is_ascending = (np.diff(first_row) > 0).all() and (offset[1:] >= ends[:-1]).all()
    if not is_ascending or (size <= 0).any() or offset[0] < chunk[0] or ends[-1] > chunk[1]:
        raise NotParquetError("an offset index is not of this column chunk")
    return PageLocations(first_row)


def read_statistics(data: bytes, pages: int) -> PageStatistics:
    """Decode a column index of so many pages. Raises NotParquetError."""
    fields, _ = read_struct(data)
    is_null, lower = fields.get(_NULL_PAGES), fields.get(_MIN_VALUES)
    upper, nulls = fields.get(_MAX_VALUES), fields.get(_NULL_COUNTS)
    for values in (is_null, lower, upper, *(() if nulls is None else (nulls,))):
        if not isinstance(values, list) or len(values) != pages:
            raise NotParquetError("a column index has another number of pages")
    lower, upper = cast("list[bytes]", lower), cast("list[bytes]", upper)
    if not all(isinstance(bound, bytes) for bound in (*lower, *upper)):
        raise NotParquetError("bounds of a column index are no bytes")
    counts = None if nulls is None else np.array(_integers(cast("list[Any]", nulls)), np.int64)
    if counts is not None and (counts < 0).any():
        raise NotParquetError("a column index counts fewer than no nulls")
    return PageStatistics(np.array(is_null, np.bool_), lower, upper, counts)


def _integers(values: list[Any]) -> list[int]:
    if not all(type(value) is int and abs(value) < 1 << 62 for value in values):
        raise NotParquetError("counts of a column index are no numbers")
    return values


def _locations(data: bytes) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return the offset, size and first row of each page."""
    found = _regular_locations(data)
    if found is not None:
        return found
    fields, _ = read_struct(data)
    places = fields.get(_PAGE_LOCATIONS)
    if not isinstance(places, list) or not all(isinstance(place, dict) for place in places):
        raise NotParquetError("an offset index has no pages")
    rows = [[place.get(field, -1) for field in (_OFFSET, _SIZE, _FIRST_ROW)] for place in places]
    table = np.array([_integers(row) for row in rows], np.int64).reshape(len(rows), 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _regular_locations(data: bytes) -> tuple[Int64Array, Int64Array, Int64Array] | None:
    """Decode an offset index as all writers known write it, all pages at once; else None.

    Each page is a struct of three integers: what lies between these are single bytes below 128, so
    that the list is a run of variable-length integers, seven for each page.
    """
    if len(data) < 2 or data[0] != 0x19:  # the first field, a list
        return None
    pages, at = data[1] >> 4, 2
    if data[1] & 0x0F != 12:  # of structs
        return None
    if pages == 15:
        numbers = _varints(np.frombuffer(data[2:12], np.uint8))
        if not len(numbers):
            return None
        pages, at = int(numbers[0]), 2 + _length_of_varint(data, 2)
    numbers = _varints(np.frombuffer(data, np.uint8, offset=at))
    if pages == 0 or len(numbers) < 7 * pages:
        return None
    table = numbers[: 7 * pages].reshape(pages, 7)
    if not (table[:, 0::2] == _HEADS).all():
        return None
    values = table[:, 1::2]
    decoded = (values >> np.uint64(1)).astype(np.int64) ^ -(values & np.uint64(1)).astype(np.int64)
    return decoded[:, 0], decoded[:, 1], decoded[:, 2]


def _length_of_varint(data: bytes, at: int) -> int:
    return next((n + 1 for n, byte in enumerate(data[at : at + 10]) if byte < 0x80), 10)


def _varints(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """Return all variable-length integers of bytes; what is beyond 64 bits of one is lost."""
    ends = np.flatnonzero(data < 0x80)
    if not len(ends):
        return np.zeros(0, np.uint64)
    used = data[: ends[-1] + 1]
    starts = np.append(0, ends[:-1] + 1)
    place = np.arange(len(used)) - np.repeat(starts, ends - starts + 1)
    parts = (used & 0x7F).astype(np.uint64) << (7 * np.minimum(place, 9)).astype(np.uint64)
    found: npt.NDArray[np.uint64] = np.bitwise_or.reduceat(parts, starts)
    return found

"""The bounds of a column's pages, with the same belief as those of its row groups.

Bounds of pages may be truncated, so they are bounds and no values of the page. A page index that
contradicts the footer is not trusted at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array, arrow_array, from_buffer
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Bounds, Kind, Values
from pyhudi_expr.index.statistics.column_bounds import bounds_bytes
from pyhudi_expr.index.statistics.parquet_footers import Range, chunk_ranges, null_count
from pyhudi_expr.index.statistics.stored_bounds import StoredColumn, physical_bounds
from pyhudi_expr.tables.parquet.compact_protocol import NotParquetError
from pyhudi_expr.tables.parquet.footer import ParquetFooter
from pyhudi_expr.tables.parquet.page_index import PageStatistics, read_locations, read_statistics

if TYPE_CHECKING:
    import pyarrow.parquet as pq

#: The dtypes of plain values of a fixed width.
_PLAIN: Mapping[str, np.dtype[Any]] = {
    "BOOLEAN": np.dtype("u1"),
    "INT32": np.dtype("<i4"),
    "INT64": np.dtype("<i8"),
    "FLOAT": np.dtype("<f4"),
    "DOUBLE": np.dtype("<f8"),
}
_FIXED = "FIXED_LEN_BYTE_ARRAY"
#: The writer whose decimals in byte arrays are not truncated.
_WHOLE_DECIMALS = "parquet-mr"


@dataclass(frozen=True, eq=False)
class Pages:
    """The pages of a column in one row group.

    Attributes:
        first_row: The first row of each, counted in the row group.
        bounds: Their bounds; arrays.
    """

    first_row: Int64Array
    bounds: Bounds

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return bounds_bytes(self.bounds) + int(self.first_row.nbytes)


def are_pages_believed(footer: ParquetFooter, group: int, column: StoredColumn) -> bool:
    """Return whether bounds of pages are trusted, by what the footer says of the column."""
    leaf = footer.metadata.schema.column(column.position)
    chunk = footer.metadata.row_group(group).column(column.position)
    rows = int(footer.group_rows[group])
    if leaf.max_repetition_level or chunk.num_values != rows:
        return False
    if not footer.has_type_order[column.position]:
        return False
    if leaf.physical_type not in _PLAIN and leaf.physical_type not in (_FIXED, "BYTE_ARRAY"):
        return False  # INT96
    if leaf.physical_type == "BYTE_ARRAY" and column.stored.kind is Kind.DECIMAL:
        return (footer.metadata.created_by or "").startswith(_WHOLE_DECIMALS)
    statistics = chunk.statistics
    if statistics is not None and statistics.has_min_max:
        return True
    # Bounds of long values are omitted from footers, and truncated in page indexes.
    return column.stored.kind in (Kind.TEXT, Kind.BINARY) and leaf.logical_type.type in (
        "STRING",
        "NONE",
    )


def read_pages(
    footer: ParquetFooter,
    group: int,
    column: StoredColumn,
    column_index: bytes,
    offset_index: bytes,
) -> Pages:
    """Decode the page index of a column in one row group.

    Raises:
        NotParquetError: It is damaged, or contradicts itself or the footer.
    """
    places = footer.places(group, column.position)
    if places is None:
        raise NotParquetError("the column chunk is not in the file")
    rows = int(footer.group_rows[group])
    locations = read_locations(offset_index, rows, places.chunk)
    statistics = read_statistics(column_index, len(locations.first_row))
    chunk = footer.metadata.row_group(group).column(column.position)
    return Pages(
        locations.first_row,
        _bounds(footer, chunk, column, statistics, locations.rows(rows)),
    )


def _bounds(
    footer: ParquetFooter,
    chunk: pq.ColumnChunkMetaData,
    column: StoredColumn,
    pages: PageStatistics,
    rows: Int64Array,
) -> Bounds:
    _check_nulls(pages, rows, null_count(chunk.statistics))
    has_value = ~pages.is_null
    [whole] = chunk_ranges([chunk], column)
    may_be_null = np.full(len(rows), whole.may_be_null)
    if pages.nulls is not None:
        may_be_null = pages.nulls > 0
    leaf = footer.metadata.schema.column(column.position)
    present = np.flatnonzero(has_value).tolist()
    ends: list[tuple[Values, BoolArray]] = []
    for stored, outward in ((pages.lower, -np.inf), (pages.upper, np.inf)):
        raw = _raw([stored[page] for page in present], leaf.physical_type, leaf.length or 0)
        ends.append(physical_bounds(raw, column, outward))
    (lower, has_lower), (upper, has_upper) = ends
    known = has_lower & has_upper
    if column.domain.is_ordinal:
        _check_order(lower[known], upper[known], whole)
        if column.may_be_nan:
            upper = np.full(len(upper), MAX_ORDINAL)
        return Bounds(
            _ordinals(lower, known, has_value, MIN_ORDINAL),
            _ordinals(upper, known, has_value, MAX_ORDINAL),
            has_value,
            may_be_null,
        )
    if any(low > high for low, high, is_ in zip(lower, upper, known, strict=True) if is_):
        raise NotParquetError("a page's lower bound is above the upper one")
    type_ = column.domain.arrow_type
    return Bounds(
        _arrow(lower, known, has_value, type_),
        _arrow(upper, known, has_value, type_),
        has_value,
        may_be_null,
    )


def _check_nulls(pages: PageStatistics, rows: Int64Array, of_chunk: int | None) -> None:
    if pages.nulls is None:
        return
    is_all = pages.nulls == rows
    if (pages.nulls > rows).any() or (is_all != pages.is_null).any():
        raise NotParquetError("a column index counts other nulls than it marks")
    if of_chunk is not None and of_chunk != pages.nulls.sum():
        raise NotParquetError("a column index counts other nulls than the footer")


def _check_order(lower: Int64Array, upper: Int64Array, whole: Range) -> None:
    if (lower > upper).any():
        raise NotParquetError("a page's lower bound is above the upper one")
    least = MIN_ORDINAL if whole.lower is None else whole.lower
    greatest = MAX_ORDINAL if whole.upper is None else whole.upper
    if (lower < least).any() or (upper > greatest).any():
        raise NotParquetError("a page's bounds are beyond its column chunk's")


def _raw(values: Sequence[bytes], physical: str, length: int) -> Sequence[Any] | npt.NDArray[Any]:
    """Decode plain values, as pyarrow shows bounds of footers."""
    dtype = _PLAIN.get(physical)
    width = dtype.itemsize if dtype is not None else length
    if physical != "BYTE_ARRAY" and any(len(value) != width for value in values):
        raise NotParquetError("a bound of a page has another length than its type")
    if dtype is None:
        return values
    return from_buffer(b"".join(values), dtype)


def _ordinals(
    values: Int64Array, known: BoolArray, has_value: BoolArray, unknown: int
) -> Int64Array:
    found = np.full(len(has_value), unknown, np.int64)
    found[has_value] = np.where(known, values, unknown)
    return found


def _arrow(
    values: Sequence[Any], known: BoolArray, has_value: BoolArray, type_: pa.DataType
) -> AnyArray:
    given = pa.array(
        [value if is_ else None for value, is_ in zip(values, known, strict=True)], type_
    )
    place = np.cumsum(has_value) - 1
    return given.take(arrow_array(place, mask=~has_value))

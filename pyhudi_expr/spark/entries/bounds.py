"""Bounds of a column of a Parquet file, from its footer or from its values: the same either way.

A bound is what `value_types` takes: an int, a float, or bytes. Both ways order texts by their UTF-8
bytes, and take NaN for the greatest float, as Spark does: a file with NaN has it as its maximum. A
minimum of zero is -0.0 and a maximum of zero is 0.0, as in footers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi_expr.arrays import AnyArray
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Domain, Kind, unscaled
from pyhudi_expr.expr.nodes import PythonValue
from pyhudi_expr.index.statistics.bound_decoding import widen_float32
from pyhudi_expr.index.statistics.parquet_footers import null_count
from pyhudi_expr.index.statistics.stored_bounds import FloatBounds
from pyhudi_expr.tables.mdt.records.value_types import Bound

#: Bytes of a bound; a longer one is replaced by a looser one of so many characters or bytes.
_LONGEST, _KEPT = 4096, 1024
_LAST_BEFORE_SURROGATES = 0xD7FF
_LAST_BYTE = 0xFF


@dataclass(frozen=True)
class Range:
    """Minimum and maximum; None if there are no values."""

    low: Bound
    high: Bound


@dataclass(frozen=True)
class FooterColumn:
    """A column in a footer, over all row groups.

    Attributes:
        range: Minimum and maximum. None if there is no value.
        is_known: Whether the range is known.
    """

    value_count: int
    null_count: int
    size: int
    uncompressed_size: int
    range: Range | None
    is_known: bool


def footer_range(footer: pq.FileMetaData, position: int, type_: pa.DataType) -> FooterColumn:
    """Return the column at that position among the footer's leaves.

    `type_` is the type of the values; the file's own type, if the footer's bounds are used.
    """
    chunks = [footer.row_group(i).column(position) for i in range(footer.num_row_groups)]
    trusted = _is_trusted(footer, position, type_)
    ranges: list[Range] = []
    nulls, known = 0, True
    for chunk in chunks:
        stats = chunk.statistics
        counted = null_count(stats)
        nulls += counted or 0
        if counted == chunk.num_values:
            continue
        found = None
        if trusted and stats is not None and counted is not None:
            found = _chunk_range(stats, type_)
        known = known and found is not None
        if found is not None:
            ranges.append(found)
    return FooterColumn(
        value_count=sum(chunk.num_values for chunk in chunks),
        null_count=nulls,
        size=sum(chunk.total_compressed_size for chunk in chunks),
        uncompressed_size=sum(chunk.total_uncompressed_size for chunk in chunks),
        range=union_range(ranges) if known else None,
        is_known=known,
    )


def _is_trusted(footer: pq.FileMetaData, position: int, type_: pa.DataType) -> bool:
    if footer.schema.column(position).physical_type == "INT96":
        return False
    return not pa.types.is_floating(type_) or FloatBounds.of(footer) is FloatBounds.VALUES


def _chunk_range(stats: pq.Statistics, type_: pa.DataType) -> Range | None:
    if not stats.has_min_max:
        return None
    if False in (
        getattr(stats, "is_min_value_exact", None),
        getattr(stats, "is_max_value_exact", None),
    ):
        return None  # it was truncated
    low, high = (_raw(bound, type_) for bound in (stats.min_raw, stats.max_raw))
    if isinstance(low, float) and (math.isnan(low) or math.isnan(float(high))):
        return None
    return None if low > high else _canonical(low, high, type_)


def _raw(bound: PythonValue, type_: pa.DataType) -> PythonValue:
    if pa.types.is_decimal(type_) and isinstance(bound, bytes):
        return int.from_bytes(bound, "big", signed=True)
    if isinstance(bound, bool | int):
        return int(bound)
    return bound if isinstance(bound, float) else bytes(bound)


def value_range(batches: Iterable[AnyArray]) -> tuple[Range | None, int]:
    """Return the range of a column's values, and the number of nulls."""
    found = [(_range(values), values.null_count) for values in batches]
    return union_range([one for one, _ in found if one is not None]), sum(
        nulls for _, nulls in found
    )


def _range(values: AnyArray) -> Range | None:
    present = values.drop_null()
    if not len(present):
        return None
    if pa.types.is_floating(values.type):
        return _float_range(present)
    if pa.types.is_decimal(values.type):
        both = pc.min_max(present).as_py()
        low, high = (unscaled(both[end], values.type.scale) for end in ("min", "max"))
        return Range(low, high)
    both = pc.min_max(_ordered(present)).as_py()
    return _canonical(_plain(both["min"]), _plain(both["max"]), values.type)


def _float_range(present: AnyArray) -> Range:
    numbers = present.filter(pc.invert(pc.is_nan(present)))
    if not len(numbers):
        return Range(math.nan, math.nan)
    both = pc.min_max(numbers).as_py()
    high = both["max"] if len(numbers) == len(present) else math.nan
    return _canonical(both["min"], high, present.type)


def _ordered(values: AnyArray) -> AnyArray:
    """Return the values as their physical numbers; texts and binaries unchanged."""
    if pa.types.is_date32(values.type) or pa.types.is_time32(values.type):
        return values.view(pa.int32())
    if pa.types.is_timestamp(values.type) or pa.types.is_time64(values.type):
        return values.view(pa.int64())
    if pa.types.is_fixed_size_binary(values.type):
        return values.cast(pa.binary())
    return values


def _plain(value: PythonValue) -> PythonValue:
    if isinstance(value, str):
        return value.encode()
    return int(value) if isinstance(value, bool) else value


def _canonical(low: Bound, high: Bound, type_: pa.DataType) -> Range:
    if isinstance(low, float) and isinstance(high, float):
        return Range(low if low else -0.0, high if high else 0.0)
    if isinstance(low, bytes) and isinstance(high, bytes):
        if pa.types.is_string(type_) or pa.types.is_large_string(type_):
            return Range(_lowered(low), _raised(high))
        return Range(low if len(low) <= _LONGEST else low[:_KEPT], _raised_bytes(high))
    return Range(low, high)


def _lowered(text: bytes) -> bytes:
    return text if len(text) <= _LONGEST else text.decode()[:_KEPT].encode()


def _raised(text: bytes) -> bytes:
    """Return the text, or a short one that is greater in the order of UTF-8 and of UTF-16."""
    if len(text) <= _LONGEST:
        return text
    characters = text.decode()[:_KEPT]
    for end in range(len(characters), 0, -1):
        last = ord(characters[end - 1])
        if last < _LAST_BEFORE_SURROGATES:
            return (characters[: end - 1] + chr(last + 1)).encode()
    return text


def _raised_bytes(content: bytes) -> bytes:
    if len(content) <= _LONGEST:
        return content
    kept = content[:_KEPT].rstrip(bytes([_LAST_BYTE]))
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else content


def converted(range_: Range, stored: Domain, domain: Domain) -> Range | None:
    """Return a range of a file's values as one of the column's; None if it has no such bounds.

    Args:
        range_: The range, of a type whose domain is `stored`.
        stored: A domain that widens to the column's, see `widens`.
        domain: The column's domain.
    """
    low, high = range_.low, range_.high
    if stored == domain or isinstance(low, bytes) or isinstance(high, bytes):
        return range_
    match domain.kind:
        case Kind.FLOAT:
            return Range(_beyond(low, -math.inf), _beyond(high, math.inf))
        case Kind.DECIMAL:
            factor = 10 ** (domain.scale - stored.scale)
            return Range(low * factor, high * factor)
        case Kind.WALL_CLOCK | Kind.INSTANT:
            factor = domain.units // stored.units
            low, high = low * factor, high * factor
            return Range(low, high) if low > MIN_ORDINAL and high < MAX_ORDINAL else None
    return range_


def _beyond(bound: float, outward: float) -> float:
    return float(widen_float32(np.array([bound], np.float64), outward)[0])


def union_range(ranges: list[Range]) -> Range | None:
    """Return the union of the ranges; None if there are none."""
    return reduce(_union, ranges) if ranges else None


def _union(left: Range, right: Range) -> Range:
    return Range(min(left.low, right.low, key=_rank), max(left.high, right.high, key=_rank))


def _rank(value: PythonValue) -> PythonValue:
    """Return the sort key of bounds: NaN is above all floats, -0.0 below 0.0."""
    if not isinstance(value, float):
        return value
    return (True,) if math.isnan(value) else (False, value, math.copysign(1, value))

"""Bounds of statistics entries as a reader takes them that trusts every entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array, arrow_nulls
from pyhudi_expr.expr.bounds import Values
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Domain,
    Kind,
    exact_decimal,
    floats_of,
)
from pyhudi_expr.index.statistics.bound_decoding import Encoding, decode_arrow, decode_ordinals
from pyhudi_expr.index.statistics.statistics_decoding import StatisticsEntries

_SHOWN = 60


@dataclass(frozen=True)
class StoredBounds:
    """Both bounds of N entries.

    Attributes:
        lower: In the physical form of the column's domain.
        upper: The same.
        is_stored: Whether the entry has bounds, readable or not.
        is_decoded: Whether they can be read with certainty.
        is_foreign: Whether they are wrapped as no type of the column's kind is.
    """

    lower: Values
    upper: Values
    is_stored: BoolArray
    is_decoded: BoolArray
    is_foreign: BoolArray


_INTEGERS = ("IntWrapper", "LongWrapper")
_WRAPPERS: Mapping[Kind, tuple[str, ...]] = {
    Kind.BOOLEAN: ("BooleanWrapper",),
    Kind.INTEGER: _INTEGERS,
    Kind.FLOAT: ("FloatWrapper", "DoubleWrapper", *_INTEGERS),
    Kind.DECIMAL: ("DecimalWrapper", "BytesWrapper"),
    Kind.DATE: ("DateWrapper", "LocalDateWrapper", *_INTEGERS),
    Kind.WALL_CLOCK: ("TimestampMicrosWrapper", "LongWrapper"),
    Kind.INSTANT: ("TimestampMicrosWrapper", "LongWrapper"),
    Kind.TEXT: ("StringWrapper",),
    Kind.BINARY: ("BytesWrapper",),
}


def stored_bounds(entries: StatisticsEntries, domain: Domain) -> StoredBounds:
    """Decode the bounds of entries without doubting any of them."""
    stored, foreign = (np.zeros(len(entries), np.bool_) for _ in range(2))
    for encoding, values in entries.minimum.items():
        there = values.is_valid().to_numpy(zero_copy_only=False)
        stored |= there
        if encoding.wrapper not in _WRAPPERS[domain.kind]:
            foreign |= there
    if domain.is_ordinal:
        lower = np.full(len(entries), MIN_ORDINAL, np.int64)
        upper = np.full(len(entries), MAX_ORDINAL, np.int64)
        both = _decoded(entries.minimum, domain, lower, -np.inf)
        both &= _decoded(entries.maximum, domain, upper, np.inf)
        return StoredBounds(lower, upper, stored, both, foreign)
    low = _arrow(entries.minimum, domain, len(entries))
    high = _arrow(entries.maximum, domain, len(entries))
    both = pc.and_(low.is_valid(), high.is_valid()).to_numpy(zero_copy_only=False)
    return StoredBounds(low, high, stored, both, foreign)


def _decoded(
    encoded: Mapping[Encoding, AnyArray], domain: Domain, into: Int64Array, outward: float
) -> BoolArray:
    """Decode into an array, and return for which entries that was possible."""
    present = np.zeros(len(into), np.bool_)
    for encoding, values in encoded.items():
        ordinals, there = decode_ordinals(values, encoding, domain, outward)
        into[there] = ordinals[there]
        present |= there
    return present


def _arrow(encoded: Mapping[Encoding, AnyArray], domain: Domain, size: int) -> AnyArray:
    found: Any = arrow_nulls(size, domain.arrow_type)
    for encoding, values in encoded.items():
        found = pc.coalesce(found, decode_arrow(values, encoding, domain))
    return found


def taken(values: Values, positions: Int64Array) -> Values:
    """Return the values at positions."""
    return values[positions] if isinstance(values, np.ndarray) else values.take(pa.array(positions))


def less(left: Values, right: Values) -> BoolArray:
    """Return where the left value is less; False where one is unknown (null)."""
    if isinstance(left, np.ndarray):
        flags: BoolArray = left < right
        return flags
    answer = pc.fill_null(pc.less(left, right), False)
    return np.asarray(answer.to_numpy(zero_copy_only=False), np.bool_)


def shown(values: Values, row: int, domain: Domain) -> str:
    """Return a bound as a person reads it."""
    value = values[row]
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    if isinstance(value, bytes):
        text = value.decode(errors="replace") if domain.kind is Kind.TEXT else value.hex()
        return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} long)")
    if domain.kind is Kind.FLOAT:
        return str(floats_of(np.array([value]))[0])
    if domain.kind is Kind.DATE:
        return str(np.datetime64(int(value), "D"))
    if domain.kind is Kind.DECIMAL and domain.is_ordinal:
        return str(exact_decimal(int(value), domain.scale))
    return str(value)

"""Columns of every supported type, with values in SQL's order."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st


@dataclass(frozen=True)
class Ordered:
    """A type, values of it, and keys by which Python sorts them in the same order.

    is_whole: whether different values have different numbers in the direct mapping.
    """

    type: pa.DataType
    values: st.SearchStrategy[Any]
    key: Callable[[Any], Any] = lambda value: value
    is_whole: bool = True


def _integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _total_order(value: float) -> tuple[bool, int]:
    """IEEE 754's total order of doubles, except that all NaNs are equal, and last."""
    if math.isnan(value):
        return True, 0
    (bits,) = struct.unpack(">q", struct.pack(">d", value))
    return False, bits if bits >= 0 else -(2**63) - 1 - bits


def _decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    widest = 10**precision - 1
    unscaled = st.one_of(
        st.integers(-widest, widest),
        st.integers(-5, 5),
        st.sampled_from([-widest, 1 - widest, widest - 1, widest]),
    )
    return unscaled.map(lambda number: Decimal(f"{number}E-{scale}"))


_TEXTS = st.one_of(st.text(max_size=12), st.text("ab\x00é😀", max_size=12))

TYPES = {
    "boolean": Ordered(pa.bool_(), st.booleans()),
    "byte": Ordered(pa.int8(), _integers(8)),
    "short": Ordered(pa.int16(), _integers(16)),
    "int": Ordered(pa.int32(), _integers(32)),
    "long": Ordered(pa.int64(), _integers(64)),
    "float": Ordered(pa.float32(), st.floats(width=32), _total_order),
    "double": Ordered(pa.float64(), st.floats(), _total_order),
    "decimal(9, 2)": Ordered(pa.decimal128(9, 2), _decimals(9, 2)),
    "decimal(18, 0)": Ordered(pa.decimal128(18, 0), _decimals(18, 0)),
    "decimal(19, 3)": Ordered(pa.decimal128(19, 3), _decimals(19, 3), is_whole=False),
    "decimal(38, 10)": Ordered(pa.decimal128(38, 10), _decimals(38, 10), is_whole=False),
    "decimal(60, 0)": Ordered(pa.decimal256(60, 0), _decimals(60, 0), is_whole=False),
    "date": Ordered(pa.date32(), _integers(32)),
    "timestamp": Ordered(pa.timestamp("us", "UTC"), _integers(64)),
    "timestamp without zone": Ordered(pa.timestamp("us"), _integers(64)),
    # The mapping pads short strings with zeros, so trailing zeros are not distinguished.
    "string": Ordered(
        pa.string(), _TEXTS, lambda text: text.encode().rstrip(b"\0"), is_whole=False
    ),
    "binary": Ordered(
        pa.binary(), st.binary(max_size=12), lambda value: value.rstrip(b"\0"), is_whole=False
    ),
}


def array(ordered: Ordered, values: list[Any]) -> pa.Array:
    """The values as an Arrow array, with other values before and after them in memory."""
    padded = pa.array([None, *values, None], ordered.type)
    return padded.slice(1, len(values))

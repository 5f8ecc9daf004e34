"""How bounds of a column are wrapped in statistics records (Hudi's `ValueType`, `ValueMetadata`).

=================  ==========================  ====================================
type               index version V1            V2 (type ordinal)
=================  ==========================  ====================================
boolean            BooleanWrapper              BooleanWrapper (2)
int, long          IntWrapper, LongWrapper     the same (3, 4)
float, double      FloatWrapper,               the same (5, 6)
                   DoubleWrapper
string             StringWrapper               StringWrapper (7)
binary, fixed      BytesWrapper                BytesWrapper (8, 9)
decimal            DecimalWrapper, rescaled    BytesWrapper (10), unscaled and
                   to decimal(30, 15)          big-endian; "precision,scale"
date               DateWrapper                 IntWrapper (12), days
time ms, us        IntWrapper, LongWrapper     the same (13, 14)
timestamp          LongWrapper, as stored      LongWrapper (15 ms, 16 us, 17 ns;
                                               without zone 18, 19, 20)
=================  ==========================  ====================================

Here a bound is an int (booleans, days, times and unscaled decimals too), a float or bytes (texts as
UTF-8).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from pyhudi_expr.expr.nodes import PythonValue

Bound = int | float | bytes

_NAMESPACE = "org.apache.hudi.avro.model"
_DECIMAL = 10
_V1_PRECISION, _V1_SCALE = 30, 15
_INSTANTS = {"ms": 15, "us": 16, "ns": 17}
_WALL_CLOCKS = {"ms": 18, "us": 19, "ns": 20}
_PLAIN: dict[pa.DataType, tuple[str, int]] = {
    pa.bool_(): ("BooleanWrapper", 2),
    pa.int8(): ("IntWrapper", 3),
    pa.int16(): ("IntWrapper", 3),
    pa.int32(): ("IntWrapper", 3),
    pa.int64(): ("LongWrapper", 4),
    pa.float32(): ("FloatWrapper", 5),
    pa.float64(): ("DoubleWrapper", 6),
    pa.string(): ("StringWrapper", 7),
    pa.large_string(): ("StringWrapper", 7),
    pa.binary(): ("BytesWrapper", 8),
    pa.large_binary(): ("BytesWrapper", 8),
    pa.time32("ms"): ("IntWrapper", 13),
    pa.time64("us"): ("LongWrapper", 14),
}


@dataclass(frozen=True)
class ValueType:
    """A wrapper, and the details that index version V2 adds (None in V1).

    Attributes:
        info: A decimal's "precision,scale".
        factor: The factor that rescales a decimal's unscaled values.
    """

    wrapper: str
    ordinal: int | None = None
    info: str | None = None
    factor: int = 1

    @property
    def is_decimal(self) -> bool:
        """Whether bounds are unscaled decimals."""
        return self.wrapper == "DecimalWrapper" or self.ordinal == _DECIMAL

    def wrapped(self, bound: Bound | None) -> tuple[str, dict[str, Any]] | None:
        """Return the bound as a record's minValue or maxValue (`metadata_records.Payload`)."""
        if bound is None:
            return None
        return f"{_NAMESPACE}.{self.wrapper}", {"value": self._value(bound)}

    def _value(self, bound: Bound) -> PythonValue:
        if self.is_decimal:
            assert isinstance(bound, int)
            return signed_bytes(bound * self.factor)
        if self.wrapper == "StringWrapper":
            assert isinstance(bound, bytes)
            return bound.decode()
        return bool(bound) if self.wrapper == "BooleanWrapper" else bound


@lru_cache(maxsize=10_000)
def value_type(type_: pa.DataType, index_version: str) -> ValueType | None:
    """Return how bounds of the type are wrapped in index version "V1" or "V2".

    Returns:
        None for types without bounds in Hudi.
    """
    if pa.types.is_decimal(type_):
        return _decimal(type_.precision, type_.scale, index_version)
    if pa.types.is_date32(type_):
        return ValueType("DateWrapper") if index_version == "V1" else ValueType("IntWrapper", 12)
    if pa.types.is_timestamp(type_):
        ordinal = (_WALL_CLOCKS if type_.tz is None else _INSTANTS).get(type_.unit)
        found = ("LongWrapper", ordinal) if ordinal else None
    elif pa.types.is_fixed_size_binary(type_):
        found = ("BytesWrapper", 9)
    else:
        found = _PLAIN.get(type_)
    if found is None:
        return None
    wrapper, ordinal = found
    return ValueType(wrapper, None if index_version == "V1" else ordinal)


def _decimal(precision: int, scale: int, index_version: str) -> ValueType | None:
    if index_version != "V1":
        return ValueType("BytesWrapper", _DECIMAL, f"{precision},{scale}")
    if scale > _V1_SCALE or precision + _V1_SCALE - scale > _V1_PRECISION:
        return None
    return ValueType("DecimalWrapper", factor=10 ** (_V1_SCALE - scale))


def signed_bytes(number: int) -> bytes:
    """Return the number in two's complement, big-endian, in as few bytes as possible."""
    magnitude = number if number >= 0 else ~number
    return number.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)

"""Domains: the order of a type's values, the form in which they are compared, and bounds in it.

Bounds are compared in one of two physical forms, whatever their type:

* *ordinals*, ``numpy.int64``: integers and booleans as they are, dates as days, timestamps in the
  column's unit, decimals of up to 18 digits as unscaled values, floats as the order-preserving
  integers of `float_ordinals`. An unknown bound is the least or greatest int64, which holds for
  every value, so missing statistics need no mask.
* *Arrow arrays*: strings and binaries as ``large_binary`` (SQL engines compare UTF-8 bytes as
  unsigned), wider decimals as ``decimal256``. An unknown bound is null.

Everything is vectorised over the containers; a bound of a literal is a scalar and broadcasts. Every
comparison here returns whether it may be TRUE: for an unknown bound it may.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    AnyScalar,
    Float64Array,
    Int64Array,
    Mask,
    arrow_buffer,
    arrow_scalar,
    numpy_flags,
    numpy_numbers,
)
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.nodes import PythonValue

Ordinals = Int64Array

MIN_ORDINAL = -(2**63)
MAX_ORDINAL = 2**63 - 1

_MAX_SMALL_DECIMAL = 18
_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Kind(Enum):
    """Families of types. Only values of one family are compared."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    DATE = "date"
    WALL_CLOCK = "timestamp without zone"
    INSTANT = "timestamp with zone"
    TEXT = "string"
    BINARY = "binary"


#: Numbers that decimals hold exactly.
FIXED_POINT = (Kind.INTEGER, Kind.DECIMAL)


@dataclass(frozen=True)
class Domain:
    """An ordered set of values.

    Attributes:
        bits: Width of INTEGER and FLOAT.
        precision: Digits of a DECIMAL.
        scale: Scale of a DECIMAL.
        units: Timestamp units in a second.
    """

    kind: Kind
    bits: int = 64
    precision: int = 0
    scale: int = 0
    units: int = 1

    @computed_once
    def is_ordinal(self) -> bool:
        """Whether bounds are int64 ordinals; else they are Arrow arrays of `arrow_type`."""
        if self.kind is Kind.DECIMAL:
            return self.precision <= _MAX_SMALL_DECIMAL
        return self.kind not in (Kind.TEXT, Kind.BINARY)

    @property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type of non-ordinal bounds."""
        if self.kind is Kind.DECIMAL:
            return pa.decimal256(76, self.scale)
        return pa.large_binary()


@lru_cache(maxsize=256)
def domain_of(type_: pa.DataType) -> Domain | None:
    """Return the domain of an Arrow type; None for types without an order (such as structs)."""
    if pa.types.is_boolean(type_):
        return Domain(Kind.BOOLEAN, bits=1)
    if pa.types.is_signed_integer(type_):
        return Domain(Kind.INTEGER, bits=type_.bit_width)
    if pa.types.is_float32(type_) or pa.types.is_float64(type_):
        return Domain(Kind.FLOAT, bits=type_.bit_width)
    if pa.types.is_decimal(type_) and type_.scale >= 0:
        return Domain(Kind.DECIMAL, precision=type_.precision, scale=type_.scale)
    if pa.types.is_date32(type_):
        return Domain(Kind.DATE)
    if pa.types.is_timestamp(type_):
        kind = Kind.INSTANT if type_.tz else Kind.WALL_CLOCK
        return Domain(kind, units=_UNITS_PER_SECOND[type_.unit])
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return Domain(Kind.TEXT)
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return Domain(Kind.BINARY)
    if pa.types.is_fixed_size_binary(type_):
        return Domain(Kind.BINARY)
    return None


def kind_of(type_: pa.DataType) -> Kind | None:
    """Return the kind of the type's domain; None for types without one."""
    domain = domain_of(type_)
    return None if domain is None else domain.kind


def widens(stored: Domain, domain: Domain) -> bool:
    """Return whether readers show the values of a file, of `stored`, as the same ones of a column.

    Then bounds of the one, converted, are bounds of the other. Of all other pairs readers make
    other values: Spark takes integers for seconds where the column is a timestamp, shifts wall
    clocks by the zone, takes the lower bits of a number that is too long, rounds, or gives NULL.
    """
    if stored.kind is not domain.kind:
        return False
    match stored.kind:
        case Kind.INTEGER | Kind.FLOAT:
            return stored.bits <= domain.bits
        case Kind.WALL_CLOCK | Kind.INSTANT:
            return domain.units % stored.units == 0
        case Kind.DECIMAL:
            whole = stored.precision - stored.scale
            return stored.scale <= domain.scale and whole <= domain.precision - domain.scale
    return True


def type_widens(stored: pa.DataType, type_: pa.DataType) -> bool:
    """Return `widens` of two types; types without a domain are only equal to themselves."""
    own, domain = domain_of(stored), domain_of(type_)
    if own is None or domain is None:
        return bool(stored == type_)
    return widens(own, domain)


def float_ordinals(values: npt.ArrayLike) -> Ordinals:
    """Return floats as int64 in the same order: -0.0 equals 0.0, NaN is above infinity.

    The bits of a non-negative IEEE 754 number order like integers. Those of a negative one order
    backwards, so their magnitude is negated, which makes -0.0 the 0 that 0.0 is.
    """
    doubles = np.asarray(values, dtype=np.float64)
    bits = doubles.view(np.int64)
    with np.errstate(over="ignore"):  # overflowing values are not selected
        ordinals = np.where(bits >= 0, bits, np.int64(MIN_ORDINAL) - bits)
    return np.asarray(np.where(np.isnan(doubles), np.int64(MAX_ORDINAL), ordinals), dtype=np.int64)


def float_ordinal(value: float) -> int:
    """Return `float_ordinals` of one value."""
    return int(float_ordinals(np.array([value]))[0])


_MINUS_INFINITY = float_ordinal(-np.inf)


def floats_of(ordinals: Ordinals) -> Float64Array:
    """Return the inverse of `float_ordinals`; below -infinity it is that, above infinity NaN."""
    bits = np.where(ordinals >= 0, ordinals, np.int64(MIN_ORDINAL) - ordinals)
    floats = bits.astype(np.int64).view(np.float64)
    return np.where(ordinals < _MINUS_INFINITY, -np.inf, floats)


def decimals_of(ordinals: Ordinals, scale: int) -> AnyArray:
    """Return decimal256 of the ordinals of decimals, which are unscaled values."""
    # A decimal256 is four little-endian words; the sign fills the upper three.
    words = np.stack([ordinals, *[ordinals >> 63] * 3], axis=1).astype("<i8")
    type_ = pa.decimal256(76, scale)
    return pa.Array.from_buffers(type_, len(ordinals), [None, arrow_buffer(words)])


def integer_range(bits: int) -> tuple[int, int]:
    """Return the least and greatest signed integer of that width."""
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def exact_decimal(unscaled: int, scale: int) -> Decimal:
    """Return ``unscaled * 10 ** -scale`` with every digit, whatever the decimal context."""
    digits = tuple(int(digit) for digit in str(abs(unscaled)))
    return Decimal((int(unscaled < 0), digits, -scale))


def unscaled(value: Decimal, scale: int) -> int:
    """Return the inverse of `exact_decimal`; further digits are truncated."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits)))
    shift = exponent + scale
    whole: int = number * 10**shift if shift >= 0 else number // 10**-shift
    return -whole if sign else whole


def physical_scalar(domain: Domain, value: PythonValue) -> np.int64 | AnyScalar:
    """Return one value of the domain in its physical form, to compare with an array."""
    if domain.is_ordinal:
        return np.int64(value)
    return arrow_scalar(value, domain.arrow_type)


def physical_array(values: AnyArray, domain: Domain) -> Ordinals | AnyArray:
    """Return N values of the domain in their physical form; the ordinal of a null is 0."""
    if not domain.is_ordinal:
        return values.cast(domain.arrow_type)
    match domain.kind:
        case Kind.FLOAT:
            return float_ordinals(values.cast(pa.float64()).fill_null(0.0))
        case Kind.DECIMAL:
            units = pa.scalar(Decimal(10**domain.scale), pa.decimal128(_MAX_SMALL_DECIMAL + 1))
            values = pc.multiply(values.cast(pa.decimal128(domain.precision, domain.scale)), units)
        case Kind.DATE:
            values = values.cast(pa.int32())
    return numpy_numbers(values.cast(pa.int64()))


#: Maximum digits of decimals.
MAX_DIGITS = 38

#: Numbers that are compared as they are.
NO_MARGIN = Fraction(0)

#: Digits of the integers of so many bits.
INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}


def reads_unchanged(stored: Domain, declared: Domain) -> bool:
    """Return whether an engine that declares a column with a type reads stored values unchanged."""
    # Hive and Spark show instants on a wall clock; literals have the zone.
    shown = declared.kind is Kind.WALL_CLOCK and stored.kind is Kind.INSTANT
    if declared.kind is not stored.kind and not shown:
        return False
    if declared.kind is Kind.DECIMAL:
        return declared.scale == stored.scale and declared.precision >= stored.precision
    return declared.bits >= stored.bits and declared.units >= stored.units


def common_domain(left: Domain, right: Domain) -> Domain | None:
    """Return the domain in which engines compare two terms; None if they differ or round."""
    if left == right:
        return left
    if left.kind is right.kind and left.kind in (Kind.INTEGER, Kind.FLOAT):
        return left if left.bits >= right.bits else right
    if left.kind is right.kind and left.kind in (Kind.WALL_CLOCK, Kind.INSTANT):
        return left if left.units >= right.units else right
    if left.kind is right.kind is Kind.DECIMAL or {left.kind, right.kind} == {
        Kind.INTEGER,
        Kind.DECIMAL,
    }:
        return common_decimal((left, right))
    pair = {left.kind: left, right.kind: right}
    if pair.keys() == {Kind.INTEGER, Kind.FLOAT}:
        exact = pair[Kind.INTEGER].bits <= 32 and pair[Kind.FLOAT].bits == 64
        return pair[Kind.FLOAT] if exact else None
    return None


def common_decimal(domains: Iterable[Domain]) -> Domain | None:
    """Return the decimals that hold all numbers of fixed-point domains; None if none has them."""
    decimals = [as_decimal(domain) for domain in domains]
    scale = max([decimal.scale for decimal in decimals])
    digits = scale + _whole_digits(decimals)
    return None if digits > MAX_DIGITS else Domain(Kind.DECIMAL, precision=digits, scale=scale)


def rounding_margin(domains: Iterable[Domain | None]) -> Fraction:
    """Return how far engines may round numbers that they convert to one type to compare them.

    A decimal has at most 38 digits. Where that is too few, Hive and Spark 4 keep those before the
    point and round the others; earlier versions of Spark keep all behind it. A value that does not
    fit becomes NULL. `NO_MARGIN`: one type holds all of them, or there is no decimal among them.
    """
    numbers = [domain for domain in domains if domain and domain.kind in FIXED_POINT]
    is_decimal = Kind.DECIMAL in [number.kind for number in numbers]
    if not is_decimal or common_decimal(numbers) is not None:
        return NO_MARGIN
    return Fraction(1, 10 ** max(MAX_DIGITS - _whole_digits(map(as_decimal, numbers)), 0))


def _whole_digits(decimals: Iterable[Domain]) -> int:
    """Return how many digits before the point numbers of some decimal domains have at most."""
    return max([decimal.precision - decimal.scale for decimal in decimals])


def as_decimal(domain: Domain) -> Domain:
    """Return the decimals that hold all numbers of a fixed-point domain."""
    if domain.kind is Kind.DECIMAL:
        return domain
    return Domain(Kind.DECIMAL, precision=INTEGER_DIGITS[domain.bits])


#: Bounds in their physical form (see `pyhudi_expr.expr.domains`): ordinals of numpy, or values of
#: Arrow; arrays or scalars. Those of one domain have one form, which no static type can say.
Values: TypeAlias = Any


@dataclass(frozen=True)
class Bounds:
    """Minimum and maximum of a term, and whether values and nulls may occur.

    Attributes:
        lower: N ordinals or an Arrow array of length N (a scalar for all). No value of the
            container is less; it need not be attained.
        upper: The same for the maximum.
        may_be_value: False where every row is proved null (or there is no row).
        may_be_null: False where no row is null.
    """

    lower: Values
    upper: Values
    may_be_value: Mask = True
    may_be_null: Mask = True


def unknown(domain: Domain) -> Bounds:
    """Return bounds that allow every value."""
    if domain.is_ordinal:
        return Bounds(np.int64(MIN_ORDINAL), np.int64(MAX_ORDINAL))
    nothing = pa.scalar(None, type=domain.arrow_type)
    return Bounds(nothing, nothing)


def may_be_less(left: Values, right: Values) -> Mask:
    """Return whether ``left < right`` may hold; True where either is unknown."""
    if _is_ordinal(left):
        return np.less(left, right)
    return _arrow_mask(pc.less(left, right))


def may_be_at_most(left: Values, right: Values) -> Mask:
    """Return whether ``left <= right`` may hold; True where either is unknown."""
    if _is_ordinal(left):
        return np.less_equal(left, right)
    return _arrow_mask(pc.less_equal(left, right))


def may_differ(left: Values, right: Values) -> Mask:
    """Return whether ``left <> right`` may hold; True where either is unknown."""
    if _is_ordinal(left):
        return np.not_equal(left, right)
    return _arrow_mask(pc.not_equal(left, right))


def may_be_nan(bounds: Bounds) -> Mask:
    """Return whether NaN may be among the floats; it sorts above all of them."""
    answer: Mask = bounds.upper == MAX_ORDINAL
    return answer


def is_known(bounds: Bounds) -> Mask:
    """Return whether at least one end is a bound."""
    lower, upper = bounds.lower, bounds.upper
    if isinstance(lower, np.ndarray | np.int64):
        return np.not_equal(lower, MIN_ORDINAL) | np.not_equal(upper, MAX_ORDINAL)
    return mask_or(_is_given(lower), _is_given(upper))


def _is_given(values: Values) -> Mask:
    if isinstance(values, pa.Scalar):
        return bool(values.is_valid)
    return numpy_flags(pc.is_valid(values))


def mask_not(mask: Mask) -> Mask:
    """Return NOT of a mask."""
    return not mask if isinstance(mask, bool | np.bool_) else ~mask


def _is_ordinal(values: Values) -> bool:
    return isinstance(values, np.ndarray | np.int64)


def _arrow_mask(answer: AnyArray | AnyScalar) -> Mask:
    if isinstance(answer, pa.Scalar):
        return answer.as_py() is not False
    return numpy_flags(answer, True)


def mask_and(*masks: Mask) -> Mask:
    """Return AND of masks; constants cost nothing."""
    result: Mask = True
    for mask in masks:
        if isinstance(mask, bool | np.bool_):
            if not mask:
                return False
        else:
            result = mask if result is True else result & mask
    return result


def mask_or(*masks: Mask) -> Mask:
    """Return OR of masks; constants cost nothing."""
    result: Mask = False
    for mask in masks:
        if isinstance(mask, bool | np.bool_):
            if mask:
                return True
        else:
            result = mask if result is False else result | mask
    return result

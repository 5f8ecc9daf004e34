"""Build predicates: types by Hive's names, constants, certain casts, intervals, connectives."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import precision_and_scale, zone_of
from pyhudi_expr.expr.literals import time_of_text
from pyhudi_expr.expr.nodes import (
    And,
    Call,
    Case,
    Cast,
    CharType,
    HudiExpression,
    Literal,
    Not,
    Or,
    PythonValue,
    Term,
    Unknown,
)
from pyhudi_expr.expr.rewrites import has_few_branches

if TYPE_CHECKING:
    from sqlglot import exp


Type: TypeAlias = pa.DataType | CharType

_SIMPLE: dict[str, pa.DataType] = {
    "void": pa.null(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "double precision": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("ns"),
    "timestamp with local time zone": pa.timestamp("ns", tz="UTC"),
    "binary": pa.binary(),
}
_PARAMETERS = re.compile(r"(decimal|numeric|char|varchar)(?:\((\d{1,5})(?:,(\d{1,5}))?\))?")
_MAX_DIGITS = 76
_MAX_SMALL_DIGITS = 38


class InexpressibleError(ValueError):
    """Expressions do not have the type, function or value; the message says which."""


def parse_type(name: str) -> Type:
    """Return the type of a Hive type name, in any letter case. Raises InexpressibleError."""
    words = " ".join(name.lower().split())
    if words in _SIMPLE:
        return _SIMPLE[words]
    match = _PARAMETERS.fullmatch(words.replace(" ", ""))
    if match is None:
        raise InexpressibleError(f"the type {name[:100]!r}")
    kind, first, second = match[1], match[2], match[3]
    if kind in ("decimal", "numeric"):
        return decimal_type(int(first or 10), int(second or 0))
    if first is None or second is not None or int(first) == 0:
        raise InexpressibleError(f"the type {name[:100]!r}")
    return CharType(int(first), padded=kind == "char")


def decimal_type(precision: int, scale: int) -> pa.DataType:
    """Return decimal(precision,scale). Raises InexpressibleError beyond 76 digits."""
    if not 1 <= precision <= _MAX_DIGITS or scale > precision:
        raise InexpressibleError(f"the type decimal({precision},{scale})")
    if precision > _MAX_SMALL_DIGITS:
        return pa.decimal256(precision, scale)
    return pa.decimal128(precision, scale)


def type_name(type_: Type) -> str:
    """Return the inverse of `parse_type`. Raises InexpressibleError."""
    if isinstance(type_, CharType):
        return f"{'char' if type_.padded else 'varchar'}({type_.length})"
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_):
        return "timestamp with local time zone" if type_.tz else "timestamp"
    if pa.types.is_large_string(type_):
        return "string"
    if pa.types.is_large_binary(type_) or pa.types.is_fixed_size_binary(type_):
        return "binary"
    for name, known in _SIMPLE.items():
        if known == type_:
            return name
    raise InexpressibleError(f"Hive has no name for {type_}")


def nested_type_name(type_: pa.DataType) -> str:
    """Return `type_name`, also of an array. Raises InexpressibleError."""
    if pa.types.is_list(type_):
        return f"array<{type_name(type_.value_type)}>"
    return type_name(type_)


#: Limit of levels below the root of a predicate (nested AND, or nested OR, count as one).
#: Binding and evaluation are recursive.
MAX_DEPTH = 100

TRUE, FALSE = Literal(True, pa.bool_()), Literal(False, pa.bool_())
NULL = Literal(None, pa.null())


def conjunction(children: Iterable[HudiExpression]) -> HudiExpression:
    """Return a flat AND of one or more predicates."""
    flat = _flat(children, And)
    return flat[0] if len(flat) == 1 else And(flat)


def disjunction(children: Iterable[HudiExpression]) -> HudiExpression:
    """Return a flat OR of one or more predicates."""
    flat = _flat(children, Or)
    return flat[0] if len(flat) == 1 else Or(flat)


def as_boolean_term(condition: HudiExpression) -> Term:
    """Return a condition as a term: its boolean, or NULL.

    The condition is in it twice. A condition with too many CASE terms is replaced by an unknown
    one, or nested conditions would double with each level.
    """
    if not has_few_branches(condition):
        condition = Unknown("the value of a condition on too many choices")
    return Case(((condition, TRUE), (Not(condition), FALSE)), NULL)


def _flat(
    children: Iterable[HudiExpression], kind: type[And] | type[Or]
) -> tuple[HudiExpression, ...]:
    flat: list[HudiExpression] = []
    for child in children:
        flat.extend(child.children if isinstance(child, kind) else (child,))
    return tuple(flat)


def rows_equal(fields: Iterable[HudiExpression]) -> HudiExpression:
    """Return equality of rows: all fields are equal; engines differ for NULLs."""
    return conjunction((*fields, Unknown("rows with a NULL among their fields")))


_WHOLE = re.compile(r"[+-]?\d{1,76}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d{1,9}))?", re.ASCII)
_EPOCH = datetime(1970, 1, 1)
_SECONDS_PER_DAY = 86_400
_NANOS = 10**9
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def integer_literal(value: int) -> Literal:
    """Return an integer literal of Hive's type for its size. Raises ValueError beyond 76 digits."""
    if -(2**31) <= value < 2**31:
        return Literal(value, pa.int32())
    if -(2**63) <= value < 2**63:
        return Literal(value, pa.int64())
    return decimal_literal(Decimal(value))


def decimal_literal(value: Decimal) -> Literal:
    """Return a decimal literal with its digits. Raises ValueError beyond 76 digits."""
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("a decimal that is not a number")
    scale = max(0, -exponent)
    return Literal(value, decimal_type(max(len(digits) + max(exponent, 0), scale, 1), scale))


def timestamp_literal(seconds: int, nanos: int, zone: str | None = None) -> Literal:
    """Return a timestamp literal in the coarsest unit that holds it; `zone` makes it an instant."""
    for unit in ("s", "us", "ns"):
        step = _NANOS // _UNITS[unit]
        if nanos % step == 0:
            break
    return Literal(seconds * _UNITS[unit] + nanos // step, pa.timestamp(unit, tz=zone))


def instant_of_text(text: str) -> Literal | None:
    """Return the instant of a time in text with its offset, or ``UTC``; None for other text."""
    found = time_of_text(text)
    if found is None or found.offset is None:
        return None
    seconds, fraction = divmod(found.wall - found.offset, 1)
    return timestamp_literal(seconds, int(fraction * _NANOS), "UTC")


def split_timestamp(literal: Literal) -> tuple[int, int]:
    """Return the seconds and the nanoseconds within the second of a timestamp literal."""
    if not isinstance(literal.type, pa.TimestampType):
        raise ValueError(f"a literal of type {literal.type} is not a timestamp")
    per_second = _UNITS[literal.type.unit]
    seconds, rest = divmod(literal.value, per_second)
    return seconds, rest * (_NANOS // per_second)


def fold_cast(literal: Literal, target: Type) -> Literal | None:
    """Return the literal as a value of another type; None if engines may round, wrap or differ."""
    if literal.value is None:
        return Literal(None, target)
    if literal.type == target:
        return literal
    if isinstance(literal.type, CharType):
        return None
    if isinstance(target, CharType):
        short = isinstance(literal.value, str) and len(literal.value) <= target.length
        return Literal(literal.value, target) if short else None
    value = literal.value
    for applies, convert in _FOLDS:
        if applies(target):
            return convert(value, literal.type, target)
    return None


def _to_integer(value: PythonValue, _: pa.DataType, target: pa.DataType) -> Literal | None:
    if isinstance(value, str):
        whole = int(value) if _WHOLE.fullmatch(value) else None
    elif isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        whole = int(value) if math.isfinite(value) and value == int(value) else None
    else:
        whole = None
    limit = 2 ** (target.bit_width - 1)
    return Literal(whole, target) if whole is not None and -limit <= whole < limit else None


def _to_float(value: PythonValue, source: pa.DataType, target: pa.DataType) -> Literal | None:
    if isinstance(value, str):
        if value in _NOT_FINITE:
            return Literal(_NOT_FINITE[value], target)
        if not _NUMBER.fullmatch(value):
            return None
        value = Decimal(value)
    if isinstance(value, bool) or not _is_number(source, value):
        return None
    nearest = float(value)
    if pa.types.is_float64(target) or not math.isfinite(nearest):
        return Literal(nearest, target)
    with np.errstate(over="ignore"):
        single = np.float32(nearest)
    if not np.isfinite(single):
        return None
    # Rounding to double first and then to float may differ from rounding once.
    exact = Fraction(value)
    error = abs(Fraction(float(single)) - exact)
    with np.errstate(over="ignore"):
        neighbours = [np.nextafter(single, np.float32(side)) for side in (-np.inf, np.inf)]
    best = all(abs(Fraction(float(one)) - exact) > error for one in neighbours if np.isfinite(one))
    return Literal(float(single), target) if best else None


def _is_number(source: pa.DataType, value: PythonValue) -> bool:
    temporal = pa.types.is_temporal(source)
    return isinstance(value, int | float | Decimal) and not temporal


def _to_decimal(value: PythonValue, source: pa.DataType, target: pa.DataType) -> Literal | None:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = Decimal(value)
    elif isinstance(value, bool | float) or not _is_number(source, value):
        return None
    precision, scale = precision_and_scale(target)
    scaled = Fraction(value) * 10**scale
    if scaled.denominator != 1 or abs(scaled) >= 10**precision:
        return None
    digits = tuple(int(digit) for digit in str(abs(scaled.numerator)))
    return Literal(Decimal((int(scaled < 0), digits, -scale)), target)


def _to_date(value: PythonValue, source: pa.DataType, target: pa.DataType) -> Literal | None:
    if isinstance(value, str) and _DAY.fullmatch(value):
        try:
            return Literal((date.fromisoformat(value) - _EPOCH.date()).days, target)
        except ValueError:
            return None
    if pa.types.is_timestamp(source) and source.tz is None:
        days, rest = divmod(value, _SECONDS_PER_DAY * _UNITS[source.unit])
        return Literal(days, target) if rest == 0 else None
    return None


def _to_timestamp(value: PythonValue, source: pa.DataType, target: pa.DataType) -> Literal | None:
    if zone_of(target) is not None:
        return None
    if isinstance(value, str):
        match = _TIME.fullmatch(value if " " in value else f"{value} 00:00:00")
        if match is None:
            return None
        try:
            wall = datetime.fromisoformat(match[1])
        except ValueError:
            return None
        since = wall - _EPOCH
        return timestamp_literal(since.days * _SECONDS_PER_DAY + since.seconds, _nanos(match[2]))
    if pa.types.is_date32(source):
        return timestamp_literal(value * _SECONDS_PER_DAY, 0)
    if pa.types.is_timestamp(source) and source.tz is None:
        return Literal(value, source)
    return None


def _nanos(fraction: str | None) -> int:
    return int((fraction or "0").ljust(9, "0"))


def _to_string(value: PythonValue, source: pa.DataType, target: pa.DataType) -> Literal | None:
    if isinstance(value, str) or pa.types.is_integer(source):
        return Literal(str(value), target)
    return None


def _to_binary(value: PythonValue, _: pa.DataType, target: pa.DataType) -> Literal | None:
    return Literal(value.encode(), target) if isinstance(value, str) else None


_Fold = Callable[[Any, pa.DataType, pa.DataType], Literal | None]
_FOLDS: tuple[tuple[Callable[[pa.DataType], bool], _Fold], ...] = (
    (pa.types.is_integer, _to_integer),
    (pa.types.is_floating, _to_float),
    (pa.types.is_decimal, _to_decimal),
    (pa.types.is_date32, _to_date),
    (pa.types.is_timestamp, _to_timestamp),
    (pa.types.is_string, _to_string),
    (pa.types.is_binary, _to_binary),
)


_WIDER: dict[pa.DataType, tuple[pa.DataType, ...]] = {
    pa.int8(): (pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    pa.int16(): (pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    pa.int32(): (pa.int64(), pa.float64()),
    pa.float32(): (pa.float64(),),
}


def widen(term: Term, source: pa.DataType | None, target: pa.DataType | None) -> Term:
    """Return a term of one type as another; a type is None if it is not a number.

    Raises:
        InexpressibleError: The cast may change a value.
    """
    if source is not None and source == target:
        return term
    if source is None or target is None or target not in _WIDER.get(source, ()):
        raise InexpressibleError(f"not supported: a cast from {source} to {target}")
    return Cast(term, target)


_MONTHS: Mapping[str, int] = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_DAYS: Mapping[str, int] = {"WEEK": 7, "DAY": 1}
_MICROS: Mapping[str, int] = {
    **{"HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000},
    **{"MILLISECOND": 1_000, "MICROSECOND": 1},
}
_INTERVAL = re.compile(r"[+-]?\d{1,12}(\.\d{1,6})?", re.ASCII)


PLUS_INTERVAL = "plus interval"
#: The same where a day always has 24 hours, if the operand is not a date.
PLUS_EXACT_INTERVAL = "plus exact interval"


def plus_interval(
    time: Term, interval: exp.Interval, sign: int, function: str = PLUS_INTERVAL
) -> Call:
    """Return a time later (sign 1) or earlier (-1) by an interval.

    The result is ``plus interval(time, months, days, micros)``. Raises ValueError for intervals of
    several fields, and those that are not constant.
    """
    from sqlglot import exp  # on use

    unit, amount = interval.args.get("unit"), interval.this
    if isinstance(amount, exp.Neg):
        sign, amount = -sign, amount.this
    if not isinstance(unit, exp.Var) or not isinstance(amount, exp.Literal):
        raise ValueError(f"not supported: {interval.sql('hive')[:100]}")
    return shift_time(time, amount.name, unit.name, sign, function)


def shift_time(
    time: Term, amount: str, unit: str, sign: int = 1, function: str = PLUS_INTERVAL
) -> Call:
    """Return a time later by so many units.

    Raises:
        ValueError: That is not a whole number of months, days or microseconds.
    """
    name, text = unit.upper().removesuffix("S"), amount.strip()
    known = any(name in units for units in (_MONTHS, _DAYS, _MICROS))
    if not known or not _INTERVAL.fullmatch(text):
        raise ValueError(f"not supported: an interval of {text[:40]} {name[:40]}")
    parts = [Decimal(text) * sign * units.get(name, 0) for units in (_MONTHS, _DAYS, _MICROS)]
    if any(part != int(part) for part in parts):
        raise ValueError(f"not supported: an interval of {text[:40]} {name}")
    return Call(function, (time, *(Literal(int(part), pa.int64()) for part in parts)))

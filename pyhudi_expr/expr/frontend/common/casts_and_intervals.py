"""Casts of numbers that change no value, and `INTERVAL '1' DAY` added to dates and times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa

from pyhudi_expr.expr.frontend.common.hive_types import InexpressibleError
from pyhudi_expr.expr.nodes import Call, Cast, Literal, Term

if TYPE_CHECKING:
    from sqlglot import exp

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
_NUMBER = re.compile(r"[+-]?\d{1,12}(\.\d{1,6})?", re.ASCII)


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
    if not known or not _NUMBER.fullmatch(text):
        raise ValueError(f"not supported: an interval of {text[:40]} {name[:40]}")
    parts = [Decimal(text) * sign * units.get(name, 0) for units in (_MONTHS, _DAYS, _MICROS)]
    if any(part != int(part) for part in parts):
        raise ValueError(f"not supported: an interval of {text[:40]} {name}")
    return Call(function, (time, *(Literal(int(part), pa.int64()) for part in parts)))

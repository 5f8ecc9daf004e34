"""Values as the oracle has them, and what engines make of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Context
from typing import Any

import pyarrow as pa

EPOCH = datetime(1970, 1, 1)
EXACT = Context(prec=100)


class OutOfScopeError(Exception):
    """The function is not modelled for these values."""


@dataclass(frozen=True)
class Typed:
    """A value (None is NULL) with its type."""

    value: Any
    type: pa.DataType


@dataclass(frozen=True)
class Habits:
    """What engines leave open in functions.

    units: texts are counted in UTF-16 units, a half character becomes '?'. turkish: the JVM's
    locale has a dotted capital I. keeps_last_day: add_months goes from the last day of a month to
    the last day. skips_nulls: greatest and least do. wraps: an integer that overflows wraps.
    """

    zone: str | None
    units: bool
    turkish: bool
    keeps_last_day: bool
    skips_nulls: bool
    wraps: bool
    from_wall: bool


def is_time(type_: pa.DataType) -> bool:
    return bool(pa.types.is_date(type_) or pa.types.is_timestamp(type_))

"""The oracle's values, and the options of engines that affect functions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Context
from typing import Any

import pyarrow as pa

EPOCH = datetime(1970, 1, 1)
EXACT = Context(prec=100)


class OutOfScopeError(Exception):
    """The oracle does not support the function for these values."""


@dataclass(frozen=True)
class Typed:
    """A value (None is NULL) with its type."""

    value: Any
    type: Any


@dataclass(frozen=True)
class FunctionOptions:
    """Options of engines for functions.

    units: texts are counted in UTF-16 units, and half a character becomes '?'. turkish: the JVM's
    locale has a dotted capital I. keeps_last_day: add_months maps the last day of a month to the
    last day. skips_nulls: greatest and least ignore NULL. wraps: integer overflow wraps.
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

"""Constants of a filter, converted to the types of the columns that they are compared with."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pyarrow as pa

from pyhudi_expr.errors import FilterNotApplicable
from pyhudi_expr.expr.frontend.common.constants import fold_cast, split_timestamp, timestamp_literal
from pyhudi_expr.expr.nodes import Literal
from pyhudi_expr.expr.zones import Zone

_EPOCH = datetime(1970, 1, 1)
_WITH_OFFSET = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(?:Z|UTC|([+-])(\d\d):?(\d\d))"
)

_ISO_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:)")


def converted(literal: Literal, type_: pa.DataType, zone: Zone | None) -> Literal:
    """Return a constant in the type of the column beside it, where pyarrow would not convert it.

    Args:
        literal: The constant.
        type_: The column's type.
        zone: The zone of a time without one; None if it is not known.

    Raises:
        FilterNotApplicable: The type has no such value.
    """
    if literal.value is None:
        return Literal(None, type_)
    if pa.types.is_date32(type_) and isinstance(literal.value, str):
        return _folded(literal, type_)
    if not pa.types.is_timestamp(type_):
        return literal
    if isinstance(literal.value, str) and (instant := _instant_of(literal.value)) is not None:
        if type_.tz is None:
            raise FilterNotApplicable(
                f"rows cannot be filtered: {literal.value!r} has a zone, and the column's times "
                "have none; write it without one"
            )
        return instant
    clock = literal if _is_time(literal) else _folded(_without_t(literal), pa.timestamp("ns"))
    if type_.tz is None or getattr(clock.type, "tz", None) is not None:
        return clock
    seconds, nanos = split_timestamp(clock)
    return timestamp_literal(_instant(seconds, zone), nanos, "UTC")


def _instant_of(text: str) -> Literal | None:
    """Return the instant of a time with an offset, such as 2024-01-05T00:00:00Z; None of others."""
    found = _WITH_OFFSET.fullmatch(text.strip())
    if found is None:
        return None
    clock, sign, hours, minutes = found.groups()
    folded = fold_cast(Literal(clock.replace("T", " "), pa.string()), pa.timestamp("ns"))
    if folded is None:
        return None
    seconds, nanos = split_timestamp(folded)
    offset = 60 * (60 * int(hours or 0) + int(minutes or 0)) * (-1 if sign == "-" else 1)
    return timestamp_literal(seconds - offset, nanos, "UTC")


def _is_time(literal: Literal) -> bool:
    return isinstance(literal.type, pa.TimestampType)


def _folded(literal: Literal, type_: pa.DataType) -> Literal:
    folded = fold_cast(literal, type_)
    if folded is None:
        what = "date" if pa.types.is_date32(type_) else "time"
        raise FilterNotApplicable(
            f"rows cannot be filtered: {literal.value!r} is no {what}; write '2024-01-31' or "
            "'2024-01-31 23:59:59'"
        )
    return folded


def _without_t(literal: Literal) -> Literal:
    """Return a time of ISO 8601, 2024-01-31T23:59:59, as SQL writes it."""
    if not isinstance(literal.value, str):
        return literal
    return Literal(_ISO_TIME.sub(r"\1 \2", literal.value), literal.type)


def _instant(wall_seconds: int, zone: Zone | None) -> int:
    """Return the only instant at which a wall clock of the zone shows the time."""
    if zone is None:
        raise FilterNotApplicable(
            "rows cannot be filtered: a time without zone against instants; say in which zone"
        )
    first, last = zone.instants(wall_seconds)
    if first != last:
        raise FilterNotApplicable(
            f"rows cannot be filtered: {_shown(wall_seconds)} in {zone.name} is ambiguous: it is"
            " twice, or never"
        )
    return first


def _shown(wall_seconds: int) -> str:
    try:
        return f"{_EPOCH + timedelta(seconds=wall_seconds):%F %T}"
    except OverflowError:
        return f"the second {wall_seconds}"

"""Dates and times of the oracle: wall clocks, instants and texts."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from tests.expr.oracle_engines import Engine, Table, UndefinedError, Value, is_temporal, is_text


def units(type_: pa.TimestampType) -> int:
    return {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[type_.unit]


def moments_of(
    left: Value, right: Value, table: Table, engine: Engine
) -> tuple[Fraction, Fraction]:
    """Two moments on the same clock, in seconds."""
    kinds = _clock(left), _clock(right)
    seconds = [_seconds(left), _seconds(right)]
    if "instant" not in kinds:
        if engine.dates == "date":
            for own, other in ((left, 1), (right, 0)):
                if own.stored and _clock(own) == "date" and not (left, right)[other].stored:
                    seconds[other] = seconds[other] // 86_400 * 86_400
        return seconds[0], seconds[1]
    if kinds == ("instant", "instant"):
        both_stored = left.stored and right.stored
        if both_stored and engine.wall_clock and table.zone is not None:
            return _wall_clock(seconds[0], table.zone), _wall_clock(seconds[1], table.zone)
        return seconds[0], seconds[1]
    instant = left if kinds[0] == "instant" else right
    if not instant.stored or table.zone is None:
        raise UndefinedError
    shown = kinds.index("instant")
    if engine.wall_clock:
        seconds[shown] = _wall_clock(seconds[shown], table.zone)
    else:
        seconds[1 - shown] = _instant_of(seconds[1 - shown], table.zone)
    return seconds[0], seconds[1]


def _clock(operand: Value) -> str:
    if is_text(operand):
        return "text"
    if not is_temporal(operand):
        raise UndefinedError
    if pa.types.is_date(operand.type):
        return "date"
    return "instant" if operand.type.tz else "wall"


_EPOCH = datetime(1970, 1, 1)


def _seconds(operand: Value) -> Fraction:
    match _clock(operand):
        case "text":
            return _parsed(operand.value)
        case "date":
            return Fraction(operand.value * 86_400)
    return Fraction(operand.value, units(operand.type))


def _parsed(text: str) -> Fraction:
    whole, _, fraction = text.partition(".")
    pattern = "%Y-%m-%d %H:%M:%S" if " " in whole else "%Y-%m-%d"
    try:
        moment = datetime.strptime(whole, pattern)
    except ValueError as error:
        raise UndefinedError from error
    return Fraction((moment - _EPOCH) // timedelta(seconds=1)) + Fraction(f"0.{fraction or 0}")


def _zone(name: str) -> Any:
    return timezone.utc if name == "UTC" else ZoneInfo(name)


def _wall_clock(seconds: Fraction, zone: str) -> Fraction:
    """The zone's wall clock at an instant."""
    try:
        moment = _EPOCH.replace(tzinfo=timezone.utc) + timedelta(seconds=math.floor(seconds))
        offset = moment.astimezone(_zone(zone)).utcoffset()
    except OverflowError as error:
        raise UndefinedError from error
    assert offset is not None
    return seconds + offset // timedelta(seconds=1)


def _instant_of(seconds: Fraction, zone: str) -> Fraction:
    """The earlier instant at which the wall clock shows the time; in a gap, Java's choice."""
    try:
        wall = _EPOCH + timedelta(seconds=math.floor(seconds))
        offset = wall.replace(tzinfo=_zone(zone), fold=0).utcoffset()
    except OverflowError as error:
        raise UndefinedError from error
    assert offset is not None
    return seconds - offset // timedelta(seconds=1)


def text_of(operand: Value, table: Table) -> str | None:
    """A date or time as text, in the shortest form; None for years that have none."""
    seconds = _seconds(operand)
    if _clock(operand) == "instant":
        if table.zone is None:
            raise UndefinedError
        seconds = _wall_clock(seconds, table.zone)
    try:
        moment = _EPOCH + timedelta(seconds=math.floor(seconds))
    except OverflowError:
        return None
    if _clock(operand) == "date":
        return moment.date().isoformat()
    nanos = int((seconds - math.floor(seconds)) * 10**9)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return moment.isoformat(sep=" ") + fraction

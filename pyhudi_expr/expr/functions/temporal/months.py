"""Months between two times."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from pyhudi_expr.expr.bounds import Bounds, mask_and, mask_or
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Ordinals, float_ordinals
from pyhudi_expr.expr.functions.signature import (
    DOUBLE,
    TIMES,
    Function,
    OnOperands,
    Rule,
    Signature,
    Site,
    opaque,
    ordinals,
)
from pyhudi_expr.expr.functions.temporal.calendar import NO_ZONE, clock_of, in_calendar, moments_of
from pyhudi_expr.expr.zones import SECONDS_PER_DAY

_EPOCH = date(1970, 1, 1)
_DAY = re.compile(r"(19|20)\d\d-\d\d-\d\d", re.ASCII)
_SECONDS_PER_MONTH = 31 * SECONDS_PER_DAY


def _months_between(site: Site) -> Signature | None:
    if len(site.domains) != 2:
        return None
    found = [_clock(site, index) for index in (0, 1)]
    if None in found:
        zoned = all(site.kind(index) in TIMES for index in (0, 1))
        return opaque(DOUBLE, NO_ZONE) if zoned else None
    return Signature(OnOperands(_between, tuple(enumerate(found))), DOUBLE)


def _clock(site: Site, index: int) -> Function | None:
    """Return the conversion of an argument to wall-clock seconds; None if unknown."""
    text = site.text(index)
    if text is not None:
        try:
            day = date.fromisoformat(text) if _DAY.fullmatch(text) else None
        except ValueError:
            return None
        return None if day is None else _Midnight((day - _EPOCH).days)
    clock = clock_of(site, index)
    return None if clock is None or isinstance(clock, Signature) else clock[0]


@dataclass(frozen=True)
class _Midnight:
    """The seconds of a day that is written in a text."""

    day: int

    def __call__(self, *operands: Bounds) -> Bounds:
        seconds = np.int64(self.day * SECONDS_PER_DAY)
        return replace(operands[0], lower=seconds, upper=seconds)


def _between(*operands: Bounds) -> Bounds:
    """Return whole months between equal or last days of months; else by months of 31 days.

    That is the difference of `_position`, except for last days, of which the shortest month has
    three fewer; engines may show a day as the next one where clocks change.
    """
    left, right = (ordinals(operand) for operand in operands)
    known = [[in_calendar(end) for end in ends] for ends in (left, right)]
    least = _position(left[0]) - _position(right[1]) - _MARGIN
    greatest = _position(left[1]) - _position(right[0]) + _MARGIN
    return Bounds(
        np.where(known[0][0] & known[1][1], float_ordinals(least), np.int64(MIN_ORDINAL)),
        np.where(known[0][1] & known[1][0], float_ordinals(greatest), np.int64(MAX_ORDINAL)),
        mask_and(*(operand.may_be_value for operand in operands)),
        mask_or(*(operand.may_be_null for operand in operands)),
    )


_MARGIN = 0.3


def _position(seconds: Ordinals) -> np.ndarray:
    """Return months since 1970, with the day as a fraction of 31."""
    moments = moments_of(seconds)
    months = moments.astype("datetime64[M]")
    into = (moments - months.astype("datetime64[s]")).astype(np.int64)
    return np.asarray(months.astype(np.int64) + into / _SECONDS_PER_MONTH)


RULES: dict[str, Rule] = {"months_between": _months_between}

"""Times in texts: the forms of ISO 8601 and SQL that engines read as times."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

_EPOCH = datetime(1970, 1, 1)
_FORM = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:(?P<between>[ T])(?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))?"
    r"(?: ?(?P<zone>Z|UTC|[+-](?:0\d|1[0-4]):[0-5]\d))?)?",
    re.ASCII,
)


@dataclass(frozen=True)
class TimeText:
    """A time as a text shows it.

    Attributes:
        wall: Seconds of the clock in the text since the beginning of 1970 on the same clock.
        offset: Seconds by which that clock is ahead of UTC; None if the text has no zone.
        is_plain: Whether all engines read the text alike: it has neither a T nor a zone.
    """

    wall: Fraction
    offset: int | None
    is_plain: bool

    @property
    def midnight(self) -> Fraction:
        """The beginning of the day in the text, on its clock."""
        return self.wall - self.wall % 86_400


def time_of_text(text: str) -> TimeText | None:
    """Return the time that a text of a known form shows; None of others, and of days that are none.

    The forms are ``2024-01-31``, ``2024-01-31 23:59:59``, with a T instead of the space, with up to
    nine digits of a second, and with a zone: Z, UTC or an offset such as ``+01:00``.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    try:
        shown = datetime.fromisoformat(f"{match['day']} {match['clock'] or '00:00:00'}")
    except ValueError:
        return None
    digits = match["fraction"] or "0"
    wall = (shown - _EPOCH) // timedelta(seconds=1) + Fraction(int(digits), 10 ** len(digits))
    is_plain = match["between"] != "T" and match["zone"] is None
    return TimeText(wall, _offset(match["zone"]), is_plain)


def _offset(zone: str | None) -> int | None:
    if zone is None or zone in ("Z", "UTC"):
        return None if zone is None else 0
    hours, minutes = zone[1:].split(":")
    seconds = int(hours) * 3600 + int(minutes) * 60
    return seconds if zone[0] == "+" else -seconds

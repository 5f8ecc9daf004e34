"""Geometry of the timeline, which templates/timeline.html draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyhudi_expr.tables.timeline.timeline import Instant

_MAX_INSTANTS = 400
#: Pixels between two instants, and before the first one.
_STEP, _MARGIN = 20, 24
_MIN_WIDTH = 200


@dataclass(frozen=True)
class InstantMark:
    """An instant on the timeline.

    Attributes:
        kind: "write", "other" or "pending": the class of its style.
        name: Its time, action and state.
        x: Pixels from the left border.
        is_read: The result is of the table at this instant.
    """

    kind: str
    name: str
    x: int
    is_read: bool


@dataclass(frozen=True)
class TimelineDrawing:
    """The newest instants, the oldest of them first; `label` tells them in words."""

    label: str
    width: int
    marks: tuple[InstantMark, ...]


def draw_timeline(instants: Sequence[Instant], read_at: str | None) -> TimelineDrawing:
    """Draw the newest instants. `read_at`: the requested time of the instant that a query reads."""
    newest = instants[-_MAX_INSTANTS:]
    marks = tuple(_mark(place, instant, read_at) for place, instant in enumerate(newest))
    width = max(len(newest) * _STEP + 2 * _MARGIN, _MIN_WIDTH)
    return TimelineDrawing(_label(newest, len(instants)), width, marks)


def _label(newest: Sequence[Instant], total: int) -> str:
    if not newest:
        return "no instants"
    first, last = newest[0].requested, newest[-1].requested
    count = "1 instant" if total == 1 else f"{total} instants"
    count = count if len(newest) == total else f"the last {len(newest)} of {count}"
    return f"{count}, {first}" if first == last else f"{count}, from {first} to {last}"


def _mark(place: int, instant: Instant, read_at: str | None) -> InstantMark:
    kind = "write" if instant.is_write else "other"
    state = "" if instant.is_completed else f", {instant.state.name.lower()}"
    return InstantMark(
        kind if instant.is_completed else "pending",
        f"{instant.requested} {instant.action}{state}",
        _MARGIN + place * _STEP,
        instant.requested == read_at,
    )

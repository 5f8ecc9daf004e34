"""Trends and timelines as columns and geometry, which templates draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyhudi_expr.api.pages.activity import Totals, Trend
from pyhudi_expr.tables.timeline import Instant

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


_NEW_DAY = "%Y-%m-%d %H:%M"


@dataclass(frozen=True)
class Column:
    """A period.

    Attributes:
        height: In percent of the chart's height.
        lower: Of this the lower part that has another colour.
        label: Time and value.
    """

    place: int
    height: float
    lower: float
    label: str


@dataclass(frozen=True)
class Chart:
    """A column for each period; `top` is the value at the upper border."""

    title: str
    top: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class TrendDrawing:
    """Charts over the same periods.

    Attributes:
        periods: Number of periods.
        begin: Text of the first period's begin.
        end: Text of now.
        rows: The periods with requests as texts: begin, requests, unpruned, skipped, mean time.
    """

    charts: tuple[Chart, ...]
    periods: int
    begin: str
    end: str
    rows: tuple[tuple[str, ...], ...]


def draw_trend(trend: Trend, now: datetime) -> TrendDrawing:
    """Draw a trend until now: the requests, the share of files skipped, and the mean time."""
    trend = trend.until(now)
    most = _ceiling(max(each.requests for each in trend.periods))
    slowest = _ceiling(max(each.mean_millis for each in trend.periods))
    period = _duration(trend.seconds)
    charts = (
        _chart(
            trend,
            (f"requests in {period}", f"{most:,.0f}"),
            lambda each: (each.requests / most, each.unpruned / most),
            lambda each: f"requests: {each.requests:,}, not pruned: {each.unpruned:,}",
        ),
        _chart(
            trend,
            ("files skipped", "100%"),
            lambda each: (each.skipped_share, 0.0),
            lambda each: f"{each.skipped_share:.1%} of {each.files:,} files skipped",
        ),
        _chart(
            trend,
            ("mean time of a request", f"{slowest:g} ms"),
            lambda each: (each.mean_millis / slowest, 0.0),
            lambda each: f"{each.mean_millis:.1f} ms",
        ),
    )
    return TrendDrawing(
        charts, len(trend.periods), f"{trend.start:{_NEW_DAY}}", f"{now:{_NEW_DAY}}", _rows(trend)
    )


def _chart(
    trend: Trend,
    texts: tuple[str, str],
    shares: Callable[[Totals], tuple[float, float]],
    label: Callable[[Totals], str],
) -> Chart:
    columns = []
    for place, each in enumerate(trend.periods):
        if each.requests:
            height, lower = shares(each)
            text = f"{_time(trend, place)}: {label(each)}"
            columns.append(Column(place, 100 * height, 100 * lower, text))
    return Chart(*texts, tuple(columns))


def _rows(trend: Trend) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            _time(trend, place),
            f"{each.requests:,}",
            f"{each.unpruned:,}",
            f"{each.dropped:,} of {each.files:,}",
            f"{each.mean_millis:.1f}",
        )
        for place, each in reversed(list(enumerate(trend.periods)))
        if each.requests
    )


def _time(trend: Trend, period: int) -> str:
    return f"{trend.begin(period):%Y-%m-%d %H:%M:%S}"


def _duration(seconds: int) -> str:
    if seconds < 60:
        return f"{seconds} s"
    return f"{seconds / 60:g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


def _ceiling(value: float) -> float:
    """Return 1, 2 or 5 times a power of ten that is not below the value; 1 for nothing."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= value * (1 - 1e-9))

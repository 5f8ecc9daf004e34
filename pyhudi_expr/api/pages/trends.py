"""Trends as columns, which templates/trends.html draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from pyhudi_expr.api.pages.activity import Totals, Trend

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

"""The labels of an axis: round values where places are values, some of the values where not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from pyhudi_expr.api.pages.axes import Axis, LinearScale, RankScale, numbers, value_text
from pyhudi_expr.expr.bounds import Values
from pyhudi_expr.expr.domains import Domain, Kind

_TICKS = 5
_MAX_BANDS = 12
_EPOCH = datetime(1970, 1, 1)
_DAY = 86_400
_TIME_STEPS = (
    *(1, 5, 15, 30, 60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200),
    *(days * _DAY for days in (1, 2, 7, 14, 30, 91, 182, 365, 730, 1_825, 3_650, 36_500)),
)
_TIMES = (Kind.DATE, Kind.WALL_CLOCK, Kind.INSTANT)


@dataclass(frozen=True)
class Tick:
    """A label at a place from 0 to 1; `is_minor`: without it where there is little space."""

    place: float
    label: str
    is_minor: bool


def ticks(axis: Axis) -> tuple[Tick, ...]:
    """Return the labels of an axis, in ascending order."""
    match axis.scale:
        case LinearScale() as scale:
            labels = list(_of_values(scale))
        case RankScale() as scale:
            labels = list(_of_bands(scale))
    # A narrow screen has space for four or so.
    stride = -(-len(labels) // 4)
    return tuple(Tick(place, label, i % stride > 0) for i, (place, label) in enumerate(labels))


def short_number(value: float, step: float) -> str:
    """Return a number with the digits that a step needs, large ones with M, G or T."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= size:
            digits = max(0, math.ceil(-math.log10(max(step / size, 1e-3))))
            return f"{value / size:,.{digits}f} {unit}"
    if value and abs(value) < 1e-4:
        return f"{value:.1e}"
    digits = max(0, math.ceil(-math.log10(step) - 1e-9)) if step < 1 else 0
    return f"{value:,.{digits}f}"


def _of_values(scale: LinearScale) -> Iterator[tuple[float, str]]:
    low, high = numbers(np.array([scale.low, scale.high]), scale.domain).tolist()
    is_time = scale.domain.kind in _TIMES
    seconds = _DAY if scale.domain.kind is Kind.DATE else 1
    step = _time_step((high - low) * seconds) / seconds if is_time else _step(high - low)
    for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1):
        value = number * step
        label = _moment(value * seconds, step * seconds) if is_time else short_number(value, step)
        yield min(max((value - low) / (high - low), 0.0), 1.0), label


def _of_bands(scale: RankScale) -> Iterator[tuple[float, str]]:
    count = len(scale.values)
    if count <= _MAX_BANDS:
        chosen = list(range(count))
    else:
        chosen = np.linspace(0, count - 1, _TICKS).astype(int).tolist()
    for band in chosen:
        yield (band + 0.5) / count, _short(scale.values[band], scale.domain)


def _short(value: Values, domain: Domain) -> str:
    text = value_text(value, domain)
    return text[1:-1] if text[:1] == text[-1:] == "'" else text


def _step(span: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least a fifth of the span or so."""
    rough = span / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= rough * 0.999)


def _time_step(span: float) -> float:
    """Return seconds."""
    if span < _TICKS:
        return _step(span)
    return next((each for each in _TIME_STEPS if span / each <= _TICKS + 1), _step(span))


def _moment(seconds: float, step: float) -> str:
    try:
        moment = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return f"{seconds:.3g} s"
    if step >= _DAY:
        return f"{moment:%Y-%m-%d}"
    if step >= 60:
        return f"{moment:%m-%d %H:%M}"
    return f"{moment:%H:%M:%S}" if step >= 1 else f"{moment:%H:%M:%S.%f}"

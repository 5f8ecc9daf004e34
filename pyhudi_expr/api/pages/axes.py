"""The axes of a map of files: values of a column as places from 0 to 1, and their labels.

A scale has one of two forms. Numbers and times are placed by their value (`LinearScale`). Texts,
and numbers of which a few are far from the others, are placed by their rank (`RankScale`): each
distinct bound has a band of the same width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, AnyScalar, BoolArray, Float64Array, Int64Array
from pyhudi_expr.expr.bound import BoundColumn, BoundLiteral
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Domain,
    Kind,
    Values,
    float_ordinals,
    floats_of,
)
from pyhudi_expr.expr.nodes import PythonValue
from pyhudi_expr.expr.render import render_term

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


_PIECES = 96
_MAX_LITERALS = 64
#: Up to this many whole numbers (or days) have a band each.
_MAX_UNITS = 31
#: Less of the axis than this for most bounds: ranks instead of values.
_CROWDED = 0.05
_DISCRETE = (Kind.INTEGER, Kind.DATE)


@dataclass(frozen=True)
class Ranges:
    """The range of one column in each file.

    Attributes:
        lower: (files,) least values, in the physical form of the column's domain.
        upper: (files,) greatest values.
    """

    column: BoundColumn
    lower: Values
    upper: Values

    @property
    def known(self) -> tuple[BoolArray, BoolArray]:
        """Return which lower and which upper ends are known, (files,) each."""
        domain = self.column.domain
        lower, upper = _known(self.lower, domain), _known(self.upper, domain)
        if domain.is_ordinal:
            # Without a value the least one is above the greatest one.
            possible = self.lower <= self.upper
            return lower & possible, upper & possible
        return lower, upper

    def describe(self, file: int) -> str:
        """Return the range of a file in words."""
        lower, upper = (bool(ends[file]) for ends in self.known)
        low = value_text(self.lower[file], self.column.domain) if lower else None
        high = value_text(self.upper[file], self.column.domain) if upper else None
        if low is None and high is None:
            return "not known"
        if low == high:
            return str(low)
        return f"{low or 'not known'} to {high or 'not known'}"


@dataclass(frozen=True)
class Pieces:
    """An axis cut into ranges of values.

    Attributes:
        lower: (pieces,) least values, in physical form.
        upper: (pieces,) greatest values.
        edges: (pieces + 1,) places, ascending.
    """

    lower: Values
    upper: Values
    edges: Float64Array


@dataclass(frozen=True)
class LinearScale:
    """Places in proportion to the values from `low` to `high` (ordinals)."""

    domain: Domain
    low: int
    high: int

    def places(self, ordinals: Int64Array) -> Float64Array:
        """Return the place of each ordinal, within 0 and 1."""
        low, high = numbers(np.array([self.low, self.high]), self.domain)
        found = (numbers(ordinals, self.domain) - low) / max(high - low, 1e-300)
        return np.clip(found, 0.0, 1.0)

    def spans(self, lower: Values, upper: Values) -> tuple[Float64Array, Float64Array]:
        """Return the places where ranges begin and end."""
        unit = int(self.domain.kind in _DISCRETE)
        ends = np.where(upper < MAX_ORDINAL, upper + unit, upper)
        return self.places(lower), self.places(ends)

    def pieces(self, literals: Sequence[BoundLiteral]) -> Pieces:
        """Cut the axis evenly, and at the literals."""
        low, high = numbers(np.array([self.low, self.high]), self.domain)
        even = ordinals(np.linspace(low, high, _PIECES + 1), self.domain)
        ends = [end for each in literals for end in (int(each.lower), int(each.upper) + 1)]
        inside = [end for end in ends if self.low < end < self.high]
        starts = np.unique(np.array([self.low, *even[1:-1].tolist(), *inside], np.int64))
        edges = np.append(self.places(starts), 1.0)
        return Pieces(starts, np.append(starts[1:] - 1, self.high), edges)


@dataclass(frozen=True)
class RankScale:
    """A band for each of some distinct values, in ascending order; physical form."""

    domain: Domain
    values: Values

    def ranks(self, values: Values) -> Int64Array:
        """Return the band of each value; 0 for unknown ones."""
        if self.domain.is_ordinal:
            found = np.searchsorted(self.values, values)
            return np.minimum(found, len(self.values) - 1).astype(np.int64)
        found = pc.index_in(values, value_set=self.values).fill_null(0)
        return found.to_numpy(zero_copy_only=False).astype(np.int64)

    def spans(self, lower: Values, upper: Values) -> tuple[Float64Array, Float64Array]:
        """Return the places where ranges begin and end."""
        count = len(self.values)
        return self.ranks(lower) / count, (self.ranks(upper) + 1) / count

    def pieces(self, literals: Sequence[BoundLiteral]) -> Pieces:
        """Cut the axis evenly, and around the bands of the literals."""
        count = len(self.values)
        own = [int(rank) for each in literals for rank in self.ranks(_ends(each, self.domain))]
        cuts = [place for rank in own for place in (rank, rank + 1)]
        even = np.linspace(0, count, min(_PIECES, count) + 1).astype(np.int64)
        starts = np.unique(np.array([*even.tolist(), *cuts], np.int64))
        first, last = starts[:-1], starts[1:] - 1
        return Pieces(_taken(self.values, first), _taken(self.values, last), starts / count)


Scale: TypeAlias = LinearScale | RankScale


@dataclass(frozen=True)
class Axis:
    """The axis of one column.

    Attributes:
        scale: How values become places.
        literals: What the query compares the column with.
    """

    column: BoundColumn
    scale: Scale
    literals: tuple[BoundLiteral, ...]

    @property
    def by_rank(self) -> bool:
        """Whether places are ranks instead of values."""
        return isinstance(self.scale, RankScale) and len(self.scale.values) > _MAX_UNITS

    @property
    def has_bands(self) -> bool:
        """Whether each value has a band that is wide enough to be seen."""
        return isinstance(self.scale, RankScale) and not self.by_rank

    def spans(self, ranges: Ranges) -> tuple[Float64Array, Float64Array]:
        """Return the place where each file begins and ends; the whole axis if that is unknown."""
        lower, upper = ranges.known
        start, end = self.scale.spans(ranges.lower, ranges.upper)
        return np.where(lower, start, 0.0), np.where(upper, end, 1.0)

    def text_at(self, place: float) -> str:
        """Return the value at a place as text."""
        if isinstance(self.scale, RankScale):
            count = len(self.scale.values)
            return value_text(self.scale.values[min(int(place * count), count - 1)], self.domain)
        low, high = numbers(np.array([self.scale.low, self.scale.high]), self.domain)
        ordinal = ordinals(np.array([low + place * (high - low)]), self.domain)[0]
        return value_text(ordinal, self.domain)

    @property
    def domain(self) -> Domain:
        """The domain of the column."""
        return self.column.domain

    def pieces(self) -> Pieces:
        """Return the axis in pieces over which a predicate can be evaluated."""
        return self.scale.pieces(self.literals)


def axis_of(ranges: Sequence[Ranges], literals: Sequence[BoundLiteral]) -> Axis | None:
    """Return one axis for all ranges of a column; None if no end is known.

    `literals` are the constants that a query compares the column with.
    """
    column = ranges[0].column
    compared = tuple(literals) if len(literals) <= _MAX_LITERALS else ()
    ends = _known_ends(ranges)
    if not len(ends):
        return None
    return Axis(column, _scale(column.domain, ends, compared), compared)


def value_text(value: PythonValue | np.int64 | AnyScalar, domain: Domain) -> str:
    """Return a value in physical form as text."""
    plain = value.as_py() if isinstance(value, pa.Scalar) else value
    plain = int(plain) if isinstance(plain, np.integer) else plain
    return render_term(BoundLiteral(plain, plain, domain))


def numbers(ordinals: Int64Array, domain: Domain) -> Float64Array:
    """Return ordinals as numbers: seconds of times, days of dates."""
    if domain.kind is Kind.FLOAT:
        return np.nan_to_num(floats_of(ordinals))
    unit = 10**domain.scale if domain.kind is Kind.DECIMAL else domain.units
    return ordinals.astype(np.float64) / unit


def ordinals(values: Float64Array, domain: Domain) -> Int64Array:
    """Return the inverse of `numbers`, rounded."""
    if domain.kind is Kind.FLOAT:
        return float_ordinals(values)
    unit = 10**domain.scale if domain.kind is Kind.DECIMAL else domain.units
    return np.rint(values * unit).astype(np.int64)


def _scale(domain: Domain, ends: Values, literals: Sequence[BoundLiteral]) -> Scale:
    if not domain.is_ordinal:
        compared = [_ends(each, domain) for each in literals]
        values = pa.concat_arrays([ends, *compared]).unique()
        return RankScale(domain, values.take(pc.array_sort_indices(values)))
    low, high = int(ends.min()), int(ends.max())
    if domain.kind is Kind.BOOLEAN:
        return RankScale(domain, np.array([0, 1], np.int64))
    if domain.kind in _DISCRETE:
        if high - low < _MAX_UNITS:
            return RankScale(domain, np.arange(low, high + 1, dtype=np.int64))
        high += 1
    linear = LinearScale(domain, low, high)
    if low < high and not _is_crowded(linear.places(ends)):
        return linear
    compared = [end for each in literals for end in (int(each.lower), int(each.upper))]
    return RankScale(domain, np.unique(np.append(ends, np.array(compared, np.int64))))


def _is_crowded(places: Float64Array) -> bool:
    least, greatest = np.quantile(places, (0.05, 0.95))
    return bool(greatest - least < _CROWDED)


def _known_ends(ranges: Sequence[Ranges]) -> Values:
    ends: list[Values] = []
    for each in ranges:
        for values, known in zip((each.lower, each.upper), each.known, strict=True):
            ends.append(values[known] if isinstance(values, np.ndarray) else values.drop_null())
    if isinstance(ends[0], np.ndarray):
        return np.concatenate(ends)
    joined: AnyArray = pa.chunked_array(ends).combine_chunks()
    return joined


def _known(ends: Values, domain: Domain) -> BoolArray:
    if not domain.is_ordinal:
        valid: BoolArray = ends.is_valid().to_numpy(zero_copy_only=False)
        return valid
    known: BoolArray = (ends > MIN_ORDINAL) & (ends < MAX_ORDINAL)
    return known & np.isfinite(floats_of(ends)) if domain.kind is Kind.FLOAT else known


def _ends(literal: BoundLiteral, domain: Domain) -> Values:
    ends = [literal.lower, literal.upper]
    return np.array(ends, np.int64) if domain.is_ordinal else pa.array(ends, domain.arrow_type)


def _taken(values: Values, places: Int64Array) -> Values:
    if isinstance(values, np.ndarray):
        return values[places]
    taken: AnyArray = values.take(pa.array(places))
    return taken

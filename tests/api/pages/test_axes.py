"""Axes: values as places from 0 to 1, in proportion or by rank, and the labels of both."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from pyhudi_expr.api.pages.axes import Axis, LinearScale, Ranges, axis_of, short_number, ticks
from pyhudi_expr.api.pages.regions import region_of
from pyhudi_expr.expr.bound import BoundColumn, BoundComparison, BoundLiteral
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, domain_of, float_ordinals
from pyhudi_expr.expr.nodes import Op


def ranges(type_: pa.DataType, lower: object, upper: object) -> Ranges:
    domain = domain_of(type_)
    if domain.is_ordinal:
        return Ranges(BoundColumn("c", type_, domain), np.array(lower), np.array(upper))
    texts = (pa.array(ends, pa.large_binary()) for ends in (lower, upper))
    return Ranges(BoundColumn("c", type_, domain), *texts)


def axis(known: Ranges, *literals: object) -> Axis:
    domain = known.column.domain
    found = axis_of([known], [BoundLiteral(each, each, domain) for each in literals])
    assert found is not None
    return found


def labels(found: Axis) -> dict[str, float]:
    return {tick.label: round(tick.place, 3) for tick in ticks(found)}


INTEGERS = ranges(pa.int64(), [0, 400, 900], [399, 899, 999])


def test_numbers_are_placed_in_proportion():
    start, end = axis(INTEGERS).spans(INTEGERS)
    assert start.tolist() == [0.0, 0.4, 0.9]
    assert end.tolist() == [0.4, 0.9, 1.0]
    assert labels(axis(INTEGERS)) == {
        "0": 0,
        "200": 0.2,
        "400": 0.4,
        "600": 0.6,
        "800": 0.8,
        "1,000": 1,
    }


def test_floats_and_decimals_are_placed_by_value_and_not_by_their_ordinals():
    floats = ranges(pa.float64(), float_ordinals([-1.0, 0.5]), float_ordinals([0.0, 1.0]))
    start, end = axis(floats).spans(floats)
    assert start.tolist() == [0.0, 0.75]
    assert end.tolist() == [0.5, 1.0]
    assert labels(axis(floats)) == {"-1.0": 0, "-0.5": 0.25, "0.0": 0.5, "0.5": 0.75, "1.0": 1}
    money = ranges(pa.decimal128(9, 2), [0, 5_000], [4_999, 10_000])
    assert labels(axis(money)) == {"0": 0, "20": 0.2, "40": 0.4, "60": 0.6, "80": 0.8, "100": 1}


def test_texts_have_a_band_for_each_value():
    cities = ranges(pa.string(), [b"Oslo", b"Lima", b"Lima"], [b"Oslo", b"Lima", b"Rome"])
    start, end = axis(cities).spans(cities)
    assert start.tolist() == [1 / 3, 0, 0]
    assert end.tolist() == [2 / 3, 1 / 3, 1]
    assert labels(axis(cities)) == {"Lima": 0.167, "Oslo": 0.5, "Rome": 0.833}


def test_what_a_query_asks_for_has_a_band_though_no_file_has_it():
    cities = ranges(pa.string(), [b"Oslo", b"Lima"], [b"Oslo", b"Lima"])
    assert list(labels(axis(cities, b"Nice"))) == ["Lima", "Nice", "Oslo"]


def test_a_few_far_values_turn_numbers_into_ranks():
    lower = [*range(100), 10**15]
    skewed = ranges(pa.int64(), lower, lower)
    found = axis(skewed)
    assert found.by_rank
    start, _ = found.spans(skewed)
    assert np.allclose(start, np.arange(101) / 101)
    assert not axis(INTEGERS).by_rank


def test_days_are_labelled_with_dates_and_times_with_what_their_step_needs():
    days = ranges(pa.date32(), [19_700, 19_800], [19_799, 19_899])
    assert all(len(label.split("-")) == 3 for label in labels(axis(days)))
    second = 10**6
    times = ranges(pa.timestamp("us"), [0, 3_600 * second], [3_000 * second, 7_200 * second])
    assert list(labels(axis(times))) == [
        "01-01 00:00",
        "01-01 00:30",
        "01-01 01:00",
        "01-01 01:30",
        "01-01 02:00",
    ]


def test_unknown_ends_reach_to_the_border():
    known = ranges(pa.int64(), [MIN_ORDINAL, 500, 0], [99, MAX_ORDINAL, 999])
    start, end = axis(known).spans(known)
    assert (start[0], end[1]) == (0.0, 1.0)
    assert known.describe(0) == "not known to 99"
    assert known.describe(1) == "500 to not known"


def test_without_a_known_end_there_is_no_axis():
    assert axis_of([ranges(pa.int64(), [MIN_ORDINAL], [MAX_ORDINAL])], []) is None
    assert axis_of([ranges(pa.string(), [None], [None])], []) is None
    # Bounds of a file with nulls only.
    assert axis_of([ranges(pa.int64(), [MAX_ORDINAL], [MIN_ORDINAL])], []) is None


@pytest.mark.parametrize(
    ("kind", "least", "greatest"),
    [(pa.int64(), -(2**62), 2**62), (pa.float64(), -(2**62), 2**62), (pa.int64(), 5, 5)],
)
def test_extremes_have_places_within_the_axis(kind, least, greatest):
    known = ranges(kind, [least, least], [least, greatest])
    for ends in axis(known).spans(known):
        assert ((ends >= 0) & (ends <= 1)).all()
    assert ticks(axis(known))


def test_pieces_cover_a_linear_axis_without_gaps_and_end_at_literals():
    found = axis(INTEGERS, 123)
    assert isinstance(found.scale, LinearScale)
    pieces = found.pieces()
    assert pieces.lower[0] == 0
    assert (pieces.lower[1:] == pieces.upper[:-1] + 1).all()
    assert pieces.upper[-1] >= 999
    assert {123, 124} <= set(pieces.lower.tolist())
    assert (np.diff(pieces.edges) >= 0).all()


@pytest.mark.parametrize(
    ("value", "step", "text"),
    [
        (0, 1, "0"),
        (0.2, 0.2, "0.2"),
        (1234, 1, "1,234"),
        (5_000_000, 1_000_000, "5 M"),
        (2.5e12, 5e11, "2.5 T"),
    ],
)
def test_numbers_have_as_many_digits_as_the_step_needs(value, step, text):
    assert short_number(value, step) == text


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.bool_(), [0, 1]),
        (pa.int8(), [-128, 127]),
        (pa.float32(), float_ordinals([-1.5, np.inf]).tolist()),
        (pa.float64(), float_ordinals([1e-300, 1e300]).tolist()),
        (pa.decimal128(38, 10), [Decimal("-1.5"), Decimal("1e20")]),
        (pa.date32(), [-700_000, 2_000_000]),
        (pa.timestamp("s"), [-(10**15), 10**15]),
        (pa.timestamp("ns", "UTC"), [0, 10**18]),
        (pa.string(), [b"", b"\xff\xfe"]),
        (pa.binary(), [b"\x00", b"\x01\x02"]),
        (pa.binary(2), [b"ab", b"cd"]),
    ],
)
def test_every_type_has_an_axis(kind, values):
    """With constants of the query, unknown ends, and the region of a comparison."""
    domain = domain_of(kind)
    column = BoundColumn("c", kind, domain)
    if domain.is_ordinal:
        known = Ranges(column, np.array([values[0], values[0]]), np.array([values[1], MAX_ORDINAL]))
    else:
        bounds = ([values[0], values[0]], [values[1], None])
        known = Ranges(column, *(pa.array(each, domain.arrow_type) for each in bounds))
    found = axis(known, *values)
    for places in found.spans(known):
        assert ((places >= 0) & (places <= 1)).all()
    assert ticks(found)
    assert known.describe(0)
    assert found.text_at(0.5)
    least = BoundLiteral(values[0], values[0], domain)
    region = region_of(BoundComparison(Op.LTEQ, least, column), [found])
    assert region.share > 0.99

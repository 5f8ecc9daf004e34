"""Floats as ordinals and back, also for ordinals that are no float."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, float_ordinal, floats_of
from pyhudi_expr.expr.nodes import Between, Call, Term
from tests.expr.kept_files import X, kept, less, lit
from tests.expr.statistics import RecordedStatistics

DOUBLE = pa.float64()
MINUS_INFINITY, INFINITY = float_ordinal(-math.inf), float_ordinal(math.inf)


def float_of(ordinal: int) -> float:
    return float(floats_of(np.array([ordinal], np.int64))[0])


@given(st.floats(allow_nan=False))
def test_floats_survive_the_round_trip_through_ordinals(value: float) -> None:
    assert float_of(float_ordinal(value)) == value


@given(st.integers(MIN_ORDINAL, MINUS_INFINITY))
def test_a_lower_bound_below_all_floats_is_minus_infinity(ordinal: int) -> None:
    assert float_of(ordinal) == -math.inf


@given(st.integers(INFINITY + 1, MAX_ORDINAL))
def test_an_upper_bound_above_all_floats_is_nan(ordinal: int) -> None:
    assert math.isnan(float_of(ordinal))


ONE, ZERO = lit(1.0, DOUBLE), lit(0.0, DOUBLE)


@pytest.mark.parametrize(
    "term",
    [
        *(Call(name, (X, ONE)) for name in ("+", "-", "*", "/")),
        Call("+", (Call("abs", (X,)), Call("*", (X, lit(2.0, DOUBLE))))),
        *(Call(name, (X,)) for name in ("floor", "ceil", "round")),
    ],
    ids=str,
)
def test_functions_of_minus_infinity_keep_it_where_its_bound_is_loose(term: Term) -> None:
    loose = {("x", 0): RecordedStatistics(loose=True)}
    assert kept(less(term, ZERO), DOUBLE, [-math.inf], [7.0], given=loose)[:1] == [0]


@pytest.mark.parametrize("place", range(3), ids=["term", "low", "high"])
def test_a_literal_nan_may_be_between_any_two_numbers(place: int) -> None:
    """Hive compares vectors by `value < low or value > high`, which NaN never is."""
    operands: list[Term] = [X, lit(-1.0, DOUBLE), lit(1.0, DOUBLE)]
    operands[place] = Call("coalesce", (X, lit(math.nan, DOUBLE)))
    assert kept(Between(*operands), DOUBLE, [5.0, 7.0], [None])[-1:] == [1]

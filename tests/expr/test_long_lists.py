"""IN lists of the column's own kind are bound in bulk, with the same result as option by option."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundComparison, BoundExpression, BoundIn, BoundLiteral, BoundOr
from pyhudi_expr.expr.nodes import (
    Column,
    Comparison,
    Constant,
    HudiExpression,
    In,
    Literal,
    Op,
    Truth,
)
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope

SCHEMA = pa.schema({"i": pa.int32(), "s": pa.string()})


def bound(predicate: HudiExpression) -> BoundExpression:
    return bind(predicate, Scope(SCHEMA, here("UTC")))


def options(predicate: BoundExpression) -> set[tuple[Any, Any]]:
    """The intervals to which the column is restricted."""
    match predicate:
        case BoundIn(options=several):
            return {(option.lower, option.upper) for option in several}
        case BoundComparison(op=Op.EQ, right=BoundLiteral(lower=lower, upper=upper)):
            return {(lower, upper)}
        case Constant():
            return set()
    raise AssertionError(predicate)


def assert_bound_as_option_by_option(
    column: str, values: Sequence[Any], type_: pa.DataType
) -> None:
    literals = tuple(Literal(value, type_) for value in values)
    equalities = [bound(Comparison(Op.EQ, Column((column,)), literal)) for literal in literals]
    together = bound(In(Column((column,)), literals))
    assert options(together) == set().union(*map(options, equalities))
    if isinstance(together, BoundIn):
        lows = [option.lower for option in together.options]
        assert lows == sorted(lows)


@given(st.lists(st.integers(-(2**33), 2**33), min_size=1))
def test_integers_with_some_out_of_range(values: list[int]) -> None:
    assert_bound_as_option_by_option("i", values, pa.int64())


@given(st.lists(st.text(), min_size=1))
def test_lists_of_strings_bind_as_option_by_option(values: list[str]) -> None:
    assert_bound_as_option_by_option("s", values, pa.string())


def test_a_literal_that_is_not_an_integer_is_bound_separately() -> None:
    mixed = (Literal(5, pa.int64()), Literal(2.5, pa.float64()), Literal(7.0, pa.float64()))
    assert options(bound(In(Column(("i",)), mixed))) == {(5, 5), (7, 7)}


def test_a_null_option_matches_nothing_and_may_make_the_result_null() -> None:
    some = (Literal(5, pa.int32()), Literal(None, pa.int32()), Literal(6, pa.int32()))
    match bound(In(Column(("i",)), some)):
        case BoundOr(children=(among, Constant(truth=Truth.NO_NULL))):
            assert options(among) == {(5, 5), (6, 6)}
        case other:
            raise AssertionError(other)

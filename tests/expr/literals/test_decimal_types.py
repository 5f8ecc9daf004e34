"""Decimals and integers are compared, and chosen by CASE, as values of one type.

The engines themselves are asked in `tests/truth`.
"""

from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa
import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Call,
    Case,
    Cast,
    Comparison,
    HudiExpression,
    IsNull,
    Literal,
    Not,
    Op,
)
from pyhudi_expr.expr.terms import Scope
from tests.expr.kept_files import X, Y, among, eq, kept, less, lit

TINY = lit(Decimal("1E-29"), pa.decimal128(29, 29))
LARGE = lit(Decimal("12345678901234567890.5"), pa.decimal128(21, 1))
SMALL = pa.decimal128(5, 2)


@pytest.mark.parametrize("predicate", [eq(X, TINY), among(X, TINY, lit(7, pa.int32()))])
def test_a_constant_without_a_common_type_may_be_rounded_to_an_integer(
    predicate: HudiExpression,
) -> None:
    assert kept(predicate, pa.int32(), [0], [5]) == [0]


def test_a_column_without_a_common_type_may_be_rounded_to_a_constant() -> None:
    nearly_ten = [Decimal("9." + "9" * 37)]
    ten = lit(Decimal("10.0"), pa.decimal128(3, 1))
    assert kept(eq(X, ten), pa.decimal128(38, 37), nearly_ten, [Decimal(9)]) == [0]


def test_numbers_with_a_common_type_are_compared_exactly() -> None:
    half = lit(Decimal("0.125"), pa.decimal128(3, 3))
    assert kept(eq(X, half), SMALL, [Decimal("0.12")], [Decimal("0.13")]) == []
    assert kept(less(X, half), SMALL, [Decimal("0.12")], [Decimal("0.13")]) == [0]


def test_null_safe_equality_without_a_common_type_may_find_nulls() -> None:
    predicate = Comparison(Op.NULL_SAFE_EQ, X, lit(-13, pa.int32()))
    assert kept(predicate, pa.decimal128(38, 37), [None], [Decimal(1)]) == [0, 1]
    assert kept(predicate, SMALL, [None], [Decimal(1)], [Decimal(-13)]) == [2]


@pytest.mark.parametrize("name", ["coalesce", "nvl"])
def test_a_choice_of_decimals_has_the_type_that_holds_all_of_them(name: str) -> None:
    chosen = Call(name, (X, LARGE))
    assert kept(eq(chosen, LARGE), SMALL, [None], [Decimal(1)]) == [0]
    assert kept(eq(Call("round", (chosen,)), LARGE), SMALL, [None], [Decimal(1)]) == []


def test_a_computed_decimal_too_long_for_its_type_may_be_null_in_a_choice() -> None:
    cast = Cast(X, pa.decimal128(5, 4))
    zero = lit(Decimal("0.0"), pa.decimal128(1, 1))
    assert kept(IsNull(Call("nvl", (cast, zero))), pa.int32(), [32767]) == [0]


def test_in_may_be_false_of_null_where_no_option_is_of_the_integers_type() -> None:
    options = [lit(number, pa.int32()) for number in (5000, 6000)]
    assert kept(Not(among(Cast(X, pa.int8()), *options)), pa.int32(), [None], [1]) == [0, 1]
    assert kept(Not(among(X, options[0], lit(1, pa.int32()))), pa.int32(), [None], [1]) == []


@pytest.mark.parametrize(
    "upper",
    [
        Comparison(Op.LTEQ, X, lit(2.5, pa.float64())),
        Comparison(Op.GTEQ, lit(2.5, pa.float64()), X),
        Not(Comparison(Op.GT, X, lit(2.5, pa.float64()))),
    ],
)
def test_two_comparisons_are_a_between(upper: HudiExpression) -> None:
    low: Literal = lit(1.5, pa.float64())
    scope = Scope(pa.schema([("x", pa.float64()), ("y", pa.int32())]))
    between = bind(Between(X, low, lit(2.5, pa.float64())), scope)
    assert bind(And((Comparison(Op.GTEQ, X, low), upper)), scope) == between
    third = eq(Y, lit(1, pa.int32()))
    assert bind(And((upper, third, Comparison(Op.LTEQ, low, X))), scope) == bind(
        And((third, Between(X, low, lit(2.5, pa.float64())))), scope
    )


def test_two_comparisons_may_be_null_where_the_lower_end_is() -> None:
    predicate = IsNull(And((Comparison(Op.LTEQ, X, Y), Comparison(Op.LTEQ, Y, lit(3, pa.int32())))))
    types = {"x": pa.int32(), "y": pa.int32()}
    assert kept(predicate, types, [(None, 5)], [(1, 5)]) == [0]


def test_one_of_two_comparisons_prunes_where_the_other_cannot_be_bound() -> None:
    mixed = Case(((eq(Y, lit(1, pa.int32())), lit(1, pa.int32())),), lit(2.5, pa.float64()))
    lower, upper = Comparison(Op.LTEQ, mixed, X), Comparison(Op.LTEQ, X, lit(5, pa.int32()))
    types = {"x": pa.int32(), "y": pa.int32()}
    assert kept(And((lower, upper)), types, [(9, 1)], [(3, 1)]) == [1]
    floats = {"x": pa.float64(), "y": pa.int32()}
    assert kept(And((lower, upper)), floats, [(math.nan, 1)]) == [0]

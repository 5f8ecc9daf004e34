"""Values of several types in one place: bound where engines agree about them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundComparison, BoundIn, BoundNot
from pyhudi_expr.expr.frontend.sql.parser import HIVE, SPARK, parse_predicate
from pyhudi_expr.expr.nodes import Unknown
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope

SCOPE = Scope(pa.schema([("d", pa.decimal128(9, 2)), ("s", pa.string()), ("i", pa.int32())]))


def bound(condition: str) -> object:
    return bind(parse_predicate(condition, SPARK), SCOPE)


def test_nullif_of_texts_is_bound() -> None:
    assert not isinstance(bound("nullif(s, 'a') = 'b'"), Unknown)


@pytest.mark.parametrize("condition", ["nullif(s, 1) = 'b'", "nullif(i, 'x') = 1"])
def test_nullif_of_a_text_and_a_number_is_refused(condition: str) -> None:
    assert bound(condition) == Unknown("nullif() of several types")


@pytest.mark.parametrize("options", ["0, 1", "0.0, 1.5", "0.0D, 2.5D"])
@pytest.mark.parametrize("column", ["d", "i"])
def test_zero_among_options_of_numbers_without_signed_zeros_is_as_others(
    column: str, options: str
) -> None:
    found = bound(f"{column} NOT IN ({options})")
    assert isinstance(found, BoundNot)
    assert isinstance(found.child, BoundIn | BoundComparison)


def test_a_negative_zero_as_an_option_may_be_missed() -> None:
    found = bound("d NOT IN (-0.0D, 2.5D)")
    assert isinstance(found, BoundNot)
    assert not isinstance(found.child, BoundIn)


@pytest.mark.parametrize(
    "condition",
    [
        "add_months(day, 13) <=> DATE '1583-11-16'",
        "add_months(day, 13) <=> day",
        "last_day(day) <=> day",
    ],
)
def test_a_day_that_hive_holds_as_text_may_make_null_safe_equality_null(condition: str) -> None:
    schema = pa.schema([("day", pa.date32())])
    in_hive = bind(parse_predicate(condition, HIVE), Scope(schema, here("UTC", HIVE.engine)))
    in_spark = bind(parse_predicate(condition, SPARK), Scope(schema, here("UTC", SPARK.engine)))
    assert in_hive == Unknown("<=> of a time that Hive holds as text, which may be NULL")
    assert isinstance(in_spark, BoundComparison)

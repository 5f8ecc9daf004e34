"""A decimal constant that Hive's vectors may change is not taken at its word.

What Hive does is tested in `tests/truth/engines/test_hive_decimals.py`.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, may_be
from pyhudi_expr.expr.frontend.sql.parser import HIVE, SPARK, parse_predicate
from pyhudi_expr.expr.nodes import Cast, Column, Comparison, HudiExpression, Literal, Op, Unknown
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.protocol.conversion.decoder import decode
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.rows.arrow_filter import arrow_filter
from tests.truth.files import SortedRows

LONG = "123456789012345678901.5"  # 21 digits before the point
FINE = "0.0000000000000000015"  # 19 digits behind it
PLAIN = ("12345678901234567890.123456789012345678", "1.50000000000000000000000", "7")


def may_match(predicate: HudiExpression, value: str) -> bool:
    """Whether a file with nothing but this value of `d` may have a row."""
    rows = pa.table({"d": pa.array([Decimal(value)], pa.decimal128(38, 19))})
    files = SortedRows(rows).files(["d"], [], 1, 0)
    bound = bind(predicate, Scope(rows.schema))
    return bool(may_be(bound, True, [StatisticsEvidence(files)]))


@pytest.mark.parametrize("constant", [LONG, f"-{LONG}", FINE])
@pytest.mark.parametrize("text", ["d = {}", "d <> {}", "d IN ({}, 1)", "NOT d = {}"])
def test_equality_with_a_changed_constant_is_as_written(text: str, constant: str) -> None:
    written = text.format(constant)
    assert parse_predicate(written) == parse_predicate(written, SPARK)


@pytest.mark.parametrize("constant", PLAIN)
@pytest.mark.parametrize("text", ["d < {}", "d BETWEEN {} AND d", "greatest(d, {}) IS NULL"])
def test_a_constant_that_hive_keeps_is_as_written(text: str, constant: str) -> None:
    written = text.format(constant)
    assert parse_predicate(written) == parse_predicate(written, SPARK)


@pytest.mark.parametrize("constant", [LONG, FINE])
@pytest.mark.parametrize(
    "text",
    [
        *("greatest(d, {}) IS NULL", "coalesce(d, {}) = 1", "d + {} = 1", "d <=> {}"),
        *("CASE d WHEN {} THEN 1 ELSE 0 END = 1", "f = CAST({} AS double)"),
    ],
)
def test_a_function_of_a_changed_constant_is_unknown(text: str, constant: str) -> None:
    written = text.format(constant)
    assert isinstance(parse_predicate(written), Unknown)
    assert not isinstance(parse_predicate(written, SPARK), Unknown)


@pytest.mark.parametrize("text", ["d >= {}", "d BETWEEN {} AND 5", "NOT d < {}"])
def test_a_range_holds_the_constant_rounded_as_hive_does(text: str) -> None:
    tiny = parse_predicate(text.format("0.0000000000000000004"))  # rounds to 0
    assert may_match(tiny, "0")
    assert not may_match(tiny, "-0.0000000000000000001")
    assert not may_match(parse_predicate(text.format("0.0000000000000000004"), SPARK), "-1")


def test_a_range_up_to_a_constant_that_is_null_in_vectors_still_prunes() -> None:
    assert not may_match(parse_predicate(f"d > {LONG}"), "5")
    assert may_match(parse_predicate(f"(d > {LONG}) IS NULL"), "5")


def test_conditions_without_changed_constants_are_the_same_object() -> None:
    predicate = parse_predicate("(d > 1 AND s = 'a' OR NOT d IN (1.5, 2)) IS NULL")
    assert HIVE.certain(predicate) is predicate


def test_what_the_handler_sends_is_read_alike() -> None:
    written = Comparison(Op.LT, Column(("d",)), Literal(Decimal(LONG), pa.decimal128(22, 1)))
    assert decode(encode(written)) == HIVE.certain(written) != written
    cast = Comparison(Op.LT, Column(("f",)), Cast(written.right, pa.float64()))
    assert isinstance(decode(encode(cast)), Unknown)


@pytest.mark.parametrize("text", [f"f < CAST({FINE} AS double)", f"d > {LONG}", f"e <= {FINE}"])
def test_a_reader_that_filters_rows_itself_has_the_constant_as_written(text: str) -> None:
    types = {"f": pa.float64(), "d": pa.decimal128(38, 10), "e": pa.decimal128(20, 19)}
    written = parse_predicate(text, HIVE.as_written)
    assert written == parse_predicate(text, SPARK)
    assert arrow_filter(written, pa.schema(types.items()), "UTC", is_in=False) is not None

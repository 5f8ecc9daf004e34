"""Hive's evaluators convert and round decimals, and no row is lost by it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.truth.engine import Answer, SessionOptions
from tests.truth.engines.hive import EvaluationMode, HiveEngine, HiveJvm, hive_jvm
from tests.truth.files import SortedRows
from tests.truth.predicates import Predicate
from tests.truth.soundness import Tally
from tests.truth.witnesses import evaluated_by_hive

pytestmark = pytest.mark.hive

FINE, LONG = "0.0000000000000000000000000000000905964", "123456789012345678901.5"
ROWS = pa.table(
    {
        "fine": pa.array(["0", FINE, "1", "-1", None]).cast(pa.decimal128(38, 37)),
        "long": pa.array(["0", LONG, "1", "-1", None]).cast(pa.decimal128(38, 10)),
        "small": pa.array(["0", "0.5", "1", "-1", None]).cast(pa.decimal128(5, 2)),
        "whole": pa.array([Decimal(1), Decimal(0), None, Decimal(-1), Decimal(5)]).cast(
            pa.decimal128(20, 0)
        ),
        "i": pa.array([0, 1, 300, 32767, None], pa.int32()),
        "f": pa.array([float("nan"), 2.0, 9.0, None, 0.0]),
    }
)
OPTIMIZED, AS_WRITTEN = (
    SessionOptions(settings={"hive.cbo.enable": value}) for value in ("true", "false")
)


@pytest.fixture(scope="module")
def jvm() -> Iterator[HiveJvm]:
    with hive_jvm() as running:
        yield running


def truths(
    jvm: HiveJvm, predicate: str, mode: EvaluationMode, options: SessionOptions
) -> list[bool | None]:
    [answer] = HiveEngine(jvm, mode).evaluate(ROWS, [predicate], options)
    assert isinstance(answer, Answer), answer
    found: list[bool | None] = answer.truths.to_pylist()
    return found


def test_between_of_one_constant_finds_the_constant_rounded_to_eighteen_digits(
    jvm: HiveJvm,
) -> None:
    predicate = f"fine BETWEEN {FINE} AND {FINE}"
    by_rows = truths(jvm, predicate, EvaluationMode.ROWS, OPTIMIZED)
    by_vectors = truths(jvm, predicate, EvaluationMode.VECTOR_FILTER, OPTIMIZED)
    assert by_rows == [False, True, False, False, None]
    assert by_vectors == [True, False, False, False, False]


def test_a_constant_of_more_than_twenty_digits_before_the_point_is_null(jvm: HiveJvm) -> None:
    predicate = f"greatest(long, {LONG}) IS NULL"
    assert truths(jvm, predicate, EvaluationMode.ROWS, AS_WRITTEN) == [False] * 4 + [True]
    assert truths(jvm, predicate, EvaluationMode.VECTORS, AS_WRITTEN) == [True] * 5


@pytest.mark.smoke
def test_a_constant_is_rounded_to_the_type_that_it_has_in_common_with_the_column(
    jvm: HiveJvm,
) -> None:
    predicate = "i = 0.00000000000000000000000000001"
    found = truths(jvm, predicate, EvaluationMode.ROWS, AS_WRITTEN)
    assert found == [True, False, False, False, None]


def test_in_is_false_of_null_where_no_option_is_of_the_type(jvm: HiveJvm) -> None:
    predicate = "CAST(i AS TINYINT) NOT IN (5000, 6000)"
    assert truths(jvm, predicate, EvaluationMode.ROWS, OPTIMIZED) == [True] * 5


@pytest.mark.smoke("if(i = 1, 0.", "small IN (1000")
@pytest.mark.parametrize(
    "predicate",
    [
        *(f"fine BETWEEN {FINE} AND {FINE}", f"fine NOT BETWEEN {FINE} AND {FINE}"),
        *(f"{FINE} BETWEEN fine AND fine", f"fine <= {FINE} AND fine >= {FINE}"),
        *(f"(long BETWEEN {LONG} AND {LONG}) IS NULL", f"long >= {LONG} AND whole <= {LONG}"),
        *(f"greatest(long, {LONG}) IS NULL", f"least(fine, {FINE}) = {FINE}"),
        *(f"CASE fine WHEN {FINE} THEN 1 ELSE 0 END = 1", f"if(i = 1, {FINE}, 1) = {FINE}"),
        *(f"f + 1 < {LONG}", f"(f + 1 < {LONG}) IS NULL", f"sign(i) > -{FINE}"),
        *("i = 0.00000000000000000000000000001", "i IN (7, 0.00000000000000000000000000001)"),
        *("whole IN (7, 0.000000000000000000000000001)", "fine IN (0, 12.5)"),
        *("CAST(i AS TINYINT) NOT IN (5000, 6000)", f"i NOT IN ({FINE}, 5000000000)"),
        *("coalesce(small, 12345678901234567890.5) = 12345678901234567890.5", "small IN (1000)"),
        *("round(coalesce(small, 1234567), 1) = 1234567.0", "coalesce(small, 1) IS NULL"),
        *("nvl(CAST(i AS DECIMAL(5,4)), 0.0) IS NULL", "coalesce(CAST(i AS DECIMAL(5,4)), 0) = 0"),
        *("(whole <= 3 AND small >= 3) IS NULL", "f >= 1.5 AND f <= 2.5"),
        "coalesce(f >= 1.5 AND f <= 2.5, true)",
        "NOT coalesce(NOT (f >= 1.5 AND f <= 2.5), true)",
    ],
)
def test_no_row_is_lost(jvm: HiveJvm, predicate: str) -> None:
    tally = Tally()
    for options in (OPTIMIZED, AS_WRITTEN):
        cases = [Predicate(predicate, predicate)]
        for evaluated in evaluated_by_hive(jvm, ROWS, cases, options):
            rows = [[row] for row in range(ROWS.num_rows)]
            names = evaluated.columns(ROWS.schema.names)
            tally.add(evaluated, SortedRows(ROWS).files(names, rows, 40, 1))
    assert tally.cases > 0
    assert not tally.lost, "\n".join(map(str, tally.losses.values()))

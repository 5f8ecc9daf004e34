"""Hive's evaluators reproduce Hive's known behaviour."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from decimal import Decimal

import pyarrow as pa
import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.protocol.conversion.decoder import decode
from tests.truth.engine import Answer, Refusal, SessionOptions
from tests.truth.engines.hive import EvaluationMode, HiveEngine, HiveJvm, hive_jvm, sent_filter

pytestmark = pytest.mark.hive

_BERLIN = "Europe/Berlin"
_AS_WRITTEN = {"hive.cbo.enable": "false"}
_VECTORS = (EvaluationMode.VECTORS, EvaluationMode.VECTORS_OF_ONE)
_FILTERS = (EvaluationMode.VECTOR_FILTER, EvaluationMode.VECTOR_FILTER_OF_ONE)


@pytest.fixture(scope="module")
def jvm() -> Iterator[HiveJvm]:
    with hive_jvm() as running:
        yield running


def _evaluate(
    jvm: HiveJvm,
    predicate: str,
    column: pa.Array,
    *,
    mode: EvaluationMode = EvaluationMode.ROWS,
    zone: str = "UTC",
    settings: Mapping[str, str] = _AS_WRITTEN,
) -> list[bool | None]:
    """The truth values of a predicate on the column `x`."""
    [answer] = HiveEngine(jvm, mode).evaluate(
        pa.table({"x": column}), [predicate], SessionOptions(zone, settings)
    )
    assert isinstance(answer, Answer), answer
    found: list[bool | None] = answer.truths.to_pylist()
    return found


def _instants(*values: dt.datetime) -> pa.Array:
    return pa.array(values, pa.timestamp("us", tz="UTC"))


@pytest.mark.smoke("x > 0 OR x IS NULL-truths3-0")
@pytest.mark.parametrize("mode", [EvaluationMode.ROWS, *_VECTORS])
@pytest.mark.parametrize(
    ("predicate", "truths"),
    [
        ("x > 0", [True, False, None]),
        ("NOT x > 0", [False, True, None]),
        ("x > 0 AND x IS NULL", [False, False, None]),
        ("x > 0 OR x IS NULL", [True, False, True]),
        ("x NOT IN (0, 2)", [True, False, None]),
        ("coalesce(x > 0, true)", [True, False, True]),
        ("CASE WHEN x > 0 THEN 1 ELSE 0 END = 0", [False, True, True]),
    ],
)
def test_predicates_have_three_truth_values(
    jvm: HiveJvm, mode: EvaluationMode, predicate: str, truths: list[bool | None]
) -> None:
    assert _evaluate(jvm, predicate, pa.array([1, 0, None], pa.int32()), mode=mode) == truths


def test_null_operands_of_connectives(jvm: HiveJvm) -> None:
    column = pa.array([1, 0, None], pa.int32())
    assert _evaluate(jvm, "x <=> NULL", column) == [False, False, True]
    assert _evaluate(jvm, "x IN (1, NULL)", column) == [True, None, None]
    assert _evaluate(jvm, "x NOT BETWEEN 1 AND NULL", column) == [None, True, None]


@pytest.mark.parametrize("mode", _FILTERS)
def test_vectorised_filters_report_only_true_rows(jvm: HiveJvm, mode: EvaluationMode) -> None:
    column = pa.array([1, 0, None] * 700, pa.int32())
    assert _evaluate(jvm, "x > 0", column, mode=mode) == [True, False, False] * 700


@pytest.mark.smoke("0")
@pytest.mark.parametrize("mode", [EvaluationMode.ROWS, *_VECTORS])
def test_batches_keep_the_order_of_rows(jvm: HiveJvm, mode: EvaluationMode) -> None:
    column = pa.chunked_array([range(1500), range(1500, 2100)], pa.int64())
    found = _evaluate(jvm, "x % 3 = 1", column, mode=mode)
    assert found == [number % 3 == 1 for number in range(2100)]


@pytest.mark.smoke("int64-9223372036854775807L-0", "date32[day]-date '0001-01-01'-0")
@pytest.mark.parametrize("mode", [EvaluationMode.ROWS, *_VECTORS])
@pytest.mark.parametrize(
    ("column", "literal"),
    [
        (pa.array([True, False, None]), "true"),
        (pa.array([127, -128, None], pa.int8()), "127Y"),
        (pa.array([32767, -32768, None], pa.int16()), "32767S"),
        (pa.array([2**31 - 1, -(2**31), None], pa.int32()), "2147483647"),
        (pa.array([2**63 - 1, -(2**63), None], pa.int64()), "9223372036854775807L"),
        (pa.array([0.1, float("nan"), None], pa.float32()), "cast(0.1D as float)"),
        (pa.array([0.1, float("-inf"), None], pa.float64()), "0.1D"),
        (pa.array([Decimal("-9.50"), Decimal("9.49"), None], pa.decimal128(3, 2)), "-9.5BD"),
        (pa.array(["ü😀", "", None]), "'ü😀'"),
        (pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]), "date '0001-01-01'"),
        (
            pa.array([dt.datetime(1, 1, 1, 0, 0, 0, 1), dt.datetime.max, None]),
            "timestamp '0001-01-01 00:00:00.000001'",
        ),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else None,
)
def test_values_arrive_unchanged(
    jvm: HiveJvm, mode: EvaluationMode, column: pa.Array, literal: str
) -> None:
    assert _evaluate(jvm, f"x = {literal}", column, mode=mode) == [True, False, None]


def test_binaries_arrive_unchanged(jvm: HiveJvm) -> None:
    column = pa.array([b"\x00\xff", b"", None])
    assert _evaluate(jvm, "x = unhex('00FF')", column) == [True, False, None]


@pytest.mark.parametrize("mode", [EvaluationMode.ROWS, *_VECTORS])
def test_instants_are_shown_in_the_zone(jvm: HiveJvm, mode: EvaluationMode) -> None:
    # Summer, winter, and the local mean time of 53 minutes and 28 seconds before 1893-04-01.
    column = _instants(
        dt.datetime(2020, 7, 1), dt.datetime(2020, 1, 1), dt.datetime(1880, 1, 1, 0, 0, 0, 1)
    )
    expected_text = ["2020-07-01 02:00:00", "2020-01-01 01:00:00", "1880-01-01 00:53:28.000001"]
    for row, clock in enumerate(expected_text):
        found = _evaluate(jvm, f"x = timestamp '{clock}'", column, mode=mode, zone=_BERLIN)
        assert found == [row == other for other in range(3)]
    assert _evaluate(jvm, "hour(x) = 0", column, mode=mode) == [True, True, True]


def test_wall_clocks_are_unchanged_and_functions_use_the_zone(jvm: HiveJvm) -> None:
    column = pa.array([dt.datetime(1970, 1, 1, 1)])
    assert _evaluate(jvm, "hour(x) = 1 AND unix_timestamp(x) = 0", column, zone=_BERLIN) == [True]
    assert _evaluate(jvm, "hour(x) = 1 AND unix_timestamp(x) = 3600", column) == [True]
    assert _evaluate(jvm, "from_unixtime(0) = '1970-01-01 01:00:00'", column, zone=_BERLIN) == [
        True
    ]


@pytest.mark.smoke("DATETIME-2020-07-true", "None-2020-07-false")
@pytest.mark.parametrize("calcite", ["true", "false"])
@pytest.mark.parametrize(
    ("formatter", "expected_text"),
    [("DATETIME", "2020-07"), ("SIMPLE", "2020[-07]"), (None, "2020-07")],
)
def test_session_settings_are_applied(
    jvm: HiveJvm, formatter: str | None, expected_text: str, calcite: str
) -> None:
    settings = {"hive.datetime.formatter": formatter} if formatter else {}
    settings |= {"hive.cbo.enable": calcite}
    column = _instants(dt.datetime(2020, 7, 1))
    predicate = f"date_format(x, 'yyyy[-MM]') = '{expected_text}'"
    assert _evaluate(jvm, predicate, column, settings=settings) == [True]
    constant = "from_unixtime(0, 'yyyy[-MM]') = " + (
        "'1970[-01]'" if "[" in expected_text else "'1970-01'"
    )
    assert _evaluate(jvm, constant, column, settings=settings) == [True]


@pytest.mark.parametrize("mode", list(EvaluationMode))
def test_pmod_overflows(jvm: HiveJvm, mode: EvaluationMode) -> None:
    column = pa.array([2**31 - 2, 1, -1], pa.int32())
    assert _evaluate(jvm, "pmod(x, 2147483647) < 0", column, mode=mode) == [True, True, False]


@pytest.mark.parametrize("mode", list(EvaluationMode))
def test_trim_takes_spaces_only(jvm: HiveJvm, mode: EvaluationMode) -> None:
    column = pa.array(["a  ", "a\t", "a\u00a0"])
    assert _evaluate(jvm, "rtrim(x) = 'a'", column, mode=mode) == [True, False, False]


@pytest.mark.parametrize("mode", list(EvaluationMode))
def test_nan_equals_itself_row_by_row_but_not_vectorised(
    jvm: HiveJvm, mode: EvaluationMode
) -> None:
    column = pa.array([float("nan"), 1.0])
    assert _evaluate(jvm, "x = x", column, mode=mode) == [mode is EvaluationMode.ROWS, True]


@pytest.mark.smoke("false-truths1-0", "nosuch IS NULL OR x = 1-None-0")
@pytest.mark.parametrize("mode", list(EvaluationMode))
@pytest.mark.parametrize(
    ("predicate", "truths"),
    [
        ("x = x", [True, True, False]),  # The handler sends x IS NOT NULL, for NaN too.
        ("false", [False, False, False]),
        ("x = x OR x IS NULL", [True, True, True]),
        ("x > 0 AND x IS NULL", [False, False, False]),
        ("x = '1'", [True, False, None]),
        ("NOT (x < 1 OR x > 5)", [True, False, None]),
        ("nosuch IS NULL OR x = 1", None),
    ],
)
def test_calcite_rewrites_predicates_by_default(
    jvm: HiveJvm, mode: EvaluationMode, predicate: str, truths: list[bool | None] | None
) -> None:
    rows = pa.table({"x": pa.array([1.0, -1.0, None])})
    if mode in _FILTERS and truths:
        truths = [bool(truth) for truth in truths]
    [result_of_mode] = HiveEngine(jvm, mode).evaluate(rows, [predicate], SessionOptions())
    assert (
        result_of_mode.truths.to_pylist() if isinstance(result_of_mode, Answer) else None
    ) == truths


def test_calcite_unifies_types_so_that_filters_can_be_sent(jvm: HiveJvm) -> None:
    rows = pa.table({"x": pa.array([dt.date(2020, 1, 1)])})
    predicates = ["x = '2020-01-01'"]
    [without] = HiveEngine(jvm).evaluate(rows, predicates, SessionOptions(settings=_AS_WRITTEN))
    [with_it] = HiveEngine(jvm).evaluate(rows, predicates, SessionOptions())
    assert isinstance(without, Answer)
    assert isinstance(with_it, Answer)
    assert without.filter is None
    assert with_it.filter is not None


def test_a_failing_predicate_does_not_affect_others(jvm: HiveJvm) -> None:
    rows = pa.table({"x": pa.array([1, -1], pa.int32())})
    reasons = {
        "x = ": "ParseException",
        "nosuch(x)": "nosuch",
        "y = 1": "'y'",
    }
    *failed, last = HiveEngine(jvm).evaluate(rows, [*reasons, "x = 1"], SessionOptions())
    for result, reason in zip(failed, reasons.values(), strict=True):
        assert isinstance(result, Refusal)
        assert reason in result.reason
    assert isinstance(last, Answer)


def test_rows_for_which_a_predicate_fails_are_named(jvm: HiveJvm) -> None:
    rows = pa.table({"x": pa.array([1, -1], pa.int32())})
    predicate = "assert_true(x > 0) IS NULL"
    (some,) = HiveEngine(jvm).evaluate(rows, [predicate], SessionOptions())
    (none,) = HiveEngine(jvm).evaluate(rows.slice(1), [predicate], SessionOptions())
    assert isinstance(some, Answer)
    assert some.failed == [1]
    assert isinstance(none, Refusal)


def test_predicates_that_hive_does_not_vectorise_are_refused(jvm: HiveJvm) -> None:
    rows = pa.table({"x": pa.array(["a"])})
    predicates = ["soundex(x) = 'A000'", "array_contains(array(x), 'a')"]
    half, none = HiveEngine(jvm, EvaluationMode.VECTORS).evaluate(
        rows, predicates, SessionOptions()
    )
    assert isinstance(half, Answer)
    assert isinstance(none, Refusal)
    assert "no vectorised form" in none.reason


@pytest.mark.smoke("x <= 5")
@pytest.mark.parametrize("predicate", ["x <= 5", "x IS NULL", "pmod(x, 7) = 5"])
def test_filters_equal_those_that_the_handler_sends(jvm: HiveJvm, predicate: str) -> None:
    rows = pa.table({"x": pa.array([1], pa.int32())})
    [answer] = HiveEngine(jvm).evaluate(rows, [predicate], SessionOptions(_BERLIN))
    assert isinstance(answer, Answer)
    assert answer.filter is not None
    request = sent_filter(answer.filter)
    assert request.semantics.readingZone == _BERLIN
    scope = Scope(rows.schema)
    assert bind(decode(request.filter), scope) == bind(parse_predicate(predicate), scope)


def test_lists_of_constants_of_several_types_are_sent(jvm: HiveJvm) -> None:
    rows = pa.table({"x": pa.array([Decimal("1.50")])})
    [answer] = HiveEngine(jvm).evaluate(rows, ["x IN (1.5BD, 2S)"], SessionOptions())
    assert isinstance(answer, Answer)
    assert answer.filter is not None


@pytest.mark.parametrize("predicate", ["x", "hash(x) = rand()"])
def test_no_filter_is_sent_if_the_handler_would_not_send_one(jvm: HiveJvm, predicate: str) -> None:
    rows = pa.table({"x": pa.array([True])})
    [answer] = HiveEngine(jvm).evaluate(rows, [predicate], SessionOptions())
    assert isinstance(answer, Answer)
    assert answer.filter is None

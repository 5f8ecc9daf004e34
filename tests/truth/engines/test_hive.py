"""What is known of Hive, said by its evaluators."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from decimal import Decimal

import pyarrow as pa
import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.frontend.thrift.decoder import decode
from tests.truth.engine import Answer, Circumstances, Refusal
from tests.truth.engines.hive import HiveEngine, HiveJvm, Way, hive_jvm, sent_filter

pytestmark = pytest.mark.hive

_BERLIN = "Europe/Berlin"
_AS_WRITTEN = {"hive.cbo.enable": "false"}
_VECTORS = (Way.VECTORS, Way.VECTORS_OF_ONE)
_FILTERS = (Way.VECTOR_FILTER, Way.VECTOR_FILTER_OF_ONE)


@pytest.fixture(scope="module")
def jvm() -> Iterator[HiveJvm]:
    with hive_jvm() as running:
        yield running


def _truths(
    jvm: HiveJvm,
    predicate: str,
    column: pa.Array,
    *,
    way: Way = Way.ROWS,
    zone: str = "UTC",
    settings: Mapping[str, str] = _AS_WRITTEN,
) -> list[bool | None]:
    """Of a predicate on the column `x`."""
    [answer] = HiveEngine(jvm, way).judge(
        pa.table({"x": column}), [predicate], Circumstances(zone, settings)
    )
    assert isinstance(answer, Answer), answer
    found: list[bool | None] = answer.truths.to_pylist()
    return found


def _instants(*values: dt.datetime) -> pa.Array:
    return pa.array(values, pa.timestamp("us", tz="UTC"))


@pytest.mark.parametrize("way", [Way.ROWS, *_VECTORS])
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
def test_logic_has_three_values(
    jvm: HiveJvm, way: Way, predicate: str, truths: list[bool | None]
) -> None:
    assert _truths(jvm, predicate, pa.array([1, 0, None], pa.int32()), way=way) == truths


def test_null_is_an_operand_like_others(jvm: HiveJvm) -> None:
    column = pa.array([1, 0, None], pa.int32())
    assert _truths(jvm, "x <=> NULL", column) == [False, False, True]
    assert _truths(jvm, "x IN (1, NULL)", column) == [True, None, None]
    assert _truths(jvm, "x NOT BETWEEN 1 AND NULL", column) == [None, True, None]


@pytest.mark.parametrize("way", _FILTERS)
def test_filters_of_vectors_tell_only_what_is_true(jvm: HiveJvm, way: Way) -> None:
    column = pa.array([1, 0, None] * 700, pa.int32())
    assert _truths(jvm, "x > 0", column, way=way) == [True, False, False] * 700


@pytest.mark.parametrize("way", [Way.ROWS, *_VECTORS])
def test_batches_keep_the_order_of_rows(jvm: HiveJvm, way: Way) -> None:
    column = pa.chunked_array([range(1500), range(1500, 2100)], pa.int64())
    found = _truths(jvm, "x % 3 = 1", column, way=way)
    assert found == [number % 3 == 1 for number in range(2100)]


@pytest.mark.parametrize("way", [Way.ROWS, *_VECTORS])
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
def test_values_arrive_as_they_are(jvm: HiveJvm, way: Way, column: pa.Array, literal: str) -> None:
    assert _truths(jvm, f"x = {literal}", column, way=way) == [True, False, None]


def test_binaries_arrive_as_they_are(jvm: HiveJvm) -> None:
    column = pa.array([b"\x00\xff", b"", None])
    assert _truths(jvm, "x = unhex('00FF')", column) == [True, False, None]


@pytest.mark.parametrize("way", [Way.ROWS, *_VECTORS])
def test_instants_are_shown_in_the_zone(jvm: HiveJvm, way: Way) -> None:
    # Summer, winter, and the local mean time of 53 minutes and 28 seconds before 1893-04-01.
    column = _instants(
        dt.datetime(2020, 7, 1), dt.datetime(2020, 1, 1), dt.datetime(1880, 1, 1, 0, 0, 0, 1)
    )
    shown = ["2020-07-01 02:00:00", "2020-01-01 01:00:00", "1880-01-01 00:53:28.000001"]
    for row, clock in enumerate(shown):
        found = _truths(jvm, f"x = timestamp '{clock}'", column, way=way, zone=_BERLIN)
        assert found == [row == other for other in range(3)]
    assert _truths(jvm, "hour(x) = 0", column, way=way) == [True, True, True]


def test_wall_clocks_are_shown_as_they_are_and_functions_know_the_zone(jvm: HiveJvm) -> None:
    column = pa.array([dt.datetime(1970, 1, 1, 1)])
    assert _truths(jvm, "hour(x) = 1 AND unix_timestamp(x) = 0", column, zone=_BERLIN) == [True]
    assert _truths(jvm, "hour(x) = 1 AND unix_timestamp(x) = 3600", column) == [True]
    assert _truths(jvm, "from_unixtime(0) = '1970-01-01 01:00:00'", column, zone=_BERLIN) == [True]


@pytest.mark.parametrize("calcite", ["true", "false"])
@pytest.mark.parametrize(
    ("formatter", "shown"), [("DATETIME", "2020-07"), ("SIMPLE", "2020[-07]"), (None, "2020-07")]
)
def test_settings_are_those_of_the_question(
    jvm: HiveJvm, formatter: str | None, shown: str, calcite: str
) -> None:
    settings = {"hive.datetime.formatter": formatter} if formatter else {}
    settings |= {"hive.cbo.enable": calcite}
    column = _instants(dt.datetime(2020, 7, 1))
    predicate = f"date_format(x, 'yyyy[-MM]') = '{shown}'"
    assert _truths(jvm, predicate, column, settings=settings) == [True]
    constant = "from_unixtime(0, 'yyyy[-MM]') = " + ("'1970[-01]'" if "[" in shown else "'1970-01'")
    assert _truths(jvm, constant, column, settings=settings) == [True]


@pytest.mark.parametrize("way", list(Way))
def test_pmod_overflows(jvm: HiveJvm, way: Way) -> None:
    column = pa.array([2**31 - 2, 1, -1], pa.int32())
    assert _truths(jvm, "pmod(x, 2147483647) < 0", column, way=way) == [True, True, False]


@pytest.mark.parametrize("way", list(Way))
def test_trim_takes_spaces_only(jvm: HiveJvm, way: Way) -> None:
    column = pa.array(["a  ", "a\t", "a\u00a0"])
    assert _truths(jvm, "rtrim(x) = 'a'", column, way=way) == [True, False, False]


@pytest.mark.parametrize("way", list(Way))
def test_rows_find_nan_equal_to_itself_and_vectors_do_not(jvm: HiveJvm, way: Way) -> None:
    column = pa.array([float("nan"), 1.0])
    assert _truths(jvm, "x = x", column, way=way) == [way is Way.ROWS, True]


@pytest.mark.parametrize("way", list(Way))
@pytest.mark.parametrize(
    ("predicate", "truths"),
    [
        ("x = x", [True, True, False]),  # It is x IS NOT NULL, for NaN, too.
        ("false", [False, False, False]),
        ("x = x OR x IS NULL", [True, True, True]),
        ("x > 0 AND x IS NULL", [False, False, False]),
        ("x = '1'", [True, False, None]),
        ("NOT (x < 1 OR x > 5)", [True, False, None]),
        ("nosuch IS NULL OR x = 1", None),
    ],
)
def test_calcite_has_a_say_by_default(
    jvm: HiveJvm, way: Way, predicate: str, truths: list[bool | None] | None
) -> None:
    rows = pa.table({"x": pa.array([1.0, -1.0, None])})
    if way in _FILTERS and truths:
        truths = [bool(truth) for truth in truths]
    [judged] = HiveEngine(jvm, way).judge(rows, [predicate], Circumstances())
    assert (judged.truths.to_pylist() if isinstance(judged, Answer) else None) == truths


def test_calcite_makes_types_alike_so_that_filters_can_be_sent(jvm: HiveJvm) -> None:
    rows = pa.table({"x": pa.array([dt.date(2020, 1, 1)])})
    predicates = ["x = '2020-01-01'"]
    [without] = HiveEngine(jvm).judge(rows, predicates, Circumstances(settings=_AS_WRITTEN))
    [with_it] = HiveEngine(jvm).judge(rows, predicates, Circumstances())
    assert isinstance(without, Answer)
    assert isinstance(with_it, Answer)
    assert without.filter is None
    assert with_it.filter is not None


def test_what_fails_fails_alone(jvm: HiveJvm) -> None:
    rows = pa.table({"x": pa.array([1, -1], pa.int32())})
    reasons = {
        "x = ": "ParseException",
        "nosuch(x)": "nosuch",
        "y = 1": "'y'",
        "assert_true(x > 0) IS NULL": "ASSERT_TRUE",
    }
    *failed, last = HiveEngine(jvm).judge(rows, [*reasons, "x = 1"], Circumstances())
    for judgement, reason in zip(failed, reasons.values(), strict=True):
        assert isinstance(judgement, Refusal)
        assert reason in judgement.reason
    assert isinstance(last, Answer)


def test_what_vectors_leave_to_rows_is_refused(jvm: HiveJvm) -> None:
    rows = pa.table({"x": pa.array(["a"])})
    predicates = ["soundex(x) = 'A000'", "array_contains(array(x), 'a')"]
    half, none = HiveEngine(jvm, Way.VECTORS).judge(rows, predicates, Circumstances())
    assert isinstance(half, Answer)
    assert isinstance(none, Refusal)
    assert "no vectorised form" in none.reason


@pytest.mark.parametrize("predicate", ["x <= 5", "x IS NULL", "pmod(x, 7) = 5"])
def test_filters_are_those_that_the_handler_sends(jvm: HiveJvm, predicate: str) -> None:
    rows = pa.table({"x": pa.array([1], pa.int32())})
    [answer] = HiveEngine(jvm).judge(rows, [predicate], Circumstances(_BERLIN))
    assert isinstance(answer, Answer)
    assert answer.filter is not None
    request = sent_filter(answer.filter)
    assert request.timeZone == _BERLIN
    scope = Scope(rows.schema)
    assert bind(decode(request.filter), scope) == bind(parse_predicate(predicate), scope)


def test_lists_of_unlike_constants_are_sent(jvm: HiveJvm) -> None:
    rows = pa.table({"x": pa.array([Decimal("1.50")])})
    [answer] = HiveEngine(jvm).judge(rows, ["x IN (1.5BD, 2S)"], Circumstances())
    assert isinstance(answer, Answer)
    assert answer.filter is not None


@pytest.mark.parametrize("predicate", ["x", "hash(x) = rand()"])
def test_there_is_no_filter_where_the_handler_does_not_ask(jvm: HiveJvm, predicate: str) -> None:
    rows = pa.table({"x": pa.array([True])})
    [answer] = HiveEngine(jvm).judge(rows, [predicate], Circumstances())
    assert isinstance(answer, Answer)
    assert answer.filter is None

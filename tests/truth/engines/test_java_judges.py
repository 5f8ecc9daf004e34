"""Trino and Presto evaluate as their documentation says."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.truth import values
from tests.truth.engine import Answer, EvaluationResult, Refusal, SessionOptions
from tests.truth.engines.java_judge import JavaEngineProcess, Values
from tests.truth.predicates import LANGUAGES, MAX_DEPTH, Grammar

UTC = SessionOptions()


@pytest.fixture(params=["trino", "presto"])
def engine(request: pytest.FixtureRequest) -> JavaEngineProcess:
    found: JavaEngineProcess = request.getfixturevalue(request.param)
    return found


def truths(result: EvaluationResult) -> list[bool | None]:
    assert isinstance(result, Answer), result
    found: list[bool | None] = result.truths.to_pylist()
    return found


def evaluate_values(
    engine: JavaEngineProcess, values: Sequence[Any], type_: pa.DataType, predicate: str
) -> list[bool | None]:
    (found,) = engine.evaluate(pa.table({"a": pa.array(values, type_)}), [predicate], UTC)
    return truths(found)


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (pa.bool_(), True, "true"),
        (pa.int8(), -128, "tinyint '-128'"),
        (pa.int16(), -(2**15), "smallint '-32768'"),
        (pa.int32(), 2**31 - 1, "2147483647"),
        (pa.int64(), -(2**63), "bigint '-9223372036854775808'"),
        (pa.float32(), 0.1, "real '0.1'"),
        (pa.float32(), math.inf, "CAST(infinity() AS real)"),
        (pa.float64(), 5e-324, "double '4.9e-324'"),
        (pa.float64(), -math.inf, "-infinity()"),
        (
            pa.decimal128(38, 10),
            Decimal("-1" + "0" * 27 + ".5"),
            f"DECIMAL '-1{'0' * 27}.5000000000'",
        ),
        (pa.string(), "", "''"),
        (pa.string(), "a,b;c'~\\", "'a,b;c''~\\'"),
        (pa.string(), "\0\t\x7f\u0301\U0001f600", r"U&'\0000\0009\007f\0301\+01F600'"),
        (pa.string(), "~", "'~'"),
        (pa.binary(), b"\xff\x00", "X'FF00'"),
        (pa.date32(), date(1, 1, 1), "DATE '0001-01-01'"),
        (pa.date32(), date(9999, 12, 31), "DATE '9999-12-31'"),
        (pa.timestamp("us"), datetime(1, 1, 1), "TIMESTAMP '0001-01-01 00:00:00.000'"),
        (
            pa.timestamp("us", "UTC"),
            datetime(2020, 6, 1, 12, 0, 0, 123000, timezone.utc),
            "TIMESTAMP '2020-06-01 12:00:00.123'",
        ),
    ],
)
def test_values_arrive_unchanged(
    engine: JavaEngineProcess, type_: pa.DataType, value: Any, text: str
) -> None:
    predicates = [f"a = {text}", f"typeof(a) = typeof({text})", "a IS NULL"]
    rows = pa.table({"a": pa.array([None, value], type_)})
    equal, same_type, null = engine.evaluate(rows, predicates, UTC)
    assert truths(equal) == [None, True]
    assert pa.types.is_string(type_) or truths(same_type) == [True, True]
    assert truths(null) == [True, False]


def test_both_zeros_and_nan_arrive(engine: JavaEngineProcess) -> None:
    for type_ in (pa.float32(), pa.float64()):
        zeros = evaluate_values(engine, [0.0, -0.0, math.nan], type_, "1 / CAST(a AS double) > 0")
        assert zeros == [True, False, False]
        assert evaluate_values(engine, [0.0, -0.0, math.nan], type_, "is_nan(a)") == [
            False,
            False,
            True,
        ]


def test_trino_rounds_times_to_milliseconds(trino: JavaEngineProcess) -> None:
    second = "to_unixtime(a) * 1000 = 1"
    assert evaluate_values(
        trino, [500, 499, 1499], pa.timestamp("us"), second.replace("a)", "a AT TIME ZONE 'UTC')")
    ) == [True, False, True]


def test_presto_truncates_times_to_milliseconds(presto: JavaEngineProcess) -> None:
    times = [999, -999, 1000, -1000]
    found = evaluate_values(
        presto, times, pa.timestamp("us"), "a = TIMESTAMP '1970-01-01 00:00:00'"
    )
    assert found == [True, True, False, False]


def test_times_without_zone_are_wall_clocks_in_trino_and_instants_in_presto(
    trino: JavaEngineProcess, presto: JavaEngineProcess
) -> None:
    """A time without zone is a wall clock in Trino, and in Presto an instant, shown in the zone."""
    rows = pa.table({"t": pa.array([datetime(2020, 6, 1, 23)], pa.timestamp("us", "UTC"))})
    berlin = SessionOptions(zone="Europe/Berlin")
    for engine, hour in ((trino, 23), (presto, 1)):
        (found,) = engine.evaluate(rows, [f"hour(t) = {hour}"], berlin)
        assert truths(found) == [True]


def test_a_setting_reaches_the_session(presto: JavaEngineProcess) -> None:
    rows = pa.table({"t": pa.array([datetime(2020, 6, 1, 23)], pa.timestamp("us", "UTC"))})
    wall_clocks = SessionOptions("Europe/Berlin", {"legacy_timestamp": "false"})
    (found,) = presto.evaluate(rows, ["hour(t) = 23"], wall_clocks)
    assert truths(found) == [True]


def test_a_predicate_that_fails_does_not_affect_the_others(engine: JavaEngineProcess) -> None:
    rows = pa.table({"a": pa.array([0, 1, None], pa.int32()), "s": ["x", "1", None]})
    given = {
        "a = 1": [False, True, None],
        "1 / a = 1": "zero",
        "a + 2147483647 > 0": "overflow",
        "CAST(s AS integer) = 1": "cast",
        "a = ": "mismatched",
        "a": "boolean",
        "nothing(a) = 1": "nothing",
        "b = 1": "cannot be resolved",
        "s = '1' -- the end": [False, True, None],
        "CASE WHEN a <> 0 THEN 1 / a END = 1": [None, True, None],
    }
    for (text, expected), found in zip(
        given.items(), engine.evaluate(rows, list(given), UTC), strict=True
    ):
        if isinstance(expected, str):
            assert isinstance(found, Refusal), text
            assert expected in found.reason.lower(), text
        else:
            assert truths(found) == expected, text


def test_failures_among_many_predicates_keep_their_positions(engine: JavaEngineProcess) -> None:
    """One query cannot hold them all: each predicate has its own answer, in order."""
    rows = pa.table({"a": pa.array(range(20), pa.int64())})
    found = engine.evaluate(
        rows, [f"100 / (a - {i}) > 0 OR a = {i}" for i in range(10, 40)] * 7, UTC
    )
    for i, result in zip([*range(10, 40)] * 7, found, strict=True):
        if i < 20:
            assert isinstance(result, Refusal)
        else:
            assert truths(result) == [a == i or i - a > 100 for a in range(20)]


def test_failing_rows_can_count_as_null(trino: JavaEngineProcess) -> None:
    rows = pa.table({"a": pa.array([0, 1, None], pa.int32())})
    with JavaEngineProcess(trino.engine, nulls_for_failures=True) as engine:
        found, none = engine.evaluate(rows, ["1 / a = 1", "a = "], UTC)
        assert truths(found) == [None, True, None]
        assert isinstance(none, Refusal)


def test_each_call_replaces_the_rows(engine: JavaEngineProcess) -> None:
    assert evaluate_values(engine, [1, 2], pa.int32(), "a = 1") == [True, False]
    assert evaluate_values(engine, ["x"], pa.string(), "a = 'x'") == [True]
    assert evaluate_values(engine, [1, 2], pa.int32(), "a = 2") == [False, True]


def test_values_of_terms(engine: JavaEngineProcess) -> None:
    rows = pa.table({"a": pa.array([0, 2, None], pa.int32())})
    given = engine.values(rows, ["a + 1", "6 / a", "nothing(a)", "1e0 * a"], UTC)
    numbers, without_failures, none, floats = given
    assert numbers == Values("integer", ["1", "3"])
    assert without_failures == Values("integer", ["3"])
    assert none is None
    assert floats is not None
    assert [floats.type, *map(float, floats.texts)] == ["double", 0.0, 2.0]


def test_each_template_is_valid_for_its_engine(engine: JavaEngineProcess) -> None:
    dialect, tries = engine.engine.name, 8
    grammar, language = Grammar(dialect, random.Random(1)), LANGUAGES[dialect]
    templates = [one for one in (*language.terms, *language.conditions) if dialect in one.dialects]
    texts = [grammar.filled(one, MAX_DEPTH).text for one in templates for _ in range(tries)]
    predicates = [f"({text}) IS NULL" for text in texts]
    with JavaEngineProcess(engine.engine, nulls_for_failures=True) as lenient:
        found = lenient.evaluate(values.rows(20, 1), predicates, UTC)
    refused = [
        one.text
        for number, one in enumerate(templates)
        if all(isinstance(result, Refusal) for result in found[number * tries :][:tries])
    ]
    assert refused == []

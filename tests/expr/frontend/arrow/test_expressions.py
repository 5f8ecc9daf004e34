"""pyarrow's expressions: the kept files always contain the rows that pyarrow finds."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.arrow.expressions import (
    ArrowFormatError,
    parse_arrow,
    parse_serialized,
)
from pyhudi_expr.expr.nodes import And, Column, Comparison, Literal, Op, Unknown
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from tests.example_counts import examples
from tests.expr.statistics import RowStatistics

SCHEMA = pa.schema(
    [
        *(("i", pa.int32()), ("f", pa.float64()), ("s", pa.string()), ("b", pa.bool_())),
        *(("d", pa.date32()), ("t", pa.timestamp("us")), ("z", pa.timestamp("ms", "UTC"))),
        *(("dec", pa.decimal128(9, 2)), ("st", pa.struct([("x", pa.int8())]))),
    ]
)
INT, FLOAT, TEXT, TRUTH = (pc.field(name) for name in "ifsb")
UTC = dt.timezone.utc
DAY = dt.date(2024, 1, 5)
NOON = dt.datetime(2024, 1, 5, 12)


def row(n: int | None) -> dict[str, Any]:
    """Row n, in which every column grows with n; None: a row of nulls."""
    if n is None:
        return dict.fromkeys(SCHEMA.names)
    day = DAY + dt.timedelta(days=n)
    time = NOON + dt.timedelta(days=n)
    return {
        **{"i": n, "f": math.nan if n == 9 else n / 2, "s": f"s{n}", "b": n % 2 == 0},
        **{"d": day, "t": time, "z": time.replace(tzinfo=UTC)},
        **{"dec": Decimal(n), "st": {"x": n}},
    }


FILES = [[0, 1], [2, 3], [None], [4, None], [8], [9], [8, 9], [5, 6, 7]]


def files_of(expression: pc.Expression, files: list[list[int | None]]) -> tuple[Any, Any]:
    """Which files hold a matching row, and which are kept."""
    tables = [pa.Table.from_pylist([row(n) for n in rows], SCHEMA) for rows in files]
    has_match = np.array([table.filter(expression).num_rows > 0 for table in tables])
    evidence = RowStatistics([[_stored(row(n)) for n in rows] for rows in files])
    bound = bind(parse_arrow(expression, SCHEMA), Scope(SCHEMA, here("UTC")))
    kept = as_array(may_be(bound, True, [StatisticsEvidence(evidence)]), len(files))
    return has_match, kept


def _stored(values: dict[str, Any]) -> dict[str, Any]:
    """Times as numbers of their unit, struct fields with dotted names, as in statistics."""
    table = pa.Table.from_pylist([values], SCHEMA)
    flat = table.flatten()
    found = {}
    for name, column in zip(flat.column_names, flat.columns, strict=True):
        if pa.types.is_temporal(column.type):
            bits = pa.int32() if column.type.bit_width == 32 else pa.int64()
            column = column.cast(bits)
        found[name] = column[0].as_py()
    return found


EXACT = [
    INT > 3,
    INT == 3,
    INT != 3,
    (INT >= 2) & (INT <= 3),
    (INT < 1) | (INT == 8),
    INT.is_null(),
    INT.is_valid(),
    INT.isin([1, 8]),
    TEXT == "s2",
    TEXT >= "s8",
    pc.starts_with(TEXT, "s8"),
    pc.field("d") == DAY,
    pc.field("t") < NOON + dt.timedelta(hours=1),
    pc.field("z")
    > pa.scalar(NOON.replace(tzinfo=UTC) + dt.timedelta(days=7), pa.timestamp("ms", "UTC")),
    pc.field("dec") < Decimal("1.50"),
    pc.field("st", "x") == 8,
    INT + 1 > 9,
    INT * 2 < 1,
    pc.scalar(True),
    INT.cast(pa.int64(), safe=False) == 8,
    INT > 3.5,
    pc.match_like(TEXT, "s8%"),
    pc.year(pc.field("d")) == 2025,
    (TEXT == "s2") & (pc.year(pc.field("d")) == 2024),
    TEXT.isin(["s2", "s9"]),
]
SOUND = [
    ~INT.isin([1, 8]),
    INT.isin(pa.array([1, None], pa.int32())),
    ~INT.isin(pa.array([1, None], pa.int32())),
    ~(INT > 3),
    FLOAT.is_nan(),
    ~FLOAT.is_nan(),
    FLOAT.is_nan().is_null(),
    FLOAT > 4,
    ~(FLOAT > 1),
    FLOAT != FLOAT,
    TRUTH,
    ~TRUTH,
    TRUTH.is_null(),
    (INT > 3).is_null(),
    pc.coalesce(INT, 0) == 0,
    pc.if_else(TRUTH, INT, 0) == 8,
    pc.field("d").cast(pa.timestamp("us"), safe=False) == NOON,
    INT.cast(pa.int8(), safe=False) == 8,
    pc.year(pc.field("d")) == 2024,
    pc.year(pc.field("z")) == 2024,
    pc.month(pc.field("t")) == 1,
    FLOAT.is_null(nan_is_null=True),
    ~FLOAT.is_null(nan_is_null=True),
    FLOAT.isin([math.nan, 0.5]),
    pc.is_in(INT, pa.array([1, None], pa.int32()), skip_nulls=True),
    ~pc.is_in(INT, pa.array([1, None], pa.int32()), skip_nulls=True),
    pc.utf8_lower(TEXT) == "s8",
    pc.match_substring_regex(TEXT, "^s[89]"),
    (INT > 3) & (pc.sqrt(FLOAT) > 1),
    pc.field("dec") < Decimal("1.234"),
    (pc.field("i") / 2) > 3,
]


@pytest.mark.parametrize("expression", EXACT, ids=str)
def test_exactly_the_files_with_rows_are_kept(expression: pc.Expression) -> None:
    has_match, kept = files_of(expression, FILES)
    assert list(kept) == list(has_match)


@pytest.mark.parametrize("expression", SOUND, ids=str)
def test_no_file_with_rows_is_dropped(expression: pc.Expression) -> None:
    has_match, kept = files_of(expression, FILES)
    assert kept[has_match].all()


_LEAVES = st.sampled_from([*EXACT, *SOUND[:-1]])
_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
        st.builds(lambda a: ~a, inner),
    ),
    max_leaves=5,
)
_ROWS = st.lists(st.none() | st.integers(0, 9), min_size=1, max_size=3)


@settings(max_examples=examples(150))
@given(_TREES, st.lists(_ROWS, min_size=1, max_size=4))
def test_soundness_of_random_expressions(expression: Any, files: Any) -> None:
    has_match, kept = files_of(expression, files)
    assert kept[has_match].all()


TEXTS = ("", "a", "A", "ab", "Ab", "b", "x%", "_b", "a_b", "É", "é", "ß", "İ", "ı", "ſ", "ǅ", "😀a")
DAYS = st.integers(-1_000_000, 2_900_000)
OF_TEXTS = st.one_of(
    st.builds(lambda v: pc.utf8_lower(TEXT) == v, st.sampled_from(TEXTS)),
    st.builds(lambda v: pc.utf8_upper(TEXT) <= v, st.sampled_from(TEXTS)),
    st.builds(
        lambda p: pc.match_like(TEXT, p),
        st.sampled_from(["a%", "%b", "_b", "a\\_b", "A", "", "%", "é%", "a\\", "\\a%"]),
    ),
    st.builds(
        lambda p: pc.match_substring_regex(TEXT, p),
        st.sampled_from(["^a", "^ab?", "a|b", "^(a)", "^a.b", "(?i)^a", "^A*", "b$", "^a{1}"]),
    ),
    st.builds(lambda v: pc.starts_with(TEXT, v), st.sampled_from(TEXTS)),
    st.builds(
        lambda vs: TEXT.isin(pa.array(vs, pa.string())),
        st.lists(st.sampled_from([*TEXTS, None]), max_size=3),
    ),
)
OF_TIMES = st.builds(
    lambda part, column, low, high: (part(pc.field(column)) >= low) & (pc.field(column) != high),
    st.sampled_from([pc.year, pc.quarter, pc.month, pc.day]),
    st.sampled_from(["d", "t"]),
    st.one_of(st.integers(-1000, 9999), st.integers(0, 31)),
    st.just(DAY),
)


@settings(max_examples=examples(400))
@given(
    st.one_of(OF_TEXTS, OF_TIMES, OF_TEXTS.map(lambda one: ~one), OF_TIMES.map(lambda one: ~one)),
    st.lists(
        st.lists(st.tuples(st.none() | st.sampled_from(TEXTS), st.none() | DAYS), min_size=1),
        min_size=1,
        max_size=4,
    ),
)
def test_functions_of_texts_and_times_are_those_of_pyarrow(expression: Any, files: Any) -> None:
    """The kept files have all rows that pyarrow finds, whatever the texts and days are."""
    schema = pa.schema([("s", pa.string()), ("d", pa.date32()), ("t", pa.timestamp("us"))])
    stored, has_match = [], []
    for rows in files:
        times = [None if day is None else day * 86_400 * 10**6 + day for _, day in rows]
        columns = [[text for text, _ in rows], [day for _, day in rows], times]
        table = pa.table(
            [pa.array(one, type_) for one, type_ in zip(columns, schema.types, strict=True)],
            schema=schema,
        )
        stored.append([dict(zip("sdt", row, strict=True)) for row in zip(*columns, strict=True)])
        has_match.append(table.filter(expression).num_rows > 0)
    bound = bind(parse_arrow(expression, schema), Scope(schema, here("UTC")))
    kept = as_array(may_be(bound, True, [StatisticsEvidence(RowStatistics(stored))]), len(files))
    assert kept[np.array(has_match)].all()


def test_the_tree_equals_that_of_the_sql_front_end() -> None:
    found = parse_arrow((pa.scalar(3, pa.int32()) < INT) & (TEXT == "x"), SCHEMA)
    above = Comparison(Op.GT, Column(("i",)), Literal(3, pa.int32()))
    equal = Comparison(Op.EQ, Column(("s",)), Literal("x", pa.string()))
    assert found == And((above, equal))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_times_of_each_unit(unit: Any, zone: str | None) -> None:
    literal = pa.scalar(5, pa.int64()).cast(pa.timestamp(unit, zone))
    found = parse_arrow(pc.field("t") == literal, SCHEMA)
    assert found == Comparison(Op.EQ, Column(("t",)), Literal(5, pa.timestamp(unit, zone)))


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (pc.sqrt(FLOAT) > 1, "sqrt() is not supported"),
        (pc.year(pc.field("z")) == 2024, "year() of another term"),
        (pc.field("nothing") == 1, "no column named nothing"),
        (pc.field("I") == 1, "pyarrow does not take I for i"),
        (pc.starts_with(TEXT, "a", ignore_case=True), "in any letter case"),
        (pa.scalar(dt.timedelta(1)) < INT, "a constant of type duration[us]"),
    ],
)
def test_a_part_that_is_not_supported_is_unknown_by_itself(
    part: pc.Expression, reason: str
) -> None:
    found = parse_arrow((TEXT == "x") & part, SCHEMA)
    assert isinstance(found, And)
    known, unknown = found.children
    assert known == Comparison(Op.EQ, Column(("s",)), Literal("x", pa.string()))
    assert isinstance(unknown, Unknown)
    assert reason in unknown.reason


def test_nested_conditions_are_read_in_linear_time() -> None:
    many = parse_arrow(reduce(and_, [n < INT for n in range(600)]), SCHEMA)
    assert isinstance(many, And)
    assert len(many.children) == 600
    deep = reduce(lambda inner, _: ~(inner & (INT > 1)), range(200), INT > 0)
    found = parse_arrow(deep, SCHEMA)
    bind(found, Scope(SCHEMA, here("UTC")))


@pytest.mark.parametrize("message", [b"", b"\xff\xff", b"ARROW1\0\0", b"\x1a\x00\x1a\x00"])
def test_other_bytes_are_refused(message: bytes) -> None:
    with pytest.raises(ArrowFormatError):
        parse_serialized(message, SCHEMA)


@pytest.mark.parametrize(
    "metadata",
    [
        {"call": "equal"},
        {"end": "equal"},
        {"field_ref": "i", "literal": "0"},
        {"literal": "7"},
        {"literal": "x"},
        {"nested_field_ref": "-1"},
        {"nested_field_ref": "2", "field_ref": "i"},
        {"something": "else"},
        {},
    ],
    ids=str,
)
def test_another_form_than_arrows_is_refused_or_unknown(metadata: dict[str, str]) -> None:
    batch = pa.record_batch([pa.array([1])], pa.schema([("", pa.int64())], metadata))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    try:
        found = parse_serialized(sink.getvalue(), SCHEMA)
    except ArrowFormatError:
        return
    assert isinstance(found, Unknown)


@pytest.mark.parametrize("number", [165, 165.5])
def test_decimals_are_compared_with_numbers_although_pyarrow_does_not(number: float) -> None:
    schema = pa.schema({"fare": pa.decimal128(9, 2)})
    bound = bind(parse_arrow(pc.field("fare") > number, schema), Scope(schema, here("UTC")))
    rows = RowStatistics([[{"fare": Decimal("164.99")}], [{"fare": Decimal("166.00")}]])
    assert list(as_array(may_be(bound, True, [StatisticsEvidence(rows)]), 2)) == [False, True]

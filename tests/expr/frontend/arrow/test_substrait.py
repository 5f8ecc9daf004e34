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
from substrait.proto import ExtendedExpression

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.arrow.substrait import SubstraitError, parse_arrow, parse_substrait
from pyhudi_expr.expr.nodes import And, Column, Comparison, HudiExpression, Literal, Op, Unknown
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
A_WEEK_LATER = dt.datetime(2024, 1, 12, 12, tzinfo=UTC)


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


def test_the_tree_equals_that_of_the_sql_front_end() -> None:
    found = parse_arrow((INT > 3) & (TEXT == "x"), SCHEMA)
    above = Comparison(Op.GT, Column(("i",)), Literal(3, pa.int32()))
    equal = Comparison(Op.EQ, Column(("s",)), Literal("x", pa.string()))
    assert found == And((above, equal))


@pytest.mark.parametrize(
    ("kind", "zone"), [("precision_timestamp", None), ("precision_timestamp_tz", "UTC")]
)
def test_times_of_each_precision(kind: str, zone: str | None) -> None:
    """pyarrow writes microseconds for all units; other programs write the actual one."""
    form = ExtendedExpression.FromString(bytes((pc.field("t") == NOON).to_substrait(SCHEMA)))
    call = form.referred_expr[0].expression.scalar_function
    literal = getattr(call.arguments[1].value.literal, kind)
    literal.value = 5
    for precision, unit in ((0, "s"), (3, "ms"), (6, "us"), (9, "ns")):
        literal.precision = precision
        found = parse_substrait(form.SerializeToString())
        assert found == Comparison(Op.EQ, Column(("t",)), Literal(5, pa.timestamp(unit, zone)))
    literal.precision = 4
    assert isinstance(parse_substrait(form.SerializeToString()), Unknown)


def test_a_function_missing_in_substrait_is_unknown() -> None:
    found = parse_arrow(pc.year(pc.field("d")) == 2024, SCHEMA)
    assert isinstance(found, Unknown)
    assert "year" in found.reason


def test_an_expression_that_pyarrow_serializes_too_slowly_is_unknown() -> None:
    few, many = (reduce(and_, [n < INT for n in range(count)]) for count in (15, 40))
    assert isinstance(parse_arrow(few, SCHEMA), And)
    found = parse_arrow(many, SCHEMA)
    assert isinstance(found, Unknown)
    assert "nested more than 15 levels deep" in found.reason
    wide = reduce(and_, [reduce(and_, [(n < INT) | (TEXT == '"(') for n in range(4)])] * 3)
    assert isinstance(parse_arrow(wide, SCHEMA), And)


@pytest.mark.parametrize("message", [b"", b"\xff\xff", b"\x1a\x00\x1a\x00"])
def test_other_bytes_are_refused(message: bytes) -> None:
    with pytest.raises(SubstraitError):
        parse_substrait(message)


MESSAGES = [bytes(one.to_substrait(SCHEMA)) for one in (*EXACT, *SOUND[:16])]


@settings(max_examples=examples(300))
@given(st.sampled_from(MESSAGES), st.data())
def test_fuzz_changed_messages_are_refused_or_evaluated(message: bytes, data: Any) -> None:
    changed = bytearray(message)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    try:
        found: HudiExpression = parse_substrait(bytes(changed))
    except SubstraitError:
        return
    bind(found, Scope(SCHEMA, here("UTC")))


@pytest.mark.parametrize("number", [165, 165.5])
def test_what_pyarrow_does_not_compare_with_decimals_says_what_to_do(number: float) -> None:
    schema = pa.schema({"fare": pa.decimal128(9, 2)})
    found = parse_arrow(pc.field("fare") > number, schema)
    assert isinstance(found, Unknown)
    assert "compare a decimal column with a decimal of its type" in found.reason

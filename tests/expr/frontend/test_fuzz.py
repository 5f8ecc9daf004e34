"""Whatever bytes are sent as a filter, the result is a protocol error or a predicate.

TEST_EXAMPLES multiplies the number of filters.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TProtocol import TProtocolException
from thrift.transport.TTransport import TMemoryBuffer, TTransportException

from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import columns, unknown_reasons
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.frontend.arrow.filter_lists import FilterError, parse_filters
from pyhudi_expr.expr.frontend.sql.parser import (
    DIALECTS,
    PredicateSyntaxError,
    SqlDialect,
    parse_predicate,
)
from pyhudi_expr.expr.render import render
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.protocol.conversion.decoder import BadRequestError, Limits, decode
from pyhudi_expr.protocol.conversion.encoder import encode, filter_text, read_filter
from pyhudi_expr.protocol.generated.ttypes import (
    Literal,
    Node,
    NodeKind,
    PredicateOperator,
    PruneRequest,
)
from pyhudi_expr.rows.arrow_filter import arrow_filter
from tests.example_counts import examples
from tests.expr.statistics import RowStatistics
from tests.index.prune.predicates import ALL, ONLY_SPARK

SCHEMA = pa.schema(
    [
        *(("i", pa.int32()), ("d", pa.float64()), ("s", pa.string()), ("dt", pa.date32())),
        *(("ts", pa.timestamp("us", "UTC")), ("dec9", pa.decimal128(9, 2)), ("b", pa.bool_())),
    ]
)
EVIDENCE = [StatisticsEvidence(RowStatistics([[]]))]

_NAMES = (
    *("cast", "if", "when", "case", "coalesce", "=", "and", "not", "like", "in", "between", "+"),
    *("*", "/", "year", "substr", "date_format", "upper", "concat", "round", "add_months", ""),
)
_TYPES = ("int", "string", "date", "timestamp", "decimal(38,10)", "char(3)", "double", "array<int>")
_INDEXES = st.lists(st.integers(-1, 12), max_size=4)
_LITERALS = st.builds(
    Literal,
    type=st.none() | st.sampled_from(_TYPES),
    integerValue=st.none() | st.integers(-(2**63), 2**63 - 1),
    stringValue=st.none() | st.text(max_size=5) | st.sampled_from(["1" * 5000, "%", "yyyy", "NaN"]),
    doubleValue=st.none() | st.floats(),
)
_NODES = st.builds(
    Node,
    kind=st.sampled_from(sorted(NodeKind._VALUES_TO_NAMES)),
    children=st.none() | _INDEXES,
    op=st.none() | st.sampled_from(sorted(PredicateOperator._VALUES_TO_NAMES)),
    path=st.none() | st.lists(st.sampled_from([*SCHEMA.names, "x", ""]), max_size=2),
    functionName=st.none() | st.sampled_from(_NAMES),
    type=st.none() | st.sampled_from(_TYPES),
    literal=st.none() | _LITERALS,
)


def check(predicate: e.HudiExpression) -> None:
    """Everything that a query does with a predicate."""
    bound = bind(predicate, Scope(SCHEMA, here("Europe/Berlin")))
    render(bound)
    unknown_reasons(bound)
    columns(bound)
    for truth in (True, False):
        as_array(may_be(bound, truth, EVIDENCE), 1)


def evaluate_over_rows(predicate: e.HudiExpression) -> None:
    """Evaluates the predicate over rows as `scan` does, and converts it back to text."""
    check(predicate)
    with contextlib.suppress(UnicodeEncodeError):  # no protocol carries half of a surrogate pair
        check(read_filter(filter_text(predicate)))
    for zone in (None, "Europe/Berlin"):
        with contextlib.suppress(HudiError):
            arrow_filter(predicate, SCHEMA, zone)


def decode_and_evaluate(filter_: list[Any]) -> None:
    try:
        predicate = decode(filter_, Limits(nodes=2_000))
    except BadRequestError:
        return
    check(predicate)


@settings(max_examples=examples(500), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_NODES, min_size=1, max_size=12))
def test_random_nodes_are_decoded_or_refused(filter_: list[Node]) -> None:
    decode_and_evaluate(filter_)


ENCODED = [encode(parse_predicate(text)) for text in (*ALL, *ONLY_SPARK)]


@settings(max_examples=examples(500), suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(ENCODED), st.data())
def test_flipped_bytes_are_decoded_or_refused(filter_: list[Node], data: st.DataObject) -> None:
    buffer = TMemoryBuffer()
    PruneRequest(filter=filter_).write(TBinaryProtocol(buffer))
    message = bytearray(buffer.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    request = PruneRequest()
    protocol = TBinaryProtocol(
        TMemoryBuffer(bytes(message)), string_length_limit=1 << 20, container_length_limit=1 << 16
    )
    try:
        request.read(protocol)
        request.validate()
    except (TProtocolException, TTransportException, EOFError, ValueError, TypeError):
        return
    decode_and_evaluate(request.filter or [])


#: Fragments of SQL, some of which open what is never closed.
PIECES = [
    *("(", ")", "'", '"', "`", " NOT ", " IS NULL", "CASE ", " END", "9" * 400, "-", ".", "1e999"),
    *("--", "/*", "\\", "\0", "\ud800", "X'0", "DATE '", "TIMESTAMP '", "{", "?", ":a", ";"),
    *("INTERVAL '9' YEAR", "cast(", " as decimal(99,1))", " as char(0))", "::int", "IN ()", ","),
    *("overlay(s placing '", "substr(s from ", "extract(", "trim(both ", "[0]", "x -> x"),
]


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from((*ALL, *ONLY_SPARK)), st.data())
def test_random_text_is_parsed_or_refused(
    dialect: SqlDialect, text: str, data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 5))
        text = text[:at] + data.draw(st.sampled_from(PIECES)) + text[at + cut :]
    try:
        predicate = parse_predicate(text, dialect)
    except PredicateSyntaxError:
        return
    evaluate_over_rows(predicate)


FAR = [dt.timezone(dt.timedelta(hours=hours)) for hours in (-12, 14)]
VALUES = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.binary()),
    *(st.decimals(), st.dates(), st.datetimes(timezones=st.sampled_from([None, *FAR])), st.times()),
    st.sampled_from(
        [2**63, -(2**63), 10**76, 10**5000, -0.0, math.inf, "\ud800", "NaN", "2020-01-01"]
    ),
    st.sampled_from([Decimal("sNaN"), Decimal("1e400"), Decimal("0E+50"), Decimal("1E-76")]),
    st.sampled_from([np.datetime64(2**62, unit) for unit in ("D", "s", "ns")]),
    st.sampled_from(
        [np.float16(1.5), np.uint64(2**64 - 1), np.array(1), np.array([1]), [1], {}, object]
    ),
    st.sampled_from([pa.scalar(2**62, pa.timestamp("s", zone)) for zone in (None, "UTC")]),
    st.sampled_from(
        [
            *(pa.scalar(2**31 - 1, pa.date32()), pa.scalar("x", pa.string_view()), pa.scalar([1])),
            *(pa.scalar(1, pa.duration("s")), pa.scalar(2**64 - 1, pa.uint64()), pa.scalar(None)),
        ]
    ),
)


@settings(max_examples=examples(1000), suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SCHEMA.names), st.data())
def test_any_filter_list(name: str, data: st.DataObject) -> None:
    operator = data.draw(st.sampled_from(["=", "!=", "<", ">=", "<=>", "in", "not in", "is"]))
    value = data.draw(st.lists(VALUES, max_size=3) if "in" in operator else VALUES)
    try:
        predicate = parse_filters([(name, operator, value)])
    except FilterError:
        return
    evaluate_over_rows(predicate)


def test_a_deep_predicate_is_unknown() -> None:
    deep: e.HudiExpression = e.IsNull(e.Column(("i",)))
    for _ in range(10_000):
        deep = e.Not(deep)
    bound = bind(deep, Scope(SCHEMA))
    assert isinstance(bound, e.Unknown)
    assert "levels" in bound.reason
    term: e.Term = e.Column(("i",))
    for _ in range(10_000):
        term = e.Call("+", (term, e.Literal(1, pa.int32())))
    assert isinstance(bind(e.IsNull(term), Scope(SCHEMA)), e.Unknown)


def test_a_cyclic_predicate_is_unknown() -> None:
    cycle = e.Not(e.IsNull(e.Column(("i",))))
    object.__setattr__(cycle, "child", cycle)
    assert isinstance(bind(cycle, Scope(SCHEMA)), e.Unknown)


def test_choices_that_would_grow_exponentially_are_unknown() -> None:
    choice: e.Term = e.Column(("i",))
    for n in range(40):
        condition = e.Comparison(e.Op.EQ, choice, e.Literal(n, pa.int32()))
        choice = e.Case(((condition, choice),), e.Call("coalesce", (choice, choice)))
    bound = bind(e.Comparison(e.Op.EQ, choice, choice), Scope(SCHEMA))
    assert isinstance(bound, e.Unknown)


def test_absurd_constants_neither_prune_nor_raise() -> None:
    column = e.Column(("i",))
    for literal in (
        e.Literal(10**5000, pa.int64()),
        e.Literal("not a number", pa.int32()),
        e.Literal("\ud800", pa.string()),
        e.Literal(2**70, pa.date32()),
        e.Literal(float("nan"), pa.decimal128(3, 1)),
    ):
        for other in (column, e.Column(("s",)), e.Column(("dt",)), e.Column(("dec9",))):
            check(e.Comparison(e.Op.LT, other, literal))
            check(e.In(other, (literal, literal)))
            check(e.Comparison(e.Op.EQ, e.Call("+", (other, literal)), literal))


@pytest.mark.slow
def test_a_long_in_list_is_evaluated() -> None:
    options = tuple(e.Literal(n, pa.int32()) for n in range(200_000))
    bound = bind(e.In(e.Column(("i",)), options), Scope(SCHEMA))
    rows = RowStatistics([[{"i": 5}], [{"i": -5}]])
    kept = as_array(may_be(bound, True, [StatisticsEvidence(rows)]), 2)
    assert np.array_equal(kept, [True, False])

"""The JSON form: every tree survives a round trip, and invalid input is an error."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.frontend.common.hive_types import InexpressibleError
from pyhudi_expr.expr.frontend.json.arrow_types import arrow_type_name, parse_arrow_type
from pyhudi_expr.expr.frontend.json.decoder import FormError, loads
from pyhudi_expr.expr.frontend.json.encoder import dumps
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.keys import KeyList
from tests.example_counts import examples
from tests.expr.frontend.test_fuzz import judge
from tests.expr.strategies import Case, cases
from tests.index.prune.predicates import ALL, ONLY_SPARK

A = e.Column(("a",))


def literal(value: object, type_: Any) -> e.Comparison:
    return e.Comparison(e.Op.LT, A, e.Literal(value, type_))


@pytest.mark.parametrize("text", [*ALL, *ONLY_SPARK])
def test_predicates_survive_a_round_trip(text: str) -> None:
    """All but the patterns of LIKE, which only readers of rows use."""
    predicate = parse_predicate(text)
    assert loads(dumps(predicate)) == without_patterns(predicate)


def without_patterns(node: Any) -> Any:
    if isinstance(node, e.Unknown):
        return e.Unknown(node.reason)
    if isinstance(node, tuple):
        return tuple(map(without_patterns, node))
    if not is_dataclass(node) or isinstance(node, type):
        return node
    parts = {part.name: without_patterns(getattr(node, part.name)) for part in fields(node)}
    return type(node)(**parts)


@pytest.mark.parametrize(
    "predicate",
    [
        e.Matches(A, ("x", None, "%"), whole=True),
        e.StartsWith(A, "né"),
        e.IsNull(e.Not(e.IsNull(A))),
        e.Constant(e.Truth.NO_NULL),
        e.Unknown("not supported: {}"),
        e.In(e.Column(("st", "a"), pa.int16()), ()),
        e.Comparison(e.Op.EQ, e.Case(((e.IsNull(A), A),), e.Literal(None, pa.null())), A),
        literal(2**63 - 1, pa.int64()),
        literal(2**64 - 1, pa.uint64()),
        literal(-0.0, pa.float64()),
        literal(math.inf, pa.float32()),
        literal(Decimal("-1.50"), pa.decimal128(10, 2)),
        literal(Decimal("1" * 60), pa.decimal256(60, 0)),
        literal(b"\x00\xff", pa.binary()),
        literal(b"\x00\xff", pa.binary(2)),
        literal(-1, pa.date32()),
        literal(-(2**62), pa.timestamp("ns", "America/New_York")),
        literal(1, pa.timestamp("ms")),
        literal("x ", e.CharType(3, padded=True)),
        literal("x", e.CharType(3, padded=False)),
        literal(True, pa.bool_()),
    ],
    ids=str,
)
def test_every_node_and_value_survives_a_round_trip(predicate: e.HudiExpression) -> None:
    assert loads(dumps(predicate)) == predicate


def test_the_form_is_as_documented() -> None:
    one = {"node": "literal", "type": "int32", "value": 1}
    column = {"node": "column", "path": ["a"]}
    predicate = {"node": "comparison", "op": "<", "left": column, "right": one}
    assert json.loads(dumps(literal(1, pa.int32()))) == {"version": 1, "predicate": predicate}


@settings(max_examples=examples(500))
@given(cases())
def test_random_predicates_survive_a_round_trip(case: Case) -> None:
    text = dumps(case.predicate)
    assert dumps(loads(text)) == text  # as text, because NaN is not equal to itself


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ("", "no JSON"),
        ("[]", "not of version 1"),
        ('{"version": 2, "predicate": {"node": "unknown", "reason": ""}}', "not of version 1"),
        ('{"version": 1}', "the form: predicate is missing"),
        ({"node": "xor"}, "predicate: the unknown node 'xor'"),
        ({"node": "not", "child": {"node": "column", "path": ["a"]}}, "child is a value"),
        ({"node": "unknown", "reason": "", "only_if": 1}, "the unknown field 'only_if'"),
        ({"node": "and", "children": []}, "children is empty"),
        ({"node": "constant", "truth": ["MAYBE"]}, "no truth value"),
        (
            {"node": "and", "children": [{"node": "not", "child": 1}]},
            r"predicate\.children\[0\]: child is missing",
        ),
        ({"node": "is_null", "term": {"node": "literal", "type": "int8", "value": 128}}, "beyond"),
        ({"node": "is_null", "term": {"node": "literal", "type": "int8", "value": True}}, "int8"),
        ({"node": "is_null", "term": {"node": "literal", "type": "list"}}, "the type 'list'"),
        ({"node": "is_null", "term": {"node": "literal", "type": "binary", "value": "!"}}, "bina"),
        (
            {"node": "is_null", "term": {"node": "literal", "type": "decimal128(3, 1)"}}
            | {"term": {"node": "literal", "type": "decimal128(3, 1)", "value": "1E9999"}},
            "no value of type decimal128",
        ),
    ],
)
def test_invalid_forms_are_refused_with_their_position(form: Any, problem: str) -> None:
    text = form if isinstance(form, str) else json.dumps({"version": 1, "predicate": form})
    with pytest.raises(FormError, match=problem):
        loads(text)


@pytest.mark.parametrize("depth", [500, 100_000])
def test_deep_forms_are_refused(depth: int) -> None:
    node = '{"node":"not","child":' * depth + '{"node":"unknown","reason":""}' + "}" * depth
    with pytest.raises(FormError, match="too deeply"):
        loads(f'{{"version":1,"predicate":{node}}}')


def test_a_deep_tree_is_not_written() -> None:
    deep: e.HudiExpression = e.IsNull(A)
    for _ in range(100_000):
        deep = e.Not(deep)
    with pytest.raises(InexpressibleError, match="too deeply"):
        dumps(deep)


FORMS = [dumps(parse_predicate(text)) for text in (*ALL, *ONLY_SPARK)]


@settings(max_examples=examples(500))
@given(st.sampled_from(FORMS), st.data())
def test_fuzz_changed_forms_are_refused_or_evaluated(form: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(form)))
    cut = data.draw(st.integers(0, 5))
    piece = data.draw(st.sampled_from(['"', "{", "}", "null", "9" * 30, "-1", ",", "int8", ""]))
    try:
        predicate = loads(form[:at] + piece + form[at + cut :])
    except FormError:
        return
    judge(predicate)


@pytest.mark.parametrize("type_", [pa.list_(pa.int8()), pa.duration("s"), pa.struct([])], ids=str)
def test_types_without_a_name(type_: pa.DataType) -> None:
    with pytest.raises(InexpressibleError):
        arrow_type_name(type_)


@pytest.mark.parametrize("name", ["decimal128(99, 1)", "char(0)", "timestamp[us, tz=]", "x"])
def test_unknown_names_of_types(name: str) -> None:
    with pytest.raises(InexpressibleError):
        parse_arrow_type(name)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, 1, 2], pa.int16()),
        pa.array(["b", "", "né"]),
        pa.array([-1, 5], pa.date32()),
        pa.array([2**60, 7], pa.timestamp("ns")),
    ],
    ids=str,
)
def test_a_few_keys_survive_a_round_trip(values: Any) -> None:
    sent = e.InKeys(A, KeyList.of(values), has_null=True)
    back = loads(dumps(sent))
    assert isinstance(back, e.InKeys)
    assert (back.has_null, back.keys.count) == (True, len(values))
    assert back.keys.python_ends() == sent.keys.python_ends()


def test_many_keys_are_a_few_ranges() -> None:
    sent = e.InKeys(A, KeyList.of(pa.array(range(0, 300_000, 3), pa.int64())))
    text = dumps(sent)
    assert len(text) < 3_000
    back = loads(text)
    assert isinstance(back, e.InKeys)
    lows, highs = back.keys.python_ends()
    assert (back.keys.count, len(lows), lows[0], highs[-1]) == (100_000, 16, 0, 299_997)


def test_no_keys_are_no_options() -> None:
    sent = e.InKeys(A, KeyList.of(pa.array([], pa.int64())))
    assert loads(dumps(sent)) == e.In(A, ())


@pytest.mark.parametrize(
    "change",
    [
        {"lows": []},
        {"highs": []},
        {"count": "1"},
        {"lows": [{"node": "literal", "type": "int32", "value": 9}]},
        {"lows": [{"node": "literal", "type": "int64", "value": 1}]},
        {"lows": [{"node": "column", "path": ["b"]}]},
        {"lows": [{"node": "literal", "type": "int32"}]},
        {"term": {"node": "literal", "type": "int32", "value": 9}},
    ],
    ids=str,
)
def test_other_keys_are_refused(change: dict[str, Any]) -> None:
    form = json.loads(dumps(e.InKeys(A, KeyList.of(pa.array([5], pa.int32())))))
    form["predicate"] |= change
    with pytest.raises(FormError):
        loads(json.dumps(form))

"""Row expressions: what Presto itself wrote is the tree of its SQL."""

from __future__ import annotations

import base64
import json
import operator as of_python
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.predicates.row_expression import RowExpressionError, parse_row_expression
from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array
from pyhudi_expr.expr.evaluate import may_be as may_be_true
from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.expr.nodes import Column, Comparison, Op, Unknown
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from tests.example_counts import examples
from tests.examples.predicates.test_tuple_domain import SCHEMA
from tests.expr.statistics import RowStatistics

_FILE = Path(__file__).parents[2] / "data" / "presto" / "row_expressions.jsonl"
WRITTEN = {
    line["sql"]: line["rowExpression"]
    for line in map(json.loads, _FILE.read_text("utf-8").splitlines())
}


def without_types(node: Any) -> Any:
    """The tree without the types of its constants, which SQL infers and Presto states."""
    if isinstance(node, e.Literal):
        return ("literal", str(node.value))
    parts = [without_types(child) for child in e.children(node)]
    if isinstance(node, Column):
        return ("column", node.path)
    return (type(node).__name__, getattr(node, "op", None), getattr(node, "name", None), *parts)


@pytest.mark.parametrize("sql", WRITTEN)
def test_prestos_row_expressions_equal_the_tree_of_their_sql(sql: str) -> None:
    found = parse_row_expression(json.dumps(WRITTEN[sql]))
    assert without_types(found) == without_types(parse_predicate(sql, SPARK))
    assert not isinstance(bind(found, Scope(SCHEMA, here("UTC"))), Unknown)


def test_constants_have_prestos_types() -> None:
    types = {"l < -7": pa.int64(), "dec9 <= -12.34": pa.decimal128(9, 2), "s >= 'm'": pa.string()}
    for sql, type_ in types.items():
        found = parse_row_expression(json.dumps(WRITTEN[sql]))
        assert isinstance(found, Comparison)
        assert isinstance(found.right, e.Literal)
        assert found.right.type == type_


def call(name: str, *arguments: Any, returns: str = "boolean") -> dict[str, Any]:
    handle = {"@type": "$static", "signature": {"name": f"presto.default.{name}"}}
    content = {"functionHandle": handle, "returnType": returns}
    return {"@type": "call", "displayName": name, **content, "arguments": list(arguments)}


def variable(name: str, type_: str) -> dict[str, Any]:
    return {"@type": "variable", "name": name, "type": type_}


INT, DOUBLE = variable("i", "integer"), variable("d", "double")
ROW = {
    **{"@type": "constant", "type": "row(integer)"},
    "valueBlock": base64.b64encode(b"\x03\0\0\0ROW").decode(),
}


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (call("regexp_like", INT, INT), "regexp_like() is not supported"),
        (call("$operator$equal", call("$operator$cast", DOUBLE, returns="bigint"), INT), "a cast"),
        (call("$operator$equal", variable("t", "timestamp"), {"@type": "lambda"}), "lambda"),
        ({"@type": "special", "form": "SWITCH", "arguments": [INT]}, "SWITCH"),
        (
            {"@type": "special", "form": "DEREFERENCE", "arguments": [INT, INT]},
            "the field of a row",
        ),
        (call("$operator$equal", {**WRITTEN["b"], "@type": "input"}, INT), "input"),
        (call("$operator$equal", variable("t", "timestamp(0)"), INT), "the type timestamp(0)"),
        (call("$operator$equal", ROW, ROW), "the type 'row(integer)'"),
    ],
)
def test_unsupported_row_expressions_are_unknown(node: Any, reason: str) -> None:
    found = parse_row_expression(json.dumps(node))
    assert isinstance(found, Unknown)
    assert reason in found.reason


TIME = variable("t1", "timestamp"), variable("t2", "timestamp")
OPERATORS = {
    **{"equal": of_python.eq, "less_than": of_python.lt, "greater_than": of_python.gt},
    **{"less_than_or_equal": of_python.le, "greater_than_or_equal": of_python.ge},
    "not_equal": of_python.ne,
}


def may_be(node: Any, types: pa.DataType, row: dict[str, Any]) -> bool:
    """Whether a file with only this row may match. types: of its columns."""
    bound = bind(
        parse_row_expression(json.dumps(node)), Scope(pa.schema(dict.fromkeys(row, types)))
    )
    evidence = StatisticsEvidence(RowStatistics([[row]]))
    return bool(as_array(may_be_true(bound, True, [evidence]), 1)[0])


@given(
    first=st.integers(-2500, 2500),
    second=st.integers(-2500, 2500),
    operator=st.sampled_from(sorted(OPERATORS)),
)
def test_no_row_with_times_read_with_three_digits_is_lost(
    first: int, second: int, operator: str
) -> None:
    node = call(f"$operator${operator}", *TIME)
    for rounding in (0, 500):  # truncated, rounded
        one, other = ((micros + rounding) // 1000 for micros in (first, second))
        if OPERATORS[operator](one, other):
            assert may_be(node, pa.timestamp("us"), {"t1": first, "t2": second})


def test_times_with_three_digits_still_prune() -> None:
    node = call("$operator$equal", *TIME)
    assert not may_be(node, pa.timestamp("us"), {"t1": 0, "t2": 5000})
    null = {"@type": "special", "form": "IS_NULL", "arguments": [TIME[0]]}
    assert not may_be(null, pa.timestamp("us"), {"t1": 0})


def test_texts_are_compared_after_truncation_and_padding() -> None:
    for type_, one, other in (("varchar(3)", "abcd", "abce"), ("char(3)", "a", "a ")):
        node = call("$operator$equal", variable("a", type_), variable("b", type_))
        assert may_be(node, pa.string(), {"a": one, "b": other})
    node = call("$operator$equal", variable("a", "varchar"), variable("b", "varchar"))
    assert not may_be(node, pa.string(), {"a": "abcd", "b": "abce"})


def test_the_supported_part_of_an_and_is_evaluated() -> None:
    both = [WRITTEN["i = 3005"], call("regexp_like", INT, INT)]
    node = {"@type": "special", "form": "AND", "returnType": "boolean", "arguments": both}
    found = parse_row_expression(json.dumps(node))
    assert isinstance(found, e.And)
    assert found.children[0] == Comparison(Op.EQ, Column(("i",)), e.Literal(3005, pa.int32()))


@pytest.mark.parametrize(("form", "kind"), [("AND", e.And), ("OR", e.Or)])
def test_a_long_chain_is_not_deep(form: str, kind: type[e.And | e.Or]) -> None:
    leaf = WRITTEN["i = 3005"]
    node: dict[str, Any] = leaf
    for _ in range(200):
        node = {"@type": "special", "form": form, "arguments": [node, leaf]}
    found = parse_row_expression(json.dumps(node))
    assert isinstance(found, kind)
    assert len(found.children) == 201
    assert len(set(found.children)) == 1
    nothing = {"@type": "special", "form": form, "arguments": []}
    found = parse_row_expression(json.dumps({**nothing, "arguments": [leaf, nothing]}))
    assert isinstance(found, kind)
    assert isinstance(found.children[1], e.Unknown)


def test_deep_expressions_are_unknown_inside() -> None:
    node: dict[str, Any] = WRITTEN["i = 3005"]
    for _ in range(150):
        node = call("not", node)
    bind(parse_row_expression(json.dumps(node)), Scope(SCHEMA))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("1", "1 is not an expression"),
        ('{"@type": "variable"}', "without a name"),
        ('{"@type": "variable", "name": "a"}', "'a' has no type"),
        ('{"@type": "constant", "type": "bigint"}', "without a value"),
        ('{"@type": "constant", "type": "bigint", "valueBlock": "!"}', "no base64"),
        ('{"@type": "special", "form": "AND"}', "expected a list of arguments"),
    ],
)
def test_invalid_row_expressions_are_refused(text: str, problem: str) -> None:
    with pytest.raises(RowExpressionError, match=problem):
        parse_row_expression(text)


FORMS = [json.dumps(form) for form in WRITTEN.values()]


@settings(max_examples=examples(500))
@given(st.sampled_from(FORMS), st.data())
def test_fuzz_changed_forms_are_refused_or_evaluated(form: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(form)))
    cut = data.draw(st.integers(0, 5))
    piece = data.draw(st.sampled_from(['"', "{", "}", "null", "9", "[", ",", "A", ""]))
    try:
        found = parse_row_expression(form[:at] + piece + form[at + cut :])
    except RowExpressionError:
        return
    bind(found, Scope(SCHEMA, here("UTC")))

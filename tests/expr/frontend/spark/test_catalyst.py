"""Spark's analysed expressions in JSON.

`tests/spark/query/test_dataframes.py` tests what Spark itself writes.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.frontend.spark.catalyst import Unwritten, parse_catalyst
from pyhudi_expr.expr.frontend.spark.nodes import CatalystError
from pyhudi_expr.expr.nodes import (
    OR_NULL,
    And,
    Call,
    Case,
    Cast,
    CharType,
    Column,
    Comparison,
    HudiExpression,
    In,
    InZone,
    IsNull,
    Literal,
    Not,
    Op,
    Or,
    StartsWith,
    Unknown,
)
from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS, Engine, Semantics, Zone, local_zone
from pyhudi_expr.expr.terms import Scope

PREFIX = "org.apache.spark.sql.catalyst.expressions."
A, S = Column(("a",), pa.int32()), Column(("s",), pa.string())
FIVE = Literal(5, pa.int32())


def node(class_: str, /, *children: list[Any], **fields: Any) -> list[Any]:
    """A tree as Spark writes it: a node's own object, then those of its children."""
    own = {"class": PREFIX + class_, "num-children": len(children), **fields}
    return [own, *(below for child in children for below in child)]


def column(name: str, type_: Any, **fields: Any) -> list[Any]:
    return node("AttributeReference", name=name, dataType=type_, **fields)


def constant(value: Any, type_: str) -> list[Any]:
    return node("Literal", value=value, dataType=type_)


def parse(form: list[Any], **constants: Any) -> HudiExpression:
    unwritten = Unwritten(lambda number: constants[f"n{number}"], lambda number: False)
    return parse_catalyst(json.dumps(form), unwritten, UNKNOWN_SEMANTICS)


INT_A, TEXT_S = column("a", "integer"), column("s", "string")


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (node("EqualTo", INT_A, constant("5", "integer")), Comparison(Op.EQ, A, FIVE)),
        (node("EqualNullSafe", INT_A, INT_A), Comparison(Op.NULL_SAFE_EQ, A, A)),
        (node("Not", node("IsNull", INT_A)), Not(IsNull(A))),
        (node("IsNotNull", INT_A), Not(IsNull(A))),
        (node("In", INT_A, constant("5", "integer"), constant(None, "integer")),
         In(A, (FIVE, Literal(None, pa.int32())))),
        (node("StartsWith", TEXT_S, constant("x_", "string")), StartsWith(S, "x_")),
        (node("EqualTo", node("Cast", INT_A, dataType="long"), constant("5", "long")),
         Comparison(Op.EQ, Cast(A, pa.int64()), Literal(5, pa.int64()))),
        (node("EqualTo", node("Cast", constant("5", "integer"), dataType="long"), INT_A),
         Comparison(Op.EQ, Literal(5, pa.int64()), A)),
        (node("EqualTo", node("Year", column("t", "timestamp")), constant("1", "integer")),
         Comparison(Op.EQ, Call("year", (Column(("t",), pa.timestamp("us", "UTC")),)),
                    Literal(1, pa.int32()))),
        (node("EqualTo", node("CaseWhen", node("IsNull", INT_A), INT_A, INT_A), INT_A),
         Comparison(Op.EQ, Case(((IsNull(A), A),), A), A)),
    ],
)  # fmt: skip
def test_nodes_are_converted(form: list[Any], expected: HudiExpression) -> None:
    assert parse(form) == expected


REFERENCE = node("CommonExpressionRef", dataType="integer")


def between(reference: list[Any], *definitions: list[Any]) -> list[Any]:
    """BETWEEN 5 AND 5 as Spark 4 writes it."""
    both = (node(op, reference, constant("5", "integer")) for op in _OPS)
    return node("With", node("And", *both), *(node("CommonExpressionDef", d) for d in definitions))


_OPS = ("GreaterThanOrEqual", "LessThanOrEqual")


def test_a_reference_is_the_value_of_its_definition() -> None:
    doubled = node("Add", INT_A, INT_A)
    twice = Call("+", (A, A))
    expected = And((Comparison(Op.GTEQ, twice, FIVE), Comparison(Op.LTEQ, twice, FIVE)))
    assert parse(between(REFERENCE, doubled)) == expected
    # Two of them are separate, although both references look the same.
    lengths = node("Length", TEXT_S)
    found = parse(node("Or", between(REFERENCE, doubled), between(REFERENCE, lengths)))
    length = Call("length", (S,))
    other = And((Comparison(Op.GTEQ, length, FIVE), Comparison(Op.LTEQ, length, FIVE)))
    assert found == Or((expected, other))


@pytest.mark.parametrize(
    "form",
    [
        between(REFERENCE, INT_A, INT_A),
        between(node("If", between(REFERENCE, INT_A), REFERENCE, INT_A), INT_A),
        between(REFERENCE, node("If", between(REFERENCE, INT_A), INT_A, INT_A)),
        between(REFERENCE),
        REFERENCE,
    ],
)
def test_an_ambiguous_reference_is_unknown(form: list[Any]) -> None:
    assert isinstance(parse(form), Unknown)


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("1.5", "decimal(10,2)", Decimal("1.5")),
        ("1.0E300", "double", 1e300),
        ("-Infinity", "double", float("-inf")),
        ("0.1", "float", 0.10000000149011612),
        ("true", "boolean", True),
        ("-128", "byte", -128),
        ("it's", "string", "it's"),
    ],
)
def test_constants_are_exact(text: str, type_: str, value: Any) -> None:
    found = parse(node("EqualTo", INT_A, constant(text, type_)))
    assert isinstance(found, Comparison)
    assert isinstance(found.right, Literal)
    assert found.right.value == value


def test_dates_times_and_bytes_are_converted_by_the_caller() -> None:
    form = node(
        "And",
        node("LessThan", column("d", "date"), constant("1582-10-05", "date")),
        node("LessThan", column("b", "binary"), constant("[B@1", "binary")),
    )
    found = parse(form, n3=-141_437, n6=b"\x00")
    assert isinstance(found, And)
    assert found.children[0] == Comparison(
        Op.LT, Column(("d",), pa.date32()), Literal(-141_437, pa.date32())
    )
    among = parse(node("InSet", TEXT_S), n0=["x", None])
    assert among == In(S, (Literal("x", pa.string()), Literal(None, pa.string())))
    like = node("Like", TEXT_S, constant("x!%%", "string"))
    assert parse(like, n0="!") == StartsWith(S, "x%")
    assert parse(node("Like", TEXT_S, constant("x%", "string")), n0="\\") == StartsWith(S, "x")


def test_fields_of_structs_and_padded_texts() -> None:
    inner = {"type": "struct", "fields": [{"name": "B", "type": "integer"}]}
    fields = [{"name": "x", "type": "string"}, {"name": "y", "type": inner}]
    outer = {"type": "struct", "fields": fields}
    nested = node("GetStructField", column("st", outer), ordinal=1)
    found = parse(node("IsNull", node("GetStructField", nested, ordinal=0)))
    assert found == IsNull(Column(("st", "y", "B"), pa.int32()))
    padded = column("c", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(3)"})
    assert parse(node("IsNull", padded)) == IsNull(Column(("c",), CharType(3, padded=True)))


@pytest.mark.parametrize(
    "form",
    [
        node("RLike", TEXT_S, constant("x", "string")),
        node("EqualTo", node("ScalaUDF", INT_A), INT_A),
        node("EqualTo", node("Cast", INT_A, dataType={"type": "array"}), INT_A),
        node("EqualTo", INT_A, constant("x", "integer")),
        node("EqualTo", node("GetStructField", INT_A, ordinal=3), INT_A),
        node("InSet", TEXT_S),
        node("EqualTo", INT_A),
        # Spark 4: 'a' equals 'A' there.
        node("EqualTo", *[column(name, "string collate UTF8_LCASE") for name in "st"]),
    ],
)
def test_only_the_unsupported_part_is_unknown(form: list[Any]) -> None:
    found = parse(node("And", node("IsNull", INT_A), form))
    assert isinstance(found, And)
    assert found.children[0] == IsNull(A)
    assert isinstance(found.children[1], Unknown)


@pytest.mark.parametrize("name", ["And", "Or"])
def test_a_long_chain_is_not_deep(name: str) -> None:
    chain = node("IsNull", INT_A)
    for _ in range(1000):
        chain = node(name, chain, node("IsNull", INT_A))
    found = parse(chain)
    assert isinstance(found, And if name == "And" else Or)
    assert found.children == (IsNull(A),) * 1001


@pytest.mark.parametrize(
    "text",
    [
        *("", "{}", "[]", "[1]", "null", '[{"class": "x"}]'),
        json.dumps([*INT_A, *INT_A]),
        json.dumps(node("Not", INT_A)[:1]),
        json.dumps([{"class": "Not", "num-children": 1}] * 5000 + INT_A),
        json.dumps([{"class": "Not", "num-children": -1}]),
    ],
)
def test_invalid_trees_are_errors(text: str) -> None:
    unwritten = Unwritten(lambda number: None, lambda number: False)
    with pytest.raises(CatalystError):
        parse_catalyst(text, unwritten, UNKNOWN_SEMANTICS)


def hour_in(zone: str) -> list[Any]:
    return node("Hour", column("t", "timestamp"), timeZoneId=zone)


def test_an_expression_keeps_the_zone_of_the_session_that_analysed_it() -> None:
    utc, tokyo = local_zone("UTC"), local_zone("Asia/Tokyo")
    session = Semantics(Engine.SPARK, zone=utc, reading_zone=utc, zones={"Asia/Tokyo": tokyo})
    nothing = Unwritten(lambda number: None, lambda number: False)
    of_both = node("EqualTo", hour_in("UTC"), hour_in("Asia/Tokyo"))
    found = parse_catalyst(json.dumps(of_both), nothing, session)
    hours = Call("hour", (Column(("t",), pa.timestamp("us", "UTC")),))
    assert found == Comparison(Op.EQ, InZone(hours, utc), InZone(hours, tokyo))
    of_one = node("EqualTo", hour_in("UTC"), hour_in("UTC"))
    own = parse_catalyst(json.dumps(of_one), nothing, session)
    assert own == Comparison(Op.EQ, hours, hours)
    of_mars = node("EqualTo", hour_in("UTC"), hour_in("Mars"))
    unsent = parse_catalyst(json.dumps(of_mars), nothing, session)
    assert unsent == Comparison(Op.EQ, InZone(hours, utc), InZone(hours, Zone("Mars", None)))


@pytest.mark.parametrize(
    ("first", "second"), [("timestamp_ntz", "timestamp"), ("timestamp", "timestamp_ntz")]
)
def test_a_time_does_not_come_back_from_a_wall_clock_as_it_was(first: str, second: str) -> None:
    stored = column("t", second)
    there_and_back = node("Cast", node("Cast", stored, dataType=first), dataType=second)
    assert isinstance(parse(node("EqualTo", there_and_back, stored)), Unknown)
    below = node("Coalesce", node("Cast", stored, dataType=first), column("u", first))
    assert isinstance(parse(node("EqualTo", node("Cast", below, dataType=second), stored)), Unknown)
    again = node("Cast", node("Cast", stored, dataType=second), dataType=second)
    assert not isinstance(parse(node("EqualTo", again, stored)), Unknown)


def test_what_fails_in_a_try_is_null() -> None:
    added = node("Add", INT_A, constant("1", "integer"))
    tried = Unwritten(lambda number: None, lambda number: number == 1)
    found = parse_catalyst(json.dumps(node("IsNull", added)), tried, UNKNOWN_SEMANTICS)
    schema = pa.schema([("a", pa.int32())])
    sum_ = Call("+", (A, Literal(1, pa.int32())))
    assert found == IsNull(Call(OR_NULL, (sum_,)))
    assert not isinstance(bind(found, Scope(schema)), Unknown)

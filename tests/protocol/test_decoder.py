"""The protocol's filter: how it is decoded and encoded, and which filters are refused."""

import time
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.nodes import CharType, Column, Op, Truth
from pyhudi_expr.protocol.conversion.decoder import BadRequestError, Limits, decode
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.generated.ttypes import (
    Literal,
    Node,
    NodeKind,
    PredicateOperator,
    TruthValue,
)

A = Node(kind=NodeKind.COLUMN, path=["a"])
ONE = Node(kind=NodeKind.LITERAL, literal=Literal(type="int", integerValue=1))
TWO = Node(kind=NodeKind.LITERAL, literal=Literal(type="int", integerValue=2))
COLUMN_A = Column(("a",))
INT_1, INT_2 = e.Literal(1, pa.int32()), e.Literal(2, pa.int32())


def leaf(op: int, *children: int) -> Node:
    return Node(kind=NodeKind.LEAF, op=op, children=list(children))


def node(kind: int, *children: int) -> Node:
    return Node(kind=kind, children=list(children))


def literal(**fields: object) -> Any:
    filter_ = [A, Node(kind=NodeKind.LITERAL, literal=Literal(**fields))]
    return decode([*filter_, leaf(PredicateOperator.EQUALS, 0, 1)]).right


@pytest.mark.parametrize(
    ("op", "operands", "expected"),
    [
        (PredicateOperator.EQUALS, [A, ONE], e.Comparison(Op.EQ, COLUMN_A, INT_1)),
        (PredicateOperator.LESS_THAN, [A, ONE], e.Comparison(Op.LT, COLUMN_A, INT_1)),
        (PredicateOperator.LESS_THAN, [ONE, A], e.Comparison(Op.LT, INT_1, COLUMN_A)),
        (PredicateOperator.LESS_THAN_EQUALS, [A, ONE], e.Comparison(Op.LTEQ, COLUMN_A, INT_1)),
        (
            PredicateOperator.NULL_SAFE_EQUALS,
            [A, ONE],
            e.Comparison(Op.NULL_SAFE_EQ, COLUMN_A, INT_1),
        ),
        (PredicateOperator.IN, [A, ONE, TWO], e.In(COLUMN_A, (INT_1, INT_2))),
        (PredicateOperator.BETWEEN, [A, ONE, TWO], e.Between(COLUMN_A, INT_1, INT_2)),
        (PredicateOperator.IS_NULL, [A], e.IsNull(COLUMN_A)),
    ],
)
def test_each_operator_becomes_its_node(op, operands, expected):
    assert decode([*operands, leaf(op, *range(len(operands)))]) == expected


@pytest.mark.parametrize("truth", TruthValue._VALUES_TO_NAMES)
def test_truth_values(truth):
    expected = e.Constant(Truth[TruthValue._VALUES_TO_NAMES[truth]])
    assert decode([Node(kind=NodeKind.CONSTANT, truth=truth)]) == expected


def test_connectives_are_flat():
    is_null, expected = leaf(PredicateOperator.IS_NULL, 0), e.IsNull(COLUMN_A)
    filter_ = [A, is_null, node(NodeKind.AND, 1, 1), node(NodeKind.AND, 2, 1)]
    assert decode(filter_) == e.And((expected, expected, expected))
    assert decode([A, is_null, node(NodeKind.NOT, 1)]) == e.Not(expected)
    assert decode([A, is_null, node(NodeKind.OR, 1)]) == expected


@pytest.mark.parametrize(
    ("fields", "value", "type_"),
    [
        ({"type": "boolean", "booleanValue": False}, False, pa.bool_()),
        ({"type": "tinyint", "integerValue": -128}, -128, pa.int8()),
        ({"type": "bigint", "integerValue": 2**63 - 1}, 2**63 - 1, pa.int64()),
        ({"type": "float", "doubleValue": 0.5}, 0.5, pa.float32()),
        ({"type": "double", "doubleValue": -0.0}, -0.0, pa.float64()),
        ({"type": "string", "stringValue": "é"}, "é", pa.string()),
        ({"type": "char(3)", "stringValue": "a"}, "a", CharType(3, padded=True)),
        ({"type": "varchar(3)", "stringValue": "a"}, "a", CharType(3, padded=False)),
        ({"type": "binary", "binaryValue": b"\xff"}, b"\xff", pa.binary()),
        ({"type": "date", "epochDays": -1}, -1, pa.date32()),
        ({"type": "timestamp", "epochSeconds": 1}, 1, pa.timestamp("s")),
        ({"type": "timestamp", "epochSeconds": -1, "nanos": 1000}, -999_999, pa.timestamp("us")),
        ({"type": "timestamp", "epochSeconds": 1, "nanos": 1}, 10**9 + 1, pa.timestamp("ns")),
        (
            {"type": "timestamp", "epochSeconds": 253402300799, "nanos": 999_999_999},
            253402300799_999999999,
            pa.timestamp("ns"),
        ),
        (
            {"type": "timestamp with local time zone", "epochSeconds": 5},
            5,
            pa.timestamp("s", tz="UTC"),
        ),
        (
            {"type": "decimal(38,2)", "unscaledValue": b"\xff\x7f", "scale": 1},
            Decimal("-12.9"),
            pa.decimal128(38, 2),
        ),
        ({"type": "void"}, None, pa.null()),
        ({"type": "int"}, None, pa.int32()),
    ],
)
def test_typed_constants_become_literals(fields, value, type_):
    assert literal(**fields) == e.Literal(value, type_)


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "int", "integerValue": 2**31},
        {"type": "int", "stringValue": "1"},
        {"type": "int", "integerValue": 1, "stringValue": "1"},
        {"type": "timestamp", "epochSeconds": 1, "nanos": 10**9},
        {"type": "decimal(5,2)", "unscaledValue": b"", "scale": 0},
        {"type": "decimal(5,2)", "unscaledValue": b"\x01"},
        {"type": "decimal(5,2)", "unscaledValue": b"\x01", "scale": -1},
        {"type": "decimal(5,2)", "unscaledValue": b"\x01" * 100, "scale": 0},
        {"type": "string", "stringValue": "x" * 70_000},
        {"type": "void", "integerValue": 1},
        {},
    ],
)
def test_literals_that_break_the_protocol(fields):
    with pytest.raises(BadRequestError, match="literal"):
        literal(**fields)


def test_a_boolean_column_or_literal_stands_for_itself():
    expected = e.Comparison(Op.EQ, COLUMN_A, e.Literal(True, pa.bool_()))
    assert decode([A]) == expected
    assert decode([A, node(NodeKind.NOT, 0)]) == e.Not(expected)
    true_literal = Node(kind=NodeKind.LITERAL, literal=Literal(type="boolean", booleanValue=True))
    null = Node(kind=NodeKind.LITERAL, literal=Literal(type="boolean"))
    assert decode([true_literal]) == e.Constant(Truth.YES)
    assert decode([null]) == e.Constant(Truth.NULL)
    assert isinstance(decode([Node(kind=NodeKind.COLUMN, path=["a"], type="int")]), e.Unknown)
    assert isinstance(decode([ONE]), e.Unknown)


def function(name: str, *children: int, type_: str | None = None) -> Node:
    return Node(kind=NodeKind.FUNCTION, functionName=name, children=list(children), type=type_)


def test_functions_and_casts():
    text = Node(kind=NodeKind.LITERAL, literal=Literal(type="string", stringValue="x%"))
    assert decode([A, text, function("LIKE", 0, 1)]) == e.StartsWith(COLUMN_A, "x")
    equals = leaf(PredicateOperator.EQUALS, 1, 2)
    cast = function("cast", 0, type_="bigint")
    assert decode([A, cast, ONE, equals]).left == e.Cast(COLUMN_A, pa.int64())
    assert decode([ONE, cast, A, equals]).left == e.Literal(1, pa.int64())
    assert decode([A, function("Year", 0), ONE, equals]).left == e.Call("year", (COLUMN_A,))
    assert decode([A, function("isnan", 0)]).op is Op.NULL_SAFE_EQ
    assert isinstance(decode([A, function("isprime", 0)]), e.Unknown)


@pytest.mark.parametrize("name", ["current_date", "current_timestamp", "now"])
def test_the_current_time_of_the_service_is_not_used(name):
    found = decode([A, function(name), leaf(PredicateOperator.LESS_THAN, 1, 0)])
    assert found.left == e.Call(f"unsupported {name}", ())


def test_conditions_inside_functions():
    condition = function("=", 0, 1)
    choice = [A, ONE, condition, function("if", 2, 0, 1)]
    found = decode([*choice, leaf(PredicateOperator.EQUALS, 3, 1)])
    one = e.Literal(1, pa.int32())
    is_one = e.Comparison(Op.EQ, COLUMN_A, one)
    assert found == e.Comparison(Op.EQ, e.Case(((is_one, COLUMN_A),), one), one)
    assert decode([A, ONE, condition, function("isnull", 0), function("and", 2, 3)]) == e.And(
        (is_one, e.IsNull(COLUMN_A))
    )


def test_unsupported_filters_are_unknown_with_a_reason():
    odd = Node(kind=NodeKind.UNKNOWN, text="id IN (RS[7])")
    assert decode([odd]) == e.Unknown("id IN (RS[7])")
    assert decode([odd, leaf(PredicateOperator.IS_NULL, 0)]) == e.Unknown("id IN (RS[7])")
    struct = Node(kind=NodeKind.COLUMN, path=["a"], type="struct<x:int>")
    assert decode([struct, leaf(PredicateOperator.IS_NULL, 0)]).reason.startswith("the type")
    mangled = Literal(type="string", stringValue="a\ufffd")
    text = Node(kind=NodeKind.LITERAL, literal=mangled)
    assert decode([A, text, leaf(PredicateOperator.EQUALS, 0, 1)]).reason.endswith("UTF-8")
    found = decode([odd, ONE, leaf(PredicateOperator.EQUALS, 0, 1)])
    assert found == e.Unknown("id IN (RS[7])")


def test_whether_a_condition_is_null():
    expected = e.IsNull(e.Comparison(Op.LT, COLUMN_A, INT_1))
    less, is_null = leaf(PredicateOperator.LESS_THAN, 0, 1), leaf(PredicateOperator.IS_NULL, 2)
    assert decode([A, ONE, less, is_null]) == expected
    function = Node(kind=NodeKind.FUNCTION, functionName="<", children=[0, 1])
    assert decode([A, ONE, function, is_null]) == expected


@pytest.mark.parametrize(
    "filter_",
    [
        [],
        [Node(kind=99)],
        [Node(kind=None)],
        [A, leaf(PredicateOperator.IS_NULL, 1)],
        [A, leaf(PredicateOperator.IS_NULL, 2)],
        [A, leaf(PredicateOperator.IS_NULL, -1)],
        [A, leaf(99, 0)],
        [A, leaf(None, 0)],
        [A, leaf(PredicateOperator.EQUALS, 0)],
        [A, leaf(PredicateOperator.IN, 0)],
        [A, leaf(PredicateOperator.BETWEEN, 0, 0)],
        [A, leaf(PredicateOperator.IS_NULL, 0, 0)],
        [A, node(NodeKind.NOT, 0, 0)],
        [node(NodeKind.NOT)],
        [node(NodeKind.AND)],
        [A, ONE],
        [A, Node(kind=NodeKind.COLUMN, path=["b"], children=[0])],
        [Node(kind=NodeKind.CONSTANT)],
        [Node(kind=NodeKind.CONSTANT, truth=99)],
        [Node(kind=NodeKind.COLUMN)],
        [Node(kind=NodeKind.COLUMN, path=[])],
        [Node(kind=NodeKind.COLUMN, path=["a", ""])],
        [Node(kind=NodeKind.LITERAL)],
        [function("")],
        [function("cast")],
        [A, function("cast", 0)],
    ],
)
def test_a_filter_that_breaks_the_protocol_is_refused(filter_):
    with pytest.raises(BadRequestError):
        decode(filter_)


def alternating(depth: int) -> list[Node]:
    filter_ = [A]
    for level in range(depth):
        kind = NodeKind.AND if level % 2 else NodeKind.OR
        filter_ += [A, node(kind, len(filter_) - 1, len(filter_))]
    return filter_


def test_depth_has_a_limit():
    decode(alternating(99))
    for filter_ in (
        alternating(10_000),
        [A, *(node(NodeKind.NOT, i) for i in range(10_000))],
        [A, *(function("f", i) for i in range(10_000)), leaf(PredicateOperator.IS_NULL, 10_000)],
    ):
        with pytest.raises(BadRequestError, match="levels"):
            decode(filter_)


@pytest.mark.slow
def test_a_long_chain_of_one_connective_is_not_deep():
    filter_ = [A]
    for _ in range(50_000):
        filter_ += [A, node(NodeKind.OR, len(filter_) - 1, len(filter_))]
    started_at = time.monotonic()
    assert len(decode(filter_).children) == 50_001
    assert time.monotonic() - started_at < 10


def test_shared_nodes_count_as_often_as_they_are_used():
    doubling = [A, *(node(NodeKind.AND, i, i) for i in range(60))]
    with pytest.raises(BadRequestError, match="nodes"):
        decode(doubling)
    with pytest.raises(BadRequestError, match="more than 3 nodes"):
        decode([A, A, A, node(NodeKind.AND, 0, 1, 2)], Limits(nodes=3))


TYPES = (
    st.sampled_from([pa.bool_(), pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.string()])
    | st.sampled_from([pa.date32(), pa.binary(), pa.timestamp("ns"), pa.timestamp("ns", tz="UTC")])
    | st.builds(CharType, st.integers(1, 255), st.booleans())
    | st.just(pa.decimal128(20, 3))
)
SECONDS = st.integers(-(2**40), 2**40)


def stamps(unit: str, factor: int, zone: str | None) -> st.SearchStrategy[e.Literal]:
    # Decoding prefers the coarsest unit that represents the value.
    values = st.integers(-(2**60), 2**60).filter(lambda value: value % factor)
    return st.builds(e.Literal, values, st.just(pa.timestamp(unit, tz=zone)))


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\ufffd"), max_size=20)
LITERALS = (
    st.builds(e.Literal, st.booleans(), st.just(pa.bool_()))
    | st.builds(e.Literal, st.integers(-128, 127), st.just(pa.int8()))
    | st.builds(e.Literal, st.integers(-(2**63), 2**63 - 1), st.just(pa.int64()))
    | st.builds(e.Literal, st.floats(width=32, allow_nan=False), st.just(pa.float32()))
    | st.builds(e.Literal, st.floats(allow_nan=False), st.just(pa.float64()))
    | st.builds(e.Literal, TEXTS, st.just(pa.string()))
    | st.builds(e.Literal, TEXTS, st.builds(CharType, st.just(20), st.booleans()))
    | st.builds(e.Literal, st.binary(max_size=20), st.just(pa.binary()))
    | st.builds(e.Literal, st.integers(-(2**31), 2**31 - 1), st.just(pa.date32()))
    | st.builds(e.Literal, SECONDS, st.sampled_from([pa.timestamp("s", tz="UTC")]))
    | stamps("us", 10**6, None)
    | stamps("ns", 10**3, "UTC")
    | st.builds(e.Literal, st.decimals(-(10**17), 10**17, places=3), st.just(pa.decimal128(20, 3)))
    | st.builds(e.Literal, st.none(), TYPES)
)
NAMES = st.text(min_size=1, max_size=5)
COLUMNS = st.builds(Column, st.lists(NAMES, min_size=1, max_size=3).map(tuple), st.none() | TYPES)


def _joined(kind: type, children: list[e.HudiExpression]) -> e.HudiExpression:
    # Decoding flattens connectives: each has at least two children, none of its own kind.
    return kind(tuple(child for child in children if not isinstance(child, kind)) + (NULL,) * 2)


NULL = e.Constant(Truth.NULL)

BEGINNINGS = st.lists(st.none() | st.sampled_from("ab%"), max_size=4).map(tuple)


def conditions(operators: Iterable[Op]) -> st.SearchStrategy[e.HudiExpression]:
    return st.recursive(
        st.builds(e.Comparison, st.sampled_from([*operators]), COLUMNS, LITERALS | COLUMNS)
        | st.builds(e.In, COLUMNS, st.lists(LITERALS, min_size=1, max_size=3).map(tuple))
        | st.builds(e.Between, COLUMNS, LITERALS, LITERALS)
        | st.builds(e.IsNull, COLUMNS)
        | st.builds(e.StartsWith, COLUMNS, st.text(alphabet="ab%_é\\", max_size=5))
        | st.builds(e.Matches, COLUMNS, BEGINNINGS, st.booleans()),
        lambda below: (
            st.builds(_joined, st.sampled_from([e.And, e.Or]), st.lists(below, max_size=3))
            | st.builds(e.Not, below)
            | st.builds(e.IsNull, below)
        ),
        max_leaves=4,
    )


TERMS = st.recursive(
    LITERALS | COLUMNS,
    lambda terms: (
        st.builds(e.Cast, terms.filter(lambda term: not isinstance(term, e.Literal)), TYPES)
        | st.builds(e.Call, st.sampled_from(["year", "+"]), st.lists(terms, max_size=3).map(tuple))
        | st.builds(
            e.Case,
            st.lists(st.tuples(conditions(Op), terms), min_size=1, max_size=2).map(tuple),
            terms,
        )
    ),
    max_leaves=4,
)
# The protocol has no other; conditions of CASE may contain a value.
OPERATORS = (Op.EQ, Op.NULL_SAFE_EQ, Op.LT, Op.LTEQ)
PREFIXES = st.text(alphabet="ab%_é\\", max_size=5)
LEAVES = (
    st.builds(e.Comparison, st.sampled_from(OPERATORS), TERMS, TERMS)
    | st.builds(e.In, TERMS, st.lists(TERMS, min_size=1, max_size=4).map(tuple))
    | st.builds(e.Between, TERMS, TERMS, TERMS)
    | st.builds(e.IsNull, TERMS | conditions(OPERATORS))
    | st.builds(e.StartsWith, TERMS, PREFIXES)
    | st.builds(e.Matches, TERMS, BEGINNINGS, st.booleans())
    | st.builds(e.Unknown, st.text(min_size=1, max_size=20))
    | st.builds(e.Constant, st.sampled_from([*Truth, Truth.YES_NULL, Truth.YES_NO_NULL]))
)


EXPRESSIONS = st.recursive(
    LEAVES,
    lambda below: (
        st.builds(_joined, st.sampled_from([e.And, e.Or]), st.lists(below, max_size=4))
        | st.builds(e.Not, below)
    ),
    max_leaves=8,
)


@given(EXPRESSIONS)
def test_expressions_survive_encoding_and_decoding(expression):
    assert decode(encode(expression)) == expression


def test_operators_missing_in_the_protocol_are_encoded_by_others():
    def around(op: Op) -> e.HudiExpression:
        return decode(encode(e.Comparison(op, COLUMN_A, INT_1)))

    assert around(Op.NE) == e.Not(e.Comparison(Op.EQ, COLUMN_A, INT_1))
    assert around(Op.GT) == e.Comparison(Op.LT, INT_1, COLUMN_A)
    assert around(Op.GTEQ) == e.Comparison(Op.LTEQ, INT_1, COLUMN_A)


def test_expressions_missing_in_the_protocol_are_encoded_as_unknown():
    listed = e.IsNull(Column(("a",), pa.list_(pa.int8())))
    both = decode(encode(e.And((listed, e.IsNull(COLUMN_A)))))
    assert isinstance(both.children[0], e.Unknown)
    assert both.children[1] == e.IsNull(COLUMN_A)
    case = e.Case(((e.Unknown("x"), INT_1),), INT_2)
    around = decode(encode(e.Comparison(Op.EQ, case, INT_1)))
    assert isinstance(around.left.branches[0][0], e.Unknown)
    assert around.left.otherwise == INT_2

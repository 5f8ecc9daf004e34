"""Encode an expression as the protocol's filter, for Python clients of the service.

`pyhudi_expr.protocol.conversion.decoder` decodes it.
"""

from __future__ import annotations

import base64
from itertools import chain

import pyarrow as pa
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException, TType
from thrift.transport.TTransport import TMemoryBuffer

from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.frontend.common.constants import FALSE, type_name
from pyhudi_expr.expr.frontend.common.functions import MATCHES
from pyhudi_expr.expr.nodes import HudiExpression, Op, Term, Truth
from pyhudi_expr.protocol.conversion.decoder import BadRequestError, decode
from pyhudi_expr.protocol.conversion.literals import encode_keys, encode_literal
from pyhudi_expr.protocol.generated.ttypes import Node, NodeKind, PredicateOperator, TruthValue

_OPERATORS = {
    Op.EQ: PredicateOperator.EQUALS,
    Op.NULL_SAFE_EQ: PredicateOperator.NULL_SAFE_EQUALS,
    Op.LT: PredicateOperator.LESS_THAN,
    Op.LTEQ: PredicateOperator.LESS_THAN_EQUALS,
}
_CONSTANTS = {Truth.YES: True, Truth.NO: False, Truth.NULL: None}
_TRUTHS = {Truth[name]: number for number, name in TruthValue._VALUES_TO_NAMES.items()}


def encode(expression: HudiExpression) -> list[Node]:
    """Return the filter in post-order, the root last.

    The protocol has no NE, GT and GTEQ: they become NOT EQUALS and exchanged operands. A part that
    it cannot express becomes UNKNOWN.
    """
    encoder = _Encoder()
    encoder.predicate(expression)
    return encoder.nodes


class _Encoder:
    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def predicate(self, node: HudiExpression) -> int:
        start = len(self.nodes)
        try:
            return self._predicate(node)
        except ValueError as reason:
            del self.nodes[start:]
            return self._add(Node(kind=NodeKind.UNKNOWN, text=str(reason)))

    def _predicate(self, node: HudiExpression) -> int:
        match node:
            case e.And(children=children):
                return self._connective(NodeKind.AND, children)
            case e.Or(children=children):
                return self._connective(NodeKind.OR, children)
            case e.Not(child=child):
                return self._connective(NodeKind.NOT, (child,))
            case e.Constant(truth=truth):
                return self._add(Node(kind=NodeKind.CONSTANT, truth=_TRUTHS[truth]))
            case e.Comparison():
                return self._comparison(node)
            case e.In(term=term, options=options):
                return self._leaf(PredicateOperator.IN, term, *options)
            case e.InKeys():
                return self._in_keys(node)
            case e.Between(term=term, low=low, high=high):
                return self._leaf(PredicateOperator.BETWEEN, term, low, high)
            case e.IsNull(term=subject):
                if isinstance(subject, e.Term):
                    return self._leaf(PredicateOperator.IS_NULL, subject)
                below, op = [self.predicate(subject)], PredicateOperator.IS_NULL
                return self._add(Node(kind=NodeKind.LEAF, op=op, children=below))
            case e.StartsWith() | e.Matches():
                return self._condition(node)
            case e.Unknown(reason=reason):
                return self._add(Node(kind=NodeKind.UNKNOWN, text=reason))
            case _:
                raise ValueError(f"a {type(node).__name__} has no form in the protocol")

    def _connective(self, kind: int, children: tuple[HudiExpression, ...]) -> int:
        return self._add(Node(kind=kind, children=[self.predicate(child) for child in children]))

    def _comparison(self, node: e.Comparison) -> int:
        match node.op:
            case Op.NE:
                equal = self._leaf(PredicateOperator.EQUALS, node.left, node.right)
                return self._add(Node(kind=NodeKind.NOT, children=[equal]))
            case Op.GT:
                return self._leaf(PredicateOperator.LESS_THAN, node.right, node.left)
            case Op.GTEQ:
                return self._leaf(PredicateOperator.LESS_THAN_EQUALS, node.right, node.left)
        return self._leaf(_OPERATORS[node.op], node.left, node.right)

    def _leaf(self, operator: int, *terms: Term) -> int:
        children = [self._term(term) for term in terms]
        return self._add(Node(kind=NodeKind.LEAF, op=operator, children=children))

    def _in_keys(self, node: e.InKeys) -> int:
        """Encode keys in what older services take for a condition that they do not know."""
        keys, column = encode_keys(node.keys, node.has_null), node.term
        type_ = None if column.declared is None else type_name(column.declared)
        text = f"{'.'.join(column.path)} IN ({keys.count} keys)"
        return self._add(
            Node(kind=NodeKind.UNKNOWN, text=text, path=list(column.path), type=type_, keys=keys)
        )

    def _condition(self, node: HudiExpression) -> int:
        """Encode a predicate as a value, for example in the conditions of CASE: as functions."""
        match node:
            case e.And(children=children):
                return self._call("and", [self._condition(child) for child in children])
            case e.Or(children=children):
                return self._call("or", [self._condition(child) for child in children])
            case e.Not(child=child):
                return self._call("not", [self._condition(child)])
            case e.Constant(truth=truth) if truth in _CONSTANTS:
                return self._term(e.Literal(_CONSTANTS[truth], pa.bool_()))
            case e.Comparison(op=op, left=left, right=right):
                return self._call(op.value, [self._term(left), self._term(right)])
            case e.In(term=term, options=options):
                return self._call("in", [self._term(one) for one in (term, *options)])
            case e.Between(term=term, low=low, high=high):
                # Hive's first operand is whether the result is inverted.
                return self._call("between", [self._term(one) for one in (FALSE, term, low, high)])
            case e.IsNull(term=subject):
                if isinstance(subject, e.Term):
                    return self._call("isnull", [self._term(subject)])
                return self._call("isnull", [self._condition(subject)])
            case e.StartsWith(term=term, prefix=prefix):
                return self._call("startswith", [self._term(term), self._text(prefix)])
            case e.Matches(term=term, begin=begin, whole=whole):
                if "_" in begin:
                    raise ValueError("a pattern with a sign of LIKE as a letter")
                letters = "".join("_" if letter is None else letter for letter in begin)
                ends = self._term(term), self._text(letters)
                return self._call(MATCHES, [*ends, self._term(e.Literal(whole, pa.bool_()))])
            case _:
                return self._call("unknown", [])

    def _text(self, text: str) -> int:
        return self._term(e.Literal(text, pa.string()))

    def _term(self, term: Term) -> int:
        match term:
            case e.Column(path=path, declared=declared):
                name = None if declared is None else type_name(declared)
                return self._add(Node(kind=NodeKind.COLUMN, path=list(path), type=name))
            case e.Literal():
                return self._add(Node(kind=NodeKind.LITERAL, literal=encode_literal(term)))
            case e.Cast(term=inner, type=type_):
                return self._function("cast", (inner,), type_name(type_))
            case e.Call(name=name, args=args):
                return self._function(name, args, None)
            case e.Case(branches=branches, otherwise=otherwise):
                parts = [(self._condition(when), self._term(then)) for when, then in branches]
                last = self._term(otherwise)
                return self._call("when", [*chain.from_iterable(parts), last]) if parts else last
            case e.InZone():  # not in the protocol: it may be anything
                return self._call("unknown", [])

    def _function(self, name: str, args: tuple[Term, ...], type_: str | None) -> int:
        return self._call(name, [self._term(arg) for arg in args], type_)

    def _call(self, name: str, children: list[int], type_: str | None = None) -> int:
        return self._add(
            Node(kind=NodeKind.FUNCTION, functionName=name, children=children, type=type_)
        )

    def _add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1


def filter_text(predicate: HudiExpression) -> str:
    """Return a predicate as a text in ASCII.

    Raises:
        UnicodeEncodeError: A constant is no Unicode: it has half of a surrogate pair.
    """
    buffer = TMemoryBuffer()
    protocol, nodes = TBinaryProtocol(buffer), encode(predicate)
    protocol.writeListBegin(TType.STRUCT, len(nodes))
    for node in nodes:
        node.write(protocol)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def read_filter(text: str) -> HudiExpression:
    """Read what `filter_text` returned.

    Raises:
        ValueError: It is no filter.
    """
    try:
        content = base64.b64decode(text, validate=True)
        protocol = TBinaryProtocol(TMemoryBuffer(content))
        _, count = protocol.readListBegin()
        nodes = []
        for _ in range(count):
            node = Node()
            node.read(protocol)
            nodes.append(node)
        return decode(nodes)
    except (TException, BadRequestError, EOFError, TypeError, IndexError) as error:
        raise ValueError(f"this is no filter: {error}") from error

"""An expression as the filter that `pyhudi_expr.frontend.thrift` decodes, for Python clients."""

from __future__ import annotations

import pyarrow as pa

from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.nodes import HudiExpression, Op, Term, Truth
from pyhudi_expr.frontend.hive_types import type_name
from pyhudi_expr.frontend.like import pattern_of
from pyhudi_expr.frontend.thrift_literals import encode_literal
from pyhudi_expr.protocol.ttypes import Node, NodeKind, PredicateOperator, TruthValue

_OPERATORS = {
    Op.EQ: PredicateOperator.EQUALS,
    Op.NULL_SAFE_EQ: PredicateOperator.NULL_SAFE_EQUALS,
    Op.LT: PredicateOperator.LESS_THAN,
    Op.LTEQ: PredicateOperator.LESS_THAN_EQUALS,
}
_TRUTHS = {Truth[name]: number for number, name in TruthValue._VALUES_TO_NAMES.items()}


def encode(expression: HudiExpression) -> list[Node]:
    """The filter in post-order, the root last.

    The protocol has no NE, GT and GTEQ: they become NOT EQUALS and exchanged operands. A piece
    that it cannot say becomes UNKNOWN.
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
            case e.Between(term=term, low=low, high=high):
                return self._leaf(PredicateOperator.BETWEEN, term, low, high)
            case e.IsNull(term=term):
                if not isinstance(term, e.Term):
                    raise ValueError("whether a condition is NULL")
                return self._leaf(PredicateOperator.IS_NULL, term)
            case e.StartsWith(term=term, prefix=prefix):
                return self._like(term, prefix)
            case e.Matches():
                raise ValueError("a pattern")
            case e.Unknown(reason=reason):
                return self._add(Node(kind=NodeKind.UNKNOWN, text=reason))

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

    def _like(self, term: Term, prefix: str) -> int:
        pattern = pattern_of(prefix)
        if pattern is None:
            raise ValueError("a prefix with a backslash")
        return self._function("like", (term, e.Literal(pattern, pa.string())), "boolean")

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
            case e.Case():
                raise ValueError("a CASE")

    def _function(self, name: str, args: tuple[Term, ...], type_: str | None) -> int:
        children = [self._term(arg) for arg in args]
        return self._add(
            Node(kind=NodeKind.FUNCTION, functionName=name, children=children, type=type_)
        )

    def _add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

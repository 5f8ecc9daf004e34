"""Decode the protocol's flattened filter (pruning.thrift) to an expression.

The filter comes from the network and is not trusted: every index is checked, sizes and depths have
limits, and no step is recursive over it. A node may have several parents (Hive shares the leaves of
a SearchArgument), and counts as often as it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.frontend.common.constants import (
    MAX_DEPTH,
    InexpressibleError,
    as_boolean_term,
    conjunction,
    disjunction,
    parse_type,
)
from pyhudi_expr.expr.frontend.common.functions import (
    SENT,
    as_condition,
    as_value,
    is_null,
    supported_call,
)
from pyhudi_expr.expr.frontend.common.hive_decimals import certain_cast, with_changed_decimals
from pyhudi_expr.expr.nodes import HudiExpression, Op, Term, Truth, Unknown
from pyhudi_expr.protocol.conversion.literals import BadRequestError, decode_keys, decode_literal
from pyhudi_expr.protocol.generated.ttypes import Node, NodeKind, PredicateOperator, TruthValue

__all__ = ["BadRequestError", "Limits", "decode"]


@dataclass(frozen=True)
class Limits:
    """Limits of a filter.

    Attributes:
        nodes: Nodes in the tree; shared ones count as often as they are used.
        depth: Levels; nested AND, and nested OR, count as one.
        literal_bytes: Bytes of one string or binary constant.
        keys: Keys of one node; sixteen count as a node of the tree.
    """

    nodes: int = 200_000
    depth: int = MAX_DEPTH
    literal_bytes: int = 1 << 16
    keys: int = 1_000_000


_Value: TypeAlias = HudiExpression | Term
_KEYS_OF_A_NODE = 16

_CONNECTIVES = (NodeKind.AND, NodeKind.OR)
_TERMS = (e.Column, e.Literal, e.Cast, e.Call, e.Case)
#: Number of operands of an operator; None: no upper limit.
_OPERANDS: dict[int, tuple[int, int | None]] = {
    PredicateOperator.EQUALS: (2, 2),
    PredicateOperator.NULL_SAFE_EQUALS: (2, 2),
    PredicateOperator.LESS_THAN: (2, 2),
    PredicateOperator.LESS_THAN_EQUALS: (2, 2),
    PredicateOperator.IN: (2, None),
    PredicateOperator.BETWEEN: (3, 3),
    PredicateOperator.IS_NULL: (1, 1),
}
_COMPARISONS = {
    PredicateOperator.EQUALS: Op.EQ,
    PredicateOperator.NULL_SAFE_EQUALS: Op.NULL_SAFE_EQ,
    PredicateOperator.LESS_THAN: Op.LT,
    PredicateOperator.LESS_THAN_EQUALS: Op.LTEQ,
}
_CHILDREN: dict[int, tuple[int, int | None]] = {
    NodeKind.AND: (1, None),
    NodeKind.OR: (1, None),
    NodeKind.NOT: (1, 1),
    NodeKind.CONSTANT: (0, 0),
    NodeKind.COLUMN: (0, 0),
    NodeKind.LITERAL: (0, 0),
    NodeKind.UNKNOWN: (0, 0),
    NodeKind.FUNCTION: (0, None),
    NodeKind.LEAF: (1, None),
}
_TRUTHS = {number: Truth[name] for number, name in TruthValue._VALUES_TO_NAMES.items()}


def decode(filter_: Sequence[Node], limits: Limits | None = None) -> HudiExpression:
    """Return the expression of a filter in post-order, whose functions have Hive's meaning.

    What cannot be evaluated becomes `Unknown`.

    Raises:
        BadRequestError: The filter violates the protocol or a limit.
    """
    return _Decoder(filter_, limits or Limits()).expression()


class _Decoder:
    def __init__(self, filter_: Sequence[Node], limits: Limits) -> None:
        self._nodes = filter_
        self._limits = limits
        self._children: list[tuple[int, ...]] = []
        self._values: list[_Value | None] = []

    def expression(self) -> HudiExpression:
        needed = self._check()
        for index, node in enumerate(self._nodes):
            self._values.append(self._decoded(index, node) if needed[index] else None)
        found = _as_predicate(self._values[-1])
        return with_changed_decimals(found) if any(map(_may_be_decimal, self._nodes)) else found

    def _check(self) -> list[bool]:
        """Return which nodes need their own value: all but a connective's operands of its kind."""
        if not self._nodes:
            raise BadRequestError("the filter is empty")
        if len(self._nodes) > self._limits.nodes:
            raise BadRequestError(f"the filter has more than {self._limits.nodes} nodes")
        used, needed = [False] * len(self._nodes), [False] * len(self._nodes)
        sizes: list[int] = []
        depths: list[int] = []
        for index, node in enumerate(self._nodes):
            children = tuple(node.children or ())
            self._check_children(index, node, children)
            size, depth = 1 + self._weight(node), 0
            for child in children:
                joined = node.kind in _CONNECTIVES and self._nodes[child].kind == node.kind
                used[child] = True
                needed[child] = needed[child] or not joined
                size += sizes[child]
                depth = max(depth, depths[child] + (not joined))
            if size > self._limits.nodes or depth > self._limits.depth:
                raise BadRequestError(
                    f"node {index} of the filter has {size} nodes on {depth} levels below it; "
                    f"{self._limits.nodes} on {self._limits.depth} are allowed"
                )
            sizes.append(size)
            depths.append(depth)
            self._children.append(children)
        if not all(used[:-1]):
            raise BadRequestError(f"node {used.index(False)} of the filter has no parent")
        needed[-1] = True
        return needed

    def _weight(self, node: Node) -> int:
        """Return how many nodes the keys of one count as: few bytes may stand for many keys."""
        count = 0 if node.keys is None or node.keys.count is None else node.keys.count
        return count // _KEYS_OF_A_NODE if 0 < count <= self._limits.keys else 0

    def _check_children(self, index: int, node: Node, children: tuple[int, ...]) -> None:
        expected = _CHILDREN.get(node.kind)
        if expected is None:
            raise BadRequestError(f"node {index} of the filter has the unknown kind {node.kind}")
        if any(not 0 <= child < index for child in children):
            raise BadRequestError(f"node {index} of the filter has a child that is not before it")
        _check_count(index, len(children), expected)

    def _decoded(self, index: int, node: Node) -> _Value:
        try:
            return _DECODERS[node.kind](self, index, node)
        except InexpressibleError as reason:
            return Unknown(str(reason))

    def _predicates(self, index: int) -> list[HudiExpression]:
        return [_as_predicate(self._values[child]) for child in self._children[index]]

    def _operands(self, index: int) -> list[HudiExpression]:
        """Return the operands of a whole chain of one connective, left to right."""
        kind, found = self._nodes[index].kind, []
        stack = [index]
        while stack:
            top = stack.pop()
            if self._nodes[top].kind == kind:
                stack.extend(reversed(self._children[top]))
            else:
                found.append(_as_predicate(self._values[top]))
        return found

    def _terms(self, index: int) -> tuple[Term, ...] | Unknown:
        """Return the children as terms; Unknown if one of them is."""
        values = [self._values[child] for child in self._children[index]]
        for value in values:
            if isinstance(value, Unknown):
                return value
        return tuple(_as_term(value) for value in values)

    def _and(self, index: int, node: Node) -> _Value:
        return conjunction(self._operands(index))

    def _or(self, index: int, node: Node) -> _Value:
        return disjunction(self._operands(index))

    def _not(self, index: int, node: Node) -> _Value:
        return e.Not(self._predicates(index)[0])

    def _constant(self, index: int, node: Node) -> _Value:
        if node.truth not in _TRUTHS:
            raise BadRequestError(f"node {index} of the filter is a constant without a truth value")
        return e.Constant(_TRUTHS[node.truth])

    def _leaf(self, index: int, node: Node) -> _Value:
        expected = _OPERANDS.get(node.op)
        if expected is None:
            raise BadRequestError(f"node {index} of the filter has the unknown operator {node.op}")
        _check_count(index, len(self._children[index]), expected)
        if node.op == PredicateOperator.IS_NULL:
            return self._is_null(index)
        operands = self._terms(index)
        if isinstance(operands, Unknown):
            return operands
        terms = tuple(map(as_value, operands))
        match node.op:
            case PredicateOperator.IN:
                return e.In(terms[0], terms[1:])
            case PredicateOperator.BETWEEN:
                return e.Between(*terms)
        return e.Comparison(_COMPARISONS[node.op], *terms)

    def _is_null(self, index: int) -> _Value:
        value = self._values[self._children[index][0]]
        if isinstance(value, Unknown):
            return value
        return is_null(value) if isinstance(value, _TERMS) else e.IsNull(_as_predicate(value))

    def _column(self, index: int, node: Node) -> e.Column:
        path = tuple(node.path or ())
        if not path or len(path) > self._limits.depth or not all(path):
            raise BadRequestError(f"node {index} of the filter is a column without a proper path")
        return e.Column(path, None if node.type is None else parse_type(node.type))

    def _literal(self, index: int, node: Node) -> _Value:
        if node.literal is None:
            raise BadRequestError(f"node {index} of the filter is a literal without a value")
        return decode_literal(node.literal, self._limits.literal_bytes)

    def _function(self, index: int, node: Node) -> _Value:
        if not node.functionName:
            raise BadRequestError(f"node {index} of the filter is a function without a name")
        terms = self._terms(index)
        if isinstance(terms, Unknown):
            return terms
        name = node.functionName.lower()
        if name != "cast":
            return _call(name, terms)
        if len(terms) != 1 or node.type is None:
            raise BadRequestError(f"node {index} of the filter is a cast without value or type")
        return certain_cast(terms[0], parse_type(node.type))

    def _unknown(self, index: int, node: Node) -> _Value:
        if node.keys is not None:
            keys = decode_keys(node.keys, self._limits.keys, self._limits.literal_bytes)
            return e.InKeys(self._column(index, node), keys, bool(node.keys.hasNull))
        return Unknown((node.text or "something that the engine could not say")[:200])


def _may_be_decimal(node: Node) -> bool:
    """Return whether a node is a decimal constant, or perhaps a cast to one."""
    is_literal = node.literal is not None and node.literal.unscaledValue is not None
    return is_literal or node.kind == NodeKind.FUNCTION


def _call(name: str, terms: tuple[Term, ...]) -> Term:
    """Return a function. One without a rule stays a term, so that the rest is evaluated."""
    try:
        return supported_call(SENT, name, terms)
    except InexpressibleError:
        return e.Call(f"unsupported {name}", terms)


def _check_count(index: int, count: int, expected: tuple[int, int | None]) -> None:
    least, most = expected
    if count < least or (most is not None and count > most):
        raise BadRequestError(f"node {index} of the filter has {count} children")


def _as_term(value: _Value | None) -> Term:
    return value if isinstance(value, _TERMS) else as_boolean_term(cast(HudiExpression, value))


def _as_predicate(value: _Value | None) -> HudiExpression:
    return as_condition(value) if isinstance(value, _TERMS) else cast(HudiExpression, value)


_DECODERS: dict[int, Callable[[_Decoder, int, Node], _Value]] = {
    NodeKind.AND: _Decoder._and,
    NodeKind.OR: _Decoder._or,
    NodeKind.NOT: _Decoder._not,
    NodeKind.CONSTANT: _Decoder._constant,
    NodeKind.LEAF: _Decoder._leaf,
    NodeKind.COLUMN: _Decoder._column,
    NodeKind.LITERAL: _Decoder._literal,
    NodeKind.FUNCTION: _Decoder._function,
    NodeKind.UNKNOWN: _Decoder._unknown,
}

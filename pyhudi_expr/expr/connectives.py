"""AND, OR and NOT of bound conditions: flattened, without neutral operands, with contradictions."""

from __future__ import annotations

from collections.abc import Iterable

from pyhudi_expr.expr.bound import BoundAnd, BoundExpression, BoundNot, BoundOr
from pyhudi_expr.expr.nodes import Constant, Truth, Unknown
from pyhudi_expr.expr.simplify import simplify


def conjunction(nodes: Iterable[BoundExpression]) -> BoundExpression:
    """Return AND of conditions; TRUE if there are none."""
    children = _flatten(BoundAnd, nodes)
    kept = tuple(child for child in children if child != Constant(Truth.YES))
    if Constant(Truth.NO) in kept:
        return Constant(Truth.NO)
    return _joined(BoundAnd, kept, Constant(Truth.YES))


def disjunction(nodes: Iterable[BoundExpression]) -> BoundExpression:
    """Return OR of conditions; FALSE if there are none."""
    children = _flatten(BoundOr, nodes)
    kept = tuple(child for child in children if child != Constant(Truth.NO))
    if Constant(Truth.YES) in kept:
        return Constant(Truth.YES)
    return _joined(BoundOr, kept, Constant(Truth.NO))


def negation(node: BoundExpression) -> BoundExpression:
    """Return NOT of a condition."""
    match node:
        case BoundNot(child=inner):
            return inner
        case Unknown():
            return node
        case Constant(truth=truth):
            swapped = truth & Truth.NULL
            swapped |= Truth.NO if Truth.YES in truth else Truth(0)
            swapped |= Truth.YES if Truth.NO in truth else Truth(0)
            return Constant(swapped)
    return BoundNot(node)


def _flatten(
    kind: type[BoundAnd] | type[BoundOr], nodes: Iterable[BoundExpression]
) -> list[BoundExpression]:
    flat: list[BoundExpression] = []
    for node in nodes:
        flat.extend(node.children if isinstance(node, kind) else [node])
    return flat


def _joined(
    kind: type[BoundAnd] | type[BoundOr], nodes: tuple[BoundExpression, ...], empty: Constant
) -> BoundExpression:
    if len(nodes) < 2:
        return nodes[0] if nodes else empty
    distinct = tuple(dict.fromkeys(nodes))
    return distinct[0] if len(distinct) == 1 else simplify(kind(distinct))

"""Binding: names become columns of a schema, literals become intervals of the columns' domains.

Binding never fails. What cannot be judged (an unknown column, types that do not compare, a zone
that nobody named) becomes `Unknown` with the reason: an AND loses the piece, an OR becomes
unknown, and rows stay right.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import pyarrow as pa

from pyhudi_expr.expr import choices
from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundColumn,
    BoundExpression,
    BoundIsNull,
    BoundLiteral,
    BoundMatches,
    BoundNot,
    BoundOr,
    BoundStartsWith,
    BoundTerm,
    walk,
)
from pyhudi_expr.expr.comparisons import compare, compare_in, float_widths, interval_of
from pyhudi_expr.expr.domains import (
    Domain,
    Kind,
)
from pyhudi_expr.expr.literals import NotComparableError
from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Call,
    Case,
    Cast,
    Comparison,
    Constant,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Matches,
    Not,
    Op,
    Or,
    StartsWith,
    Term,
    Truth,
    Unknown,
    children,
)
from pyhudi_expr.expr.simplify import simplified
from pyhudi_expr.expr.terms import Scope, UnboundError, bind_term

#: Levels of a predicate, terms included, that are bound; the evaluation walks them recursively.
#: Nodes without constants, shared ones counted as often as they are used.
MAX_DEPTH, MAX_NODES = 150, 500_000


def bind(node: HudiExpression, scope: Scope) -> BoundExpression:
    """The predicate in terms of the scope's columns, constants folded. Never raises."""
    if _is_too_large(node):
        return Unknown(f"a predicate of more than {MAX_DEPTH} levels or {MAX_NODES} nodes")
    return _bind_piece(node, scope)


def _is_too_large(node: HudiExpression) -> bool:
    stack: list[tuple[HudiExpression | Term, int]] = [(node, 1)]
    seen = 0
    while stack:
        top, depth = stack.pop()
        seen += 1
        if depth > MAX_DEPTH or seen > MAX_NODES:
            return True
        below = children(top)
        stack.extend((child, depth + 1) for child in below if not isinstance(child, Literal))
    return False


def _bind_piece(node: HudiExpression, scope: Scope) -> BoundExpression:
    """A predicate, or what is known of it: Unknown."""
    try:
        return _bind_whole(node, scope)
    except (UnboundError, NotComparableError) as reason:
        return Unknown(str(reason))
    except (ValueError, ArithmeticError, TypeError) as error:
        return Unknown(f"values that are none of their types: {error}"[:200])


def _bind_whole(node: HudiExpression, scope: Scope) -> BoundExpression:
    """A node whose choices of terms are taken apart first."""
    for term in children(node) if isinstance(node, _LEAVES) else ():
        found = choices.choice_of(term) if isinstance(term, Case | Call | Cast) else None
        if found is not None:
            if not choices.are_few(node):
                raise UnboundError("a condition on too many choices")
            place, choice = found
            _check_results(choice, scope)
            return _bind_piece(choices.taken_apart(node, place, choice), scope)
    return _bind(node, scope)


_LEAVES = (Comparison, In, Between, IsNull, StartsWith, Matches)


def _check_results(choice: Case, scope: Scope) -> None:
    """A choice's results must be of one domain, or an engine converts them before it goes on."""
    terms = list(choices.results(choice))
    bound = [bind_term(term, scope) for term in terms]
    if any(isinstance(term, BoundColumn) and term.char is not None for term in bound):
        raise UnboundError("a CASE of char or varchar columns")
    computed = [term.domain for term in bound if not isinstance(term, BoundLiteral)]
    written = [term.domain for term in bound if isinstance(term, BoundLiteral)]
    if any(not _converts_alike(one, computed[0]) for one in computed[1:]):
        raise UnboundError("a CASE of several types")
    if computed and any(not _is_written_as(one, computed[0]) for one in written):
        raise UnboundError("a CASE of a column and a constant of another type")
    if not computed and len({domain.kind for domain in written}) > 1:
        raise UnboundError("a CASE of constants of several types")


def _converts_alike(one: Domain, other: Domain) -> bool:
    return one.kind is other.kind and (one.kind is Kind.INTEGER or one == other)


def _is_written_as(literal: Domain, domain: Domain) -> bool:
    """Whether a constant beside a term of the domain leaves its values as they are."""
    match domain.kind, literal.kind:
        case (Kind.FLOAT, Kind.INTEGER | Kind.DECIMAL):
            return domain.bits == 64
        case (Kind.DECIMAL, Kind.INTEGER):
            return max(domain.precision - domain.scale, 10) + domain.scale <= 38
        case (Kind.INSTANT, Kind.WALL_CLOCK):
            return True
        case (Kind.DECIMAL, Kind.DECIMAL):
            return literal.scale <= domain.scale
    return _converts_alike(replace(literal, bits=domain.bits, units=domain.units), domain)


@singledispatch
def _bind(node: Any, scope: Scope) -> BoundExpression:
    raise UnboundError(f"{type(node).__name__} is no predicate")


@_bind.register
def _(node: And, scope: Scope) -> BoundExpression:
    return _conjunction([_bind_piece(child, scope) for child in node.children])


def _conjunction(nodes: list[BoundExpression]) -> BoundExpression:
    children = _flatten(BoundAnd, nodes)
    kept = tuple(child for child in children if child != Constant(Truth.YES))
    if Constant(Truth.NO) in kept:
        return Constant(Truth.NO)
    return _joined(BoundAnd, kept, Constant(Truth.YES))


@_bind.register
def _(node: Or, scope: Scope) -> BoundExpression:
    return _disjunction([_bind_piece(child, scope) for child in node.children])


def _disjunction(nodes: list[BoundExpression]) -> BoundExpression:
    children = _flatten(BoundOr, nodes)
    kept = tuple(child for child in children if child != Constant(Truth.NO))
    if Constant(Truth.YES) in kept:
        return Constant(Truth.YES)
    return _joined(BoundOr, kept, Constant(Truth.NO))


@_bind.register
def _(node: Not, scope: Scope) -> BoundExpression:
    child = _bind_piece(node.child, scope)
    match child:
        case BoundNot(child=inner):
            return inner
        case Unknown():
            return child
        case Constant(truth=truth):
            swapped = truth & Truth.NULL
            swapped |= Truth.NO if Truth.YES in truth else Truth(0)
            swapped |= Truth.YES if Truth.NO in truth else Truth(0)
            return Constant(swapped)
    return BoundNot(child)


@_bind.register
def _(node: Constant, scope: Scope) -> BoundExpression:
    return node


@_bind.register
def _(node: Unknown, scope: Scope) -> BoundExpression:
    return node


@_bind.register
def _(node: Comparison, scope: Scope) -> BoundExpression:
    match node.op:
        case Op.NE:
            return _bind(Not(Comparison(Op.EQ, node.left, node.right)), scope)
        case Op.GT:
            return compare(Op.LT, node.right, node.left, scope)
        case Op.GTEQ:
            return compare(Op.LTEQ, node.right, node.left, scope)
        case _:
            return compare(node.op, node.left, node.right, scope)


@_bind.register
def _(node: Between, scope: Scope) -> BoundExpression:
    floats = float_widths((node.term, node.low, node.high), scope)
    low = compare(Op.LTEQ, node.low, node.term, scope, floats)
    high = compare(Op.LTEQ, node.term, node.high, scope, floats)
    return _conjunction([low, high])


@_bind.register
def _(node: IsNull, scope: Scope) -> BoundExpression:
    if isinstance(node.term, Literal):
        return Constant(Truth.YES if node.term.value is None else Truth.NO)
    if isinstance(node.term, Term):
        return BoundIsNull(bind_term(node.term, scope))
    return _null_of(node.term, scope)


def _null_of(node: HudiExpression, scope: Scope) -> BoundExpression:
    """Whether a condition is NULL: its operands are, where nothing else makes it so."""
    match node:
        case Not(child=child):
            return _null_of(child, scope)
        case And(children=nodes) | Or(children=nodes):
            return _perhaps([_null_of(child, scope) for child in nodes])
        case IsNull() | Comparison(op=Op.NULL_SAFE_EQ):
            return Constant(Truth.NO)
        case Matches():  # it stands for a condition of which it says a part only
            raise UnboundError("whether a pattern gives NULL")
    literals = [operand for operand in children(node) if isinstance(operand, Literal)]
    values = [operand for operand in children(node) if not isinstance(operand, Literal)]
    bound = _bind_piece(node, scope)
    if any(literal.value is None for literal in literals) or any(map(_may_be_null, walk(bound))):
        raise UnboundError("whether a condition is NULL that may be so for other reasons")
    nulls = [_bind_piece(IsNull(value), scope) for value in values]
    # Not so when one of two ends is NULL and the other one is passed.
    return _perhaps(nulls) if isinstance(node, Between) and len(values) > 1 else _disjunction(nulls)


def _perhaps(causes: list[BoundExpression]) -> BoundExpression:
    """TRUE only where one of the causes is."""
    return _conjunction([_disjunction(causes), Unknown("NULL among the operands of a condition")])


def _may_be_null(node: BoundExpression | BoundTerm) -> bool:
    """Whether it is NULL though its operands are not."""
    return isinstance(node, Unknown) or (isinstance(node, Constant) and Truth.NULL in node.truth)


@_bind.register
def _(node: In, scope: Scope) -> BoundExpression:
    term = bind_term(node.term, scope)
    literals = [option for option in node.options if isinstance(option, Literal)]
    if len(literals) < len(node.options):
        raise UnboundError("IN with an option that is no literal")
    # x IN (NULL, ...) gives NULL instead of FALSE: keeping FALSE is sound.
    given = [literal for literal in literals if literal.value is not None]
    return compare_in(term, given, scope)


@_bind.register
def _(node: StartsWith, scope: Scope) -> BoundExpression:
    term = bind_term(node.term, scope)
    char = term.char if isinstance(term, BoundColumn) else None
    if term.domain.kind is not Kind.TEXT or char is not None:
        raise UnboundError("a prefix of something that is no plain string")
    if not node.prefix:
        return Constant(Truth.YES_NULL)
    prefix = interval_of(Literal(node.prefix, pa.string()), term, scope, frozenset()).lower
    return BoundStartsWith(term, prefix, prefix[:-1] + bytes([prefix[-1] + 1]))


@_bind.register
def _(node: Matches, scope: Scope) -> BoundExpression:
    term = bind_term(node.term, scope)
    char = term.char if isinstance(term, BoundColumn) else None
    if term.domain.kind is not Kind.TEXT or char is not None:
        raise UnboundError("a pattern for something that is no plain string")
    codes = tuple(None if letter is None else ord(letter) for letter in node.begin)
    return BoundMatches(term, codes, node.whole)


def _flatten(
    kind: type[BoundAnd] | type[BoundOr], nodes: list[BoundExpression]
) -> list[BoundExpression]:
    flat: list[BoundExpression] = []
    for node in nodes:
        flat.extend(node.children if isinstance(node, kind) else [node])
    return flat


def _joined(
    kind: type[BoundAnd] | type[BoundOr], nodes: tuple[BoundExpression, ...], empty: Constant
) -> BoundExpression:
    if not nodes:
        return empty
    distinct = tuple(dict.fromkeys(nodes))
    return distinct[0] if len(distinct) == 1 else simplified(kind(distinct))

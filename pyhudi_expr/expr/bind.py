"""Binding: names become columns of a schema, literals become intervals of the columns' domains.

Binding never fails. What cannot be judged (an unknown column, types that do not compare, a zone
that nobody named) becomes `Unknown` with the reason: an AND loses the piece, an OR becomes
unknown, and rows stay right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import singledispatch
from typing import Any

import pyarrow as pa

from pyhudi_expr.expr import functions
from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundCall,
    BoundColumn,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundIsNull,
    BoundLiteral,
    BoundNot,
    BoundOr,
    BoundStartsWith,
    BoundTerm,
)
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Domain,
    Kind,
    domain_of,
    integer_range,
)
from pyhudi_expr.expr.literals import Interval, NotComparableError, hull, interval
from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Call,
    Cast,
    CharType,
    Column,
    Comparison,
    Constant,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Or,
    StartsWith,
    Term,
    Truth,
    Unknown,
)


@dataclass(frozen=True)
class Scope:
    """What names and wall clocks mean. zone: IANA name, None when the engine did not say."""

    schema: pa.Schema
    zone: str | None = None


_FIXED_POINT = (Kind.INTEGER, Kind.DECIMAL)


class _UnboundError(ValueError):
    """Why a piece cannot be judged."""


def bind(node: HudiExpression, scope: Scope) -> BoundExpression:
    """The predicate in terms of the scope's columns, constants folded. Never raises."""
    try:
        return _bind(node, scope)
    except (_UnboundError, NotComparableError) as reason:
        return Unknown(str(reason))


@singledispatch
def _bind(node: Any, scope: Scope) -> BoundExpression:
    raise _UnboundError(f"{type(node).__name__} is no predicate")


@_bind.register
def _(node: And, scope: Scope) -> BoundExpression:
    return _conjunction([bind(child, scope) for child in node.children])


def _conjunction(nodes: list[BoundExpression]) -> BoundExpression:
    children = _flatten(BoundAnd, nodes)
    kept = tuple(child for child in children if child != Constant(Truth.YES))
    if Constant(Truth.NO) in kept:
        return Constant(Truth.NO)
    return _single_or(BoundAnd, kept, Constant(Truth.YES))


@_bind.register
def _(node: Or, scope: Scope) -> BoundExpression:
    children = _flatten(BoundOr, [bind(child, scope) for child in node.children])
    kept = tuple(child for child in children if child != Constant(Truth.NO))
    if Constant(Truth.YES) in kept:
        return Constant(Truth.YES)
    return _single_or(BoundOr, kept, Constant(Truth.NO))


@_bind.register
def _(node: Not, scope: Scope) -> BoundExpression:
    child = bind(node.child, scope)
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
            return _compare(Op.LT, node.right, node.left, scope)
        case Op.GTEQ:
            return _compare(Op.LTEQ, node.right, node.left, scope)
        case _:
            return _compare(node.op, node.left, node.right, scope)


@_bind.register
def _(node: Between, scope: Scope) -> BoundExpression:
    floats = _float_widths((node.term, node.low, node.high), scope)
    low = _compare(Op.LTEQ, node.low, node.term, scope, floats)
    high = _compare(Op.LTEQ, node.term, node.high, scope, floats)
    return _conjunction([low, high])


@_bind.register
def _(node: IsNull, scope: Scope) -> BoundExpression:
    if isinstance(node.term, Literal):
        return Constant(Truth.YES if node.term.value is None else Truth.NO)
    return BoundIsNull(_bind_term(node.term, scope))


@_bind.register
def _(node: In, scope: Scope) -> BoundExpression:
    term = _bind_term(node.term, scope)
    literals = [option for option in node.options if isinstance(option, Literal)]
    if len(literals) < len(node.options):
        raise _UnboundError("IN with an option that is no literal")
    # x IN (NULL, ...) gives NULL instead of FALSE: keeping FALSE is sound.
    given = [literal for literal in literals if literal.value is not None]
    floats = _float_widths(given, scope)
    found = [_interval(literal, term, scope, floats) for literal in given]
    places = [_place(place, term.domain) for place in found if not place.equals_none]
    options = [place for place in places if isinstance(place, BoundLiteral)]
    if not options:
        return Constant(Truth.NO_NULL)
    among = _among(term, sorted(set(options), key=lambda option: (option.lower, option.upper)))
    doubt = _doubt_of_not_in(term.domain, options, given)
    # TRUE is TRUE still, FALSE is no longer known.
    return BoundAnd((among, Unknown(doubt))) if doubt else among


def _among(term: BoundTerm, options: list[BoundLiteral]) -> BoundExpression:
    if len(options) == 1:
        return BoundComparison(Op.EQ, term, options[0])
    return BoundIn(term, tuple(options))


def _doubt_of_not_in(
    domain: Domain, options: list[BoundLiteral], literals: list[Literal]
) -> str | None:
    """Why an engine's IN may miss an option that equals the value."""
    match domain.kind:
        case Kind.DATE | Kind.WALL_CLOCK | Kind.INSTANT:
            if any(isinstance(literal.value, str) for literal in literals):
                return "NOT IN with text options, which some engines compare as text"
        case Kind.FLOAT:
            if any(option.lower <= 0 <= option.upper for option in options):
                return "NOT IN with zero, whose signs a hashed IN tells apart"
    return None


@_bind.register
def _(node: StartsWith, scope: Scope) -> BoundExpression:
    term = _bind_term(node.term, scope)
    char = term.char if isinstance(term, BoundColumn) else None
    if term.domain.kind is not Kind.TEXT or char is not None:
        raise _UnboundError("a prefix of something that is no plain string")
    if not node.prefix:
        return Constant(Truth.YES_NULL)
    prefix = _interval(Literal(node.prefix, pa.string()), term, scope, frozenset()).lower
    return BoundStartsWith(term, prefix, prefix[:-1] + bytes([prefix[-1] + 1]))


def _flatten(
    kind: type[BoundAnd] | type[BoundOr], nodes: list[BoundExpression]
) -> list[BoundExpression]:
    flat: list[BoundExpression] = []
    for node in nodes:
        flat.extend(node.children if isinstance(node, kind) else [node])
    return flat


def _single_or(
    kind: type[BoundAnd] | type[BoundOr], nodes: tuple[BoundExpression, ...], empty: Constant
) -> BoundExpression:
    if not nodes:
        return empty
    distinct = tuple(dict.fromkeys(nodes))
    return distinct[0] if len(distinct) == 1 else kind(distinct)


def _compare(
    op: Op, left: Term, right: Term, scope: Scope, floats: frozenset[int] = frozenset()
) -> BoundExpression:
    """floats: as in `_float_widths`."""
    if isinstance(left, Literal) and isinstance(right, Literal):
        raise _UnboundError("a comparison of two literals")
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Literal) and side.value is None:
            if op is Op.NULL_SAFE_EQ:
                return _bind(IsNull(other), scope)
            return Constant(Truth.NULL)
    if isinstance(right, Literal):
        term = _bind_term(left, scope)
        return _compare_literal(op, term, _interval(right, term, scope, floats), False)
    if isinstance(left, Literal):
        term = _bind_term(right, scope)
        return _compare_literal(op, term, _interval(left, term, scope, floats), True)
    return _compare_terms(op, _bind_term(left, scope), _bind_term(right, scope), floats)


def _compare_literal(
    op: Op, term: BoundTerm, found: Interval, literal_first: bool
) -> BoundExpression:
    equality = op in (Op.EQ, Op.NULL_SAFE_EQ)
    if found.is_nan and not equality:
        raise _UnboundError("NaN has no order that engines agree on")
    if equality and found.equals_none:
        return Constant(Truth.NO if op is Op.NULL_SAFE_EQ else Truth.NO_NULL)
    placed = _place(found, term.domain)
    if isinstance(placed, BoundLiteral):
        return BoundComparison(op, *((placed, term) if literal_first else (term, placed)))
    if equality:
        return Constant(Truth.NO if op is Op.NULL_SAFE_EQ else Truth.NO_NULL)
    literal_is_greater = placed is _Side.ABOVE
    return Constant(Truth.YES_NULL if literal_is_greater != literal_first else Truth.NO_NULL)


def _compare_terms(
    op: Op, left: BoundTerm, right: BoundTerm, floats: frozenset[int]
) -> BoundExpression:
    for side in (left, right):
        if isinstance(side, BoundColumn) and side.char is not None:
            raise _UnboundError("a char or varchar column against another column")
    common = functions.common_domain(left.domain, right.domain)
    if common is None:
        kinds = f"{left.domain.kind.value} against {right.domain.kind.value}"
        raise _UnboundError(f"a comparison of {kinds}")
    if floats and common.kind in _FIXED_POINT:
        raise _UnboundError("a comparison that a float beside it may turn into one of floats")
    left, right = _converted(left, common), _converted(right, common)
    reading = functions.as_read(common)
    if reading is not None:
        left = BoundCall("as read", reading, left, common)
        right = BoundCall("as read", reading, right, common)
    return BoundComparison(op, left, right)


def _converted(term: BoundTerm, domain: Domain) -> BoundTerm:
    if term.domain == domain:
        return term
    function = functions.conversion(term.domain, domain)
    if function is None:
        raise _UnboundError(f"{term.domain.kind.value} as {domain.kind.value}")
    return BoundCall("cast", function, term, domain)


def _interval(literal: Literal, term: BoundTerm, scope: Scope, floats: frozenset[int]) -> Interval:
    char = term.char if isinstance(term, BoundColumn) else None
    found = interval(literal, term.domain, char, scope.zone)
    if not floats or term.domain.kind not in _FIXED_POINT or not _is_number(literal):
        return found
    types = (pa.float32() if bits == 32 else pa.float64() for bits in sorted(floats))
    readings = (Literal(float(literal.value), type_) for type_ in types)
    as_floats = (interval(reading, term.domain, char, scope.zone) for reading in readings)
    return hull([found, *as_floats])


def _float_widths(operands: Iterable[Term], scope: Scope) -> frozenset[int]:
    """Widths of the floats in IN or BETWEEN: some engines make all operands of one type."""
    domains = [
        _declared_domain(operand.type)
        if isinstance(operand, Literal)
        else _bind_term(operand, scope).domain
        for operand in operands
    ]
    return frozenset(domain.bits for domain in domains if domain and domain.kind is Kind.FLOAT)


def _is_number(literal: Literal) -> bool:
    domain = _declared_domain(literal.type)
    return domain is not None and domain.kind in (*_FIXED_POINT, Kind.FLOAT)


class _Side(Enum):
    """Where a literal lies that is outside its domain."""

    ABOVE = "above"
    BELOW = "below"


def _place(found: Interval, domain: Domain) -> BoundLiteral | _Side:
    """The interval as a literal of the domain, or the side on which it lies outside."""
    if domain.is_ordinal:
        least, greatest = MIN_ORDINAL, MAX_ORDINAL
        if domain.kind is Kind.INTEGER:
            least, greatest = integer_range(domain.bits)
        if found.lower > greatest:
            return _Side.ABOVE
        if found.upper < least:
            return _Side.BELOW
        if found.lower < least or found.upper > greatest:
            raise _UnboundError("a literal at the edge of its column's range")
    return BoundLiteral(found.lower, found.upper, domain)


@singledispatch
def _bind_term(term: Any, scope: Scope) -> BoundTerm:
    raise _UnboundError(f"{type(term).__name__} cannot be judged")


@_bind_term.register
def _(term: Column, scope: Scope) -> BoundTerm:
    name, type_ = resolve(term.path, scope.schema)
    domain = domain_of(type_)
    if domain is None:
        raise _UnboundError(f"column {name} of type {type_} has no order")
    char = term.declared if isinstance(term.declared, CharType) else None
    declared = _declared_domain(term.declared) if term.declared else domain
    if declared is None or not functions.reads_alike(domain, declared):
        raise _UnboundError(f"column {name} of type {type_} is read as {term.declared}")
    return BoundColumn(name, type_, domain, char)


def _declared_domain(type_: pa.DataType | CharType) -> Domain | None:
    return Domain(Kind.TEXT) if isinstance(type_, CharType) else domain_of(type_)


@_bind_term.register
def _(term: Cast, scope: Scope) -> BoundTerm:
    inner = _bind_term(term.term, scope)
    target = None if isinstance(term.type, CharType) else domain_of(term.type)
    if target is None or (isinstance(inner, BoundColumn) and inner.char is not None):
        raise _UnboundError(f"a cast to {term.type}")
    if inner.domain.kind is Kind.DATE and target.kind is Kind.WALL_CLOCK:
        target = replace(target, units=1)  # finer int64 units would not reach every midnight
    return _converted(inner, target)


@_bind_term.register
def _(term: Call, scope: Scope) -> BoundTerm:
    operands = [arg for arg in term.args if not isinstance(arg, Literal)]
    if len(operands) != 1:
        raise _UnboundError(f"{term.name}() of several columns, or of none")
    inner = _bind_term(operands[0], scope)
    found = functions.lookup(term, inner.domain)
    if found is None:
        raise _UnboundError(f"{term.name}() cannot be judged from its operand's bounds")
    function, domain = found
    return BoundCall(term.name, function, inner, domain)


def resolve(path: tuple[str, ...], schema: pa.Schema) -> tuple[str, pa.DataType]:
    """The dotted name and type of a (nested) column, letter case ignored as in SQL engines.

    Raises ValueError when there is no such column, or more than one.
    """
    fields: list[pa.Field] = list(schema)
    names: list[str] = []
    type_: pa.DataType = pa.null()
    for step in path:
        matches = [field for field in fields if field.name.lower() == step.lower()]
        if len(matches) != 1:
            what = "no column" if not matches else "more than one column"
            raise _UnboundError(f"{what} named {'.'.join((*names, step))}")
        names.append(matches[0].name)
        type_ = matches[0].type
        fields = list(type_) if pa.types.is_struct(type_) else []
    return ".".join(names), type_

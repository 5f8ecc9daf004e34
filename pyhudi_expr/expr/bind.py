"""Binding: names become columns of a schema, literals become intervals of the columns' domains.

Binding never fails. What cannot be judged (an unknown column, types that do not compare, a zone
that nobody named) becomes `Unknown` with the reason: an AND loses the piece, an OR becomes
unknown, and rows stay right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import singledispatch
from typing import Any

import pyarrow as pa

from pyhudi_expr.expr import choices
from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundCall,
    BoundColumn,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundIsNull,
    BoundLiteral,
    BoundMatches,
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
from pyhudi_expr.expr.evaluate import StatisticsEvidence, may_be
from pyhudi_expr.expr.functions import casts, lookup
from pyhudi_expr.expr.functions.signature import Function, Site
from pyhudi_expr.expr.functions.texts import IntegersToTexts
from pyhudi_expr.expr.functions.times import as_seconds, as_text
from pyhudi_expr.expr.functions.zones import UnknownZoneError, offsets_of
from pyhudi_expr.expr.literals import Interval, NotComparableError, hull, interval
from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Call,
    Case,
    Cast,
    CharType,
    Column,
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


@dataclass(frozen=True)
class Scope:
    """What names and wall clocks mean. zone: IANA name, None when the engine did not say."""

    schema: pa.Schema
    zone: str | None = None


_DAY_LENGTH = len("2020-01-01")
_FIXED_POINT = (Kind.INTEGER, Kind.DECIMAL)


class _UnboundError(ValueError):
    """Why a piece cannot be judged."""


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
    except (_UnboundError, NotComparableError) as reason:
        return Unknown(str(reason))
    except (ValueError, ArithmeticError, TypeError) as error:
        return Unknown(f"values that are none of their types: {error}"[:200])


def _bind_whole(node: HudiExpression, scope: Scope) -> BoundExpression:
    """A node whose choices of terms are taken apart first."""
    for term in children(node) if isinstance(node, _LEAVES) else ():
        found = choices.choice_of(term) if isinstance(term, Case | Call | Cast) else None
        if found is not None:
            if not choices.are_few(node):
                raise _UnboundError("a condition on too many choices")
            place, choice = found
            _check_results(choice, scope)
            return _bind_piece(choices.taken_apart(node, place, choice), scope)
    return _bind(node, scope)


_LEAVES = (Comparison, In, Between, IsNull, StartsWith, Matches)


def _check_results(choice: Case, scope: Scope) -> None:
    """A choice's results must be of one domain, or an engine converts them before it goes on."""
    terms = list(choices.results(choice))
    bound = [_bind_term(term, scope) for term in terms]
    if any(isinstance(term, BoundColumn) and term.char is not None for term in bound):
        raise _UnboundError("a CASE of char or varchar columns")
    computed = [term.domain for term in bound if not isinstance(term, BoundLiteral)]
    written = [term.domain for term in bound if isinstance(term, BoundLiteral)]
    if any(not _converts_alike(one, computed[0]) for one in computed[1:]):
        raise _UnboundError("a CASE of several types")
    if computed and any(not _is_written_as(one, computed[0]) for one in written):
        raise _UnboundError("a CASE of a column and a constant of another type")
    if not computed and len({domain.kind for domain in written}) > 1:
        raise _UnboundError("a CASE of constants of several types")


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
    raise _UnboundError(f"{type(node).__name__} is no predicate")


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
    children = _flatten(BoundOr, [_bind_piece(child, scope) for child in node.children])
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
    own = _own_values(given, term)
    if own:
        return _among(term, own)
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


def _own_values(literals: list[Literal], term: BoundTerm) -> list[BoundLiteral] | None:
    """The options where all are values of an integer or text column's own kind: long lists are.

    None where they have to be read one by one.
    """
    kind = term.domain.kind
    # The types of a long list are mostly one object, and slow to compare.
    types = {id(literal.type): literal.type for literal in literals}.values()
    domains = {_declared_domain(type_) for type_ in types if not isinstance(type_, CharType)}
    if not isinstance(term, BoundColumn) or term.char is not None or len(domains) < len(types):
        return None
    values: set[Any] = {literal.value for literal in literals}
    if kind is Kind.INTEGER and {type(value) for value in values} == {int}:
        least, greatest = integer_range(term.domain.bits)
        within = sorted(value for value in values if least <= value <= greatest)
    elif kind is Kind.TEXT and {type(value) for value in values} == {str}:
        try:
            within = sorted(value.encode() for value in values)
        except UnicodeEncodeError:
            return None
    else:
        return None
    if any(domain is None or domain.kind is not kind for domain in domains):
        return None
    return [BoundLiteral(value, value, term.domain) for value in within]


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


@_bind.register
def _(node: Matches, scope: Scope) -> BoundExpression:
    term = _bind_term(node.term, scope)
    char = term.char if isinstance(term, BoundColumn) else None
    if term.domain.kind is not Kind.TEXT or char is not None:
        raise _UnboundError("a pattern for something that is no plain string")
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


def _compare(
    op: Op, left: Term, right: Term, scope: Scope, floats: frozenset[int] = frozenset()
) -> BoundExpression:
    """floats: as in `_float_widths`."""
    if isinstance(left, Literal) and isinstance(right, Literal):
        return _compare_literals(op, left, right, scope)
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Literal) and side.value is None:
            if op is Op.NULL_SAFE_EQ:
                return _bind(IsNull(other), scope)
            return Constant(Truth.NULL)
    for own, other in ((left, right), (right, left)):
        if op in (Op.EQ, Op.NULL_SAFE_EQ) and isinstance(other, Literal):
            number = _number_as_text(op, own, other, scope)
            if number is not None:
                return number
    if isinstance(right, Literal):
        term = _bind_term(left, scope)
        return _compare_literal(op, term, _interval(right, term, scope, floats), False)
    if isinstance(left, Literal):
        term = _bind_term(right, scope)
        return _compare_literal(op, term, _interval(left, term, scope, floats), True)
    return _compare_terms(op, _bind_term(left, scope), _bind_term(right, scope), floats)


def _compare_literals(op: Op, left: Literal, right: Literal, scope: Scope) -> BoundExpression:
    """A constant: what may come out when either is compared as a value of the other's domain."""
    if left.value is None or right.value is None:
        if op is not Op.NULL_SAFE_EQ:
            return Constant(Truth.NULL)
        return Constant(Truth.YES if left.value is right.value else Truth.NO)
    possible, doubts = Truth(0), []
    for own, other in ((left, right), (right, left)):
        try:
            term = _bind_term(own, scope)
            found = interval(other, term.domain, None, scope.zone)
            node = _compare_literal(op, term, found, own is right)
        except (_UnboundError, NotComparableError) as doubt:
            doubts.append(doubt)
            continue
        possible |= Truth.YES if may_be(node, True, _NO_EVIDENCE) else Truth(0)
        possible |= Truth.NO if may_be(node, False, _NO_EVIDENCE) else Truth(0)
    if len(doubts) > 1:
        raise doubts[0]
    return Constant(possible)


def _number_as_text(op: Op, term: Term, text: Literal, scope: Scope) -> BoundExpression | None:
    """``CAST(i AS string) = '12'`` says ``i = 12``; of other texts no number is written so."""
    if not (isinstance(term, Cast) and term.type == pa.string() and text.type == pa.string()):
        return None
    inner = _bind_term(term.term, scope)
    if inner.domain.kind is not Kind.INTEGER:
        return None
    match = _WHOLE_NUMBER.fullmatch(text.value)
    found = Interval(int(text.value), int(text.value)) if match else Interval(0, 0, True)
    return _compare_literal(op, inner, found, literal_first=False)


_WHOLE_NUMBER = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)


class _NoStatistics:
    """Nothing is known of any column."""

    def bounds(self, column: BoundColumn) -> None:
        """See `pyhudi_expr.expr.evaluate.Statistics`."""


_NO_EVIDENCE = (StatisticsEvidence(_NoStatistics()),)


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
    common = casts.common_domain(left.domain, right.domain)
    if common is None:
        kinds = f"{left.domain.kind.value} against {right.domain.kind.value}"
        raise _UnboundError(f"a comparison of {kinds}")
    if floats and common.kind in _FIXED_POINT:
        raise _UnboundError("a comparison that a float beside it may turn into one of floats")
    left, right = _converted(left, common), _converted(right, common)
    reading = casts.as_read(common)
    if reading is not None:
        left = BoundCall("as read", reading, (left,), common)
        right = BoundCall("as read", reading, (right,), common)
    return BoundComparison(op, left, right)


def _converted(term: BoundTerm, domain: Domain, zone: str | None = None) -> BoundTerm:
    if term.domain == domain:
        return term
    function = casts.conversion(term.domain, domain, zone) or _to_text_or_seconds(
        term.domain, domain, zone
    )
    if function is None:
        raise _UnboundError(f"{term.domain.kind.value} as {domain.kind.value}")
    return BoundCall("cast", function, (term,), domain)


def _to_text_or_seconds(source: Domain, target: Domain, zone: str | None) -> Function | None:
    if target.kind is Kind.TEXT:
        return IntegersToTexts() if source.kind is Kind.INTEGER else as_text(source, zone)
    return as_seconds(source, zone) if target == Domain(Kind.INTEGER) else None


def _interval(literal: Literal, term: BoundTerm, scope: Scope, floats: frozenset[int]) -> Interval:
    is_day = isinstance(term, BoundCall) and term.domain.kind is Kind.DATE
    if is_day and isinstance(literal.value, str) and len(literal.value) != _DAY_LENGTH:
        raise _UnboundError("a day as some engines write it, against another text")
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
    if declared is None or not casts.reads_alike(domain, declared):
        raise _UnboundError(f"column {name} of type {type_} is read as {term.declared}")
    return BoundColumn(name, type_, domain, char)


def _declared_domain(type_: pa.DataType | CharType) -> Domain | None:
    return Domain(Kind.TEXT) if isinstance(type_, CharType) else domain_of(type_)


@_bind_term.register
def _(term: Literal, scope: Scope) -> BoundTerm:
    domain = None if isinstance(term.type, CharType) else domain_of(term.type)
    if term.value is None or domain is None:
        raise _UnboundError(f"a constant of type {term.type} in a function")
    placed = _place(interval(term, domain, None, scope.zone), domain)
    if not isinstance(placed, BoundLiteral):
        raise _UnboundError(f"a constant beyond the range of its type {term.type}")
    return placed


@_bind_term.register
def _(term: Cast, scope: Scope) -> BoundTerm:
    inner = _bind_term(term.term, scope)
    target = None if isinstance(term.type, CharType) else domain_of(term.type)
    if target is None or (isinstance(inner, BoundColumn) and inner.char is not None):
        raise _UnboundError(f"a cast to {term.type}")
    if inner.domain.kind is Kind.DATE and target.kind is Kind.WALL_CLOCK:
        target = replace(target, units=1)  # finer int64 units would not reach every midnight
    if inner.domain.kind is Kind.INSTANT and target.kind is Kind.WALL_CLOCK:
        return inner  # engines' timestamps are either, by the column's own type
    return _converted(inner, target, _known(scope.zone))


def _known(zone: str | None) -> str | None:
    """The zone, None for one that nobody knows."""
    try:
        if zone is not None:
            offsets_of(zone)
    except UnknownZoneError:
        return None
    return zone


@_bind_term.register
def _(term: Call, scope: Scope) -> BoundTerm:
    args = tuple(_bind_term(arg, scope) for arg in term.args)
    if any(isinstance(arg, BoundColumn) and arg.char is not None for arg in args):
        raise _UnboundError(f"{term.name}() of a char or varchar column")
    literals = tuple(arg if isinstance(arg, Literal) else None for arg in term.args)
    domains = tuple(arg.domain for arg in args)
    found = lookup(Site(term.name, domains, literals, _known(scope.zone))) if args else None
    if found is None:
        raise _UnboundError(f"{term.name}() cannot be judged from its operand's bounds")
    return BoundCall(term.name, found.function, args, found.domain)


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

"""Bind comparisons of terms, with each other and with literals as intervals of their domain."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundCall,
    BoundColumn,
    BoundComparison,
    BoundExpression,
    BoundIn,
    BoundIsNull,
    BoundLiteral,
    BoundStartsWith,
    BoundTerm,
)
from pyhudi_expr.expr.domains import (
    FIXED_POINT,
    NO_MARGIN,
    Domain,
    Kind,
    common_domain,
    integer_range,
    rounding_margin,
)
from pyhudi_expr.expr.evaluate import StatisticsEvidence, may_be
from pyhudi_expr.expr.functions.signature import TIMES
from pyhudi_expr.expr.literals import Interval, NotComparableError, hull, interval
from pyhudi_expr.expr.nodes import (
    Call,
    Cast,
    CharType,
    Constant,
    InZone,
    Literal,
    Op,
    PythonValue,
    Term,
    Truth,
    Unknown,
    walk,
)
from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS, Engine, Semantics
from pyhudi_expr.expr.simplify import conjunction, disjunction, negation
from pyhudi_expr.expr.terms import (
    Scope,
    Side,
    UnboundError,
    bind_term,
    convert,
    declared_domain,
    place_literal,
)

_DAY_LENGTH = len("2020-01-01")


def compare(
    op: Op, left: Term, right: Term, scope: Scope, floats: frozenset[int] = frozenset()
) -> BoundExpression:
    """Bind EQ, NULL_SAFE_EQ, LT or LTEQ of two terms.

    Args:
        op: The operator.
        left: The left term.
        right: The right term.
        scope: The columns and the semantics.
        floats: See `float_widths`.

    Raises:
        UnboundError: The comparison cannot be evaluated.
        NotComparableError: The types do not compare.
    """
    if isinstance(left, Literal) and isinstance(right, Literal):
        return _compare_literals(op, left, right, scope)
    left, right = (_folded(one, scope) for one in (left, right))
    numbers = _as_number(left, right, scope), _as_number(right, left, scope)
    if any(isinstance(one, Literal) and isinstance(one.value, Decimal) for one in numbers):
        floats = floats if numbers == (left, right) else floats | _DOUBLES
    left, right = numbers
    as_times = as_time(left, right, scope), as_time(right, left, scope)
    if as_times != (left, right):
        return _compare_text(op, left, right, as_times, scope)
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Literal) and side.value is None:
            if op is Op.NULL_SAFE_EQ:
                return BoundIsNull(bind_term(other, scope))
            return Constant(Truth.NULL)
    for own, other in ((left, right), (right, left)):
        if op in (Op.EQ, Op.NULL_SAFE_EQ) and isinstance(other, Literal):
            number = _number_as_text(op, own, other, scope)
            if number is not None:
                return number
    for own, other in ((left, right), (right, left)):
        if op is Op.EQ and isinstance(own, Call) and isinstance(other, Literal):
            prefix = _prefix_found(own, other)
            if prefix is not None:
                return compare_prefix(bind_term(own.args[0], scope), prefix)
    if op is Op.NULL_SAFE_EQ and scope.semantics.concerns(Engine.HIVE):
        _check_converted(left, right, scope)
    for own, other in ((left, right), (right, left)):
        if isinstance(other, Literal):
            term = bind_term(own, scope)
            margin = _margin(term, [other])
            if margin and op is Op.NULL_SAFE_EQ:
                raise UnboundError("<=> of decimals without a common type, which may be NULL")
            found = interval_of(other, term, scope, floats, margin)
            return _compare_literal(op, _as_compared(term, margin), found, other is left)
    bound = bind_term(left, scope), bind_term(right, scope)
    kinds = {term.domain.kind for term in bound}
    if len(kinds) == 1 or not kinds <= _TIMES:
        return _compare_terms(op, *bound, floats)
    if any(isinstance(node, InZone) for one in (left, right) for node in walk(one)):
        raise UnboundError("a date beside a time, in another zone than the session's")
    return _compare_times(op, *bound, scope)


_TIMES = frozenset(TIMES)


def _check_converted(left: Term, right: Term, scope: Scope) -> None:
    """Check that Hive need not convert an operand of ``<=>``, which is NULL where it cannot.

    Hive's `GenericUDFOPEqualNS` looks for NULL before it converts. Days and times of its functions
    are texts, and those of years beyond 9999 cannot be converted. Raises UnboundError.
    """
    for own, other in ((left, right), (right, left)):
        is_text = isinstance(other, Literal) and isinstance(other.value, str)
        if not isinstance(own, Literal) and not is_text and _may_be_text(bind_term(own, scope)):
            raise UnboundError("<=> of a time that Hive holds as text, which may be NULL")


def _may_be_text(time: BoundTerm) -> bool:
    match time:
        case BoundCall(name=e.NO_DECIMAL, args=(inner,)):
            return _may_be_text(inner)
        case BoundCall(name=name):
            return time.domain.kind in TIMES and name not in _NO_TEXTS
    return False


_NO_TEXTS = frozenset(
    {"cast", "to_date", "date_add", "date_sub", "plus interval", "current_date"}
    | {"current_timestamp"}
)
"""Terms that Hive holds as DATE or TIMESTAMP."""


def _compare_literals(op: Op, left: Literal, right: Literal, scope: Scope) -> BoundExpression:
    """Return a constant: the results of comparing either one as a value of the other's domain."""
    if left.value is None or right.value is None:
        if op is not Op.NULL_SAFE_EQ:
            return Constant(Truth.NULL)
        return Constant(Truth.YES if left.value is right.value else Truth.NO)
    possible, doubts = Truth(0), []
    for own, other in ((left, right), (right, left)):
        try:
            term = bind_term(own, scope)
            margin = _margin(term, [other])
            found = interval(other, term.domain, None, scope.semantics, margin)
            node = _compare_literal(op, term, found, own is right)
        except (UnboundError, NotComparableError) as doubt:
            doubts.append(doubt)
            continue
        possible |= Truth.NULL if margin else Truth(0)
        possible |= Truth.YES if may_be(node, True, _NO_EVIDENCE) else Truth(0)
        possible |= Truth.NO if may_be(node, False, _NO_EVIDENCE) else Truth(0)
    if len(doubts) > 1:
        raise doubts[0]
    return Constant(possible)


def _folded(term: Term, scope: Scope) -> Term:
    """Return ``from_unixtime`` of a constant as text, in the years of known rules."""
    zone = scope.semantics.zone
    match term:
        case Call(name="from_unixtime", args=(Literal(value=int(seconds)),)) if zone:
            shown = zone.shows(seconds) if seconds >= 0 else None
            if shown is not None:
                text = (_EPOCH + timedelta(seconds=shown)).strftime("%Y-%m-%d %H:%M:%S")
                return Literal(text, pa.string())
    return term


_EPOCH = datetime(1970, 1, 1)


def _as_number(term: Term, beside: Term, scope: Scope) -> Term:
    """Return a text beside integers or decimals as one: engines convert it, or compare doubles."""
    if not isinstance(term, Literal):
        kinds = _kind(term, scope), _kind(beside, scope)
        return Cast(term, pa.int64()) if kinds == (Kind.TEXT, Kind.INTEGER) else term
    match term:
        case Literal(value=str(text), type=type_) if type_ == pa.string():
            pass
        case _:
            return term
    domain = bind_term(beside, scope).domain
    if domain.kind is Kind.DECIMAL:
        return _as_decimal(term, domain)
    least, greatest = integer_range(domain.bits)
    if domain.kind is not Kind.INTEGER or not _SHORT_NUMBER.fullmatch(text):
        return term
    return Literal(int(text), pa.int64()) if least <= int(text) <= greatest else term


def as_time(term: Term, beside: Term, scope: Scope) -> Term:
    """Return a text beside a date as a date, and beside a time as a time: engines convert it."""
    if isinstance(term, Literal):
        return term
    kind = _kind(beside, scope)
    if kind not in TIMES or _kind(term, scope) is not Kind.TEXT:
        return term
    return Cast(term, pa.date32() if kind is Kind.DATE else pa.timestamp("us"))


def _kind(term: Term, scope: Scope) -> Kind | None:
    if not isinstance(term, Literal):
        return bind_term(term, scope).domain.kind
    domain = declared_domain(term.type)
    return None if domain is None else domain.kind


def _compare_text(
    op: Op, left: Term, right: Term, as_times: tuple[Term, Term], scope: Scope
) -> BoundExpression:
    """Bind the comparison of a text with a date or a time.

    Hive holds some of its dates as texts, and compares these as texts.
    """
    found = compare(op, *as_times, scope)
    if not scope.semantics.concerns(Engine.HIVE):
        return found
    if op is Op.NULL_SAFE_EQ:
        raise UnboundError("<=> of a text and a time, which is NULL in Hive if the text is no time")
    computed = [bind_term(one, scope) for one in (left, right) if not isinstance(one, Literal)]
    if not any(map(_may_be_text, computed)):
        return found
    left, right = (
        one if _kind(one, scope) is Kind.TEXT else Cast(one, pa.string()) for one in (left, right)
    )
    doubt = Unknown("a text beside a time that Hive may hold as text")
    both = (conjunction([one, doubt]) for one in (found, compare(op, left, right, scope)))
    return disjunction([*both, Constant(Truth.NO_NULL)])


def _as_decimal(text: Literal, domain: Domain) -> Literal:
    """Return a text that is a number of a decimal's digits, of at most 15, which doubles hold."""
    whole, _, digits = text.value.lstrip("-").partition(".")
    fits = len(digits) <= domain.scale and len(whole) <= domain.precision - domain.scale
    if not _SHORT_DECIMAL.fullmatch(text.value) or not fits or len(whole) + len(digits) > _EXACT:
        return text
    return Literal(Decimal(text.value), pa.decimal128(len(whole) + len(digits), len(digits)))


_SHORT_DECIMAL = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?", re.ASCII)
_EXACT = 15
#: The width of the floats that engines may make of a decimal beside a text.
_DOUBLES = frozenset({64})


def _prefix_found(call: Call, place: Literal) -> str | None:
    """Return the text that ``instr(s, 'x') = 1`` finds at the beginning; else None.

    The empty text is not supported: Hive finds it at 1, but in the empty string at 0.
    """
    match call, place.value:
        case Call(name="instr", args=(_, Literal(value=str(text)))), 1 if text:
            return text
    return None


def compare_prefix(term: BoundTerm, prefix: str) -> BoundExpression:
    """Bind whether a text has a prefix. Raises UnboundError."""
    char = term.char if isinstance(term, BoundColumn) else None
    if term.domain.kind is not Kind.TEXT or char is not None:
        raise UnboundError("a prefix of something that is not a plain string")
    if not prefix:  # TRUE for every text, else NULL
        return disjunction([negation(BoundIsNull(term)), Constant(Truth.NULL)])
    begin = interval(Literal(prefix, pa.string()), term.domain, None, UNKNOWN_SEMANTICS).lower
    return BoundStartsWith(term, begin, begin[:-1] + bytes([begin[-1] + 1]))


def _number_as_text(op: Op, term: Term, text: Literal, scope: Scope) -> BoundExpression | None:
    """Bind ``CAST(i AS string) = '12'`` as ``i = 12``; no number is written as other texts."""
    if not (isinstance(term, Cast) and term.type == pa.string() and text.type == pa.string()):
        return None
    inner = bind_term(term.term, scope)
    if inner.domain.kind is not Kind.INTEGER:
        return None
    match = _WHOLE_NUMBER.fullmatch(text.value)
    found = Interval(int(text.value), int(text.value)) if match else Interval(0, 0, True)
    return _compare_literal(op, inner, found, literal_first=False)


#: An integer that doubles hold, too.
_SHORT_NUMBER = re.compile(r"0|-?[1-9]\d{0,14}", re.ASCII)
_WHOLE_NUMBER = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)


class _NoStatistics:
    """Statistics without bounds of any column."""

    def bounds(self, column: BoundColumn) -> None:
        """Return None, see `pyhudi_expr.expr.evaluate.Statistics`."""


_NO_EVIDENCE = (StatisticsEvidence(_NoStatistics()),)


def _compare_literal(
    op: Op, term: BoundTerm, found: Interval, literal_first: bool
) -> BoundExpression:
    equality = op in (Op.EQ, Op.NULL_SAFE_EQ)
    if found.is_nan and not equality:
        raise UnboundError("NaN has no order that engines agree on")
    if equality and found.equals_none:
        return Constant(Truth.NO if op is Op.NULL_SAFE_EQ else Truth.NO_NULL)
    placed = place_literal(found, term)
    if isinstance(placed, BoundLiteral):
        return BoundComparison(op, *((placed, term) if literal_first else (term, placed)))
    if equality:
        return Constant(Truth.NO if op is Op.NULL_SAFE_EQ else Truth.NO_NULL)
    literal_is_greater = placed is Side.ABOVE
    return Constant(Truth.YES_NULL if literal_is_greater != literal_first else Truth.NO_NULL)


def _compare_terms(
    op: Op, left: BoundTerm, right: BoundTerm, floats: frozenset[int]
) -> BoundExpression:
    for side in (left, right):
        if isinstance(side, BoundColumn) and side.char is not None:
            raise UnboundError("a char or varchar column against another column")
    common = common_domain(left.domain, right.domain)
    if common is None:
        kinds = f"{left.domain.kind.value} against {right.domain.kind.value}"
        raise UnboundError(f"a comparison of {kinds}")
    if floats and common.kind in FIXED_POINT:
        raise UnboundError("a comparison that a float beside it may turn into one of floats")
    return BoundComparison(op, *(_as_read(convert(one, common), common) for one in (left, right)))


def _as_read(term: BoundTerm, common: Domain) -> BoundTerm:
    """Return a term as readers may show it."""
    # Imported on use, as few predicates compare columns, and the import takes time.
    from pyhudi_expr.expr.functions.casts import as_read

    reading = as_read(common)
    return term if reading is None else BoundCall("as read", reading, (term,), common)


def _compare_times(op: Op, left: BoundTerm, right: BoundTerm, scope: Scope) -> BoundExpression:
    """Compare a date with a time, or a wall clock with an instant."""
    left, right = _as_time_beside(right, left, scope), _as_time_beside(left, right, scope)
    common = common_domain(left.domain, right.domain)
    if common is None:
        raise UnboundError("a comparison of times of several kinds")
    terms = convert(left, common), convert(right, common)
    if common.kind is Kind.INSTANT:
        # The instants of a wall clock have all margins that a reader of instants has.
        return BoundComparison(op, *terms)
    return BoundComparison(op, *(_as_read(term, common) for term in terms))


def _as_time_beside(beside: BoundTerm, term: BoundTerm, scope: Scope) -> BoundTerm:
    """Return a date beside a time as its midnight, and a wall clock beside instants as these."""
    if term.domain.kind is Kind.DATE:
        term = convert(term, Domain(Kind.WALL_CLOCK, units=1), scope.semantics)
    if term.domain.kind is Kind.INSTANT or beside.domain.kind is not Kind.INSTANT:
        return term
    # On use, for the same reason.
    from pyhudi_expr.expr.functions.time_zones import FromWallClock

    zone, domain = scope.semantics.reading_zone, term.domain
    if zone is None:
        raise UnboundError("a wall clock against instants in an unknown zone")
    instants = FromWallClock(zone, domain.units)
    return BoundCall("cast", instants, (term,), replace(domain, kind=Kind.INSTANT))


def _margin(term: BoundTerm, literals: Iterable[Literal]) -> Fraction:
    """Return how far engines may round the term and the literals; see `rounding_margin`."""
    if term.domain.kind not in FIXED_POINT:
        return NO_MARGIN
    return rounding_margin([term.domain, *(declared_domain(one.type) for one in literals)])


def _as_compared(term: BoundTerm, margin: Fraction) -> BoundTerm:
    """Return a term as engines convert it to a type that has too few digits: or it is NULL."""
    if not margin:
        return term
    # On use, for the same reason.
    from pyhudi_expr.expr.functions.conversions import identity_or_null

    return BoundCall("as compared", identity_or_null, (term,), term.domain)


def interval_of(
    literal: Literal,
    term: BoundTerm,
    scope: Scope,
    floats: frozenset[int],
    margin: Fraction = NO_MARGIN,
) -> Interval:
    """Return the values of the term's domain that a literal may stand for."""
    is_day = isinstance(term, BoundCall) and term.domain.kind is Kind.DATE
    if is_day and isinstance(literal.value, str) and len(literal.value) != _DAY_LENGTH:
        raise UnboundError("a day as some engines write it, against another text")
    char = term.char if isinstance(term, BoundColumn) else None
    found = interval(literal, term.domain, char, scope.semantics, margin)
    if not floats or term.domain.kind not in FIXED_POINT or not _is_number(literal):
        return found
    types = (pa.float32() if bits == 32 else pa.float64() for bits in sorted(floats))
    readings = (Literal(float(literal.value), type_) for type_ in types)
    as_floats = (interval(reading, term.domain, char, scope.semantics) for reading in readings)
    return hull([found, *as_floats])


def float_widths(operands: Iterable[Term], scope: Scope) -> frozenset[int]:
    """Return the widths of floats in IN or BETWEEN: engines may make all operands one type."""
    domains = [
        declared_domain(operand.type)
        if isinstance(operand, Literal)
        else bind_term(operand, scope).domain
        for operand in operands
    ]
    return frozenset(domain.bits for domain in domains if domain and domain.kind is Kind.FLOAT)


def _is_number(literal: Literal) -> bool:
    domain = declared_domain(literal.type)
    return domain is not None and domain.kind in (*FIXED_POINT, Kind.FLOAT)


def compare_in(term: BoundTerm, literals: list[Literal], scope: Scope) -> BoundExpression:
    """Bind a term IN literals, none of which is NULL."""
    own = _own_values(literals, term)
    if own:
        return _among(term, own)
    floats = float_widths(literals, scope)
    margin = _margin(term, literals)
    found = [interval_of(literal, term, scope, floats, margin) for literal in literals]
    term = _as_compared(term, margin)
    placed = [place_literal(one, term) for one in found if not one.equals_none]
    options = [one for one in placed if isinstance(one, BoundLiteral)]
    if not options:
        return Constant(Truth.NO_NULL)
    among = _among(term, sorted(set(options), key=lambda option: (option.lower, option.upper)))
    doubt = _not_in_unknown(term.domain, options, literals, scope.semantics)
    # TRUE stays TRUE, FALSE becomes unknown.
    return BoundAnd((among, Unknown(doubt))) if doubt else among


def _own_values(literals: list[Literal], term: BoundTerm) -> list[BoundLiteral] | None:
    """Return the options if all are values of an integer or text column's own kind.

    Long lists usually are. None: they have to be read one by one.
    """
    kind = term.domain.kind
    # The types of a long list are usually one object, and slow to compare.
    types = {id(literal.type): literal.type for literal in literals}.values()
    domains = {declared_domain(type_) for type_ in types if not isinstance(type_, CharType)}
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


_SIGNED_ZEROS = "IN with zero, whose signs a hashed IN distinguishes"


def _is_of_type(number: PythonValue, domain: Domain) -> bool:
    least, greatest = integer_range(domain.bits)
    return bool(least <= number <= greatest and int(number) == number)


def _is_negative_zero(value: PythonValue) -> bool:
    return isinstance(value, float) and not value and math.copysign(1, value) < 0


def _not_in_unknown(
    domain: Domain, options: list[BoundLiteral], literals: list[Literal], semantics: Semantics
) -> str | None:
    """Return why an engine's IN may miss an option that equals the value."""
    match domain.kind:
        case Kind.DATE | Kind.WALL_CLOCK | Kind.INSTANT:
            if any(isinstance(literal.value, str) for literal in literals):
                return "NOT IN with text options, which some engines compare as text"
        case Kind.FLOAT:
            if any(option.lower <= 0 <= option.upper for option in options):
                return _SIGNED_ZEROS
        case Kind.INTEGER if semantics.concerns(Engine.HIVE) and not any(
            _is_of_type(one.value, domain) for one in literals
        ):
            return "IN of options that are not of an integer's type, which Hive finds FALSE of NULL"
        case Kind.INTEGER | Kind.DECIMAL:
            # They have no signed zero, so as floats they differ from one option only.
            if any(_is_negative_zero(literal.value) for literal in literals):
                return _SIGNED_ZEROS
    return None

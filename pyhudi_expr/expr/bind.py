"""Bind predicates: names become columns of a schema, literals intervals of the columns' domains.

Binding never fails. What cannot be evaluated (an unknown column, types that do not compare, an
unknown zone) becomes `Unknown` with the reason: an AND loses the operand, an OR becomes unknown,
and no row is lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

import pyarrow as pa

from pyhudi_expr.arrays import Mask
from pyhudi_expr.expr import rewrites
from pyhudi_expr.expr.bound import (
    BoundCall,
    BoundColumn,
    BoundComparison,
    BoundExpression,
    BoundIsNull,
    BoundLiteral,
    BoundMatches,
    BoundTerm,
)
from pyhudi_expr.expr.comparisons import as_time, compare, compare_in, compare_prefix, float_widths
from pyhudi_expr.expr.domains import (
    MAX_DIGITS,
    Domain,
    Kind,
    common_decimal,
    domain_of,
    integer_range,
)
from pyhudi_expr.expr.evaluate import Statistics, StatisticsEvidence, may_be
from pyhudi_expr.expr.implied import implied
from pyhudi_expr.expr.literals import NotComparableError
from pyhudi_expr.expr.nodes import (
    OR_NULL,
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
    InKeys,
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
from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS, Engine, Semantics
from pyhudi_expr.expr.simplify import conjunction, disjunction, is_null, is_true, negation
from pyhudi_expr.expr.terms import Scope, UnboundError, bind_term

#: Limit of the depth of a predicate, terms included; the evaluation is recursive.
#: Limit of nodes without constants; shared nodes count as often as they are used.
MAX_DEPTH, MAX_NODES = 150, 500_000


@dataclass(frozen=True)
class KnownContainers:
    """Containers of rows with statistics (a `pyhudi_expr.expr.nodes.Containers`).

    Attributes:
        schema: The columns of the rows.
        statistics: What is known of the columns in N containers, such as
            `pyhudi_expr.index.statistics.parquet_footers.RowGroupStatistics`.
        semantics: What the engine's process decides of a predicate's meaning.
    """

    schema: pa.Schema
    statistics: Statistics
    semantics: Semantics = UNKNOWN_SEMANTICS

    def may_match(self, expression: HudiExpression) -> Mask:
        """See `HudiExpression.evaluate`."""
        bound = bind(expression, Scope(self.schema, self.semantics))
        return may_be(bound, True, [StatisticsEvidence(self.statistics)])


def bind(node: HudiExpression, scope: Scope) -> BoundExpression:
    """Bind a predicate to the scope's columns, and fold constants. Never raises."""
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
    """Bind a predicate with what it implies, or return Unknown."""
    return conjunction([_bind_if_known(node, scope), *implied(node, scope)])


def _bind_if_known(node: HudiExpression, scope: Scope) -> BoundExpression:
    try:
        return _bind_whole(node, scope)
    except (UnboundError, NotComparableError) as reason:
        return Unknown(str(reason))
    except (ValueError, ArithmeticError, TypeError) as error:
        return Unknown(f"values that are none of their types: {error}"[:200])


def _bind_whole(node: HudiExpression, scope: Scope) -> BoundExpression:
    """Bind a node after its CASE terms are rewritten."""
    for term in children(node) if isinstance(node, _LEAVES) else ():
        found = rewrites.first_case(term) if isinstance(term, Case | Call | Cast) else None
        if found is not None:
            if not rewrites.has_few_branches(node):
                raise UnboundError("a condition on too many choices")
            return _taken_apart(node, *found, scope)
    return _bind(node, scope)


def _taken_apart(leaf: HudiExpression, place: Term, choice: Case, scope: Scope) -> BoundExpression:
    """Rewrite a condition on a CASE term as conditions on its results.

    The guards are never NULL, and exactly one of them is TRUE for a row. So this has the value of
    the original condition, below a NOT as well.
    """
    if isinstance(place, Call) and place.name == "nullif":
        _check_nullif(place, scope)
    domain = _check_results(choice, scope)
    parts: list[BoundExpression] = []
    skipped: list[BoundExpression] = []
    for condition, term in choice.branches:
        taken = is_true(_bind_piece(condition, scope))
        result = _typed(term, domain, scope)
        given = _bind_piece(rewrites.substitute(leaf, place, result), scope)
        parts.append(conjunction([*skipped, taken, given]))
        skipped.append(negation(taken))
    result = _typed(choice.otherwise, domain, scope)
    otherwise = _bind_piece(rewrites.substitute(leaf, place, result), scope)
    return disjunction([*parts, conjunction([*skipped, otherwise])])


_NO_OR_NULL = Constant(Truth.NO_NULL)
_LEAVES = (Comparison, In, Between, IsNull, StartsWith, Matches)


def _check_nullif(nullif: Call, scope: Scope) -> None:
    """Refuse a nullif whose second value some engines convert to the first one's type."""
    choice = rewrites.map_branches(nullif.args)
    found = [bind_term(term, scope) for term in rewrites.case_results(choice)]
    domain = found[0].domain
    least, greatest = integer_range(domain.bits)
    for term in found[1:]:
        if term.domain == domain:
            continue
        is_whole = domain.kind is Kind.INTEGER is term.domain.kind
        if not (
            is_whole
            and isinstance(term, BoundLiteral)
            and least <= term.lower <= term.upper <= greatest
        ):
            raise UnboundError("nullif() of several types")
    if domain.kind is Kind.DECIMAL:
        raise UnboundError("nullif() of decimals")


def _typed(result: Term, domain: Domain | None, scope: Scope) -> Term:
    """Return a result of a CASE as one of its type, if that is a decimal.

    Beside another decimal the type decides whether both have a common one, and what becomes NULL
    if not. A computed result may be too long for its type, and then is NULL in Hive's vectors.
    """
    if domain is None or domain.kind is not Kind.DECIMAL:
        return result
    typed = Cast(result, pa.decimal128(domain.precision, domain.scale))
    match result:
        case Literal(value=None):
            return result
        case Literal():
            return result if _domain_of_constant(result) == domain else typed
        case Column():
            return result if bind_term(result, scope).domain == domain else typed
    if rewrites.first_case(result) or not scope.semantics.concerns(Engine.HIVE):
        return typed
    return Call(OR_NULL, (typed,))


def _check_results(choice: Case, scope: Scope) -> Domain | None:
    """Refuse a CASE with results of several domains, which engines convert first.

    Returns:
        The domain of its results; of constants alone it is known for decimals only.
    """
    computed: list[Domain] = []
    written: list[Domain] = []
    for term in rewrites.case_results(choice):
        if isinstance(term, Literal):
            written.append(_domain_of_constant(term))
            continue
        bound = bind_term(term, scope)
        if isinstance(bound, BoundColumn) and bound.char is not None:
            raise UnboundError("a CASE of char or varchar columns")
        computed.append(bound.domain)
    if any(not _converts_alike(one, computed[0]) for one in computed[1:]):
        raise UnboundError("a CASE of several types")
    if computed and any(not _is_written_as(one, computed[0]) for one in written):
        raise UnboundError("a CASE of a column and a constant of another type")
    if not computed and len({domain.kind for domain in written}) > 1:
        raise UnboundError("a CASE of constants of several types")
    kinds = {domain.kind for domain in (*computed, *written)}
    if Kind.DECIMAL not in kinds or Kind.FLOAT in kinds:
        return computed[0] if computed else None
    common = common_decimal([*computed, *written])
    if common is None:
        raise UnboundError("a CASE of decimals without a common type")
    return common


def _domain_of_constant(literal: Literal) -> Domain:
    domain = None if isinstance(literal.type, CharType) else domain_of(literal.type)
    if domain is None:
        raise UnboundError(f"a constant of type {literal.type} as a value")
    return domain


def _converts_alike(one: Domain, other: Domain) -> bool:
    return one.kind is other.kind and (one.kind is Kind.INTEGER or one == other)


def _is_written_as(literal: Domain, domain: Domain) -> bool:
    """Return whether a constant beside a term of the domain leaves the term's values unchanged."""
    match domain.kind, literal.kind:
        case (Kind.FLOAT, Kind.INTEGER | Kind.DECIMAL):
            return domain.bits == 64
        case (Kind.DECIMAL, Kind.INTEGER):
            return max(domain.precision - domain.scale, 10) + domain.scale <= MAX_DIGITS
        case (Kind.INSTANT, Kind.WALL_CLOCK):
            return True
        case (Kind.DECIMAL, Kind.DECIMAL):
            whole = max(one.precision - one.scale for one in (domain, literal))
            return literal.scale <= domain.scale and whole + domain.scale <= MAX_DIGITS
    return _converts_alike(replace(literal, bits=domain.bits, units=domain.units), domain)


@singledispatch
def _bind(node: HudiExpression, scope: Scope) -> BoundExpression:
    raise UnboundError(f"{type(node).__name__} is not a predicate")


@_bind.register
def _(node: And, scope: Scope) -> BoundExpression:
    return conjunction(
        _bind_ends(part, scope) if isinstance(part, rewrites.Ends) else _bind_piece(part, scope)
        for part in _as_evaluated(node.children, scope)
    )


def _as_evaluated(
    conditions: Sequence[HudiExpression], scope: Scope
) -> Sequence[HudiExpression | rewrites.Ends]:
    """Return the conditions of an AND as the engine's optimizer leaves them."""
    if not scope.semantics.concerns(Engine.HIVE):
        return conditions
    return rewrites.paired_ends(conditions)


def _bind_ends(ends: rewrites.Ends, scope: Scope) -> BoundExpression:
    """Bind two conditions as one BETWEEN; each for itself if one of them cannot be bound.

    A BETWEEN of what is no float has no row that the bound condition excludes.
    """
    between = _bind_piece(ends.between, scope)
    if not isinstance(between, Unknown) or _may_be_float(ends.between.term, scope):
        return between
    return conjunction([_bind_piece(ends.lower, scope), _bind_piece(ends.upper, scope)])


def _may_be_float(term: Term, scope: Scope) -> bool:
    try:
        return bool(float_widths([term], scope))
    except (UnboundError, NotComparableError):
        return True


@_bind.register
def _(node: Or, scope: Scope) -> BoundExpression:
    return disjunction(_bind_piece(child, scope) for child in node.children)


@_bind.register
def _(node: Not, scope: Scope) -> BoundExpression:
    # What a condition implies narrows where it is TRUE, and says nothing of where it is FALSE.
    return negation(_bind_if_known(node.child, scope))


@_bind.register
def _(node: Constant, scope: Scope) -> BoundExpression:
    return node


@_bind.register
def _(node: Unknown, scope: Scope) -> BoundExpression:
    if node.pattern is None:
        return node
    # Imported on use: few predicates have patterns.
    from pyhudi_expr.expr.functions.strings import matching

    term = _text_of(node.pattern.term, scope)
    flag = Domain(Kind.BOOLEAN, bits=1)
    matches = matching(node.pattern.regex, node.reason)
    found = BoundCall(node.pattern.written, matches, (term,), flag)
    return BoundComparison(Op.EQ, found, BoundLiteral(1, 1, flag))


def _text_of(term: Term, scope: Scope) -> BoundTerm:
    """Bind a term that is compared with a pattern: a date is written as text."""
    bound = bind_term(term, scope)
    if bound.domain.kind is Kind.DATE:
        bound = bind_term(Cast(term, pa.string()), scope)
    if bound.domain.kind is not Kind.TEXT or (isinstance(bound, BoundColumn) and bound.char):
        raise UnboundError("a pattern for something that is not a plain string")
    return bound


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
    is_of_hive = scope.semantics.concerns(Engine.HIVE)
    if is_of_hive and isinstance(node.low, Literal) and node.low.value is None:
        return _NO_OR_NULL  # Hive evaluates no further, and returns NULL
    floats = float_widths((node.term, node.low, node.high), scope)
    low = compare(Op.LTEQ, node.low, node.term, scope, floats)
    high = compare(Op.LTEQ, node.term, node.high, scope, floats)
    if not is_of_hive:
        return conjunction([low, high])
    others = _nan_between(node, scope)
    if not isinstance(node.low, Literal):
        # Hive evaluates no further, and returns NULL where the upper end would make it FALSE.
        others.append(conjunction([BoundIsNull(bind_term(node.low, scope)), _NO_OR_NULL]))
    return disjunction([conjunction([low, high]), *others])


def _nan_between(node: Between, scope: Scope) -> list[BoundExpression]:
    """Return conditions for NaN, which is BETWEEN any two numbers in Hive's vectors."""
    doubt = Unknown("NaN in BETWEEN, which Hive's vectors find between any two numbers")
    terms = (node.term, node.low, node.high)
    if any(isinstance(term, Literal) and _is_nan(term) for term in terms):
        return [doubt]
    nan = Literal(math.nan, pa.float64())
    floats = [
        term for term in terms if not isinstance(term, Literal) and float_widths([term], scope)
    ]
    return [conjunction([compare(Op.EQ, term, nan, scope), doubt]) for term in floats]


def _is_nan(literal: Literal) -> bool:
    return isinstance(literal.value, float) and math.isnan(literal.value)


@_bind.register
def _(node: IsNull, scope: Scope) -> BoundExpression:
    if isinstance(node.term, Literal):
        return Constant(Truth.YES if node.term.value is None else Truth.NO)
    if isinstance(node.term, Term):
        return BoundIsNull(bind_term(node.term, scope))
    return is_null(_bind_piece(node.term, scope))


@_bind.register
def _(node: In, scope: Scope) -> BoundExpression:
    term = bind_term(node.term, scope)
    literals = [option for option in node.options if isinstance(option, Literal)]
    if len(literals) < len(node.options):
        return _in_terms(node, term, scope)
    given = [literal for literal in literals if literal.value is not None]
    found = _among_days(node, given, scope) or compare_in(term, given, scope)
    # x IN (NULL, ...) is NULL instead of FALSE; not all engines implement that under NOT.
    if len(given) == len(literals):
        return found
    if scope.semantics.concerns(Engine.HIVE) and _are_decimals_of_several_types(term, given):
        # Hive converts a decimal that does not fit the options' type to NULL, and finds that.
        return disjunction([found, Unknown("decimals of several types IN options with NULL")])
    return disjunction([found, _NO_OR_NULL])


def _among_days(node: In, days: Sequence[Literal], scope: Scope) -> BoundExpression | None:
    """Bind a text among dates; None for anything else.

    Spark converts the text. Hive converts the dates, so it finds fewer texts.
    """
    converted = [as_time(node.term, day, scope) for day in days]
    if not converted or node.term in converted or len(set(converted)) > 1:
        return None
    found = compare_in(bind_term(converted[0], scope), list(days), scope)
    if not scope.semantics.concerns(Engine.HIVE):
        return found
    return conjunction([found, Unknown("a text NOT IN dates, which Hive compares as texts")])


def _are_decimals_of_several_types(term: BoundTerm, options: Sequence[Literal]) -> bool:
    plain = [one for one in options if not isinstance(one.type, CharType)]
    domains = {term.domain, *map(_domain_of_constant, plain)}
    return len(domains) > 1 and any(one.kind is Kind.DECIMAL for one in domains)


def _in_terms(node: In, term: BoundTerm, scope: Scope) -> BoundExpression:
    """Bind IN with columns among the options, if no engine converts an operand first."""
    types = [bind_term(option, scope).domain for option in node.options if not _is_null(option)]
    if any(domain != term.domain for domain in types):
        raise UnboundError("IN with options of several types that are not literals")
    return _bind(Or(tuple(Comparison(Op.EQ, node.term, option) for option in node.options)), scope)


def _is_null(term: Term) -> bool:
    return isinstance(term, Literal) and term.value is None


@_bind.register
def _(node: InKeys, scope: Scope) -> BoundExpression:
    # Imported on use: of joins.
    from pyhudi_expr.expr.key_comparisons import among_keys, as_literals

    found = among_keys(bind_term(node.term, scope), node.keys, scope.semantics)
    if found is None:
        return _bind(as_literals(node), scope)
    return disjunction([found, _NO_OR_NULL]) if node.has_null else found


@_bind.register
def _(node: StartsWith, scope: Scope) -> BoundExpression:
    return compare_prefix(_text_of(node.term, scope), node.prefix)


@_bind.register
def _(node: Matches, scope: Scope) -> BoundExpression:
    term = _text_of(node.term, scope)
    # Imported on use: few predicates have patterns.
    from pyhudi_expr.expr.functions.texts import ANY

    classes = tuple(ANY if letter is None else frozenset({ord(letter)}) for letter in node.begin)
    return BoundMatches(term, classes, node.whole)

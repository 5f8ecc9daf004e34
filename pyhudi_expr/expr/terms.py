"""Bind terms: columns of a schema, literals in their own domains, casts and functions of terms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import Enum
from functools import singledispatch

import pyarrow as pa

from pyhudi_expr.arrays import AnyField
from pyhudi_expr.expr.bound import BoundCall, BoundColumn, BoundLiteral, BoundTerm
from pyhudi_expr.expr.domains import (
    MAX_ORDINAL,
    MIN_ORDINAL,
    Domain,
    Kind,
    domain_of,
    integer_range,
    reads_unchanged,
)
from pyhudi_expr.expr.functions import lookup
from pyhudi_expr.expr.functions.signature import DOUBLE, SINGLE, Function, Signature, Site
from pyhudi_expr.expr.literals import Interval, interval
from pyhudi_expr.expr.nodes import READINGS, Call, Cast, CharType, Column, InZone, Literal, Term
from pyhudi_expr.expr.semantics import UNKNOWN_SEMANTICS, Engine, Semantics


@dataclass(frozen=True)
class Scope:
    """The meaning of names, and of what the engine's process decides.

    Attributes:
        schema: The columns.
        semantics: What the engine's process decides.
        null_if_absent: The columns, nested ones by their dotted names, that readers show as NULL
            for the rows of a file that lacks them.
    """

    schema: pa.Schema
    semantics: Semantics = UNKNOWN_SEMANTICS
    null_if_absent: frozenset[str] = frozenset()
    _resolved: dict[tuple[str, ...], tuple[str, pa.DataType]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def of(self, semantics: Semantics) -> Scope:
        """Return the scope of another question; the two share what they have resolved."""
        return replace(self, semantics=semantics)

    def resolve(self, path: tuple[str, ...]) -> tuple[str, pa.DataType]:
        """Return the name and type of a column, see `resolve`; each column is searched for once."""
        key = tuple(step.lower() for step in path)  # so there are no more than columns
        found = self._resolved.get(key)
        if found is None:
            found = self._resolved[key] = resolve(path, self.schema)
        return found


class UnboundError(ValueError):
    """A part of the predicate cannot be evaluated; the message says why."""


class Side(Enum):
    """The side on which a literal is outside its domain."""

    ABOVE = "above"
    BELOW = "below"


def place_literal(found: Interval, term: BoundTerm) -> BoundLiteral | Side:
    """Return the interval as a literal of a term's domain, or the side on which it is outside.

    Computed integers may be beyond their type: Hive's vectors hold them as longs.
    """
    domain = term.domain
    if domain.is_ordinal:
        least, greatest = MIN_ORDINAL, MAX_ORDINAL
        if domain.kind is Kind.INTEGER and isinstance(term, BoundColumn):
            least, greatest = integer_range(domain.bits)
        if found.lower > greatest:
            return Side.ABOVE
        if found.upper < least:
            return Side.BELOW
        if found.lower < least or found.upper > greatest:
            raise UnboundError("a literal at the edge of its column's range")
    return BoundLiteral(found.lower, found.upper, domain)


def convert(term: BoundTerm, domain: Domain, semantics: Semantics = UNKNOWN_SEMANTICS) -> BoundTerm:
    """Convert the term to another domain. Raises UnboundError."""
    if term.domain == domain:
        return term
    # Imported on use: most predicates convert nothing, and these imports take time.
    from pyhudi_expr.expr.functions.casts import conversion

    function = conversion(term.domain, domain, semantics) or _to_text_or_seconds(
        term.domain, domain, semantics
    )
    if function is None:
        raise UnboundError(f"{term.domain.kind.value} as {domain.kind.value}")
    return BoundCall("cast", function, (term,), domain)


def _to_text_or_seconds(source: Domain, target: Domain, semantics: Semantics) -> Function | None:
    from pyhudi_expr.expr.functions.strings import IntegersToStrings
    from pyhudi_expr.expr.functions.time_format import as_text
    from pyhudi_expr.expr.functions.unix_time import as_double_seconds, as_seconds

    if target.kind is Kind.TEXT:
        return IntegersToStrings() if source.kind is Kind.INTEGER else as_text(source, semantics)
    if target == DOUBLE:
        return as_double_seconds(source, semantics)
    return as_seconds(source, semantics) if target == Domain(Kind.INTEGER) else None


@singledispatch
def bind_term(term: Term, scope: Scope) -> BoundTerm:
    """Bind a term to the scope's columns. Raises UnboundError, NotComparableError."""
    raise UnboundError(f"{type(term).__name__} cannot be evaluated")


@bind_term.register
def _(term: Column, scope: Scope) -> BoundTerm:
    _check_reading(scope)
    name, type_ = scope.resolve(term.path)
    domain = domain_of(type_)
    if domain is None:
        raise UnboundError(f"column {name} of type {type_} has no order")
    char = term.declared if isinstance(term.declared, CharType) else None
    declared = declared_domain(term.declared) if term.declared else domain
    if declared is None or not reads_unchanged(domain, declared):
        raise UnboundError(f"column {name} of type {type_} is read as {term.declared}")
    return BoundColumn(name, type_, domain, char, name in scope.null_if_absent)


def declared_domain(type_: pa.DataType | CharType) -> Domain | None:
    """Return the domain of a type that an engine declares; None for types without an order."""
    return Domain(Kind.TEXT) if isinstance(type_, CharType) else domain_of(type_)


@bind_term.register
def _(term: Literal, scope: Scope) -> BoundTerm:
    domain = None if isinstance(term.type, CharType) else domain_of(term.type)
    if term.value is None or domain is None:
        raise UnboundError(f"a constant of type {term.type} in a function")
    found = interval(term, domain, None, scope.semantics)
    placed = place_literal(found, BoundLiteral(found.lower, found.upper, domain))
    if not isinstance(placed, BoundLiteral):
        raise UnboundError(f"a constant beyond the range of its type {term.type}")
    return placed


@bind_term.register
def _(term: Cast, scope: Scope) -> BoundTerm:
    _check_settings(scope)
    inner = bind_term(term.term, scope)
    target = None if isinstance(term.type, CharType) else domain_of(term.type)
    if target is None or (isinstance(inner, BoundColumn) and inner.char is not None):
        raise UnboundError(f"a cast to {term.type}")
    if inner.domain.kind in (Kind.DATE, Kind.TEXT) and target.kind is Kind.WALL_CLOCK:
        target = replace(target, units=1)  # finer int64 units would not reach every midnight
    if inner.domain.kind is Kind.INSTANT and target.kind is Kind.WALL_CLOCK:
        return _as_clock(inner, target, scope.semantics)
    if inner.domain.kind is Kind.INSTANT and target.kind is Kind.INSTANT:
        return _as_instants(inner, scope.semantics)
    if inner.domain == target == SINGLE and isinstance(inner, BoundCall):
        # Some engines have computed doubles.
        from pyhudi_expr.expr.functions.conversions import doubles_to_floats

        return BoundCall("cast", doubles_to_floats, (inner,), target)
    if inner.domain.kind is target.kind is Kind.WALL_CLOCK and target.units >= inner.domain.units:
        # Finer int64 units would not reach every year.
        return _as_existing_times(inner, scope.semantics)
    return convert(inner, target, scope.semantics)


def _as_clock(term: BoundTerm, target: Domain, semantics: Semantics) -> BoundTerm:
    """Return an instant as a timestamp without a zone.

    Spark's functions read such a wall clock without its zone. Hive's timestamps are either, by the
    column's own type.
    """
    if semantics.engine is not Engine.SPARK:
        return term
    # Imported on use: few predicates have such casts.
    from pyhudi_expr.expr.functions.casts import wall_clock

    shown = wall_clock(term.domain, semantics.zone)
    if shown is None:
        raise UnboundError("an instant as a timestamp without a zone, where no zone is known")
    return BoundCall("cast", shown, (term,), replace(target, units=term.domain.units))


def _check_settings(scope: Scope) -> None:
    """Raise UnboundError if the session has settings that may change what expressions return."""
    if scope.semantics.settings:
        raise UnboundError(_set_by_session("an expression", scope.semantics.settings))


def _check_reading(scope: Scope) -> None:
    """Raise UnboundError if the session has settings that may change what readers show."""
    of_reader = [name for name in scope.semantics.settings if ".parquet." in name]
    if of_reader:
        raise UnboundError(_set_by_session("a column", of_reader))


def _set_by_session(what: str, names: Iterable[str]) -> str:
    return f"{what}, where the session sets {', '.join(sorted(names)):.200}"


#: Functions of texts that also take dates, which engines write as texts.
_OF_TEXTS = frozenset({"substr", "substring", "left"})
#: Functions of texts that also take integers and dates.
_JOINING = frozenset({"concat", "||", "lpad"})
#: Functions of days that also take texts, by the number of arguments that are days.
_OF_DAYS = {
    **dict.fromkeys(("year", "quarter", "month", "day", "dayofmonth", "dayofyear"), 1),
    **dict.fromkeys(("dayofweek", "weekday", "weekofyear", "last_day", "add_months", "trunc"), 1),
    **dict.fromkeys(("date_add", "date_sub", "dateadd", "date_format"), 1),
    **dict.fromkeys(("datediff", "date_diff"), 2),
}


def _converted(
    name: str, args: tuple[BoundTerm, ...], semantics: Semantics
) -> tuple[BoundTerm, ...]:
    """Return arguments as engines convert them to those that a function takes."""
    if name in _JOINING and any(arg.domain.kind is Kind.TEXT for arg in args):
        written = (Kind.INTEGER, Kind.DATE)
        places = range(len(args) if name != "lpad" else 1)
        return tuple(
            convert(arg, Domain(Kind.TEXT), semantics)
            if place in places and arg.domain.kind in written
            else arg
            for place, arg in enumerate(args)
        )
    days = _OF_DAYS.get(name, 0)
    return (*(_as_day(arg) for arg in args[:days]), *args[days:])


def _as_day(term: BoundTerm) -> BoundTerm:
    if term.domain.kind is not Kind.TEXT:
        return term
    from pyhudi_expr.expr.functions.casts import PLAIN_DAYS

    return BoundCall("cast", PLAIN_DAYS, (term,), Domain(Kind.DATE))


def _as_instants(term: BoundTerm, semantics: Semantics) -> BoundTerm:
    """Return times as the instants at which clocks of the session's zone show them.

    Hive's timestamps are wall clocks: where clocks are put back, another instant may show the same.
    """
    if not semantics.has_reading_zone or semantics.reading_zone is None:
        return term
    if not semantics.has_one_zone:
        # Some evaluators ask the session for its zone, which a container does not have.
        raise UnboundError("an instant of the session's zone, where times are read in another zone")
    from pyhudi_expr.expr.functions.time_zones import FromWallClock, ToWallClock

    zone, domain = semantics.reading_zone, term.domain
    shown = BoundCall("cast", ToWallClock(zone, domain.units), (term,), domain)
    return BoundCall("cast", FromWallClock(zone, domain.units), (shown,), domain)


def _as_existing_times(term: BoundTerm, semantics: Semantics) -> BoundTerm:
    """Return wall clocks as an engine has them that makes instants of them."""
    from pyhudi_expr.expr.functions.casts import existing_times
    from pyhudi_expr.expr.functions.conversions import identity

    function = existing_times(identity, term.domain, semantics.zone)
    return term if function is identity else BoundCall("cast", function, (term,), term.domain)


@bind_term.register
def _(term: InZone, scope: Scope) -> BoundTerm:
    inner = bind_term(term.term, scope.of(scope.semantics.in_zone(term.zone)))
    if isinstance(term.term, Cast) and inner.domain.kind is Kind.INSTANT:
        # What shows it as a wall clock afterwards would take the session's zone.
        raise UnboundError("a wall clock of another zone than the session's")
    return inner


@bind_term.register
def _(term: Call, scope: Scope) -> BoundTerm:
    _check_settings(scope)
    args = tuple(bind_term(arg, scope) for arg in term.args)
    if term.name in _OF_TEXTS and args and args[0].domain.kind is Kind.DATE:
        return bind_term(
            replace(term, args=(Cast(term.args[0], pa.string()), *term.args[1:])), scope
        )
    if any(isinstance(arg, BoundColumn) and arg.char is not None for arg in args):
        raise UnboundError(f"{term.name}() of a char or varchar column")
    args = _converted(term.name, args, scope.semantics)
    literals = tuple(arg if isinstance(arg, Literal) else None for arg in term.args)
    domains = tuple(arg.domain for arg in args)
    found = lookup(Site(term.name, domains, literals, scope.semantics))
    if found is None:
        raise UnboundError(f"{term.name}() cannot be bounded by its operand's bounds")
    from pyhudi_expr.expr.functions.conversions import identity

    if term.name in READINGS and found == Signature(identity, args[0].domain):
        return args[0]
    return BoundCall(term.name, found.function, args, found.domain)


def _nearest(name: str, fields: list[AnyField]) -> str:
    """Return "; is it fare or far?"; empty if no name is similar."""
    near = get_close_matches(name.lower(), [field.name.lower() for field in fields])
    return f"; is it {' or '.join(near)}?" if near else ""


def resolve(path: tuple[str, ...], schema: pa.Schema) -> tuple[str, pa.DataType]:
    """Return the dotted name and type of a (nested) column, ignoring letter case as SQL does.

    Raises:
        ValueError: There is no such column, or more than one.
    """
    fields: list[AnyField] = list(schema)
    names: list[str] = []
    type_: pa.DataType = pa.null()
    for step in path:
        matches = [field for field in fields if field.name.lower() == step.lower()]
        if len(matches) != 1:
            what = "no column" if not matches else "more than one column"
            dotted = ".".join((*names, step))
            raise UnboundError(f"{what} named {dotted}{'' if matches else _nearest(step, fields)}")
        names.append(matches[0].name)
        type_ = matches[0].type
        fields = list(type_) if pa.types.is_struct(type_) else []
    return ".".join(names), type_

"""The meaning of calls, casts and comparisons in Trino and Presto.

Both read times with as many digits as a column's type has, usually three: a row's time is then up
to a millisecond away from the stored one. So a column that may be a time, where it is compared with
a possible time, is ``to milliseconds(column)``. For Trino all times are wall clocks, and stored
instants are those of UTC: its requests have the zone UTC. For Presto all are instants, whose wall
clock is that of the session's zone, and stored wall clocks are those of UTC. If its
``legacy_timestamp`` is off, it is as for Trino, and requests have the zone UTC, in which both are
the same. What these engines compute otherwise than Hive and Spark (they round where those truncate,
divide integers as integers, write times with zeros) is not supported for pruning.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import pyarrow as pa

from pyhudi_expr.expr.frontend.common import functions
from pyhudi_expr.expr.frontend.common.constants import (
    InexpressibleError,
    Type,
    conjunction,
    disjunction,
    fold_cast,
    rows_equal,
    shift_time,
)
from pyhudi_expr.expr.frontend.common.functions import call
from pyhudi_expr.expr.frontend.common.text_patterns import standard_like
from pyhudi_expr.expr.nodes import (
    AS_BIGINT,
    DAYS_TO,
    IN_ANY_ZONE,
    NAN_AS_NULL,
    PARSED_TIME,
    TO_MILLISECOND_INSTANTS,
    TO_MILLISECONDS,
    Between,
    Call,
    Case,
    Cast,
    CharType,
    Column,
    Comparison,
    Constant,
    HudiExpression,
    IsNull,
    Literal,
    Not,
    Op,
    StartsWith,
    Term,
    Truth,
    Unknown,
    walk,
)

_NAN = Literal(math.nan, pa.float64())
#: Parts of a time, with their names in Hive.
_PARTS = {
    **{name: name for name in ("year", "quarter", "month", "day", "hour", "minute", "second")},
    **dict.fromkeys(("day_of_year", "doy", "dayofyear"), "dayofyear"),
    "day_of_month": "day",
}
_CHOICES = frozenset({"coalesce", "nullif", "if"})
_ALIKE = frozenset({"abs", "concat", "greatest", "least", "lower", "upper", "length", "reverse"})
_CLOCK = pa.timestamp("us")
_CHANGES_NOTHING = (pa.types.is_floating, pa.types.is_decimal)


#: A term that may be a time as an engine reads it, see `as_read`.
Read = Callable[[Term], Term]


def trino_call(read: Read, name: str, args: tuple[Term, ...]) -> Term:
    """Return a call by Hive's name. Raises InexpressibleError."""
    if name not in functions.TRINO and name not in _PARTS:  # EXTRACT has Hive's names
        raise InexpressibleError(f"not supported: {name[:60]}()")
    match name, args:
        case "nullif", (_, _):
            return call(name, trino_operands(read, args))
        case _ if name in _CHOICES or name in _ALIKE:
            return call(name, args)
        case _, (time,) if name in _PARTS:
            return Call(_PARTS[name], (read(time),))
        case "date", (time,):
            # date(x) goes through a timestamp even if x is a date. In some zones a day is missing.
            is_text = isinstance(time, Literal)
            return trino_cast(read, time if is_text else Cast(read(time), _CLOCK), pa.date32())
        case "date_trunc", (Literal() as unit, time):
            return Call("date_trunc", (unit, read(time)))
        case "date_add", (Literal(value=str(unit)), Literal(value=int(amount)), time):
            return shift_time(read(time), str(amount), unit)
        case "date_diff", (Literal(value=str(unit)), one, other) if unit.lower() == "day":
            return Call(DAYS_TO, (read(one), read(other)))
        case "date_parse", (text, Literal(value=str(pattern))):
            return Call(PARSED_TIME, (text, Literal(_java_pattern(pattern), pa.string())))
        case "to_unixtime", (time,):
            return Cast(Call(IN_ANY_ZONE, (read(time),)), pa.float64())
        case "substr" | "substring", (_, Literal(value=int(start)), *_) if start > 0:
            return Call("substr", args)
        case "current_date", ():
            return Call(name, ())
        case "mod", (_, _):
            return Call("%", args)
        case "from_hex", (Literal(),):
            return call("unhex", args)
    raise InexpressibleError(f"not supported: {name[:60]}() of these arguments")


def _java_pattern(pattern: str) -> str:
    """Return a pattern of MySQL's as one of Java's. Raises InexpressibleError."""
    found = _MYSQL_FIELD.sub(lambda field: _JAVA_FIELDS.get(field[1], field[0]), pattern)
    if "%" in found or _LETTER.search(_MYSQL_FIELD.sub("", pattern)):
        raise InexpressibleError(f"not supported: the pattern {pattern[:60]!r}")
    return found


_MYSQL_FIELD, _LETTER = re.compile("%(.)", re.DOTALL), re.compile("[A-Za-z]")
_JAVA_FIELDS = {"Y": "yyyy", "m": "MM", "d": "dd", "H": "HH", "i": "mm", "s": "ss", "T": "HH:mm:ss"}


def trino_predicate(name: str, args: tuple[Term, ...]) -> HudiExpression | None:
    """Return a function that is a predicate; None for any other."""
    match name, args:
        case "starts_with", (term, Literal(value=str(prefix))):
            return StartsWith(term, prefix)
        case "is_nan", (term,):
            return Comparison(Op.EQ, term, _NAN)  # NULL for NULL, and TRUE for NaN only
    return None


def presto_like(term: Term, pattern: str, escape: str | None) -> HudiExpression:
    """Return LIKE as in Presto 0.287.

    A pattern with ``_`` also matches before a line break at the end of a text, an empty text is not
    ``LIKE '%%'``, and '😀😀' is not ``LIKE '😀%'``.
    """
    if any(ord(letter) > _LAST_OF_ONE_UNIT for letter in pattern):
        raise InexpressibleError("not supported: LIKE with letters of two UTF-16 units")
    signs = pattern if not escape else re.sub(re.escape(escape) + ".", "", pattern, flags=re.DOTALL)
    if "_" not in signs and "%%" not in signs:
        return standard_like(term, pattern, escape)
    begin = standard_like(term, pattern + "%", escape)
    return conjunction((begin, Unknown(f"the rest of LIKE {pattern[:100]!r} skips no file")))


_LAST_OF_ONE_UNIT = 0xFFFF


def presto_not(child: HudiExpression) -> HudiExpression:
    """Return NOT as in Presto 0.287, which inverts operators: for NaN both are FALSE."""
    compared = {term: None for node in walk(child) for term in _ordered(node)}
    nans = [IsNull(Call(NAN_AS_NULL, (term,))) for term in compared]
    doubt = Unknown("NaN below NOT")
    return conjunction((Not(child), *(Not(conjunction((nan, doubt))) for nan in nans)))


def presto_between(term: Term, low: Term, high: Term) -> HudiExpression:
    """Return BETWEEN as in Presto 0.287: NULL if an end is, even if the other makes it FALSE."""
    ends = [end for end in (low, high) if not isinstance(end, Literal) or end.value is None]
    nulls = [conjunction((IsNull(end), Constant(Truth.NO_NULL))) for end in ends]
    return disjunction((Between(term, low, high), *nulls))


def trino_rows_equal(fields: Sequence[Comparison]) -> HudiExpression:
    """Return equality of rows, which is NULL with a NULL field, even if other fields differ."""
    return disjunction((rows_equal(fields), Constant(Truth.NO_NULL)))


def _ordered(node: HudiExpression | Term) -> Sequence[Term]:
    """Return the terms that a node compares by their order, without constants."""
    terms: Sequence[Term] = ()
    match node:
        case Comparison(op=Op.LT | Op.LTEQ | Op.GT | Op.GTEQ, left=left, right=right):
            terms = (left, right)
        case Between(term=term, low=low, high=high):
            terms = (term, low, high)
    return [term for term in terms if not isinstance(term, Literal)]


def trino_cast(read: Read, term: Term, type_: Type) -> Term:
    """Return a cast that means what Hive's does. Raises InexpressibleError."""
    folded = fold_cast(term, type_) if isinstance(term, Literal) else None
    if folded is not None:
        return folded
    if not isinstance(type_, CharType):
        if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
            return Cast(read(term), type_)
        if any(applies(type_) for applies in _CHANGES_NOTHING):
            return Cast(term, type_)
        if type_ == pa.int64():
            return Call(AS_BIGINT, (term,))
    raise InexpressibleError(f"not supported: a cast to {type_}, which rounds or writes otherwise")


def trino_operands(read: Read, terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Return compared terms, with columns as they are read if times may be compared.

    Raises:
        InexpressibleError: One may have a zone, see `as_read`.
    """
    no_times = sum(isinstance(term, Literal) and not _is_time(term.type) for term in terms)
    if no_times >= len(terms) - 1:
        return terms
    zoned = [isinstance(term, Literal) and _may_have_zone(term) for term in terms]
    if any(zoned):
        return tuple(
            term if has_zone else Call(IN_ANY_ZONE, (read(term),))
            for term, has_zone in zip(terms, zoned, strict=True)
        )
    as_compared = tuple(map(read, terms))
    if not any(map(_has_sub_millis, terms)):
        return as_compared
    # Presto truncates the constant, so it may be off by up to 1 ms, as stored values are.
    return tuple(
        term if _has_sub_millis(term) else _to_millis(found)
        for term, found in zip(terms, as_compared, strict=True)
    )


def _to_millis(term: Term) -> Call:
    return Call(TO_MILLISECONDS, (term,))


def _is_time(type_: Type) -> bool:
    return not isinstance(type_, CharType) and pa.types.is_temporal(type_)


def _has_sub_millis(term: Term) -> bool:
    """Return whether a term is a constant time with more than three digits of a second."""
    match term:
        case Literal(value=int(value), type=pa.TimestampType(unit="us" | "ns" as unit)):
            return value % (1000 if unit == "us" else 10**6) != 0
    return False


def as_read(term: Term) -> Term:
    """Return the term with columns that may be times as Trino reads them.

    Raises:
        InexpressibleError: It may have a zone. Its calendar is that of this zone, and columns,
            which have none, are compared with it as wall clocks of an unknown zone.
    """
    return _as_read(term, TO_MILLISECONDS)


def presto_as_read(term: Term) -> Term:
    """Return the term with columns as Presto reads them, see `as_read`."""
    return _as_read(term, TO_MILLISECOND_INSTANTS)


def _as_read(term: Term, reading: str) -> Term:
    if _may_have_zone(term):
        raise InexpressibleError("not supported: a time with a zone")
    return _read(term, reading)


def _may_have_zone(term: Term) -> bool:
    match term:
        case Literal(type=pa.TimestampType(tz=str())) | Cast(type=pa.TimestampType(tz=str())):
            return True
        case Case(branches=branches, otherwise=otherwise):
            return any(map(_may_have_zone, (*(result for _, result in branches), otherwise)))
        case Call(args=args):
            return any(map(_may_have_zone, args))
    return False


def _read(term: Term, reading: str) -> Term:
    match term:
        case Column():
            return Call(reading, (term,))
        case Literal() if _has_sub_millis(term):
            return _to_millis(term)
        case Case(branches=branches, otherwise=otherwise):
            read = tuple((condition, _read(result, reading)) for condition, result in branches)
            return Case(read, _read(otherwise, reading))
        case Call(name=name, args=args) if name in _CHOICES or name in ("greatest", "least"):
            return Call(name, tuple(_read(arg, reading) for arg in args))
    return term

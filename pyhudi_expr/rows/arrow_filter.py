"""Filter rows by predicates without a query engine, with pyarrow's comparisons."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain, product
from math import isfinite, isnan, nan
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import precision_and_scale
from pyhudi_expr.errors import FilterNotApplicable, UnknownColumn
from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.backend.arrow import (
    DATE_OF,
    IN_ZONE,
    REMAINDER,
    SLICE,
    TO_DOUBLE,
    InexpressibleInArrowError,
    scalar,
    to_arrow,
)
from pyhudi_expr.expr.frontend.common.constants import (
    Type,
    decimal_literal,
    fold_cast,
    split_timestamp,
    timestamp_literal,
)
from pyhudi_expr.expr.nodes import Call, Column, HudiExpression, Literal, Op, Term, children, walk
from pyhudi_expr.expr.semantics import Engine, UnknownZoneError, Zone, here
from pyhudi_expr.expr.terms import Scope, UnboundError

_EPOCH = datetime(1970, 1, 1)
_WITH_OFFSET = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(?:Z|UTC|([+-])(\d\d):?(\d\d))"
)

_ISO_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:)")


class WrongConstant(FilterNotApplicable):
    """A constant is no value of the column beside it; the message says what to write instead."""


def converted(literal: Literal, type_: pa.DataType, zone: Zone | None) -> Literal:
    """Return a constant in the type of the column beside it, where pyarrow would not convert it.

    Args:
        literal: The constant.
        type_: The column's type.
        zone: The zone of a time without one; None if it is not known.

    Raises:
        FilterNotApplicable: The type has no such value.
    """
    if literal.value is None:
        return Literal(None, type_)
    if pa.types.is_date32(type_) and isinstance(literal.value, str):
        return _folded(literal, type_)
    if not pa.types.is_timestamp(type_):
        return literal
    if isinstance(literal.value, str) and (instant := _instant_of(literal.value)) is not None:
        if type_.tz is None:
            raise FilterNotApplicable(
                f"rows cannot be filtered: {literal.value!r} has a zone, and the column's times "
                "have none; write it without one"
            )
        return instant
    clock = literal if _is_time(literal) else _folded(_without_t(literal), pa.timestamp("ns"))
    if type_.tz is None or getattr(clock.type, "tz", None) is not None:
        return clock
    seconds, nanos = split_timestamp(clock)
    return timestamp_literal(_instant(seconds, zone), nanos, "UTC")


def _instant_of(text: str) -> Literal | None:
    """Return the instant of a time with an offset, such as 2024-01-05T00:00:00Z; None of others."""
    found = _WITH_OFFSET.fullmatch(text.strip())
    if found is None:
        return None
    clock, sign, hours, minutes = found.groups()
    folded = fold_cast(Literal(clock.replace("T", " "), pa.string()), pa.timestamp("ns"))
    if folded is None:
        return None
    seconds, nanos = split_timestamp(folded)
    offset = 60 * (60 * int(hours or 0) + int(minutes or 0)) * (-1 if sign == "-" else 1)
    return timestamp_literal(seconds - offset, nanos, "UTC")


def _is_time(literal: Literal) -> bool:
    return isinstance(literal.type, pa.TimestampType)


def _folded(literal: Literal, type_: pa.DataType) -> Literal:
    folded = fold_cast(literal, type_)
    if folded is None:
        raise WrongConstant(f"rows cannot be filtered: {_written(literal)} is no {type_}")
    return folded


def _without_t(literal: Literal) -> Literal:
    """Return a time of ISO 8601, 2024-01-31T23:59:59, as SQL writes it."""
    if not isinstance(literal.value, str):
        return literal
    return Literal(_ISO_TIME.sub(r"\1 \2", literal.value), literal.type)


def _instant(wall_seconds: int, zone: Zone | None) -> int:
    """Return the only instant at which a wall clock of the zone shows the time."""
    if zone is None:
        raise FilterNotApplicable(
            "rows cannot be filtered: a time without zone against instants; say in which zone"
        )
    first, last = zone.instants(wall_seconds)
    if first != last:
        raise FilterNotApplicable(
            f"rows cannot be filtered: {_shown(wall_seconds)} in {zone.name} is ambiguous: it is"
            " twice, or never"
        )
    return first


def _shown(wall_seconds: int) -> str:
    try:
        return f"{_EPOCH + timedelta(seconds=wall_seconds):%F %T}"
    except OverflowError:
        return f"the second {wall_seconds}"


#: Calls whose arguments are values of one type.
_OF_COMMON_TYPES = frozenset({"coalesce", "+", "-", "*", "abs", "concat", "||"})
#: Functions of dates and times, and their names in pyarrow's or ours.
_OF_CLOCKS = {
    **{name: name for name in ("year", "month", "day", "hour", "minute", "second", "dayofmonth")},
    **dict.fromkeys(("to_date", "date", DATE_OF), DATE_OF),
}
_DIGITS_OF_DOUBLES = 15


def arrow_filter(
    predicate: HudiExpression,
    schema: pa.Schema,
    zone: str | None,
    engine: Engine = Engine.ANY,
    *,
    is_in: bool = False,
) -> pc.Expression:
    """Convert a predicate for pyarrow tables of a schema.

    Args:
        predicate: The predicate.
        schema: The schema of the rows.
        zone: The time zone in which instants are shown as wall clocks.
        engine: The engine whose rows are wanted. In Spark's NaN equals itself, and is above all
            other numbers; in others it is what pyarrow, and IEEE 754, make of it.
        is_in: Whether IN finds floats as pyarrow's `is_in` does, see `to_arrow`.

    Raises:
        FilterNotApplicable: A part of the predicate cannot filter rows.
        UnknownColumn: The schema lacks a column of the predicate.
    """
    try:
        scope = Scope(schema, here(zone, engine))
    except UnknownZoneError as error:
        raise FilterNotApplicable(f"rows cannot be filtered: {error}") from error
    for node in walk(predicate):
        match node:
            case e.Unknown(reason=reason, pattern=None):
                raise FilterNotApplicable(f"rows cannot be filtered: {reason}")
            case Column(path=path):
                _name(path, scope)
    try:
        condition = to_arrow(_fitted(predicate, scope), is_in=is_in)
        schema.empty_table().filter(condition)  # types that pyarrow cannot compare are found here
        return condition
    except (WrongConstant, pa.ArrowNotImplementedError) as error:
        other = FilterNotApplicable(f"rows cannot be filtered: {error}")
        wrong = chain(_wrong_constants(predicate, scope), _wrong_patterns(predicate, scope))
        raise next(wrong, other) from error
    except (InexpressibleInArrowError, pa.ArrowException, ValueError, OverflowError) as error:
        raise FilterNotApplicable(f"rows cannot be filtered: {error}") from error


def _name(path: tuple[str, ...], scope: Scope) -> tuple[tuple[str, ...], pa.DataType]:
    """Return the path as the schema spells it."""
    try:
        name, type_ = scope.resolve(path)
    except UnboundError as error:
        raise UnknownColumn(str(error)) from error
    return tuple(name.split(".")), type_


_TEXTS, _NUMBERS = "texts", "numbers"
_DAY = "'2024-01-31'"
#: What a column of a type has, and how one is written.
_KINDS: Sequence[tuple[Callable[[pa.DataType], bool], str, str]] = (
    (pa.types.is_boolean, "booleans", "TRUE or FALSE (in a list True or False)"),
    (pa.types.is_date, "dates", _DAY),
    (pa.types.is_timestamp, "times", f"{_DAY} or '2024-01-31 23:59:59'"),
    (pa.types.is_integer, _NUMBERS, "a number such as 100"),
    (pa.types.is_floating, _NUMBERS, "a number such as 1.5"),
    (pa.types.is_decimal, _NUMBERS, "a number such as 1.5"),
    (pa.types.is_string, _TEXTS, ""),
    (pa.types.is_binary, "bytes", "X'6F' (in a list b'o')"),
)


def _wrong_constants(predicate: HudiExpression, scope: Scope) -> Iterator[WrongConstant]:
    """Return what to write for each constant that is not compared with a column beside it."""
    leaves = [one for one in walk(predicate) if isinstance(one, e.Comparison | e.Between | e.In)]
    for terms in (children(one) for one in leaves if not _is_comparable(one, scope)):
        columns = [one for one in terms if isinstance(one, Column)]
        constants = [one for one in terms if isinstance(one, Literal)]
        for column, constant in product(columns, constants):
            name, type_ = scope.resolve(column.path)
            kind = next((of for is_kind, *of in _KINDS if is_kind(type_)), None)
            if kind and not _is_comparable(e.Comparison(Op.EQ, column, constant), scope):
                yield WrongConstant(
                    f"rows cannot be filtered: the column {name} ({type_}) has {kind[0]}, and "
                    f"{_written(constant)} is none: write {_instead(constant, type_, *kind)}"
                )


def _wrong_patterns(predicate: HudiExpression, scope: Scope) -> Iterator[WrongConstant]:
    for node in walk(predicate):
        match node:
            case (
                e.StartsWith(term=Column(path=path))
                | e.Matches(term=Column(path=path))
                | e.Unknown(pattern=e.TextPattern(term=Column(path=path)))
            ):
                name, type_ = scope.resolve(path)
                if not pa.types.is_string(type_):
                    yield WrongConstant(
                        f"rows cannot be filtered: a pattern is for texts, and the column {name} "
                        f"is {type_}: compare its values"
                    )


def _is_comparable(leaf: HudiExpression, scope: Scope) -> bool:
    try:
        scope.schema.empty_table().filter(to_arrow(_fitted(leaf, scope)))
    except (WrongConstant, pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True


def _instead(constant: Literal, type_: pa.DataType, kind: str, example: str) -> str:
    if kind == _TEXTS:
        return f"'{_written(constant)}'"
    is_quoted_number = kind == _NUMBERS and isinstance(constant.value, str)
    if is_quoted_number and fold_cast(constant, type_) is not None:
        return str(constant.value)
    return example


def _written(constant: Literal) -> str:
    if isinstance(constant.value, str | bytes):
        return repr(constant.value)
    return str(scalar(constant).cast(pa.string()))


#: A predicate or a term; each becomes one of its own kind.
_Node: TypeAlias = Any


def _fitted(node: _Node, scope: Scope) -> _Node:
    """Return the predicate with the schema's column names, and constants of the columns' types."""

    def fit(child: _Node) -> _Node:
        return _fitted(child, scope)

    match node:
        case Column(path=path):
            return Column(_name(path, scope)[0])
        case e.And(children=nodes) | e.Or(children=nodes):
            return replace(node, children=tuple(map(fit, nodes)))
        case e.Not(child=child):
            return e.Not(fit(child))
        case e.IsNull(term=term) | e.StartsWith(term=term) | e.Matches(term=term):
            return replace(node, term=fit(term))
        case e.Comparison(op=op, left=left, right=right):
            left, right = _with_common_types((left, right), scope)
            return _compared(op, left, right, scope)
        case e.Between(term=term, low=low, high=high):
            term, low, high = _with_common_types((term, low, high), scope)
            ends = (Op.GTEQ, low), (Op.LTEQ, high)
            return e.And(tuple(_compared(op, term, end, scope) for op, end in ends))
        case e.In(term=term, options=options):
            first, *rest = _with_common_types((term, *options), scope)
            return _in(first, tuple(rest), scope)
        case e.Unknown(pattern=e.TextPattern(term=term) as pattern):
            return replace(node, pattern=replace(pattern, term=fit(term)))
        case e.Call(name=name, args=(term,)) if name in _OF_CLOCKS:
            return Call(_OF_CLOCKS[name], (_clock(fit(term), scope),))
        case e.Call(name="%" | "mod", args=(term, Literal(value=int() as divisor))) if divisor:
            return _remainder(node, fit(term), abs(divisor), scope)
        case e.Call(name="left", args=(term, Literal(value=int() as length))) if length >= 0:
            return Call(SLICE, (fit(term), Literal(0, pa.int64()), Literal(length, pa.int64())))
        case e.Call(name="substr" | "substring", args=(term, *numbers)):
            return Call(SLICE, (fit(term), *_slice(node, numbers)))
        case e.Call(name=name, args=args):
            if name not in _OF_COMMON_TYPES:
                return replace(node, args=tuple(map(fit, args)))
            return replace(node, args=_with_common_types(args, scope))
        case e.Cast(term=term, type=type_) if _is_clock(_type_of(term, scope)):
            if isinstance(type_, pa.DataType) and pa.types.is_date32(type_):
                return Call(DATE_OF, (_clock(fit(term), scope),))
        case e.Cast(term=term):
            return replace(node, term=fit(term))
        case e.Case(branches=branches, otherwise=otherwise):
            conditions = [fit(condition) for condition, _ in branches]
            results = [result for _, result in branches]
            *results, last = _with_common_types((*results, otherwise), scope)
            *results, last = _of_one_decimal((*results, last), scope)
            return e.Case(tuple(zip(conditions, results, strict=True)), last)
    return node


def _has_greatest_nan(terms: Sequence[Term], scope: Scope) -> bool:
    """Return whether floats are compared, and the engine's NaN is the greatest of them."""
    if scope.semantics.engine is not Engine.SPARK:
        return False
    types = (_type_of(one, scope) for term in terms for one in walk(term) if isinstance(one, Term))
    return any(type_ is not None and pa.types.is_floating(type_) for type_ in types)


def _compared(op: Op, left: Term, right: Term, scope: Scope) -> HudiExpression:
    if _has_greatest_nan((left, right), scope):
        return _with_greatest_nan(op, left, right)
    return e.Comparison(op, left, right)


def _with_greatest_nan(op: Op, left: Term, right: Term) -> HudiExpression:
    """Return a comparison in which NaN equals itself, and is above all other numbers."""
    if op in (Op.LT, Op.LTEQ):
        return _with_greatest_nan(op.mirrored, right, left)
    if op is Op.NE:
        return e.Not(_with_greatest_nan(Op.EQ, left, right))
    is_known = e.Not(e.IsNull(right))
    others: Mapping[Op, tuple[HudiExpression, ...]] = {
        Op.GT: (is_known, e.Not(_is_nan(right))),
        Op.GTEQ: (is_known,),
    }
    both = e.And((_is_nan(left), *others.get(op, (_is_nan(right),))))
    return e.Or((e.Comparison(op, left, right), both))


def _is_nan(term: Term) -> HudiExpression:
    return e.Comparison(Op.NULL_SAFE_EQ, term, Literal(nan, pa.float64()))


def _is_nan_literal(term: Term) -> bool:
    return isinstance(term, Literal) and isinstance(term.value, float) and isnan(term.value)


def _clock(term: Term, scope: Scope) -> Term:
    """Return a time as the wall clock that the zone shows."""
    if getattr(_type_of(term, scope), "tz", None) is None:
        return term
    zone = scope.semantics.zone
    if zone is None:
        raise FilterNotApplicable(
            "rows cannot be filtered: a part of an instant's date or time; say in which zone"
        )
    return Call(IN_ZONE, (term, Literal(_arrow_name(zone), pa.string())))


def _arrow_name(zone: Zone) -> str:
    """Return the name that Arrow has for a zone: an offset in its form, else the IANA name."""
    fixed = zone.fixed_offset
    if not fixed or fixed % 60:
        return zone.name
    sign, minutes = "-" if fixed < 0 else "+", abs(fixed) // 60
    return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"


def _is_clock(type_: pa.DataType | None) -> bool:
    return type_ is not None and (pa.types.is_timestamp(type_) or pa.types.is_date32(type_))


def _remainder(node: Call, term: Term, divisor: int, scope: Scope) -> Term:
    """Return what a division leaves: of integers only, as that of others is rounded.

    It has the sign of the dividend, whatever that of the divisor is.
    """
    types = [_name(one.path, scope)[1] for one in walk(term) if isinstance(one, Column)]
    if not all(map(pa.types.is_integer, types)):
        return node
    return Call(REMAINDER, (term, Literal(divisor, pa.int64())))


def _slice(node: Call, numbers: Sequence[Term]) -> tuple[Literal, Literal]:
    """Return the first and last positions of a part of a text that begins within it."""
    match [one.value if isinstance(one, Literal) else None for one in numbers]:
        case [int() as first] if first > 0:
            return Literal(first - 1, pa.int64()), Literal(None, pa.int64())
        case [int() as first, int() as length] if first > 0 and length >= 0:
            return Literal(first - 1, pa.int64()), Literal(first - 1 + length, pa.int64())
    raise FilterNotApplicable(
        f"rows cannot be filtered: {node.name}() with positions that are not positive literals"
    )


def _in(term: Term, options: tuple[Term, ...], scope: Scope) -> HudiExpression:
    """Return IN, or its comparisons where pyarrow's `is_in` would find something else.

    `is_in` casts the options to the type of the term: it finds a day by any time in it, and TRUE by
    any number.
    """
    type_ = _type_of(term, scope)
    if all(isinstance(one, Literal) and _stays_as_it_is(one, type_) for one in options):
        has_nan = _has_greatest_nan((term,), scope) and any(map(_is_nan_literal, options))
        found = e.In(term, options)
        return e.Or((found, _is_nan(term))) if has_nan else found
    return e.Or(tuple(_compared(e.Op.EQ, term, one, scope) for one in options))


def _type_of(term: Term, scope: Scope) -> pa.DataType | None:
    """Return the type of a column, as itself or as doubles, or of a date; None of other terms."""
    match term:
        case Call(name=name) if _OF_CLOCKS.get(name) == DATE_OF:
            return pa.date32()
        case e.Cast(type=pa.DataType() as type_) if pa.types.is_date32(type_):
            return type_
        case Column(path=path):
            return _name(path, scope)[1]
        case Call(name=name) if name == TO_DOUBLE:
            return pa.float64()
    return None


def _common_type(terms: Sequence[Term], scope: Scope) -> pa.DataType | None:
    """Return the only type of the terms that have one; None if they have several."""
    types = {type_ for term in terms if (type_ := _type_of(term, scope)) is not None}
    return types.pop() if len(types) == 1 else None


def _stays_as_it_is(option: Literal, type_: pa.DataType | None) -> bool:
    """Return whether a cast to the type keeps a constant."""
    own = option.type
    if option.value is None or own == type_:
        return True
    if type_ is None or not isinstance(own, pa.DataType):
        return False
    if pa.types.is_integer(own) and pa.types.is_integer(type_):
        try:
            pa.scalar(option.value, type_)
        except (OverflowError, pa.ArrowInvalid):
            return False
        return True
    if pa.types.is_decimal(own) and pa.types.is_decimal(type_):
        (digits, scale), (most, within) = precision_and_scale(own), precision_and_scale(type_)
        return scale <= within and digits - scale <= most - within
    return any(
        is_kind(own) and is_kind(type_) for is_kind in (pa.types.is_floating, pa.types.is_string)
    )


def _as_in_rows(term: Term) -> Term:
    """Return a term as rows have it, without the deviations of engines."""
    match term:
        case e.Call(name=e.NO_DECIMAL | e.TO_MILLISECONDS, args=(inner,)):
            return inner
    return term


def _with_common_types(terms: Sequence[Term], scope: Scope) -> tuple[Any, ...]:
    """Return compared terms, with constants in the type of the columns beside them."""
    terms = [_as_in_rows(term) for term in terms]
    target = _common_type(terms, scope)
    numbers = _numbers(terms, scope)
    return tuple(
        numbers(
            (converted(term, target, scope.semantics.zone) if target is not None else term)
            if isinstance(term, Literal)
            else _fitted(term, scope)
        )
        for term in terms
    )


def _numbers(terms: Sequence[Term], scope: Scope) -> Callable[[Term], Term]:
    """Return a function that converts terms to the kind of number that they are compared as.

    pyarrow itself would convert decimals to doubles that are not the nearest ones (3.14159 would
    match nothing), and would fail for decimals that are not integers.
    """
    nodes = [node for term in terms for node in walk(term)]
    columns = [node for node in nodes if isinstance(node, Column)]
    types = [_name(column.path, scope)[1] for column in columns]
    decimals = [type_ for type_ in types if pa.types.is_decimal(type_)]
    floats = [type_ for type_ in types if pa.types.is_floating(type_)]
    if floats and decimals:
        raise FilterNotApplicable(
            "rows cannot be filtered: decimals against floating-point numbers"
        )
    if decimals:
        return lambda term: _exact(term, decimals)
    if not floats and not any(_is_double(node) for node in nodes):
        return lambda term: term
    single = len(floats) == len(types) and set(floats) == {pa.float32()}
    return lambda term: _floating(term, pa.float32() if single else pa.float64(), scope)


def _is_double(node: _Node) -> bool:
    return isinstance(node, Literal) and isinstance(node.value, float)


def _floating(term: Term, of_columns: pa.DataType, scope: Scope) -> Term:
    """Convert decimals and integer columns to doubles, and integers to the columns' type."""
    if isinstance(term, Column) and pa.types.is_integer(_name(term.path, scope)[1]):
        return Call(TO_DOUBLE, (term,))
    if not isinstance(term, Literal) or term.value is None:
        return term
    if not isinstance(term.type, pa.DataType):
        return term
    if pa.types.is_decimal(term.type):
        return Literal(float(term.value), pa.float64())
    if pa.types.is_integer(term.type):
        return Literal(float(term.value), of_columns)
    return term


def _of_one_decimal(terms: Sequence[Term], scope: Scope) -> Sequence[Term]:
    """Return the results of a CASE with decimal literals in the type of the column among them."""
    target = _common_type(terms, scope)
    if target is None or not pa.types.is_decimal(target):
        return terms
    return [replace(one, type=target) if isinstance(one, Literal) else one for one in terms]


def _is_integer(type_: Type) -> bool:
    return isinstance(type_, pa.DataType) and pa.types.is_integer(type_)


def _exact(term: Term, columns: Sequence[pa.DataType]) -> Term:
    """Convert a number to the decimal of its digits."""
    if isinstance(term, Literal) and term.value is not None and _is_integer(term.type):
        return decimal_literal(Decimal(term.value))
    if not isinstance(term, Literal) or not isinstance(term.value, float):
        return term
    if not isfinite(term.value) or any(
        precision_and_scale(type_)[0] > _DIGITS_OF_DOUBLES for type_ in columns
    ):
        raise FilterNotApplicable(
            f"rows cannot be filtered: decimals against the double {term.value}; write it without "
            "an exponent"
        )
    return decimal_literal(Decimal(repr(term.value)))


def columns_of(predicate: HudiExpression, schema: pa.Schema) -> list[str]:
    """Return the top-level columns that the predicate reads, as the schema spells them."""
    paths = [node.path for node in walk(predicate) if isinstance(node, Column)]
    scope = Scope(schema)
    return list(dict.fromkeys(_name(path, scope)[0][0] for path in paths))

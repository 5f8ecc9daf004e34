"""Filter rows by predicates without a query engine, with pyarrow's comparisons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from math import isfinite
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import precision_and_scale
from pyhudi_expr.backend.arrow import TO_DOUBLE, InexpressibleInArrowError, to_arrow
from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.nodes import Call, Column, HudiExpression, Literal, Term, walk
from pyhudi_expr.expr.terms import UnboundError, resolve
from pyhudi_expr.frontend.common.constants import (
    decimal_literal,
    fold_cast,
    split_timestamp,
    timestamp_literal,
)
from pyhudi_expr.frontend.common.hive_types import Type
from pyhudi_expr.table.errors import HudiError, UnknownColumn

_EPOCH = datetime(1970, 1, 1)
_DIGITS_OF_DOUBLES = 15


class FilterNotApplicable(HudiError):  # noqa: N818 - names the finding
    """The predicate cannot filter rows; the message names the part that cannot."""


def row_filter(
    predicate: HudiExpression, schema: pa.Schema, zone: str | None, *, is_in: bool = False
) -> pc.Expression:
    """Convert a predicate for pyarrow tables of a schema.

    Args:
        predicate: The predicate.
        schema: The schema of the rows.
        zone: The time zone in which instants are shown as wall clocks.
        is_in: Whether IN finds floats as pyarrow's `is_in` does, see `to_arrow`.

    Raises:
        FilterNotApplicable: A part of the predicate cannot filter rows.
        UnknownColumn: The schema lacks a column of the predicate.
    """
    for node in walk(predicate):
        match node:
            case e.Unknown(reason=reason):
                raise FilterNotApplicable(f"rows cannot be filtered: {reason}")
            case Column(path=path):
                _name(path, schema)
    try:
        condition = to_arrow(_fitted(predicate, schema, zone), is_in=is_in)
        schema.empty_table().filter(condition)  # types that pyarrow cannot compare are found here
        return condition
    except (InexpressibleInArrowError, pa.ArrowException, ValueError, OverflowError) as error:
        raise FilterNotApplicable(f"rows cannot be filtered: {error}") from error


def _name(path: tuple[str, ...], schema: pa.Schema) -> tuple[tuple[str, ...], pa.DataType]:
    """Return the path as the schema spells it."""
    try:
        name, type_ = resolve(path, schema)
    except UnboundError as error:
        raise UnknownColumn(str(error)) from error
    return tuple(name.split(".")), type_


#: A predicate or a term; each becomes one of its own kind.
_Node: TypeAlias = Any


def _fitted(node: _Node, schema: pa.Schema, zone: str | None) -> _Node:
    """Return the predicate with the schema's column names, and constants of the columns' types."""

    def fit(child: _Node) -> _Node:
        return _fitted(child, schema, zone)

    match node:
        case Column(path=path):
            return Column(_name(path, schema)[0])
        case e.And(children=nodes) | e.Or(children=nodes):
            return replace(node, children=tuple(map(fit, nodes)))
        case e.Not(child=child):
            return e.Not(fit(child))
        case e.IsNull(term=term) | e.StartsWith(term=term) | e.Matches(term=term):
            return replace(node, term=fit(term))
        case e.Comparison(op=op, left=left, right=right):
            return e.Comparison(op, *_with_common_types((left, right), schema, zone))
        case e.Between(term=term, low=low, high=high):
            return e.Between(*_with_common_types((term, low, high), schema, zone))
        case e.In(term=term, options=options):
            first, *rest = _with_common_types((term, *options), schema, zone)
            return _in(first, tuple(rest), _type_of(first, schema))
        case e.Call(args=args):
            return replace(node, args=_with_common_types(args, schema, zone))
        case e.Cast(term=term):
            return replace(node, term=fit(term))
        case e.Case(branches=branches, otherwise=otherwise):
            fitted = tuple((fit(condition), fit(result)) for condition, result in branches)
            return e.Case(fitted, fit(otherwise))
    return node


def _in(term: Term, options: tuple[Term, ...], type_: pa.DataType | None) -> HudiExpression:
    """Return IN, or its comparisons where pyarrow's `is_in` would find something else.

    `is_in` casts the options to the type of the term: it finds a day by any time in it, and TRUE by
    any number.
    """
    if all(isinstance(one, Literal) and _stays_as_it_is(one, type_) for one in options):
        return e.In(term, options)
    return e.Or(tuple(e.Comparison(e.Op.EQ, term, one) for one in options))


def _type_of(term: Term, schema: pa.Schema) -> pa.DataType | None:
    """Return the type of a column, as itself or as doubles; None of other terms."""
    match term:
        case Column(path=path):
            return _name(path, schema)[1]
        case Call(name=name) if name == TO_DOUBLE:
            return pa.float64()
    return None


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
    """Return a term as rows have it, without the deviations of engines' vectorised operators."""
    match term:
        case e.Call(name=e.NO_DECIMAL, args=(inner,)):
            return inner
    return term


def _with_common_types(
    terms: Sequence[Term], schema: pa.Schema, zone: str | None
) -> tuple[Any, ...]:
    """Return compared terms, with constants in the type of the columns beside them."""
    terms = [_as_in_rows(term) for term in terms]
    columns = [term for term in terms if isinstance(term, Column)]
    types = {_name(column.path, schema)[1] for column in columns}
    target = types.pop() if len(types) == 1 else None
    numbers = _numbers(terms, schema)
    return tuple(
        numbers(
            (_converted(term, target, zone) if target is not None else term)
            if isinstance(term, Literal)
            else _fitted(term, schema, zone)
        )
        for term in terms
    )


def _numbers(terms: Sequence[Term], schema: pa.Schema) -> Callable[[Term], Term]:
    """Return a function that converts terms to the kind of number that they are compared as.

    pyarrow itself would convert decimals to doubles that are not the nearest ones (3.14159 would
    match nothing), and would fail for decimals that are not integers.
    """
    nodes = [node for term in terms for node in walk(term)]
    columns = [node for node in nodes if isinstance(node, Column)]
    types = [_name(column.path, schema)[1] for column in columns]
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
    return lambda term: _floating(term, pa.float32() if single else pa.float64(), schema)


def _is_double(node: _Node) -> bool:
    return isinstance(node, Literal) and isinstance(node.value, float)


def _floating(term: Term, of_columns: pa.DataType, schema: pa.Schema) -> Term:
    """Convert decimals and integer columns to doubles, and integers to the columns' type."""
    if isinstance(term, Column) and pa.types.is_integer(_name(term.path, schema)[1]):
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


def _exact(term: Term, columns: Sequence[pa.DataType]) -> Term:
    """Convert a double to the decimal of its digits."""
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


def _is_integer(type_: Type) -> bool:
    return isinstance(type_, pa.DataType) and pa.types.is_integer(type_)


def _converted(literal: Literal, type_: pa.DataType, zone: str | None) -> Literal:
    if literal.value is None:
        return Literal(None, type_)
    if pa.types.is_date32(type_) and isinstance(literal.value, str):
        return _folded(literal, type_)
    if pa.types.is_decimal(type_) and _is_integer(literal.type):
        return decimal_literal(Decimal(literal.value))
    if not pa.types.is_timestamp(type_):
        return literal
    clock = literal if _is_time(literal) else _folded(literal, pa.timestamp("ns"))
    if type_.tz is None or getattr(clock.type, "tz", None) is not None:
        return clock
    seconds, nanos = split_timestamp(clock)
    return timestamp_literal(_instant(seconds, zone), nanos, "UTC")


def _is_time(literal: Literal) -> bool:
    return isinstance(literal.type, pa.TimestampType)


def _folded(literal: Literal, type_: pa.DataType) -> Literal:
    folded = fold_cast(literal, type_)
    if folded is None:
        raise FilterNotApplicable(f"rows cannot be filtered: {literal.value!r} is no {type_}")
    return folded


def _instant(wall_seconds: int, zone: str | None) -> int:
    """Return the only instant at which a wall clock of the zone shows the time."""
    if zone is None:
        raise FilterNotApplicable(
            "rows cannot be filtered: a time without zone against instants; say in which zone"
        )
    try:
        info = timezone.utc if zone in ("UTC", "Z") else ZoneInfo(zone)
        wall = (_EPOCH + timedelta(seconds=wall_seconds)).replace(tzinfo=info)
        offsets = {wall.replace(fold=fold_).utcoffset() for fold_ in (0, 1)}
    except (KeyError, ValueError, OverflowError, OSError) as error:
        raise FilterNotApplicable(f"the zone {zone!r}, or its time, is unknown") from error
    if len(offsets) > 1:
        raise FilterNotApplicable(f"rows cannot be filtered: {wall:%F %T} in {zone} is ambiguous")
    (offset,) = offsets
    assert offset is not None
    return wall_seconds - int(offset.total_seconds())


def columns_of(predicate: HudiExpression, schema: pa.Schema) -> list[str]:
    """Return the top-level columns that the predicate reads, as the schema spells them."""
    paths = [node.path for node in walk(predicate) if isinstance(node, Column)]
    return list(dict.fromkeys(_name(path, schema)[0][0] for path in paths))

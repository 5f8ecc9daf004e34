"""Tuple domains of Trino and Presto, in their JSON form, as predicates.

A tuple domain has a *domain* for some columns, and means that every column's value lies in its
domain: ranges or single values, and perhaps NULL. Trino writes the bounds of all ranges in one
block, two for each range, a null if there is none; Presto writes each bound separately, ``EXACTLY``
at, ``ABOVE`` or ``BELOW`` a value.

A column is named by a text, or by the connector's handle: ``baseColumnName`` with
``hiveColumnProjectionInfo.dereferenceNames`` (Trino), ``name`` (Presto).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from examples.predicates.blocks import BlockError, read_presto_block, read_trino_block
from examples.predicates.values import Json, ValueType, read_json, value_type
from pyhudi_expr.expr.frontend.common.constants import (
    InexpressibleError,
    conjunction,
    disjunction,
    split_timestamp,
)
from pyhudi_expr.expr.nodes import (
    ALWAYS,
    NEVER,
    Column,
    Comparison,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Unknown,
)

#: A bound: the value, and whether it belongs to the range. None: there is none.
_Bound = tuple[Literal, bool] | None
_Range = tuple[_Bound, _Bound]


class DomainError(ValueError):
    """The JSON is not a tuple domain; the message names the column."""


def parse_tuple_domain(text: str) -> HudiExpression:
    """Return the predicate of a tuple domain.

    A column whose domain is not supported (maps, JSON, times of Presto) becomes Unknown.

    Raises:
        DomainError: The JSON is malformed.
    """
    form = read_json(text, DomainError)
    if not isinstance(form, dict):
        raise DomainError("no object")
    columns = form.get("columnDomains")
    if columns is None:
        return NEVER
    if not isinstance(columns, list):
        raise DomainError("expected a list for columnDomains")
    return conjunction(map(_column_domain, columns)) if columns else ALWAYS


def _column_domain(entry: Json) -> HudiExpression:
    if not isinstance(entry, dict):
        raise DomainError("expected an object for the domain of a column")
    column = column_of(entry.get("column"))
    domain = entry.get("domain")
    try:
        return _domain(column, domain)
    except InexpressibleError as reason:
        return Unknown(f"{'.'.join(column.path)}: {reason}")
    except (BlockError, DomainError, KeyError, TypeError, AttributeError) as error:
        raise DomainError(f"column {'.'.join(column.path)}: {error!s:.200}") from None


def column_of(handle: Json) -> Column:
    """Return the column of a connector's handle. Raises DomainError."""
    if isinstance(handle, str) and handle:
        return Column((handle,))
    if isinstance(handle, dict):
        name = handle.get("baseColumnName") or handle.get("name")
        below = (handle.get("hiveColumnProjectionInfo") or {}).get("dereferenceNames", [])
        if isinstance(name, str) and name and all(isinstance(one, str) and one for one in below):
            return Column((name, *below))
    raise DomainError("a column without a name")


def _domain(column: Column, domain: Json) -> HudiExpression:
    values, nulls = domain["values"], domain["nullAllowed"]
    if not isinstance(nulls, bool):
        raise DomainError("expected a boolean for nullAllowed")
    kind = values["@type"]
    if kind == "allOrNone":
        return _all(column, nulls) if values["all"] else _none(column, nulls)
    if kind != "sortable":
        raise InexpressibleError(f"not supported: {str(kind)[:40]} values")
    type_ = value_type(values["type"])
    ranges = list(_trino(values, type_) if "sortedRanges" in values else _presto(values, type_))
    if not ranges:
        return _none(column, nulls)
    if (None, None) in ranges:
        return _all(column, nulls)
    by = type_.rounded_by
    found = _near_ranges(column, ranges, by) if by else _in_ranges(column, ranges)
    return disjunction((found, IsNull(column))) if nulls else found


def _all(column: Column, nulls: bool) -> HudiExpression:
    return ALWAYS if nulls else Not(IsNull(column))


def _none(column: Column, nulls: bool) -> HudiExpression:
    return IsNull(column) if nulls else NEVER


def _in_ranges(column: Column, ranges: list[_Range]) -> HudiExpression:
    single = tuple(low[0] for low, high in ranges if low is not None and low == high)
    parts: list[HudiExpression] = []
    if len(single) == 1:
        parts.append(Comparison(Op.EQ, column, single[0]))
    elif single:
        parts.append(In(column, single))
    parts += [_between(column, low, high) for low, high in ranges if low is None or low != high]
    return disjunction(parts)


def _near_ranges(column: Column, ranges: list[_Range], by: int) -> HudiExpression:
    """Return the stored values for which the engine may read one in the ranges; proves no more."""
    wider = [_between(column, _moved(low, -by), _moved(high, by)) for low, high in ranges]
    return conjunction((disjunction(wider), Unknown("times are read with fewer digits")))


def _moved(bound: _Bound, nanos: int) -> _Bound:
    if bound is None:
        return None
    literal, _ = bound
    seconds, rest = split_timestamp(literal)
    type_ = pa.timestamp("ns", getattr(literal.type, "tz", None))
    return Literal(seconds * 10**9 + rest + nanos, type_), True


def _between(column: Column, low: _Bound, high: _Bound) -> HudiExpression:
    sides: list[HudiExpression] = []
    if low is not None:
        sides.append(Comparison(Op.GTEQ if low[1] else Op.GT, column, low[0]))
    if high is not None:
        sides.append(Comparison(Op.LTEQ if high[1] else Op.LT, column, high[0]))
    return conjunction(sides)


def _trino(values: dict[str, Any], type_: ValueType) -> Iterator[_Range]:
    bounds, inclusive = read_trino_block(values["sortedRanges"]), values["inclusive"]
    if len(bounds) != len(inclusive) or len(bounds) % 2:
        raise DomainError(f"{len(bounds)} bounds with {len(inclusive)} signs")
    sides: list[_Bound] = []
    for bound, sign in zip(bounds, inclusive, strict=True):
        if not isinstance(sign, bool):
            raise DomainError("expected a list of booleans for inclusive")
        sides.append(None if bound is None else (type_.read(bound), sign))
    yield from zip(sides[::2], sides[1::2], strict=True)


def _presto(values: dict[str, Any], type_: ValueType) -> Iterator[_Range]:
    for one in values["ranges"]:
        yield _marker(one["low"], type_, "ABOVE"), _marker(one["high"], type_, "BELOW")


def _marker(marker: dict[str, Any], type_: ValueType, beyond: str) -> _Bound:
    """Return a bound; `beyond` is where it lies if its own value is excluded."""
    if marker["bound"] not in ("EXACTLY", beyond):
        raise DomainError(f"a bound {str(marker['bound'])[:40]}")
    block = marker.get("valueBlock")
    if block is None:
        return None
    (value,) = _only(read_presto_block(block))
    return type_.read(value), marker["bound"] == "EXACTLY"


def _only(values: list[Any]) -> list[Any]:
    if len(values) != 1 or values[0] is None:
        raise DomainError("a bound is not one value")
    return values

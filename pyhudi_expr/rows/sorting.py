"""The order of rows: what users give, sort keys, and tables sorted by them.

Values have the order of pyarrow: texts and binaries by bytes, FALSE before TRUE, zeros of both
signs equal. NaN stands between the other values and NULL.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from reprlib import repr as shown
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray
from pyhudi_expr.errors import InvalidType, InvalidValue
from pyhudi_expr.expr.nodes import Column, PythonValue
from pyhudi_expr.index.limits.narrowing import OrderColumn, WantedRows


@dataclass(frozen=True)
class SortKey:
    """One column of an order.

    Attributes:
        column: A top-level column, spelled as in the schema.
        descending: From the greatest value on.
        nulls_first: NULL, and NaN after it, come before the other values; else after them.
    """

    column: str
    descending: bool = False
    nulls_first: bool = False

    def __str__(self) -> str:
        """Return the key as in ORDER BY."""
        direction = "DESC" if self.descending else "ASC"
        return f"{self.column} {direction} NULLS {'FIRST' if self.nulls_first else 'LAST'}"


def wanted_rows(limit: int | None, keys: Sequence[SortKey]) -> tuple[WantedRows, ...]:
    """Return what a limit and an order need of the matching rows; nothing if they need all.

    Args:
        limit: The number of rows; None for all.
        keys: The order, the first key first; empty for none.
    """
    if limit is None or not keys:
        return () if limit is None else (WantedRows(limit),)
    first = keys[0]
    order = OrderColumn(Column((first.column,)), first.descending, first.nulls_first)
    return (WantedRows(limit, order),)


def check_order(keys: Sequence[SortKey], schema: pa.Schema) -> None:
    """Check that the columns have an order.

    Raises:
        InvalidType: Rows cannot be sorted by values of a column's type.
    """
    for key in keys:
        type_ = schema.field(key.column).type
        if pa.types.is_nested(type_):
            raise InvalidType(f"order_by: rows cannot be sorted by {key.column}, a {type_}")


def sorted_rows(rows: pa.Table, keys: Sequence[SortKey], limit: int | None = None) -> pa.Table:
    """Return rows in their order, at most `limit` of them. Equal rows keep theirs.

    Args:
        rows: A table with the columns of the keys.
        keys: The order, the first key first.
        limit: The number of rows; None for all.
    """
    parts: dict[str, AnyArray] = {}
    order = []
    for number, key in enumerate(keys):
        values = rows[key.column].combine_chunks()
        parts[f"without value {number}"] = _without_value(values)
        parts[f"value {number}"] = values
        order.append((f"without value {number}", _direction(key.nulls_first)))
        order.append((f"value {number}", _direction(key.descending)))
    places = pc.sort_indices(pa.table(parts), order)
    return rows.take(places if limit is None else places[:limit])


def has_value(value: pa.Scalar) -> bool:  # type: ignore[type-arg]
    """Return whether a value is neither NULL nor NaN."""
    return not pc.is_null(value, nan_is_null=True).as_py()


def _direction(descending: bool) -> str:
    return "descending" if descending else "ascending"


def _without_value(values: AnyArray) -> AnyArray:
    """Return 2 for NULL, 1 for NaN, and 0 for others."""
    nulls = pc.is_null(values).cast(pa.int8())
    return pc.add(nulls, pc.is_null(values, nan_is_null=True).cast(pa.int8()))


Order: TypeAlias = str | Sequence[str | tuple[str, str] | SortKey]
"""An order: SQL text as in ORDER BY, or a list of columns, each alone or with its direction."""

_SQL_KEY = re.compile(
    r"""\s*(?:`(?P<quoted>[^`]+)`|"(?P<double>[^"]+)"|(?P<name>[\w.]+)(?=\s|$))"""
    r"(?:\s*(?P<direction>asc|desc)\b)?(?:\s*nulls\s+(?P<nulls>first|last))?\s*",
    re.IGNORECASE,
)
_ORDER_BY = re.compile(r"^\s*order\s+by\b", re.IGNORECASE)
_DESCENDING = {"ascending": False, "descending": True}
_ACCEPTED = (
    'SQL text ("fare DESC NULLS LAST, id") or a list of columns and pairs '
    '(["id", ("fare", "descending")])'
)


def sort_keys(order_by: Order | None) -> Sequence[SortKey]:
    """Return the keys of an order; none for None.

    Raises:
        InvalidType: It has another type.
        InvalidValue: It cannot be understood.
    """
    if order_by is None:
        return ()
    if isinstance(order_by, str):
        keys = [_of_sql(part) for part in _ORDER_BY.sub("", order_by).split(",")]
    elif isinstance(order_by, list | tuple):
        keys = [_of_pair(part) for part in order_by]
    else:
        raise InvalidType(f"order_by: expected {_ACCEPTED}, got {type(order_by).__name__}")
    if not keys:
        raise InvalidValue("order_by: the list is empty; None leaves the order open")
    return keys


def _of_sql(text: str) -> SortKey:
    found = _SQL_KEY.fullmatch(text)
    if found is None:
        raise InvalidValue(
            f"order_by: expected a column, perhaps with ASC or DESC and NULLS FIRST or NULLS LAST, "
            f"got {shown(text.strip())}"
        )
    direction, nulls = found["direction"] or "", found["nulls"] or ""
    return SortKey(
        found["quoted"] or found["double"] or found["name"],
        descending=direction.lower() == "desc",
        nulls_first=nulls.lower() == "first",
    )


def _of_pair(part: PythonValue) -> SortKey:
    match part:
        case SortKey():
            return part
        case str():
            return _of_sql(part)
        case (str() as column, str() as direction) if direction in _DESCENDING:
            return SortKey(column, _DESCENDING[direction])
        case (str(), str() as direction):
            raise InvalidValue(
                f"order_by: expected 'ascending' or 'descending', got {shown(direction)}"
            )
    raise InvalidType(f"order_by: expected {_ACCEPTED}, got {shown(part)} in the list")

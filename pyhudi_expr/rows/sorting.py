"""The order of rows: sort keys, and tables sorted by them.

Values have the order of pyarrow: texts and binaries by bytes, FALSE before TRUE, zeros of both
signs equal. NaN stands between the other values and NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray
from pyhudi_expr.errors import InvalidType
from pyhudi_expr.expr.nodes import Column
from pyhudi_expr.index.limits.wanted import OrderColumn, WantedRows


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

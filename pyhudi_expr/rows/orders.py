"""Orders of rows, from what users give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from reprlib import repr as shown
from typing import TypeAlias

from pyhudi_expr.errors import InvalidType, InvalidValue
from pyhudi_expr.expr.nodes import PythonValue
from pyhudi_expr.rows.sorting import SortKey

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

"""Check the columns that a user names. Engines check theirs; binding passes over unknown ones."""

from __future__ import annotations

from difflib import get_close_matches

import pyarrow as pa

from pyhudi_expr.arrays import AnyField
from pyhudi_expr.errors import UnknownColumn
from pyhudi_expr.expr.nodes import Column, HudiExpression, Term, walk
from pyhudi_expr.tables.hudi_names import META_COLUMNS

_CURLY_QUOTES = "‘’“”"
_SHOWN = 12


def check_columns(predicate: HudiExpression | Term, schema: pa.Schema, table: str) -> None:
    """Check that a table has all columns of a predicate, whatever their letter case.

    Args:
        predicate: The predicate, or a term of one, not bound yet.
        schema: The table's schema at the instant of the query.
        table: The table, for the message.

    Raises:
        UnknownColumn: There is no such column; the message has the nearest name.
    """
    for node in walk(predicate):
        if isinstance(node, Column):
            as_text = f"; if it is a text, write '{node.path[0]}'" if len(node.path) == 1 else ""
            _check(node.path, schema, table, as_text)


def check_column(path: tuple[str, ...], schema: pa.Schema, table: str) -> None:
    """Check that a table has a column, or a nested field of one, whatever its letter case.

    Raises:
        UnknownColumn: There is no such column; the message has the nearest name.
    """
    _check(path, schema, table, "")


def _check(path: tuple[str, ...], schema: pa.Schema, table: str, advice: str) -> None:
    """Check a column; `advice` is for a name that resembles none."""
    fields: list[AnyField] = list(schema)
    for place, step in enumerate(path):
        found = next((field for field in fields if field.name.lower() == step.lower()), None)
        if found is None:
            name = ".".join(path[: place + 1])
            names = [field.name for field in fields if field.name not in META_COLUMNS]
            instead = _instead(step, path, names) or _all_of(names) + advice
            raise UnknownColumn(f"{table}: there is no column {name}{instead}")
        if place + 1 == len(path) or _has_elements(found.type):
            return  # elements of lists and maps are not followed
        if not pa.types.is_struct(found.type):
            whole, outer = ".".join(path), ".".join(path[: place + 1])
            raise UnknownColumn(f"{table}: there is no column {whole}: {outer} is {found.type}")
        fields = list(found.type)


def _has_elements(type_: pa.DataType) -> bool:
    return pa.types.is_nested(type_) and not pa.types.is_struct(type_)


def _instead(step: str, path: tuple[str, ...], names: list[str]) -> str | None:
    """Return what was probably meant; None if nothing resembles it."""
    if set(step) & set(_CURLY_QUOTES):
        return "; a text is in straight quotes: '" + step.strip(_CURLY_QUOTES) + "'"
    by_lower = {name.lower(): name for name in names}
    last = by_lower.get(path[-1].lower())
    if len(path) > 1 and step == path[0] and last is not None:
        return f"; write {last} without the name of a table"
    near = [by_lower[one] for one in get_close_matches(step.lower(), by_lower, 3, 0.5)]
    return f"; is it {' or '.join(near)}?" if near else None


def _all_of(names: list[str]) -> str:
    more = ", ..." if len(names) > _SHOWN else ""
    return f"; there are {', '.join(names[:_SHOWN])}{more}"

"""Read the filters that users give, and check their columns.

Engines check theirs; binding passes over unknown ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyField
from pyhudi_expr.errors import UnknownColumn
from pyhudi_expr.expr.frontend.sql.dialects import SqlDialect
from pyhudi_expr.expr.frontend.sql.plain import parse_predicate
from pyhudi_expr.expr.nodes import Column, HudiExpression, Term, Unknown, walk
from pyhudi_expr.tables.hudi_names import META_COLUMNS

_CURLY_QUOTES = "‘’“”"
_SHOWN = 12


Filter: TypeAlias = HudiExpression | pc.Expression | str | Sequence[Any]
"""A tree, a pyarrow expression, SQL text, or a filter list as pyarrow takes it."""


# Each kind of filter has a parser, imported on use: a new process needs one of them.
def parse_filter(
    filter: Filter, schema: pa.Schema, dialect: SqlDialect, table: str
) -> HudiExpression:
    """Return the predicate of any kind of filter; what it cannot say is Unknown.

    Args:
        filter: The filter.
        schema: The table's schema.
        dialect: The SQL of a text.
        table: The table, for messages.

    Raises:
        PredicateSyntaxError: The SQL text is not a condition.
        FilterError: The filter list is malformed.
        UnknownColumn: The filter has a column that the schema lacks.
    """
    if isinstance(filter, pc.Expression):
        return _from_arrow(filter, schema, table)
    predicate = _parsed(filter, schema, dialect)
    check_columns(predicate, schema, table)
    return predicate


def _parsed(
    filter: str | Sequence[Any] | HudiExpression, schema: pa.Schema, dialect: SqlDialect
) -> HudiExpression:
    if isinstance(filter, str):
        return parse_predicate(filter, dialect)
    if isinstance(filter, list | tuple):
        from pyhudi_expr.expr.frontend.arrow.filter_lists import parse_filters

        return parse_filters(filter, schema)
    return filter  # type: ignore[return-value]


def _from_arrow(filter: pc.Expression, schema: pa.Schema, table: str) -> HudiExpression:
    from pyhudi_expr.expr.frontend.arrow.expressions import (
        ArrowFormatError,
        missing_path,
        parse_arrow,
    )

    missing = missing_path(filter, schema)
    if missing:
        check_column(missing, schema, table)
    try:
        return parse_arrow(filter, schema)
    except ArrowFormatError as error:
        return Unknown(f"a pyarrow expression of another version of pyarrow: {error!s:.200}")


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

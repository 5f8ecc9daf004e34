"""Check a pyarrow expression over a table's columns before rows are read.

pyarrow itself reports what is wrong with it, and which columns it reads.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.expr.terms import UnboundError, resolve

OF_DECIMALS = (
    "; compare a decimal column with a decimal of its type, such as "
    "pa.scalar(Decimal('168.00'), pa.decimal128(9, 2)), or write the predicate as SQL"
)
"""What to do about numbers that pyarrow does not compare with decimals, or not exactly."""

_NO_COLUMN = re.compile(r"No match for (FieldRef\..*?\)) in ")
_NAME = re.compile(r"FieldRef\.Name\((.*?)\)")


def validation_error(expression: pc.Expression, schema: pa.Schema) -> str | None:
    """Return what pyarrow cannot compute: missing columns, or types that it does not compare."""
    try:
        schema.empty_table().filter(expression)
    except (pa.ArrowException, ValueError) as error:
        found = str(error)
        missing = _NO_COLUMN.match(found)
        path = tuple(_NAME.findall(missing[1])) if missing else ()
        return _misspelled(path, schema) if path else _with_hint(found)
    return None


def _misspelled(path: tuple[str, ...], schema: pa.Schema) -> str:
    """Return what is wrong with a name that pyarrow does not find."""
    wrong = _unresolved(path, schema)
    if wrong is not None:
        return wrong
    return f"pyarrow does not take {'.'.join(path)} for {resolve(path, schema)[0]}"


def _with_hint(fault: str) -> str:
    hint = OF_DECIMALS if "Precision is not great enough" in fault else ""
    return f"{fault.splitlines()[0][:200]}{hint}"


def missing_path(expression: pc.Expression, schema: pa.Schema) -> tuple[str, ...]:
    """Return the path of a column that the schema lacks; empty if it has all.

    A name that differs by its letter case is not one that it lacks.
    """
    path = _missing(expression, schema) or ()
    return path if path and _unresolved(path, schema) else ()


def columns_read(expression: pc.Expression, schema: pa.Schema) -> list[str]:
    """Return the schema's top-level columns that the expression reads; all if that is unknown.

    An expression does not list its columns, but pyarrow reports the first one that is missing.
    """
    known = pa.schema([])
    while (missing := _missing(expression, known)) is not None:
        if not missing or missing[0] in known.names or missing[0] not in schema.names:
            return list(schema.names)
        known = known.append(schema.field(missing[0]))
    return list(known.names)


def _missing(expression: pc.Expression, schema: pa.Schema) -> tuple[str, ...] | None:
    """Return the path of a column that the schema lacks (empty if unnamed); None if it has all."""
    try:
        schema.empty_table().filter(expression)
    except (pa.ArrowException, ValueError) as error:
        found = _NO_COLUMN.match(str(error))
        return tuple(_NAME.findall(found[1])) if found else ()
    return None


def _unresolved(path: tuple[str, ...], schema: pa.Schema) -> str | None:
    """Return a message with similar names; None if the name differs by letter case only."""
    try:
        resolve(path, schema)
    except UnboundError as error:
        return str(error)
    return None

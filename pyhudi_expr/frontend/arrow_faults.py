"""What is wrong with a pyarrow expression over a table's columns, before rows are read for it."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.expr.terms import UnboundError, resolve

_NO_COLUMN = re.compile(r"No match for (FieldRef\..*?\)) in ")
_NAME = re.compile(r"FieldRef\.Name\((.*?)\)")


def fault_of(expression: pc.Expression, schema: pa.Schema) -> str | None:
    """What pyarrow cannot compute: columns that are not there, types that it does not compare."""
    try:
        schema.empty_table().filter(expression)
    except (pa.ArrowException, ValueError) as error:
        found = str(error)
        missing = _NO_COLUMN.match(found)
        path = tuple(_NAME.findall(missing[1])) if missing else ()
        return (_unresolved(path, schema) if path else None) or found.partition("\n")[0][:200]
    return None


def _unresolved(path: tuple[str, ...], schema: pa.Schema) -> str | None:
    """Names what is near; nothing where the name is another in its letters' case only."""
    try:
        resolve(path, schema)
    except UnboundError as error:
        return str(error)
    return None

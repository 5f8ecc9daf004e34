"""Read which of the rows a request needs."""

from __future__ import annotations

from pyhudi_expr.expr.frontend.common.hive_types import InexpressibleError, parse_type
from pyhudi_expr.expr.nodes import Column
from pyhudi_expr.index.limits.wanted import OrderColumn, WantedRows
from pyhudi_expr.protocol.conversion.decoder import BadRequestError
from pyhudi_expr.protocol.generated import ttypes


def wanted_rows(request: ttypes.PruneRequest) -> tuple[WantedRows, ...]:
    """Return the rows that a request needs, each of these; nothing if it may need all of them.

    Raises:
        BadRequestError: The request violates the protocol.
    """
    parts = request.firstRowsOfEach
    if parts is None:
        parts = [] if request.firstRows is None else [request.firstRows]
    wanted = [_wanted(first) for first in parts]
    known = tuple(each for each in wanted if each is not None)
    return known if len(known) == len(parts) else ()


def _wanted(first: ttypes.FirstRows) -> WantedRows | None:
    """Return what a part of a query needs; None if that is unknown."""
    if first.rows is None or first.rows < 0:
        raise BadRequestError(f"the request needs {first.rows} rows")
    if first.path is None:
        return WantedRows(first.rows)
    if not first.path or not all(first.path) or first.type is None:
        raise BadRequestError("the request orders rows by a column without a path or type")
    try:
        column = Column(tuple(first.path), parse_type(first.type))
    except InexpressibleError:
        return None
    order = OrderColumn(
        column, bool(first.descending), bool(first.nullsFirst), bool(first.anyOfEqual)
    )
    return WantedRows(first.rows, order)

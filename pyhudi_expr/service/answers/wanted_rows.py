"""Read which of the rows a request needs."""

from __future__ import annotations

from pyhudi_expr.expr.nodes import Column
from pyhudi_expr.frontend.common.hive_types import InexpressibleError, parse_type
from pyhudi_expr.frontend.thrift.decoder import BadRequestError
from pyhudi_expr.limits.wanted import OrderColumn, WantedRows
from pyhudi_expr.protocol import ttypes


def wanted_rows(request: ttypes.PruneRequest) -> WantedRows | None:
    """Return the rows that a request needs; None if it may need all of them.

    Raises:
        BadRequestError: The request violates the protocol.
    """
    first = request.firstRows
    if first is None:
        return None
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
    order = OrderColumn(column, bool(first.descending), bool(first.nullsFirst))
    return WantedRows(first.rows, order)

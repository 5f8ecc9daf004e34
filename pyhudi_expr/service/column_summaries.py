"""Summaries of a table's columns in the protocol's form."""

from __future__ import annotations

import pyarrow as pa

from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import Kind
from pyhudi_expr.expr.frontend.common.hive_types import type_name
from pyhudi_expr.expr.nodes import Literal, PythonValue
from pyhudi_expr.index.statistics.column_summaries import ColumnSummary
from pyhudi_expr.protocol.conversion.literals import encode_literal
from pyhudi_expr.protocol.generated import ttypes

_NANOS = 10**9
#: Types whose bounds may be truncated, so that they are not values.
_MAY_BE_CUT = frozenset({Kind.TEXT, Kind.BINARY})


def to_thrift(summary: ColumnSummary) -> ttypes.ColumnSummary:
    """Return a summary in the protocol's form."""
    column = summary.column
    sent = ttypes.ColumnSummary(
        name=column.name,
        nulls=summary.nulls,
        distinct=summary.distinct,
        length=summary.length,
        keptByEquality=summary.kept_by_equality,
    )
    may_be_cut = column.domain.kind in _MAY_BE_CUT and not summary.attained
    if summary.least is not None and not may_be_cut:
        sent.least = literal(summary.least, column)
        sent.greatest = literal(summary.greatest, column)
        sent.attained = summary.attained
    return sent


def literal(value: PythonValue, column: BoundColumn) -> ttypes.Literal:
    """Return a value of a column, in the units of its domain, in the protocol's form."""
    if column.domain.kind in (Kind.WALL_CLOCK, Kind.INSTANT):
        seconds, units = divmod(value, column.domain.units)
        nanos = units * (_NANOS // column.domain.units)
        return ttypes.Literal(type=type_name(column.type), epochSeconds=seconds, nanos=nanos)
    if column.domain.kind is Kind.DATE:
        return ttypes.Literal(type=type_name(column.type), epochDays=value)
    if column.domain.kind is Kind.TEXT:
        value = value.decode()
    value = bool(value) if pa.types.is_boolean(column.type) else value
    return encode_literal(Literal(value, column.type))

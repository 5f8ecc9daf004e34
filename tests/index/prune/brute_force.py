"""Predicates made from values of the rows, for brute-force comparison row by row."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from pyhudi_expr.expr.domains import domain_of
from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Column,
    Comparison,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Or,
    StartsWith,
)

Rows = list[Mapping[str, Any]]


def rows_of(table: pa.Table) -> tuple[dict[str, pa.DataType], Rows]:
    """The columns that have an order, and the rows with the values as files store them."""
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    types = {field.name: field.type for field in table.schema if domain_of(field.type)}
    columns = {}
    for name, type_ in types.items():
        column = table[name]
        if pa.types.is_date(type_):
            column = column.cast(pa.int32())
        elif pa.types.is_timestamp(type_):
            column = column.cast(pa.int64())
        columns[name] = column.to_pylist()
    found: Rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    return types, found


def predicates(types: Mapping[str, pa.DataType], rows: Rows) -> Iterator[HudiExpression]:
    """A dozen predicates for each column, made from its values."""
    for name, type_ in types.items():
        column = Column(tuple(name.split(".")))
        yield from (IsNull(column), Not(IsNull(column)))
        # NaN, which does not equal itself, has no place in an order.
        values = sorted({v for v in (row[name] for row in rows) if v is not None and v == v})
        if not values:
            continue
        low, middle, high = (
            Literal(value, type_) for value in (values[0], values[len(values) // 2], values[-1])
        )
        for op, literal in itertools.product(Op, (low, middle)):
            yield Comparison(op, column, literal)
        yield Comparison(Op.GTEQ, column, high)
        yield Not(In(column, (low, high)))
        yield In(column, (low, middle))
        yield Between(column, middle, high)
        yield And((Comparison(Op.EQ, column, middle), Not(IsNull(column))))
        yield Or((Comparison(Op.EQ, column, low), Comparison(Op.GT, column, high)))
        if pa.types.is_string(type_):
            yield StartsWith(column, str(middle.value)[:3])

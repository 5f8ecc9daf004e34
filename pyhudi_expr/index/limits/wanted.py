"""What a query needs of the rows that match its predicate."""

from __future__ import annotations

from dataclasses import dataclass

from pyhudi_expr.expr.nodes import Column


@dataclass(frozen=True)
class OrderColumn:
    """The first column of an order.

    Attributes:
        column: The column, with the type that the engine declares.
        descending: From the greatest value on.
        nulls_first: NULL comes before all values, else behind them.
        any_of_equal: Of rows that are equal in this column any will do: no further ones decide.
    """

    column: Column
    descending: bool = False
    nulls_first: bool = False
    any_of_equal: bool = False


@dataclass(frozen=True)
class WantedRows:
    """The first rows of an order, or any rows.

    Attributes:
        rows: How many; those that an OFFSET passes over are wanted, too.
        order: The first column of the order; further ones decide among equal rows only. None: any
            rows will do.
    """

    rows: int
    order: OrderColumn | None = None

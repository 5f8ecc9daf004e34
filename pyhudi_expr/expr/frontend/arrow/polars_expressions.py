"""Predicates of Polars, as its IO plugins get them: typed by its optimiser.

Polars shows of an expression its operands only (``meta.pop``); its serialized forms are unstable.
So what an expression is, is asked: it is the comparison of its operands if it equals the one that
is built of them (``meta.eq``). What equals nothing here is `Unknown` by itself.

The rules of values are covered by those of engines: NaN equals itself and is above all numbers,
zeros are equal, texts are ordered by their bytes, AND and OR are Kleene's. A NULL among the values
of ``is_in`` is not: Polars passes over it, where SQL's NOT IN finds nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pyhudi_expr.expr.frontend.arrow.filter_lists import literal_of_python
from pyhudi_expr.expr.frontend.common.constants import (
    MAX_DEPTH,
    InexpressibleError,
    conjunction,
    disjunction,
)
from pyhudi_expr.expr.frontend.common.functions import as_condition
from pyhudi_expr.expr.nodes import (
    Column,
    Comparison,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    StartsWith,
    Term,
    Unknown,
)

if TYPE_CHECKING:
    import polars as pl

_COMPARISONS: Mapping[Op, Callable[[Any, Any], Any]] = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LTEQ: operator.le,
    Op.GT: operator.gt,
    Op.GTEQ: operator.ge,
}
_INTERVALS = {
    "both": (Op.GTEQ, Op.LTEQ),
    "left": (Op.GTEQ, Op.LT),
    "right": (Op.GT, Op.LTEQ),
    "none": (Op.GT, Op.LT),
}


def parse_polars(expression: pl.Expr, schema: pa.Schema) -> HudiExpression:
    """Return the predicate of an expression over columns of a schema; see above.

    Args:
        expression: A condition, whose operands have types that can be compared.
        schema: The columns.
    """
    return _Reader(schema).condition(expression, 0)


def conjuncts(expression: pl.Expr) -> Iterator[pl.Expr]:
    """Return the conditions of an AND that can be evaluated.

    Some versions of Polars add conditions on the first rows of an order that they evaluate
    themselves (`dynamic_pred`): nobody else can.
    """
    operands = expression.meta.pop()[::-1]
    if len(operands) == 2 and expression.meta.eq(operands[0] & operands[1]):
        yield from conjuncts(operands[0])
        yield from conjuncts(operands[1])
    elif not expression.meta.serialize(format="json").startswith('{"Display":'):
        yield expression


@dataclass(frozen=True)
class _Reader:
    """Reads expressions over columns of a schema."""

    schema: pa.Schema

    def condition(self, given: pl.Expr, depth: int) -> HudiExpression:
        if depth > MAX_DEPTH:
            return Unknown(f"more than {MAX_DEPTH} levels")
        try:
            return self._condition(given, depth)
        except InexpressibleError as reason:
            return Unknown(str(reason))

    def _condition(self, given: pl.Expr, depth: int) -> HudiExpression:
        if given.meta.is_column() or given.meta.is_literal():
            return as_condition(self._term(given))
        is_ = given.meta.eq
        match given.meta.pop()[::-1]:  # the last operand comes first
            case [a] if is_(~a):
                return Not(self.condition(a, depth + 1))
            case [a] if is_(a.is_null()):
                return IsNull(self._column(a))
            case [a] if is_(a.is_not_null()):
                return Not(IsNull(self._column(a)))
            case [a, b] if is_(a & b):
                return conjunction([self.condition(one, depth + 1) for one in (a, b)])
            case [a, b] if is_(a | b):
                return disjunction([self.condition(one, depth + 1) for one in (a, b)])
            case [a, b] if is_(a.is_in(b)):
                return In(self._column(a), _values(b))
            case [a, b] if is_(a.str.starts_with(b)):
                return StartsWith(self._column(a), _text(b))
            case [a, b]:
                for op, compared in _COMPARISONS.items():
                    if is_(compared(a, b)):
                        return Comparison(op, self._term(a), self._term(b))
            case [a, low, high]:
                for closed, (above, below) in _INTERVALS.items():
                    if is_(a.is_between(low, high, closed=closed)):
                        column = self._column(a)
                        ends = ((above, low), (below, high))
                        return conjunction(
                            [Comparison(op, column, self._term(end)) for op, end in ends]
                        )
        raise InexpressibleError(f"Polars' {str(given)[:100]} is not supported")

    def _term(self, given: pl.Expr) -> Term:
        if not given.meta.is_literal():
            return self._column(given)
        (value,) = _values(given)
        return value

    def _column(self, given: pl.Expr) -> Column:
        """Return a column, also of one that Polars casts as engines do, to compare it."""
        if given.meta.is_column() and (name := given.meta.output_name()) in self.schema.names:
            return Column((name,))
        match given.meta.pop():
            case [operand] if operand.meta.is_column():
                column = self._column(operand)
                for type_ in _compared_as(self.schema.field(column.path[0]).type):
                    if any(given.meta.eq(operand.cast(type_, strict=s)) for s in (False, True)):
                        return column
        raise InexpressibleError(f"Polars' {str(given)[:100]} is no column")


def _compared_as(type_: pa.DataType) -> tuple[Any, ...]:
    """Return the types of Polars as which a column's values are compared in engines, too."""
    import polars as pl

    if pa.types.is_integer(type_):
        return (pl.Int64, pl.Float64)
    if pa.types.is_decimal(type_):
        return (pl.Float64, pl.Decimal(38, type_.scale))
    if pa.types.is_floating(type_):
        return (pl.Float64,)
    return (pl.Datetime("us"),) if pa.types.is_date(type_) else ()


def _values(given: pl.Expr) -> tuple[Literal, ...]:
    """Return the values of a constant; those of a list that is one.

    Raises:
        InexpressibleError: It is no constant, or has a NULL or values of another type.
    """
    import polars as pl

    if not given.meta.is_literal():
        raise InexpressibleError(f"Polars' {str(given)[:100]} is no constant")
    found = pl.select(given).to_series()
    if isinstance(found.dtype, pl.List):
        found = found.explode()
    if found.null_count():
        raise InexpressibleError("a NULL among Polars' constants")
    if found.dtype == pl.String:
        return tuple(map(literal_of_python, found.to_list()))
    return tuple(map(literal_of_python, found.to_arrow()))


def _text(given: pl.Expr) -> str:
    (found,) = _values(given)
    if not isinstance(found.value, str):
        raise InexpressibleError(f"Polars' {str(given)[:100]} is no text")
    return found.value

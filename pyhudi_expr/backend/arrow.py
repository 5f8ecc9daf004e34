"""Write expressions as pyarrow's, for datasets and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyScalar
from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.nodes import CharType, HudiExpression, Op, Term, Truth

_TRUTHS = {Truth.YES: True, Truth.NO: False, Truth.NULL: None}
#: The `Call` of a column of integers, or of floats, as the doubles nearest to its values.
TO_DOUBLE = "to double"
_CHAIN = 64
_ARITHMETIC = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


class InexpressibleInArrowError(ValueError):
    """pyarrow has no equivalent; the message says for what."""


def to_arrow(expression: HudiExpression, *, is_in: bool = False) -> pc.Expression:
    """Return a pyarrow expression with the same truth values, by Kleene's logic.

    Arrow compares NaN as IEEE 754 does, except for isnan() and <=> NaN. It casts the options of IN
    to the term's type: give them that type (`pyhudi_expr.reading.row_filter` does, by a schema).

    Args:
        expression: The predicate.
        is_in: Whether IN finds floats as pyarrow's `is_in` does, by their bits (NaN, and one of the
            two zeros); else by equality.

    Raises:
        InexpressibleInArrowError: The predicate is partly unknown, or has casts, functions or char
            types, whose rules are the engines'.
    """
    return _Translation(is_in).predicate(expression)


@dataclass(frozen=True)
class _Translation:
    """A translation to pyarrow; `is_in` as in `to_arrow`."""

    is_in: bool

    def predicate(self, expression: HudiExpression) -> pc.Expression:
        match expression:
            case e.And(children=children):
                return _joined(and_, list(map(self.predicate, children)))
            case e.Or(children=children):
                return _joined(or_, list(map(self.predicate, children)))
            case e.Not(child=child):
                return ~self.predicate(child)
            case e.Constant(truth=truth) if truth in _TRUTHS:
                return pc.scalar(pa.scalar(_TRUTHS[truth], pa.bool_()))
            case e.Comparison(
                op=Op.NULL_SAFE_EQ, left=left, right=e.Literal(value=float() as nan)
            ) if math.isnan(nan):
                return pc.coalesce(pc.is_nan(self._term(left)), pc.scalar(False))  # as isnan()
            case e.Comparison(op=op, left=left, right=right):
                return _compared(op, self._term(left), self._term(right))
            case e.In(term=term, options=options):
                return self._in(self._term(term), options)
            case e.Between(term=term, low=low, high=high):
                value = self._term(term)
                return (value >= self._term(low)) & (value <= self._term(high))
            case e.IsNull(term=subject):
                if isinstance(subject, e.Term):
                    return self._term(subject).is_null()
                return self.predicate(subject).is_null()
            case e.StartsWith(term=term, prefix=prefix):
                return pc.starts_with(self._term(term), prefix)
        raise InexpressibleInArrowError(f"what is known in part: {expression!s:.200}")

    def _in(self, term: pc.Expression, options: tuple[Term, ...]) -> pc.Expression:
        """Return SQL's IN: NULL if the term is, or if no option matches and one is NULL."""
        if not options:
            return pc.scalar(False)
        literals = [one for one in options if isinstance(one, e.Literal)]
        values = [one for one in literals if one.value is not None]
        floats = all(_is_floating(one.type) for one in values)
        if len(literals) < len(options) or not (floats or len({one.type for one in values}) == 1):
            return _joined(or_, [term == self._term(option) for option in options])
        if not values:
            found = pc.scalar(False)
        elif floats:
            found = self._in_floats(term, [float(one.value) for one in values])
        else:
            found = term.isin(pa.array(list(map(_scalar, values)), values[0].type))  # type: ignore[type-var]
        missing = pc.scalar(pa.scalar(None, pa.bool_()))
        if len(values) < len(options):
            found = pc.if_else(found, True, missing)
        return pc.if_else(term.is_null(), missing, found)

    def _in_floats(self, term: pc.Expression, values: list[float]) -> pc.Expression:
        if self.is_in:
            return term.isin(pa.array(values, pa.float64()))
        numbers = [value for value in values if not math.isnan(value)]
        zeros = [0.0, -0.0] if 0.0 in numbers else []
        doubles = term.cast(pa.float64(), safe=False)  # else the numbers would become floats
        return doubles.isin(pa.array([*numbers, *zeros], pa.float64()))

    def _term(self, term: Term) -> pc.Expression:
        match term:
            case e.Column(path=path):
                return pc.field(*path)
            case e.Literal():
                return pc.scalar(_scalar(term))
            case e.Call(name=name, args=(left, right)) if name in _ARITHMETIC:
                return _ARITHMETIC[name](self._term(left), self._term(right))
            case e.Call(name=name, args=(arg,)) if name == TO_DOUBLE:
                return self._term(arg).cast(pa.float64(), safe=False)
            case e.Call(name="coalesce", args=args):
                return pc.coalesce(*map(self._term, args))
            case e.Case(branches=branches, otherwise=otherwise):
                shown = self._term(otherwise)
                for when, then in reversed(branches):
                    condition = pc.coalesce(self.predicate(when), pc.scalar(False))
                    shown = pc.if_else(condition, self._term(then), shown)
                return shown
        name = f"{term.name}()" if isinstance(term, e.Call) else f"{term!s:.200}"
        raise InexpressibleInArrowError(f"{name} follows the rules of an engine")


def _joined(
    connective: Callable[[pc.Expression, pc.Expression], pc.Expression],
    parts: Sequence[pc.Expression],
) -> pc.Expression:
    """Join one or more parts by a connective.

    Arrow makes one chain of nested connectives, and walks it recursively: a long one would crash
    the process. No chain goes on through `coalesce`, which changes nothing here.
    """
    while len(parts) > _CHAIN:
        starts = range(0, len(parts), _CHAIN)
        chains = (reduce(connective, parts[start : start + _CHAIN]) for start in starts)
        parts = [pc.coalesce(chain) for chain in chains]
    return reduce(connective, parts)


def _is_floating(type_: pa.DataType | CharType) -> bool:
    return isinstance(type_, pa.DataType) and bool(pa.types.is_floating(type_))


def _compared(op: Op, left: pc.Expression, right: pc.Expression) -> pc.Expression:
    match op:
        case Op.EQ:
            return left == right
        case Op.NE:
            return left != right
        case Op.LT:
            return left < right
        case Op.LTEQ:
            return left <= right
        case Op.GT:
            return left > right
        case Op.GTEQ:
            return left >= right
        case Op.NULL_SAFE_EQ:
            both = left.is_null() & right.is_null()
            return pc.coalesce(left == right, both)


def _scalar(literal: e.Literal) -> AnyScalar:
    type_, value = literal.type, literal.value
    if isinstance(type_, CharType):
        raise InexpressibleInArrowError("char and varchar")
    if value is None:
        return pa.scalar(None, type_)
    if pa.types.is_temporal(type_):
        bits: Any = pa.int32() if type_.bit_width == 32 else pa.int64()
        return pa.scalar(value, bits).cast(type_)
    return pa.scalar(Decimal(value) if pa.types.is_decimal(type_) else value, type_)

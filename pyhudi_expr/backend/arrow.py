"""Expressions as pyarrow's, for datasets and tables."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.expr import nodes as e
from pyhudi_expr.expr.nodes import CharType, HudiExpression, Op, Term, Truth

_TRUTHS = {Truth.YES: True, Truth.NO: False, Truth.NULL: None}
_ARITHMETIC = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


class InexpressibleInArrowError(ValueError):
    """pyarrow has nothing that means the same; the text says for what."""


def to_arrow(expression: HudiExpression) -> pc.Expression:
    """pyarrow's expression with the same truth values, after Kleene's logic.

    Arrow compares NaN as IEEE does, but for isnan() and <=> NaN. Raises InexpressibleInArrowError
    for what is known in part, for casts, functions and char types, of which the rules are the
    engines'.
    """
    match expression:
        case e.And(children=children):
            return reduce(and_, map(to_arrow, children))
        case e.Or(children=children):
            return reduce(or_, map(to_arrow, children))
        case e.Not(child=child):
            return ~to_arrow(child)
        case e.Constant(truth=truth) if truth in _TRUTHS:
            return pc.scalar(pa.scalar(_TRUTHS[truth], pa.bool_()))
        case e.Comparison(op=Op.NULL_SAFE_EQ, left=left, right=e.Literal(value=float() as nan)) if (
            math.isnan(nan)
        ):
            return pc.coalesce(pc.is_nan(_term(left)), pc.scalar(False))  # what isnan() is
        case e.Comparison(op=op, left=left, right=right):
            return _compared(op, _term(left), _term(right))
        case e.In(term=term, options=options):
            return _in(_term(term), options)
        case e.Between(term=term, low=low, high=high):
            value = _term(term)
            return (value >= _term(low)) & (value <= _term(high))
        case e.IsNull(term=subject):
            shown = _term(subject) if isinstance(subject, e.Term) else to_arrow(subject)
            return shown.is_null()
        case e.StartsWith(term=term, prefix=prefix):
            return pc.starts_with(_term(term), prefix)
    raise InexpressibleInArrowError(f"what is known in part: {expression!s:.200}")


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


def _in(term: pc.Expression, options: tuple[Term, ...]) -> pc.Expression:
    """SQL's IN: NULL where the term is, and where it is none of options that have a NULL."""
    literals = [one for one in options if isinstance(one, e.Literal)]
    types = {one.type for one in literals if one.value is not None}
    if len(literals) < len(options) or len(types) > 1:
        equal = [term == _term(option) for option in options]
        return reduce(or_, equal)
    values = [one for one in literals if one.value is not None]
    found = pc.scalar(False)
    if values:
        found = term.isin(pa.array([_scalar(one).as_py() for one in values], values[0].type))
    missing = pc.scalar(pa.scalar(None, pa.bool_()))
    if len(values) < len(options):
        found = pc.if_else(found, True, missing)
    return pc.if_else(term.is_null(), missing, found) if options else pc.scalar(False)


def _term(term: Term) -> pc.Expression:
    match term:
        case e.Column(path=path):
            return pc.field(*path)
        case e.Literal():
            return pc.scalar(_scalar(term))
        case e.Call(name=name, args=(left, right)) if name in _ARITHMETIC:
            return _ARITHMETIC[name](_term(left), _term(right))
        case e.Call(name="coalesce", args=args):
            return pc.coalesce(*map(_term, args))
        case e.Case(branches=branches, otherwise=otherwise):
            shown = _term(otherwise)
            for when, then in reversed(branches):
                condition = pc.coalesce(to_arrow(when), pc.scalar(False))
                shown = pc.if_else(condition, _term(then), shown)
            return shown
    raise InexpressibleInArrowError(f"the rules of an engine: {term!s:.200}")


def _scalar(literal: e.Literal) -> pa.Scalar:
    type_, value = literal.type, literal.value
    if isinstance(type_, CharType):
        raise InexpressibleInArrowError("char and varchar")
    if value is None:
        return pa.scalar(None, type_)
    if pa.types.is_temporal(type_):
        bits: Any = pa.int32() if type_.bit_width == 32 else pa.int64()
        return pa.scalar(value, bits).cast(type_)
    return pa.scalar(Decimal(value) if pa.types.is_decimal(type_) else value, type_)

"""Derive what a condition on a function of a term implies for the term itself.

``upper(s) = 'AB'`` needs an ``s`` that begins with A or a, then B or b, or with other characters
than ASCII. ``CAST(d AS string) = '1.50'`` needs a ``d`` that is 1.5. A function's own rule bounds
its results by the bounds of its argument, and excludes less in these two cases.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa

from pyhudi_expr.expr.bound import BoundColumn, BoundExpression, BoundMatches
from pyhudi_expr.expr.comparisons import compare
from pyhudi_expr.expr.domains import MAX_DIGITS, Kind
from pyhudi_expr.expr.literals import NotComparableError
from pyhudi_expr.expr.nodes import (
    Call,
    Cast,
    Comparison,
    HudiExpression,
    In,
    Literal,
    Matches,
    Op,
    StartsWith,
    Term,
)
from pyhudi_expr.expr.simplify import conjunction, disjunction
from pyhudi_expr.expr.terms import Scope, UnboundError, bind_term

_UPPER, _LOWER = frozenset({"upper", "ucase"}), frozenset({"lower", "lcase"})
#: Longer lists are evaluated by the function's own rule alone.
_MOST_OPTIONS = 100
#: A finite number as engines write it, with an exponent or without.
_NUMBER = re.compile(r"-?\d{1,38}(\.\d{1,38})?([eE][+-]?\d{1,3})?", re.ASCII)
_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)


def implied(node: HudiExpression, scope: Scope) -> Sequence[BoundExpression]:
    """Return conditions that are TRUE for every row for which the node is; often none."""
    try:
        return _implied(node, scope)
    except (UnboundError, NotComparableError):
        return ()


def _implied(node: HudiExpression, scope: Scope) -> Sequence[BoundExpression]:
    match node:
        case Comparison(op=Op.EQ | Op.NULL_SAFE_EQ, left=term, right=Literal() as literal):
            return _by_value(term, literal, scope)
        case Comparison(op=Op.EQ | Op.NULL_SAFE_EQ, left=Literal() as literal, right=term):
            return _by_value(term, literal, scope)
        case In(term=Call() | Cast() as term, options=options) if len(options) <= _MOST_OPTIONS:
            return _by_options(term, options, scope)
        case StartsWith(term=term, prefix=prefix):
            return _by_begin(term, prefix, scope)
        case Matches(term=term, begin=begin):
            letters = [letter or "\uffff" for letter in begin]
            known = "".join(letters).partition("\uffff")[0]
            return _by_begin(term, known, scope) if known else ()
    return ()


def _by_options(
    term: Call | Cast, options: Sequence[Term], scope: Scope
) -> Sequence[BoundExpression]:
    found = []
    for option in options:
        if not isinstance(option, Literal):
            return ()
        if option.value is None:
            continue  # NULL is not TRUE
        implications = _by_value(term, option, scope)
        if not implications:
            return ()
        found.append(conjunction(implications))
    return [disjunction(found)] if found else ()


def _by_value(term: Term, literal: Literal, scope: Scope) -> Sequence[BoundExpression]:
    text = literal.value
    if literal.type != pa.string() or text is None:
        return ()
    match term:
        case Call():
            return _by_begin(term, text, scope)
        case Cast(term=inner, type=type_) if type_ == pa.string():
            return _by_number(inner, text, scope)
    return ()


def _by_begin(term: Term, text: str, scope: Scope) -> Sequence[BoundExpression]:
    """Return conditions on a text whose upper or lower case has this beginning.

    After ASCII letters any text may follow.
    """
    match term:
        case Call(name=name, args=(inner,)) if name in _UPPER or name in _LOWER:
            # Imported on use: few predicates have these functions.
            from pyhudi_expr.expr.functions.texts import cased

            begin = cased(text, up=name in _UPPER)
        case _:
            return ()
    bound = bind_term(inner, scope)
    is_plain = not isinstance(bound, BoundColumn) or bound.char is None
    if not begin or not is_plain or bound.domain.kind is not Kind.TEXT:
        return ()
    return [BoundMatches(bound, begin, whole=False)]


def _by_number(term: Term, text: str, scope: Scope) -> Sequence[BoundExpression]:
    """Return conditions on a number that some engine writes as this text."""
    if not _NUMBER.fullmatch(text):
        return ()
    domain = bind_term(term, scope).domain
    if domain.kind is Kind.DECIMAL:
        literal = _decimal(text)
        return () if literal is None else [compare(Op.EQ, term, literal, scope)]
    if domain.kind is Kind.INTEGER and _INTEGER.fullmatch(text):
        return [compare(Op.EQ, term, Literal(int(text), pa.int64()), scope)]
    if domain.kind is Kind.FLOAT and domain.bits == 64:
        return [compare(Op.EQ, term, Literal(float(text), pa.float64()), scope)]
    if domain.kind is Kind.FLOAT:
        # The text need not be the shortest one: it may stand for a neighbour of the nearest double.
        nearest = np.float32(text)
        with np.errstate(over="ignore"):  # beside the greatest one is an infinity
            ends = [np.nextafter(nearest, np.float32(side)) for side in (-np.inf, np.inf)]
        low, high = (Literal(float(end), pa.float32()) for end in ends)
        return [compare(Op.LTEQ, low, term, scope), compare(Op.LTEQ, term, high, scope)]
    return ()


def _decimal(text: str) -> Literal | None:
    """Return the number as a decimal literal, if it has at most 38 digits."""
    number = Decimal(text)
    scale = max(0, -int(number.as_tuple().exponent))
    digits = max(number.adjusted() + 1, 0) + scale
    if max(digits, scale) > MAX_DIGITS:
        return None
    return Literal(number, pa.decimal128(max(digits, 1), scale))

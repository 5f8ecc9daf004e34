"""Write expressions as pyarrow's, for datasets and tables."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial, reduce
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
#: The `Call` of an instant and a zone, as the wall clock that the zone shows.
IN_ZONE = "in zone"
#: The `Call` of a wall clock as its date.
DATE_OF = "date of"
#: The `Call` of an integer and a positive literal, as what a division leaves.
REMAINDER = "remainder"
#: The `Call` of a text, the position of its first letter from 0, and that after its last one.
SLICE = "slice"
_CHAIN = 64
#: An overflow is an error, as no engine's rule for it is known here.
_ARITHMETIC = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_DAYS_OF_400_YEARS = 146_097


def _year(clock: pc.Expression) -> pc.Expression:
    """Return the year of a wall clock or a day: `pyarrow.compute.year` has 16 bits for it."""
    days = clock.cast(pa.date32(), safe=False).cast(pa.int32()).cast(pa.int64())
    cycles = pc.divide(days, _DAYS_OF_400_YEARS)
    within = pc.subtract(days, pc.multiply(cycles, _DAYS_OF_400_YEARS))
    day = within.cast(pa.int32()).cast(pa.date32())
    return pc.add(pc.year(day), pc.multiply(cycles, 400))


#: Of texts, by Unicode's rules, and of the wall clocks of dates and times.
_FUNCTIONS: Mapping[str, Callable[[pc.Expression], pc.Expression]] = {
    **dict.fromkeys(("lower", "lcase"), pc.utf8_lower),
    **dict.fromkeys(("upper", "ucase"), pc.utf8_upper),
    **dict.fromkeys(("length", "char_length", "character_length"), pc.utf8_length),
    "trim": partial(pc.utf8_trim, characters=" "),
    "ltrim": partial(pc.utf8_ltrim, characters=" "),
    "rtrim": partial(pc.utf8_rtrim, characters=" "),
    "year": _year,
    "month": pc.month,
    **dict.fromkeys(("day", "dayofmonth"), pc.day),
    "hour": pc.hour,
    "minute": pc.minute,
    "second": pc.second,
    DATE_OF: lambda clock: clock.cast(pa.date32(), safe=False),
    "abs": pc.abs_checked,
    "-": pc.negate_checked,
}


class InexpressibleInArrowError(ValueError):
    """pyarrow has no equivalent; the message says for what."""


def to_arrow(expression: HudiExpression, *, is_in: bool = False) -> pc.Expression:
    """Return a pyarrow expression with the same truth values, by Kleene's logic.

    Arrow compares NaN as IEEE 754 does, except for isnan() and <=> NaN. It casts the options of IN
    to the term's type: give them that type (`pyhudi_expr.rows.arrow_filter` does, by a schema).

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
            case e.Matches(term=term, begin=begin, whole=whole):
                letters = ("." if one is None else re.escape(one) for one in begin)
                return self._matches(term, "".join(letters) + ("" if whole else ".*"))
            case e.Unknown(pattern=e.TextPattern(term=term, regex=regex)):
                return self._matches(term, regex)
        raise InexpressibleInArrowError(f"what is known in part: {expression!s:.200}")

    def _matches(self, term: Term, regex: str) -> pc.Expression:
        return pc.match_substring_regex(self._term(term), rf"(?s)\A(?:{regex})\z")

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
            found = term.isin(pa.array(list(map(scalar, values)), values[0].type))  # type: ignore[type-var]
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
                return pc.scalar(scalar(term))
            case e.Call(name=name, args=(left, right)) if name in _ARITHMETIC:
                return _ARITHMETIC[name](self._term(left), self._term(right))
            case e.Call(name=name, args=(arg,)) if name == TO_DOUBLE:
                return self._term(arg).cast(pa.float64(), safe=False)
            case e.Call(name=name, args=(arg,)) if name in _FUNCTIONS:
                return _FUNCTIONS[name](self._term(arg))
            case e.Call(name=name, args=(arg, e.Literal(value=str() as zone))) if name == IN_ZONE:
                return pc.local_timestamp(self._term(arg).cast(pa.timestamp("us", zone)))
            case e.Call(name=name, args=(arg, e.Literal() as divisor)) if name == REMAINDER:
                value, by = self._term(arg), self._term(divisor)
                return pc.subtract(value, pc.multiply(pc.divide(value, by), by))
            case e.Call(
                name=name, args=(arg, e.Literal(value=int() as start), e.Literal(value=stop))
            ) if name == SLICE:
                return pc.utf8_slice_codeunits(self._term(arg), start, stop)
            case e.Call(name="coalesce", args=args):
                return pc.coalesce(*map(self._term, args))
            case e.Call(name="concat" | "||", args=args):
                texts = (*map(self._term, args), pc.scalar(""))
                return pc.binary_join_element_wise(*texts, null_handling="emit_null")
            case e.Case(branches=branches, otherwise=otherwise):
                shown = self._term(otherwise)
                for when, then in reversed(branches):
                    condition = pc.coalesce(self.predicate(when), pc.scalar(False))
                    shown = pc.if_else(condition, self._term(then), shown)
                return shown
            case e.Call(name=name):
                raise InexpressibleInArrowError(f"{name}() follows the rules of an engine")
            case e.Cast(type=type_):
                raise InexpressibleInArrowError(
                    f"CAST(... AS {type_}) follows the rules of an engine"
                )
            case e.InZone(zone=zone):
                raise InexpressibleInArrowError(f"a part has a zone of its own, {zone.name}")


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


def scalar(literal: e.Literal) -> AnyScalar:
    """Return a constant of Arrow. Raises InexpressibleInArrowError for char and varchar."""
    type_, value = literal.type, literal.value
    if isinstance(type_, CharType):
        raise InexpressibleInArrowError("char and varchar")
    if value is None:
        return pa.scalar(None, type_)
    if pa.types.is_temporal(type_):
        bits: Any = pa.int32() if type_.bit_width == 32 else pa.int64()
        return pa.scalar(value, bits).cast(type_)
    return pa.scalar(Decimal(value) if pa.types.is_decimal(type_) else value, type_)

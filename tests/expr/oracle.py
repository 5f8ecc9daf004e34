"""An independent evaluation of predicates: row by row, in plain Python, as each engine would.

The engines differ where SQL leaves room: NaN, numbers of different types, overflow, calendars,
zones, padding. An `Engine` is one combination of such choices. A file may be excluded only if its
rows agree under every one of them. `truths` shares only the nodes with the code under test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa

from pyhudi_expr.expr.nodes import (
    And,
    Between,
    Call,
    Case,
    Cast,
    CharType,
    Column,
    Comparison,
    Constant,
    HudiExpression,
    In,
    IsNull,
    Literal,
    Matches,
    Not,
    Op,
    Or,
    StartsWith,
    Term,
    Truth,
    walk,
)
from tests.expr.oracle_comparisons import ANYTHING, Truths, comparison, in_of, listed
from tests.expr.oracle_engines import (
    Engine,
    Table,
    UndefinedError,
    Value,
    bits_of,
    is_number,
    is_text,
)
from tests.expr.oracle_functions import call
from tests.expr.oracle_time_functions import to_date, to_text
from tests.expr.oracle_times import units
from tests.expr.oracle_values import OutOfScopeError, Typed


def value_of(term: Term, row: Mapping[str, Any], table: Table, engine: Engine) -> Literal:
    """The value of a term for a row. Raises UndefinedError."""
    found = _term(term, row, table, engine)
    return Literal(found.value, found.type)


def truths(node: HudiExpression, row: Mapping[str, Any], table: Table, engine: Engine) -> Truths:
    """The possible truth values of `node` for a row (dotted column name to stored value)."""
    try:
        return _truths(node, row, table, engine)
    except UndefinedError:
        never_null = isinstance(node, IsNull) or getattr(node, "op", None) is Op.NULL_SAFE_EQ
        return ANYTHING - {None} if never_null else ANYTHING


def is_modelled(node: HudiExpression, row: Mapping[str, Any], table: Table, engine: Engine) -> bool:
    """Whether the oracle supports the values that the conditions of `node` compare."""
    conditions = (Comparison, Between, In, IsNull, Matches, StartsWith)
    try:
        for leaf in walk(node):
            if isinstance(leaf, conditions):
                _truths(leaf, row, table, engine)
    except UndefinedError:
        return False
    return True


def _truths(node: HudiExpression, row: Mapping[str, Any], table: Table, engine: Engine) -> Truths:
    def value(term: Term) -> Value:
        return _term(term, row, table, engine)

    match node:
        case And(children=nodes):
            return _combined(_all, [truths(child, row, table, engine) for child in nodes])
        case Or(children=nodes):
            return _combined(_any, [truths(child, row, table, engine) for child in nodes])
        case Not(child=child):
            inner = truths(child, row, table, engine)
            return frozenset(None if truth is None else not truth for truth in inner)
        case Constant(truth=truth):
            pairs = ((Truth.YES, True), (Truth.NO, False), (Truth.NULL, None))
            return frozenset(given for flag, given in pairs if flag in truth)
        case Comparison(op=op, left=left, right=right):
            return frozenset({comparison(op, value(left), value(right), table, engine)})
        case Between(term=term, low=low, high=high):
            middle, ends = value(term), [value(low), value(high)]
            middle, *ends = listed(middle, ends, engine)
            return _combined(
                _all,
                [
                    frozenset({comparison(Op.GTEQ, middle, ends[0], table, engine)}),
                    frozenset({comparison(Op.LTEQ, middle, ends[1], table, engine)}),
                ],
            )
        case In(term=term, options=options):
            return in_of(value(term), [value(option) for option in options], table, engine)
        case IsNull(term=term) if isinstance(term, Term):
            return frozenset({value(term).value is None})
        case IsNull(term=condition):
            inner = truths(condition, row, table, engine)
            return frozenset(truth is None for truth in inner)
        case Matches(term=term, begin=begin, whole=whole):
            text = value(term).value
            if text is None:
                return frozenset({None})
            if not isinstance(text, str):
                raise UndefinedError
            same = all(expected in (None, one) for expected, one in zip(begin, text, strict=False))
            fits = len(text) == len(begin) if whole else len(text) >= len(begin)
            return frozenset({True, False, None} if same and fits else {False})
        case StartsWith(term=term, prefix=prefix):
            found = value(term)
            if not is_text(found) or isinstance(found.type, CharType):
                raise UndefinedError
            return frozenset({None if found.value is None else found.value.startswith(prefix)})
    raise UndefinedError


def _all(values: tuple[bool | None, ...]) -> bool | None:
    return False if False in values else None if None in values else True


def _any(values: tuple[bool | None, ...]) -> bool | None:
    return True if True in values else None if None in values else False


def _combined(
    connective: Callable[[tuple[bool | None, ...]], bool | None], parts: list[Truths]
) -> Truths:
    return frozenset(connective(values) for values in product(*parts))


def _term(term: Term, row: Mapping[str, Any], table: Table, engine: Engine) -> Value:
    match term:
        case Literal(value=value, type=type_):
            return Value(value, type_)
        case Column(path=path, declared=declared):
            name = ".".join(path)
            if name not in table.types:
                raise UndefinedError
            type_ = declared if isinstance(declared, CharType) else table.types[name]
            return Value(_as_read(row[name], type_, engine), type_, stored=True)
        case Cast(term=inner, type=target):
            return _cast(_term(inner, row, table, engine), target, engine, table)
        case Call(name="coalesce", args=args):
            results = [_term(arg, row, table, engine) for arg in args]
            given = [result.value for result in results if result.value is not None]
            return _chosen(given[0] if given else None, results)
        case Case():
            return _case(term, row, table, engine)
        case Call(name=name, args=args):
            return _call(name, [_term(arg, row, table, engine) for arg in args], engine, table)
    raise UndefinedError


def _case(term: Case, row: Mapping[str, Any], table: Table, engine: Engine) -> Value:
    results = [_term(result, row, table, engine) for _, result in term.branches]
    results.append(_term(term.otherwise, row, table, engine))
    for (condition, _), result in zip(term.branches, results, strict=False):
        found = truths(condition, row, table, engine)
        if found == {True}:
            return _chosen(result.value, results)
        if True in found:
            raise UndefinedError
    return _chosen(results[-1].value, results)


def _chosen(value: Any, results: list[Value]) -> Value:
    """The type that an engine uses for several results."""
    types = {result.type for result in results if not pa.types.is_null(result.type)}
    if len(types) == 1:
        return Value(value, types.pop())
    if any(isinstance(type_, CharType) for type_ in types):
        raise UndefinedError
    if pa.float64() in types and all(map(is_number, results)):
        return Value(None if value is None else float(value), pa.float64())
    if all(map(pa.types.is_integer, types)):
        return Value(value, max(types, key=bits_of))
    raise UndefinedError


def _as_read(value: Any, type_: pa.DataType | CharType, engine: Engine) -> Any:
    if value is None:
        return None
    if isinstance(type_, CharType):
        return value[: type_.length]
    if engine.hybrid_calendar and (pa.types.is_date(type_) or pa.types.is_timestamp(type_)):
        day = 1 if pa.types.is_date(type_) else 86_400 * units(type_)
        return _gregorian_day_of_julian_label(value // day) * day + value % day
    return value


def _gregorian_day_of_julian_label(day: int) -> int:
    """Relabels an early day (epoch days): the proleptic Gregorian day with its Julian label."""
    if day >= -141_427:
        return day
    # Julian years that begin in March, counted from 1 March of year 0.
    since = day + 719_470
    cycle, rest = divmod(since, 1_461)
    year_of_cycle = min(rest // 365, 3)
    day_of_year = rest - 365 * year_of_cycle
    year = 4 * cycle + year_of_cycle
    return 365 * year + year // 4 - year // 100 + year // 400 + day_of_year - 719_468


def _wrapped(value: int, bits: int, engine: Engine) -> int | None:
    wrapped = (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
    return None if wrapped != value and engine.overflow == "null" else wrapped


def _cast(source: Value, target: pa.DataType | CharType, engine: Engine, table: Table) -> Value:
    value, type_ = source.value, source.type
    if isinstance(type_, CharType) or isinstance(target, CharType):
        raise UndefinedError
    result: Any
    if type_ == target:
        result = value
    elif pa.types.is_integer(type_) and pa.types.is_integer(target):
        result = value if value is None else _wrapped(value, bits_of(target), engine)
    elif pa.types.is_integer(type_) and pa.types.is_float64(target):
        result = value if value is None else float(value)
    elif pa.types.is_integer(type_) and pa.types.is_decimal(target):
        fits = value is not None and abs(value) < 10 ** (target.precision - target.scale)
        result = Decimal(value) if fits else None
    elif pa.types.is_float32(type_) and pa.types.is_float64(target):
        result = value
    elif pa.types.is_date(type_) and pa.types.is_timestamp(target) and target.tz is None:
        result = value if value is None else value * 86_400 * units(target)
    elif value is None:
        result = None
    elif pa.types.is_date(target) and pa.types.is_timestamp(type_):
        return _modelled(lambda: to_date(Typed(value, type_), engine.function_options(table)))
    elif pa.types.is_string(target) and not pa.types.is_boolean(type_):
        return _modelled(lambda: to_text(Typed(value, type_), engine.function_options(table)))
    elif pa.types.is_decimal(type_) and pa.types.is_integer(target):
        fits = -(2 ** (bits_of(target) - 1)) <= int(value) < 2 ** (bits_of(target) - 1)
        result = int(value) if fits else None
    elif pa.types.is_decimal(type_) and pa.types.is_float64(target):
        result = float(value)
    elif pa.types.is_floating(type_) and pa.types.is_integer(target):
        if not math.isfinite(value) or not -(2 ** (bits_of(target) - 1)) <= int(value) < 2 ** (
            bits_of(target) - 1
        ):
            raise UndefinedError
        result = int(value)
    else:
        raise UndefinedError
    return Value(result, target)


#: Functions fail in many ways for types that they do not accept.
_UNMODELLED = (OutOfScopeError, ArithmeticError, ValueError, TypeError, AttributeError, KeyError)


def _modelled(function: Callable[[], Typed]) -> Value:
    try:
        found = function()
    except _UNMODELLED as error:
        raise UndefinedError from error
    return Value(found.value, found.type)


def _call(name: str, args: list[Value], engine: Engine, table: Table) -> Value:
    if any(isinstance(arg.type, CharType) for arg in args):
        raise UndefinedError
    typed = [Typed(arg.value, arg.type) for arg in args]
    return _modelled(lambda: call(name, typed, engine.function_options(table)))

"""An independent reading of predicates: row by row, in plain Python, as each engine would.

The engines differ where SQL leaves room: NaN, numbers of unlike types, overflow, calendars, zones,
padding. An `Engine` is one combination of such choices, and a file may be excluded only if its
rows agree under every one of them. `truths` shares nothing with the code under test but the nodes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
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
from tests.expr.oracle_functions import (
    Habits,
    OutOfScopeError,
    Typed,
    call,
    to_date,
    to_text,
)

#: The truth values that a row may give; None is NULL.
Truths = frozenset[bool | None]
ANYTHING: Truths = frozenset({True, False, None})


@dataclass(frozen=True)
class Engine:
    """One way to read what SQL leaves open.

    nan_is_greatest: NaN equals NaN and is above all; else a comparison with NaN is FALSE.
    numbers: a float and a number of another type meet as "double", as the "common" type (float32
        if no double takes part), or "exact".
    narrows: a literal becomes float32 before it meets a float32 column.
    lists: IN and BETWEEN convert all their operands to one common type.
    hashed_in: IN looks options up by their bits, so -0.0 is not among (0.0).
    text_in: IN compares dates and times with text options as text.
    overflow: integers "wrap", or give "null".
    dates: a date column meets a timestamp literal as "timestamp" or as "date".
    hybrid_calendar: days before 1582-10-15 keep their Julian label.
    wall_clock: instants are shown, and compared, as the zone's wall clock.
    char: a char meets a string with "both" sides stripped of trailing spaces, with the char
        "itself" stripped, or with the shorter side "padded".
    """

    name: str
    nan_is_greatest: bool
    numbers: str
    narrows: bool = False
    lists: bool = False
    hashed_in: bool = False
    text_in: bool = False
    overflow: str = "wrap"
    dates: str = "timestamp"
    hybrid_calendar: bool = False
    wall_clock: bool = False
    char: str = "both"

    def habits(self, table: Table) -> Habits:
        """How it computes functions."""
        return Habits(
            table.zone,
            units=self.hashed_in,
            turkish=self.lists,
            keeps_last_day=self.wall_clock,
            skips_nulls=self.text_in,
            wraps=self.overflow == "wrap",
            from_wall=self.wall_clock,
        )


ENGINES = (
    Engine("Hive, vectorised", False, "double", wall_clock=True, hybrid_calendar=True),
    Engine(
        "Hive, row by row",
        True,
        "common",
        lists=True,
        hashed_in=True,
        wall_clock=True,
        char="itself",
    ),
    Engine("Spark", True, "common", lists=True, text_in=True, char="padded"),
    Engine("exact", False, "exact", narrows=True, overflow="null", dates="date"),
)


@dataclass(frozen=True)
class Table:
    """What a row's values mean. types: stored type of each dotted column name."""

    types: Mapping[str, pa.DataType]
    zone: str | None = None


class UndefinedError(Exception):
    """The engines agree on nothing here, so a row may give anything."""


@dataclass(frozen=True)
class _Value:
    value: Any
    type: pa.DataType | CharType
    stored: bool = False  # a column's own value, as opposed to a literal or a result


def value_of(term: Term, row: Mapping[str, Any], table: Table, engine: Engine) -> Literal:
    """What a term gives for a row. Raises UndefinedError."""
    found = _term(term, row, table, engine)
    return Literal(found.value, found.type)


def truths(node: HudiExpression, row: Mapping[str, Any], table: Table, engine: Engine) -> Truths:
    """The truth values that `node` may give for a row (dotted column name to stored value)."""
    try:
        return _truths(node, row, table, engine)
    except UndefinedError:
        never_null = isinstance(node, IsNull) or getattr(node, "op", None) is Op.NULL_SAFE_EQ
        return ANYTHING - {None} if never_null else ANYTHING


def is_modelled(node: HudiExpression, row: Mapping[str, Any], table: Table, engine: Engine) -> bool:
    """Whether the oracle knows the values that the conditions of `node` compare."""
    conditions = (Comparison, Between, In, IsNull, Matches, StartsWith)
    try:
        for leaf in walk(node):
            if isinstance(leaf, conditions):
                _truths(leaf, row, table, engine)
    except UndefinedError:
        return False
    return True


def _truths(node: HudiExpression, row: Mapping[str, Any], table: Table, engine: Engine) -> Truths:
    def value(term: Term) -> _Value:
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
            return frozenset({_comparison(op, value(left), value(right), table, engine)})
        case Between(term=term, low=low, high=high):
            middle, ends = value(term), [value(low), value(high)]
            middle, *ends = _listed(middle, ends, engine)
            return _combined(
                _all,
                [
                    frozenset({_comparison(Op.GTEQ, middle, ends[0], table, engine)}),
                    frozenset({_comparison(Op.LTEQ, middle, ends[1], table, engine)}),
                ],
            )
        case In(term=term, options=options):
            return _in(value(term), [value(option) for option in options], table, engine)
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
            same = all(wanted in (None, one) for wanted, one in zip(begin, text, strict=False))
            fits = len(text) == len(begin) if whole else len(text) >= len(begin)
            return frozenset({True, False, None} if same and fits else {False})
        case StartsWith(term=term, prefix=prefix):
            found = value(term)
            if not _is_text(found) or isinstance(found.type, CharType):
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


# Terms


def _term(term: Term, row: Mapping[str, Any], table: Table, engine: Engine) -> _Value:
    match term:
        case Literal(value=value, type=type_):
            return _Value(value, type_)
        case Column(path=path, declared=declared):
            name = ".".join(path)
            if name not in table.types:
                raise UndefinedError
            type_ = declared if isinstance(declared, CharType) else table.types[name]
            return _Value(_as_read(row[name], type_, engine), type_, stored=True)
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


def _case(term: Case, row: Mapping[str, Any], table: Table, engine: Engine) -> _Value:
    results = [_term(result, row, table, engine) for _, result in term.branches]
    results.append(_term(term.otherwise, row, table, engine))
    for (condition, _), result in zip(term.branches, results, strict=False):
        found = truths(condition, row, table, engine)
        if found == {True}:
            return _chosen(result.value, results)
        if True in found:
            raise UndefinedError
    return _chosen(results[-1].value, results)


def _chosen(value: Any, results: list[_Value]) -> _Value:
    """One of several results, in the type that an engine finds for all of them."""
    types = {result.type for result in results if not pa.types.is_null(result.type)}
    if len(types) == 1:
        return _Value(value, types.pop())
    if any(isinstance(type_, CharType) for type_ in types):
        raise UndefinedError
    if pa.float64() in types and all(map(_is_number, results)):
        return _Value(None if value is None else float(value), pa.float64())
    if all(map(pa.types.is_integer, types)):
        return _Value(value, max(types, key=_bits))
    raise UndefinedError


def _as_read(value: Any, type_: pa.DataType | CharType, engine: Engine) -> Any:
    if value is None:
        return None
    if isinstance(type_, CharType):
        return value[: type_.length]
    if engine.hybrid_calendar and (pa.types.is_date(type_) or pa.types.is_timestamp(type_)):
        day = 1 if pa.types.is_date(type_) else 86_400 * _units(type_)
        return _gregorian_day_of_julian_label(value // day) * day + value % day
    return value


def _gregorian_day_of_julian_label(day: int) -> int:
    """The proleptic Gregorian day that carries the Julian label of an early day (epoch days)."""
    if day >= -141_427:
        return day
    # The Julian calendar in years that begin in March, from 1 March of year 0.
    since = day + 719_470
    cycle, rest = divmod(since, 1_461)
    year_of_cycle = min(rest // 365, 3)
    day_of_year = rest - 365 * year_of_cycle
    year = 4 * cycle + year_of_cycle
    return 365 * year + year // 4 - year // 100 + year // 400 + day_of_year - 719_468


def _bits(type_: pa.DataType) -> int:
    return int(type_.bit_width)


def _wrapped(value: int, bits: int, engine: Engine) -> int | None:
    wrapped = (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
    return None if wrapped != value and engine.overflow == "null" else wrapped


def _cast(source: _Value, target: pa.DataType | CharType, engine: Engine, table: Table) -> _Value:
    value, type_ = source.value, source.type
    if isinstance(type_, CharType) or isinstance(target, CharType):
        raise UndefinedError
    result: Any
    if type_ == target:
        result = value
    elif pa.types.is_integer(type_) and pa.types.is_integer(target):
        result = value if value is None else _wrapped(value, _bits(target), engine)
    elif pa.types.is_integer(type_) and pa.types.is_float64(target):
        result = value if value is None else float(value)
    elif pa.types.is_integer(type_) and pa.types.is_decimal(target):
        fits = value is not None and abs(value) < 10 ** (target.precision - target.scale)
        result = Decimal(value) if fits else None
    elif pa.types.is_float32(type_) and pa.types.is_float64(target):
        result = value
    elif pa.types.is_date(type_) and pa.types.is_timestamp(target) and target.tz is None:
        result = value if value is None else value * 86_400 * _units(target)
    elif value is None:
        result = None
    elif pa.types.is_date(target) and pa.types.is_timestamp(type_):
        return _modelled(lambda: to_date(Typed(value, type_), engine.habits(table)))
    elif pa.types.is_string(target) and not pa.types.is_boolean(type_):
        return _modelled(lambda: to_text(Typed(value, type_), engine.habits(table)))
    elif pa.types.is_decimal(type_) and pa.types.is_integer(target):
        fits = -(2 ** (_bits(target) - 1)) <= int(value) < 2 ** (_bits(target) - 1)
        result = int(value) if fits else None
    elif pa.types.is_decimal(type_) and pa.types.is_float64(target):
        result = float(value)
    elif pa.types.is_floating(type_) and pa.types.is_integer(target):
        if not math.isfinite(value) or not -(2 ** (_bits(target) - 1)) <= int(value) < 2 ** (
            _bits(target) - 1
        ):
            raise UndefinedError
        result = int(value)
    else:
        raise UndefinedError
    return _Value(result, target)


#: Functions of types that they do not take fail in many ways.
_UNMODELLED = (OutOfScopeError, ArithmeticError, ValueError, TypeError, AttributeError, KeyError)


def _modelled(function: Callable[[], Typed]) -> _Value:
    try:
        found = function()
    except _UNMODELLED as error:
        raise UndefinedError from error
    return _Value(found.value, found.type)


def _call(name: str, args: list[_Value], engine: Engine, table: Table) -> _Value:
    if any(isinstance(arg.type, CharType) for arg in args):
        raise UndefinedError
    typed = [Typed(arg.value, arg.type) for arg in args]
    return _modelled(lambda: call(name, typed, engine.habits(table)))


# Comparisons


def _comparison(op: Op, left: _Value, right: _Value, table: Table, engine: Engine) -> bool | None:
    if left.value is None or right.value is None:
        if op is Op.NULL_SAFE_EQ:
            return left.value is None and right.value is None
        return None
    equal, less = _compared(left, right, table, engine)
    match op:
        case Op.EQ | Op.NULL_SAFE_EQ:
            return equal
        case Op.NE:
            return not equal
        case Op.LT:
            return less
        case Op.LTEQ:
            return less or equal
    equal, less = _compared(right, left, table, engine)
    return less if op is Op.GT else less or equal


def _in(term: _Value, options: list[_Value], table: Table, engine: Engine) -> Truths:
    if term.value is None:
        return frozenset({None} if options else {None, False})
    term, *rest = _listed(term, [option for option in options if option.value is not None], engine)
    found = [_member(term, option, table, engine) for option in rest]
    if True in found:
        return frozenset({True})
    return frozenset({None if len(found) < len(options) else False})


def _member(term: _Value, option: _Value, table: Table, engine: Engine) -> bool:
    if engine.text_in and _is_temporal(term) and _is_text(option):
        _compared(term, option, table, engine)
        return _text_of(term, table) == option.value
    same = _compared(term, option, table, engine)[0]
    if engine.hashed_in and same and term.value == 0 and isinstance(term.value, float):
        return math.copysign(1, term.value) == math.copysign(1, float(option.value))
    return same


def _listed(term: _Value, others: list[_Value], engine: Engine) -> list[_Value]:
    """The operands of IN or BETWEEN, as one common type where the engine wants that."""
    operands = [term, *others]
    types = [operand.type for operand in operands if not isinstance(operand.type, CharType)]
    floats = [type_ for type_ in types if pa.types.is_floating(type_)]
    if not engine.lists or not floats or not all(_is_number(operand) for operand in operands):
        return operands
    widest = max(floats, key=_bits)
    return [
        _Value(None if operand.value is None else _nearest(operand.value, _bits(widest)), widest)
        for operand in operands
    ]


def _compared(left: _Value, right: _Value, table: Table, engine: Engine) -> tuple[bool, bool]:
    """Whether ``left = right``, and whether ``left < right``."""
    a: Any = left.value
    b: Any = right.value
    if _is_number(left) and _is_number(right):
        a, b = _numbers(left, right, engine)
        if math.isnan(a) or math.isnan(b):
            if not engine.nan_is_greatest:
                return False, False
            a, b = math.isnan(a), math.isnan(b)
        return a == b, a < b
    if _is_text(left) and _is_text(right):
        a, b = (text.encode() for text in _texts(left, right, engine))
        return a == b, a < b
    if _is_temporal(left) or _is_temporal(right):
        a, b = _moments(left, right, table, engine)
        return a == b, a < b
    if left.type == right.type:
        return a == b, a < b
    for number, text in ((left, right), (right, left)):
        if _is_integer(number) and _is_text(text) and _fits(str(text.value), number.type):
            return int(a) == int(b), int(a) < int(b)
    raise UndefinedError


def _is_integer(operand: _Value) -> bool:
    return not isinstance(operand.type, CharType) and pa.types.is_integer(operand.type)


def _fits(text: str, type_: pa.DataType) -> bool:
    """Whether engines agree on the text as an integer of the type."""
    limit = 2 ** (type_.bit_width - 1)
    return bool(re.fullmatch(r"0|-?[1-9]\d{0,14}", text)) and -limit <= int(text) < limit


def _is_number(operand: _Value) -> bool:
    if isinstance(operand.type, CharType):
        return False
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(test(operand.type) for test in tests)


def _is_text(operand: _Value) -> bool:
    return isinstance(operand.type, CharType) or pa.types.is_string(operand.type)


def _is_temporal(operand: _Value) -> bool:
    if isinstance(operand.type, CharType):
        return False
    return bool(pa.types.is_date(operand.type) or pa.types.is_timestamp(operand.type))


def _numbers(left: _Value, right: _Value, engine: Engine) -> tuple[Any, Any]:
    operands = [left, right]
    floats = [_bits(operand.type) for operand in operands if pa.types.is_floating(operand.type)]
    values = [
        operand.value if isinstance(operand.value, float) else Fraction(operand.value)
        for operand in operands
    ]
    if not floats:
        return values[0], values[1]
    if engine.narrows:
        for own, other in ((0, 1), (1, 0)):
            if operands[own].stored and pa.types.is_float32(operands[own].type):
                values[other] = _nearest(values[other], 32)
    if engine.numbers != "exact":
        bits = 64 if engine.numbers == "double" else max(floats)
        values = [_nearest(value, bits) for value in values]
    return values[0], values[1]


def _nearest(value: Any, bits: int) -> float:
    """The float of that width nearest to an exact number, ties to even."""
    if isinstance(value, float) and (bits == 64 or not math.isfinite(value)):
        return value
    exact = Fraction(value)
    double = float(exact)
    if bits == 64:
        return double
    with np.errstate(over="ignore"):
        middle = np.float32(double)
        near = [
            middle,
            np.nextafter(middle, np.float32(-math.inf)),
            np.nextafter(middle, np.float32(math.inf)),
        ]
    finite = [single for single in near if np.isfinite(single)]
    if not np.isfinite(middle):
        # Beyond the midpoint between the greatest float32 and its missing successor.
        beyond = abs(exact) >= Fraction(2**128 - 2**103)
        return math.copysign(math.inf, double) if beyond else float(finite[0])

    def distance(single: Any) -> tuple[Fraction, int]:
        return abs(Fraction(float(single)) - exact), int(single.view(np.int32)) & 1

    nearest = min(finite, key=distance)
    return math.copysign(math.inf, double) if abs(exact) >= 2**128 - 2**103 else float(nearest)


def _texts(left: _Value, right: _Value, engine: Engine) -> tuple[str, str]:
    operands = (left, right)
    chars = [isinstance(op.type, CharType) and op.type.padded for op in operands]
    a, b = left.value, right.value
    if not any(chars):
        return a, b
    if engine.char == "both":
        return a.rstrip(" "), b.rstrip(" ")
    if engine.char == "itself":
        return a.rstrip(" ") if chars[0] else a, b.rstrip(" ") if chars[1] else b
    width = max(len(a), len(b))
    return a.ljust(width), b.ljust(width)


# Dates and times


def _units(type_: pa.DataType) -> int:
    return {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[type_.unit]


def _moments(
    left: _Value, right: _Value, table: Table, engine: Engine
) -> tuple[Fraction, Fraction]:
    """Two moments on one clock, in seconds."""
    kinds = _clock(left), _clock(right)
    seconds = [_seconds(left), _seconds(right)]
    if "instant" not in kinds:
        if engine.dates == "date":
            for own, other in ((left, 1), (right, 0)):
                if own.stored and _clock(own) == "date" and not (left, right)[other].stored:
                    seconds[other] = seconds[other] // 86_400 * 86_400
        return seconds[0], seconds[1]
    if kinds == ("instant", "instant"):
        both_stored = left.stored and right.stored
        if both_stored and engine.wall_clock and table.zone is not None:
            return _shown(seconds[0], table.zone), _shown(seconds[1], table.zone)
        return seconds[0], seconds[1]
    instant = left if kinds[0] == "instant" else right
    if not instant.stored or table.zone is None:
        raise UndefinedError
    shown = kinds.index("instant")
    if engine.wall_clock:
        seconds[shown] = _shown(seconds[shown], table.zone)
    else:
        seconds[1 - shown] = _instant_of(seconds[1 - shown], table.zone)
    return seconds[0], seconds[1]


def _clock(operand: _Value) -> str:
    if _is_text(operand):
        return "text"
    if not _is_temporal(operand):
        raise UndefinedError
    if pa.types.is_date(operand.type):
        return "date"
    return "instant" if operand.type.tz else "wall"


_EPOCH = datetime(1970, 1, 1)


def _seconds(operand: _Value) -> Fraction:
    match _clock(operand):
        case "text":
            return _parsed(operand.value)
        case "date":
            return Fraction(operand.value * 86_400)
    return Fraction(operand.value, _units(operand.type))


def _parsed(text: str) -> Fraction:
    whole, _, fraction = text.partition(".")
    pattern = "%Y-%m-%d %H:%M:%S" if " " in whole else "%Y-%m-%d"
    try:
        moment = datetime.strptime(whole, pattern)
    except ValueError as error:
        raise UndefinedError from error
    return Fraction((moment - _EPOCH) // timedelta(seconds=1)) + Fraction(f"0.{fraction or 0}")


def _zone(name: str) -> Any:
    return timezone.utc if name == "UTC" else ZoneInfo(name)


def _shown(seconds: Fraction, zone: str) -> Fraction:
    """What the zone's wall clock shows at an instant."""
    try:
        moment = _EPOCH.replace(tzinfo=timezone.utc) + timedelta(seconds=math.floor(seconds))
        offset = moment.astimezone(_zone(zone)).utcoffset()
    except OverflowError as error:
        raise UndefinedError from error
    assert offset is not None
    return seconds + offset // timedelta(seconds=1)


def _instant_of(seconds: Fraction, zone: str) -> Fraction:
    """The earlier instant at which the wall clock shows the time; in a gap, as Java moves it."""
    try:
        wall = _EPOCH + timedelta(seconds=math.floor(seconds))
        offset = wall.replace(tzinfo=_zone(zone), fold=0).utcoffset()
    except OverflowError as error:
        raise UndefinedError from error
    assert offset is not None
    return seconds - offset // timedelta(seconds=1)


def _text_of(operand: _Value, table: Table) -> str | None:
    """A date or time as text, the shortest form; None beyond the years that have one."""
    seconds = _seconds(operand)
    if _clock(operand) == "instant":
        if table.zone is None:
            raise UndefinedError
        seconds = _shown(seconds, table.zone)
    try:
        moment = _EPOCH + timedelta(seconds=math.floor(seconds))
    except OverflowError:
        return None
    if _clock(operand) == "date":
        return moment.date().isoformat()
    nanos = int((seconds - math.floor(seconds)) * 10**9)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return moment.isoformat(sep=" ") + fraction

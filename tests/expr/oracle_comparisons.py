"""Comparisons of values, as each engine would make them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from pyhudi_expr.expr.nodes import CharType, Op
from tests.expr.oracle_engines import (
    Engine,
    Table,
    UndefinedError,
    Value,
    bits_of,
    fits_of,
    is_integer_of,
    is_number,
    is_temporal,
    is_text,
)
from tests.expr.oracle_times import moments_of, text_of

#: The possible truth values of a row; None is NULL.
Truths = frozenset[bool | None]
ANYTHING: Truths = frozenset({True, False, None})


def comparison(op: Op, left: Value, right: Value, table: Table, engine: Engine) -> bool | None:
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


def in_of(term: Value, options: list[Value], table: Table, engine: Engine) -> Truths:
    if term.value is None:
        return frozenset({None} if options else {None, False})
    term, *rest = listed(term, [option for option in options if option.value is not None], engine)
    found = [_member(term, option, table, engine) for option in rest]
    if True in found:
        return frozenset({True})
    return frozenset({None if len(found) < len(options) else False})


def _member(term: Value, option: Value, table: Table, engine: Engine) -> bool:
    if engine.text_in and is_temporal(term) and is_text(option):
        _compared(term, option, table, engine)
        return text_of(term, table) == option.value
    same = _compared(term, option, table, engine)[0]
    if engine.hashed_in and same and term.value == 0 and isinstance(term.value, float):
        return math.copysign(1, term.value) == math.copysign(1, float(option.value))
    return same


def listed(term: Value, others: list[Value], engine: Engine) -> list[Value]:
    """Converts the operands of IN or BETWEEN to a common type, if the engine does."""
    operands = [term, *others]
    types = [operand.type for operand in operands if not isinstance(operand.type, CharType)]
    floats = [type_ for type_ in types if pa.types.is_floating(type_)]
    if not engine.lists or not floats or not all(is_number(operand) for operand in operands):
        return operands
    widest = max(floats, key=bits_of)
    return [
        Value(None if operand.value is None else _nearest(operand.value, bits_of(widest)), widest)
        for operand in operands
    ]


def _compared(left: Value, right: Value, table: Table, engine: Engine) -> tuple[bool, bool]:
    """Returns ``left = right`` and ``left < right``."""
    a: Any = left.value
    b: Any = right.value
    if is_number(left) and is_number(right):
        a, b = _numbers(left, right, engine)
        if math.isnan(a) or math.isnan(b):
            if not engine.nan_is_greatest:
                return False, False
            a, b = math.isnan(a), math.isnan(b)
        return a == b, a < b
    if is_text(left) and is_text(right):
        a, b = (text.encode() for text in _texts(left, right, engine))
        return a == b, a < b
    if is_temporal(left) or is_temporal(right):
        a, b = moments_of(left, right, table, engine)
        return a == b, a < b
    if left.type == right.type:
        return a == b, a < b
    for number, text in ((left, right), (right, left)):
        if is_integer_of(number) and is_text(text) and fits_of(str(text.value), number.type):
            return int(a) == int(b), int(a) < int(b)
    raise UndefinedError


def _numbers(left: Value, right: Value, engine: Engine) -> tuple[Any, Any]:
    operands = [left, right]
    floats = [bits_of(operand.type) for operand in operands if pa.types.is_floating(operand.type)]
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


def _texts(left: Value, right: Value, engine: Engine) -> tuple[str, str]:
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

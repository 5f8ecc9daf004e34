"""Functions in plain Python, value by value, as each engine would compute them."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from tests.expr.oracle_time_functions import (
    add_months_of,
    date_trunc_of,
    day_of,
    difference,
    end_of_month,
    format,
    from_unixtime_of,
    integer,
    plus_interval,
    shift_of,
    trunc_of,
    unix,
)
from tests.expr.oracle_values import EXACT, FunctionOptions, OutOfScopeError, Typed, is_time


def call(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    """The function's value. Raises OutOfScopeError."""
    if name in ("greatest", "least"):
        return _extreme(name, args, function_options)
    found = _FUNCTIONS.get(name)
    if found is None:
        raise OutOfScopeError(name)
    if any(arg.value is None for arg in args):
        type_ = found(name, [_sample(arg.type) for arg in args], function_options).type
        return Typed(None, type_)
    try:
        return found(name, args, function_options)
    except (OverflowError, ValueError, ArithmeticError) as error:
        raise OutOfScopeError(str(error)) from error


def _sample(type_: pa.DataType) -> Typed:
    """Some value of the type, to find a result's type."""
    if pa.types.is_string(type_):
        return Typed("a", type_)
    if pa.types.is_decimal(type_):
        return Typed(Decimal(1), type_)
    return Typed(1.0 if pa.types.is_floating(type_) else 1, type_)


def _arithmetic(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    if is_time(args[0].type) and name in "+-" and len(args) == 2:
        return shift_of(name, args, function_options)
    if len(args) == 1:
        return _arithmetic("-", [Typed(0, pa.int8()), args[0]], function_options)
    types = [arg.type for arg in args]
    if all(map(pa.types.is_integer, types)):
        wider = max(types, key=lambda type_: type_.bit_width)
        exact = _operate(name, args[0].value, args[1].value)
        bits = wider.bit_width
        wrapped = (exact + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
        return Typed(wrapped if wrapped == exact or function_options.wraps else None, wider)
    if any(map(pa.types.is_floating, types)):
        with np.errstate(all="ignore"):
            floats = [np.float64(float(arg.value)) for arg in args]
            return Typed(float(_operate(name, *floats)), pa.float64())
    left, right = (_decimal(arg) for arg in args)
    exact = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply}[name](left, right)
    scales = [_digits(arg)[1] for arg in args]
    wholes = [_digits(arg)[0] - _digits(arg)[1] for arg in args]
    if name == "*":
        scale, precision = sum(scales), sum(_digits(arg)[0] for arg in args) + 1
    else:
        scale, precision = max(scales), max(wholes) + max(scales) + 1
    if precision > 38:
        raise OutOfScopeError("decimals are rounded")
    return Typed(exact, pa.decimal128(precision, scale))


def _operate(name: str, left: Any, right: Any) -> Any:
    return {"+": left + right, "-": left - right, "*": left * right}[name]


def _decimal(arg: Typed) -> Decimal:
    return arg.value if isinstance(arg.value, Decimal) else Decimal(arg.value)


def _digits(arg: Typed) -> tuple[int, int]:
    if pa.types.is_decimal(arg.type):
        return arg.type.precision, arg.type.scale
    return {8: 3, 16: 5, 32: 10, 64: 20}[arg.type.bit_width], 0


def _division(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    if any(pa.types.is_decimal(arg.type) for arg in args) and not any(
        pa.types.is_floating(arg.type) for arg in args
    ):
        dividend, divisor = (_decimal(arg) for arg in args)
        quotient = EXACT.divide(dividend, divisor) if divisor else None
        type_ = pa.decimal128(38, 6)
        return Typed(quotient and _places(quotient, 6), type_)
    left, right = (np.float64(float(arg.value)) for arg in args)
    if right == 0 and not function_options.skips_nulls:
        return Typed(None, pa.float64())
    with np.errstate(all="ignore"):
        return Typed(float(left / right), pa.float64())


def _places(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, EXACT)


def _sign(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    (arg,) = args
    if name == "abs" and not math.copysign(1, arg.value) < 0:
        return arg
    if isinstance(arg.value, float):
        return Typed(-arg.value, arg.type)
    if isinstance(arg.value, Decimal):
        return Typed(arg.value.copy_negate(), arg.type)
    return _arithmetic("-", [Typed(0, pa.int8()), arg], function_options)


def _whole(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    (arg,) = args
    if isinstance(arg.value, Decimal):
        up = ROUND_FLOOR if name == "floor" else ROUND_CEILING
        whole = arg.value.quantize(Decimal(1), up, EXACT)
        precision = min(38, arg.type.precision - arg.type.scale + 1)
        return Typed(whole, pa.decimal128(precision, 0))
    if isinstance(arg.value, int):
        return arg
    if math.isnan(arg.value):
        return Typed(0, pa.int64())
    bounded = min(max(arg.value, -(2.0**63)), 2.0**63)
    whole = math.floor(bounded) if name == "floor" else math.ceil(bounded)
    return Typed(min(whole, 2**63 - 1), pa.int64())


def _round(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    arg, places = args[0], args[1].value if len(args) > 1 else 0
    if isinstance(arg.value, Decimal):
        scale = min(places, arg.type.scale)
        precision = min(38, arg.type.precision - arg.type.scale + scale + 1)
        return Typed(_places(arg.value, scale), pa.decimal128(precision, scale))
    if isinstance(arg.value, int) or not math.isfinite(arg.value):
        return arg
    if pa.types.is_float32(arg.type):
        raise OutOfScopeError("float")
    exact = Decimal(repr(arg.value)) if function_options.units else Decimal(arg.value)
    if exact.adjusted() > 60:
        return arg
    return Typed(float(_places(exact, places)), arg.type)


def _remainder(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    value, divisor = args[0].value, args[1].value
    found = int(math.fmod(abs(value) % abs(divisor), abs(divisor))) * (1 if value >= 0 else -1)
    if name == "pmod" and found < 0:
        found += abs(divisor)
    return Typed(found, pa.int64())


def _extreme(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    types = {arg.type for arg in args}
    given = [arg for arg in args if arg.value is not None]
    if len(types) > 1 or any(pa.types.is_string(type_) for type_ in types):
        raise OutOfScopeError("types")
    if not given or (len(given) < len(args) and not function_options.skips_nulls):
        return Typed(None, args[0].type)

    def key(arg: Typed) -> Any:
        is_nan = isinstance(arg.value, float) and math.isnan(arg.value)
        return (is_nan, 0 if is_nan else arg.value)

    return (max if name == "greatest" else min)(given, key=key)


def _text(arg: Typed) -> str:
    if not pa.types.is_string(arg.type):
        raise OutOfScopeError("no text")
    return str(arg.value)


def _case(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    text = _text(args[0])
    if name == "upper":
        text = text.replace("i", "\u0130") if function_options.turkish else text
        return Typed(text.upper(), pa.string())
    text = text.replace("I", "\u0131") if function_options.turkish else text
    return Typed(text.lower(), pa.string())


def _substring(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    text, count = _text(args[0]), args[-1].value
    if not function_options.units:
        return Typed(text[:count], pa.string())
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * count]
    whole = units.decode("utf-16-le", "ignore")
    half = len(whole.encode("utf-16-le")) < len(units)
    return Typed(whole + "?" * half, pa.string())


def _concatenation(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    return Typed("".join(map(_text, args)), pa.string())


def _trim(name: str, args: list[Typed], function_options: FunctionOptions) -> Typed:
    strip = {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}[name]
    return Typed(strip(_text(args[0]), " "), pa.string())


_FUNCTIONS: dict[str, Callable[[str, list[Typed], FunctionOptions], Typed]] = {
    **dict.fromkeys(("+", "-", "*"), _arithmetic),
    "/": _division,
    **dict.fromkeys(("negative", "abs"), _sign),
    **dict.fromkeys(("floor", "ceil"), _whole),
    "round": _round,
    **dict.fromkeys(("%", "pmod"), _remainder),
    "year": integer(lambda moment: moment.year),
    "quarter": integer(lambda moment: (moment.month - 1) // 3 + 1),
    "month": integer(lambda moment: moment.month),
    "day": integer(lambda moment: moment.day),
    "dayofyear": integer(lambda moment: moment.timetuple().tm_yday),
    "hour": integer(lambda moment: moment.hour),
    "minute": integer(lambda moment: moment.minute),
    "to_date": day_of(lambda moment: moment),
    "last_day": day_of(end_of_month),
    "trunc": trunc_of,
    "plus interval": plus_interval,
    "date_trunc": date_trunc_of,
    **dict.fromkeys(("date_add", "date_sub"), shift_of),
    "datediff": difference,
    "add_months": add_months_of,
    "unix_timestamp": unix,
    "from_unixtime": from_unixtime_of,
    "date_format": format,
    **dict.fromkeys(("upper", "lower"), _case),
    **dict.fromkeys(("substr", "left"), _substring),
    "concat": _concatenation,
    **dict.fromkeys(("trim", "ltrim", "rtrim"), _trim),
}

"""Filter lists in disjunctive normal form, as in pyarrow, Dask and hudi-rs, and their constants.

``[("a", "=", 1), ("b", "in", [1, 2])]`` is an AND of triples (the only form in hudi-rs); ``[[("a",
"=", 1)], [("b", ">", 2)]]`` is an OR of such lists. A column is named by a text, with dots between
the fields of a struct, or by a sequence of names. As in pyarrow, IN finds NULL if it is among the
values, and NOT IN finds it if it is not.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from reprlib import repr as shown
from typing import Any

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import AnyScalar, timestamp_type
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.common.constants import (
    NULL,
    conjunction,
    decimal_literal,
    disjunction,
    integer_literal,
)
from pyhudi_expr.expr.frontend.common.functions import is_in
from pyhudi_expr.expr.frontend.common.hive_types import InexpressibleError
from pyhudi_expr.expr.nodes import (
    Column,
    Comparison,
    HudiExpression,
    IsNull,
    Literal,
    Not,
    Op,
    PythonValue,
    Unknown,
)

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_PANDAS_NULLS = ("NaTType", "NAType")
_LEAST_DECIMAL_BITS = 128
_NUMPY_UNITS = ("s", "ms", "us", "ns")


def literal_of_python(value: PythonValue) -> Literal:
    """Return the literal of a Python, numpy, pandas or Arrow scalar.

    A ``datetime`` with a zone is an instant, one without is a wall clock. NaT and Arrow's nulls are
    NULL; NaN is a number.

    Raises:
        InexpressibleError: The value is of another type.
    """
    if isinstance(value, pa.Scalar):
        return _arrow(value)
    if isinstance(value, np.datetime64):
        return _numpy_time(value)
    if isinstance(value, np.generic):
        return _numpy(value)
    if value is None or type(value).__name__ in _PANDAS_NULLS:
        return NULL
    return _python(value)


def _python(value: PythonValue) -> Literal:
    match value:
        case bool():
            return Literal(bool(value), pa.bool_())
        case int():
            return integer_literal(int(value))
        case float():
            return Literal(float(value), pa.float64())
        case Decimal():
            return decimal_literal(value)
        case str():
            return Literal(str(value), pa.string())
        case bytes() | bytearray() | memoryview():
            return Literal(bytes(value), pa.binary())
        case dt.datetime():
            return _time(value)
        case dt.date():
            return Literal((value - _EPOCH.date()).days, pa.date32())
    raise InexpressibleError(f"a constant of type {type(value).__name__}")


def _time(value: dt.datetime) -> Literal:
    nanos = getattr(value, "nanosecond", 0)  # of pandas
    offset = value.utcoffset()
    zone = None if offset is None else "UTC"
    plain = dt.datetime(*value.timetuple()[:6], value.microsecond)
    # The instant may be before the year 1, or after 9999: then there is no datetime of it.
    micros = (plain - _EPOCH - (offset or dt.timedelta())) // _MICROSECOND
    if nanos:
        return Literal(micros * 1000 + nanos, pa.timestamp("ns", zone))
    return Literal(micros, pa.timestamp("us", zone))


def _numpy(value: np.generic) -> Literal:
    try:
        return _arrow(pa.scalar(value))  # type: ignore[call-overload]
    except pa.ArrowException as error:
        raise InexpressibleError(f"a constant of type {value.dtype}") from error


def _numpy_time(value: np.datetime64) -> Literal:
    unit, count = np.datetime_data(value.dtype)
    if np.isnat(value):
        return NULL
    if count != 1 or unit not in (*_NUMPY_UNITS, "D"):  # [25s] counts steps of 25 seconds
        raise InexpressibleError(f"a constant of type {value.dtype}")
    number = int(value.astype("int64"))
    if unit != "D":
        return Literal(number, timestamp_type(unit))
    if not -(2**31) <= number < 2**31:
        raise InexpressibleError(f"a day beyond {pa.date32()}")
    return Literal(number, pa.date32())


def _arrow(value: AnyScalar) -> Literal:
    type_ = value.type
    if not value.is_valid:
        return Literal(None, type_)
    if isinstance(value, pa.ExtensionScalar) or pa.types.is_nested(type_):
        raise InexpressibleError(f"a constant of type {type_}")
    if pa.types.is_dictionary(type_):
        return _arrow(value.cast(type_.value_type))
    if pa.types.is_timestamp(type_):
        return Literal(value.value, type_)  # type: ignore[attr-defined]
    if pa.types.is_date(type_):
        return Literal(value.cast(pa.date32()).value, pa.date32())  # type: ignore[attr-defined]
    if pa.types.is_floating(type_):
        return Literal(float(value.as_py()), type_)
    if pa.types.is_temporal(type_):
        raise InexpressibleError(f"a constant of type {type_}")
    if pa.types.is_string_view(type_) or pa.types.is_binary_view(type_):
        return _python(value.as_py())
    if pa.types.is_decimal(type_) and type_.bit_width < _LEAST_DECIMAL_BITS:
        type_ = pa.decimal128(type_.precision, type_.scale)
    return Literal(value.as_py(), type_)


_COMPARISONS = {op.value: op for op in Op} | {"==": Op.EQ, "!=": Op.NE}
_TRIPLE = 3


class FilterError(HudiError, ValueError):
    """The list is malformed; the message names the part."""


def parse_filters(filters: Iterable[Any]) -> HudiExpression:
    """Return the expression of a filter list.

    A constant of an unsupported type makes its triple `Unknown`.

    Raises:
        FilterError: The list is malformed.
    """
    found = list(filters)
    if not found:
        raise FilterError("the filter list is empty")
    if all(isinstance(one, list) for one in found):
        return disjunction(_all_of(one) for one in found)
    return _all_of(found)


def _all_of(triples: Sequence[Any]) -> HudiExpression:
    if not triples:
        raise FilterError("an empty list among the filters")
    return conjunction(map(_leaf, triples))


def _leaf(triple: PythonValue) -> HudiExpression:
    if not isinstance(triple, Sequence) or isinstance(triple, str) or len(triple) != _TRIPLE:
        raise FilterError(f"{shown(triple)} is not (column, operator, value)")
    name, operator, value = triple
    column = _column(name)
    if not isinstance(operator, str):
        raise FilterError(f"{shown(operator)} is not an operator")
    words = " ".join(operator.lower().split())
    try:
        return _built(column, words, value)
    except FilterError:
        raise
    except ValueError as reason:
        return Unknown(str(reason))


def _built(column: Column, operator: str, value: PythonValue) -> HudiExpression:
    match operator:
        case "in":
            return _in(column, value)
        case "not in":
            return Not(_in(column, value))
        case "is" if value is None:
            return IsNull(column)
        case "is not" if value is None:
            return Not(IsNull(column))
    if operator not in _COMPARISONS:
        known = ", ".join((*_COMPARISONS, "in", "not in"))
        raise FilterError(f"the operator {operator[:40]!r} is none of {known}")
    return Comparison(_COMPARISONS[operator], column, literal_of_python(value))


def _in(column: Column, values: PythonValue) -> HudiExpression:
    if isinstance(values, str | bytes) or not isinstance(values, Collection):
        raise FilterError(f"{shown(values)} is not a collection of values for IN")
    try:
        options = tuple(values)
    except TypeError as error:  # an array of no dimension
        raise FilterError(f"{shown(values)} is not a collection of values for IN") from error
    return is_in(column, tuple(map(literal_of_python, options)))


def _column(name: PythonValue) -> Column:
    path = name.split(".") if isinstance(name, str) else name
    if (
        not isinstance(path, Sequence)
        or not path
        or not all(isinstance(part, str) and part for part in path)
    ):
        raise FilterError(f"{shown(name)} is not a column name")
    return Column(tuple(path))

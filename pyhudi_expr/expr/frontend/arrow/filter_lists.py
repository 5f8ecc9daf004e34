"""Filter lists in disjunctive normal form, as in pyarrow, Dask and hudi-rs, and their constants.

``[("a", "=", 1), ("b", "in", [1, 2])]`` is an AND of triples (the only form in hudi-rs); ``[[("a",
"=", 1)], [("b", ">", 2)]]`` is an OR of such lists. A column is named by a text, with dots between
the fields of a struct, or by a sequence of names. As in pyarrow, IN finds NULL if it is among the
values, and NOT IN finds it if it is not. ``like`` is pyarrow's ``match_like``, in which a backslash
escapes; it, ``between`` and their negations are NULL for NULL, so they do not find it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from reprlib import repr as shown
from typing import Any

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import AnyScalar, timestamp_type
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.common.constants import (
    NULL,
    InexpressibleError,
    conjunction,
    decimal_literal,
    disjunction,
    integer_literal,
    timestamp_literal,
)
from pyhudi_expr.expr.frontend.common.functions import is_in
from pyhudi_expr.expr.frontend.common.text_patterns import standard_like
from pyhudi_expr.expr.nodes import (
    Between,
    Column,
    Comparison,
    Constant,
    HudiExpression,
    IsNull,
    Literal,
    Not,
    Op,
    PythonValue,
    Truth,
    Unknown,
)
from pyhudi_expr.expr.terms import UnboundError, resolve

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_PANDAS_NULLS = ("NaTType", "NAType")
_LEAST_DECIMAL_BITS = 128
_NUMPY_UNITS = ("s", "ms", "us", "ns")
#: Arrow has no times in these units. numpy takes them for texts such as 2024-01-05T08:00.
_SECONDS_OF = {"h": 3600, "m": 60}


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
    if count != 1 or unit not in (
        *_NUMPY_UNITS,
        *_SECONDS_OF,
        "D",
    ):  # [25s] counts steps of 25 seconds
        raise InexpressibleError(f"a constant of type {value.dtype}")
    number = int(value.astype("int64"))
    if unit in _SECONDS_OF:
        return timestamp_literal(number * _SECONDS_OF[unit], 0)
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
    if pa.types.is_unsigned_integer(type_):  # no column has such a type
        return integer_literal(value.as_py())
    if pa.types.is_floating(type_):
        of_columns = pa.float32() if pa.types.is_float16(type_) else type_
        return Literal(float(value.as_py()), of_columns)
    if pa.types.is_temporal(type_):
        raise InexpressibleError(f"a constant of type {type_}")
    if pa.types.is_string_view(type_) or pa.types.is_binary_view(type_):
        return _python(value.as_py())
    if pa.types.is_decimal(type_) and type_.bit_width < _LEAST_DECIMAL_BITS:
        type_ = pa.decimal128(type_.precision, type_.scale)
    return Literal(value.as_py(), type_)


_COMPARISONS = {op.value: op for op in Op} | {"==": Op.EQ, "!=": Op.NE}
_NULL_TESTS = ("is null", "is not null")
_OPERATORS = ", ".join(
    (*_COMPARISONS, "in", "not in", "like", "not like", "between", "not between", *_NULL_TESTS)
)
_PAIR, _TRIPLE = 2, 3
_LEVELS = 3
"""A list of lists of triples."""
_NO_COLUMNS = pa.schema([])
_NO_SECONDS = re.compile(
    r"\A\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?=(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?\Z)", re.ASCII
)


class FilterError(HudiError, ValueError):
    """The list is malformed; the message names the part."""


def held(filters: PythonValue, levels: int = _LEVELS) -> PythonValue:
    """Return a filter list with tuples for its iterators, which could be read only once."""
    if isinstance(filters, Iterator):
        return tuple(filters)
    if not levels or not isinstance(filters, list | tuple):
        return filters
    found = [held(one, levels - 1) for one in filters]
    return found if isinstance(filters, list) else tuple(found)


def parse_filters(filters: Iterable[Any], schema: pa.Schema = _NO_COLUMNS) -> HudiExpression:
    """Return the expression of a filter list.

    A constant of an unsupported type makes its triple `Unknown`.

    Args:
        filters: The list.
        schema: The table's columns, as far as they are known. Beside one of times a text may be a
            time without seconds, such as ``2024-01-05 08:00``.

    Raises:
        FilterError: The list is malformed.
    """
    found, reader = list(filters), _Reader(schema)
    if not found:
        raise FilterError("the filter list is empty")
    if all(isinstance(one, list) for one in found):
        return disjunction(map(reader.all_of, found))
    return reader.all_of(found)


@dataclass(frozen=True)
class _Reader:
    """Reads filters of a table's columns."""

    schema: pa.Schema

    def all_of(self, triples: Sequence[Any]) -> HudiExpression:
        if not triples:
            raise FilterError("an empty list among the filters")
        return conjunction(map(self._leaf, triples))

    def _leaf(self, triple: PythonValue) -> HudiExpression:
        name, operator, value = _parts(triple)
        column = _column(name)
        try:
            return self._built(column, operator, value)
        except FilterError:
            raise
        except ValueError as reason:
            return Unknown(str(reason))

    def _built(self, column: Column, operator: str, value: PythonValue) -> HudiExpression:
        positive = operator.removeprefix("not ")
        if positive != operator and positive in ("in", "like", "between"):
            return Not(self._built(column, positive, value))
        match operator:
            case "in":
                return is_in(column, self._values(column, operator, value))
            case "like":
                return _like(column, value)
            case "between":
                return Between(column, *self._pair(column, value))
            case "is" | "is null" if value is None:
                return IsNull(column)
            case "is not" | "is not null" if value is None:
                return Not(IsNull(column))
            case "is null" | "is not null":
                raise FilterError(f"{operator!r} takes no value, and got {shown(value)}")
        if operator not in _COMPARISONS:
            raise FilterError(f"the operator {operator[:40]!r} is none of {_OPERATORS}")
        return Comparison(_COMPARISONS[operator], column, self._reading(column)(value))

    def _values(self, column: Column, operator: str, given: PythonValue) -> tuple[Literal, ...]:
        """Return the values of a collection: a list, a set, an array, what an iterator gives."""
        if not _is_collection(given) or isinstance(given, Mapping):
            raise FilterError(f"{shown(given)} is not a collection of values for {operator!r}")
        values = tuple(given)
        for one in values:
            if _is_collection(one):
                raise FilterError(f"{shown(one)} among the values for {operator!r} is not a value")
        return tuple(map(self._reading(column), values))

    def _pair(self, column: Column, given: PythonValue) -> tuple[Literal, ...]:
        ends = () if isinstance(given, Set) else self._values(column, "between", given)
        if len(ends) != _PAIR:
            raise FilterError(f"{shown(given)} is not a pair (least, greatest) for 'between'")
        return ends

    def _reading(self, column: Column) -> Callable[[PythonValue], Literal]:
        """Return what makes literals of the values beside a column."""
        try:
            is_time = pa.types.is_timestamp(resolve(column.path, self.schema)[1])
        except UnboundError:
            is_time = False
        return _beside_time if is_time else literal_of_python


def _beside_time(value: PythonValue) -> Literal:
    found = literal_of_python(value)
    if not isinstance(found.value, str):
        return found
    return Literal(_NO_SECONDS.sub(r"\g<0>:00", found.value), found.type)


def _parts(triple: PythonValue) -> tuple[PythonValue, str, PythonValue]:
    """Return the column, the operator in lower case, and the value; that of "is null" is None."""
    is_sequence = isinstance(triple, Sequence) and not isinstance(triple, str)
    if not is_sequence or len(triple) not in (_PAIR, _TRIPLE):
        raise FilterError(f"{shown(triple)} is not (column, operator, value)")
    name, operator, *values = triple
    if not isinstance(operator, str):
        raise FilterError(f"{shown(operator)} is not an operator")
    words = " ".join(operator.lower().split())
    if not values and words not in _NULL_TESTS:
        raise FilterError(f"{shown(triple)} is not (column, operator, value)")
    return name, words, values[0] if values else None


def _is_collection(value: PythonValue) -> bool:
    """Return whether a value has others in one dimension; texts and bytes are single values."""
    is_single = isinstance(value, str | bytes | bytearray | memoryview)
    return not is_single and isinstance(value, Iterable) and getattr(value, "ndim", 1) == 1


def _like(column: Column, pattern: PythonValue) -> HudiExpression:
    text = literal_of_python(pattern).value
    if text is None:
        return Constant(Truth.NULL)
    if not isinstance(text, str):
        raise FilterError(f"{shown(pattern)} is not a pattern for 'like': write a text with % or _")
    return standard_like(column, text, "\\")


def _column(name: PythonValue) -> Column:
    path = name.split(".") if isinstance(name, str) else name
    if (
        not isinstance(path, Sequence)
        or not path
        or not all(isinstance(part, str) and part for part in path)
    ):
        raise FilterError(f"{shown(name)} is not a column name")
    return Column(tuple(path))

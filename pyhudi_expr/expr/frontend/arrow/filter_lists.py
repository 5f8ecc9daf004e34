"""Filter lists in disjunctive normal form, as in pyarrow, Dask and hudi-rs.

``[("a", "=", 1), ("b", "in", [1, 2])]`` is an AND of triples (the only form in hudi-rs); ``[[("a",
"=", 1)], [("b", ">", 2)]]`` is an OR of such lists. A column is named by a text, with dots between
the fields of a struct, or by a sequence of names. As in pyarrow, IN finds NULL if it is among the
values, and NOT IN finds it if it is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from reprlib import repr as shown
from typing import Any

from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.arrow.python_values import literal_of_python
from pyhudi_expr.expr.frontend.common.builders import conjunction, disjunction
from pyhudi_expr.expr.frontend.common.functions import is_in
from pyhudi_expr.expr.nodes import (
    Column,
    Comparison,
    HudiExpression,
    IsNull,
    Not,
    Op,
    PythonValue,
    Unknown,
)

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

"""Keys in arrays give the same verdicts as IN with a literal for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundExpression, BoundIn
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.keys import KeyList, KeyTypeError
from pyhudi_expr.expr.nodes import (
    CharType,
    Column,
    Constant,
    HudiExpression,
    In,
    InKeys,
    Literal,
    Not,
    Truth,
    Unknown,
)
from pyhudi_expr.expr.render import render
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from tests.example_counts import examples
from tests.expr.statistics import RecordedStatistics, RowStatistics

_SECOND = 10**9
#: Days around which the calendars of readers change, see `literals.CALENDAR_MARGINS`.
_DAYS = st.one_of(*(st.integers(day - 3, day + 3) for day in (-141_027, -25_567, 0, 18_000)))
_NANOS = st.one_of(
    st.integers(-5, 5),
    st.builds(
        lambda day, rest: day * 86_400 * _SECOND + rest,
        st.integers(-25_569, -25_565),
        st.integers(-2, 2),
    ),
    st.integers(-(2**62), 2**62).map(lambda nanos: nanos // 1000 * 1000),
)
_TEXTS = st.text(st.sampled_from("aé\uff5e\U0001f600"), max_size=3)


@dataclass(frozen=True)
class Kind:
    """A column, the type of its keys, and values of both."""

    column: pa.DataType
    keys: pa.DataType
    values: st.SearchStrategy[Any]
    cells: st.SearchStrategy[Any]


def _integers(bits: int) -> st.SearchStrategy[int]:
    near = 2 ** (bits - 1)
    ends = st.one_of(st.integers(-near, -near + 3), st.integers(near - 4, near - 1))
    return st.one_of(st.integers(-10, 10), ends)


def _micros(nanos: int) -> int:
    return nanos // 1000


_KINDS = [
    *(
        Kind(column, keys, _integers(keys.bit_width), _integers(column.bit_width))
        for column in (pa.int8(), pa.int32(), pa.int64())
        for keys in (pa.int8(), pa.int16(), pa.int32(), pa.int64())
    ),
    Kind(pa.string(), pa.string(), _TEXTS, _TEXTS),
    Kind(pa.date32(), pa.date32(), _DAYS, _DAYS),
    *(
        Kind(column, pa.timestamp("ns"), _NANOS, _NANOS.map(_micros))
        for column in (pa.timestamp("us"), pa.timestamp("us", "UTC"))
    ),
    Kind(pa.timestamp("ns"), pa.timestamp("ns"), _NANOS, _NANOS),
    Kind(pa.timestamp("ns"), pa.timestamp("us"), _NANOS.map(_micros), _NANOS),
    # Without arrays: of another kind than the column.
    Kind(pa.float64(), pa.int32(), st.integers(-5, 5), st.floats(-5, 5)),
    Kind(pa.timestamp("us"), pa.date32(), st.integers(-5, 5), _NANOS.map(_micros)),
    Kind(pa.date32(), pa.timestamp("us"), _NANOS.map(_micros), _DAYS),
]
_ZONES = st.sampled_from(["UTC", "Europe/Berlin", None])
X = Column(("x",))


def bound(node: HudiExpression, column: pa.DataType, zone: str | None = "UTC") -> BoundExpression:
    return bind(node, Scope(pa.schema({"x": column}), here(zone)))


def assert_same_verdicts(one: BoundExpression, other: BoundExpression, statistics: Any) -> None:
    for truth in (True, False):
        found = [
            as_array(may_be(node, truth, [StatisticsEvidence(statistics)]), len(statistics.files))
            for node in (one, other)
        ]
        assert found[0].tolist() == found[1].tolist(), (truth, render(one), render(other))


@given(st.data())
@settings(max_examples=examples(1000), deadline=None)
def test_verdicts_are_those_of_in(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(_KINDS))
    values = data.draw(st.lists(kind.values, max_size=12))
    has_null, zone = data.draw(st.booleans()), data.draw(_ZONES)
    cells = st.lists(st.one_of(kind.cells, st.none()), max_size=3)
    files = [[{"x": cell} for cell in file] for file in data.draw(st.lists(cells, min_size=1))]
    recorded = st.builds(RecordedStatistics, *[st.booleans()] * 4)
    given_ = {("x", number): data.draw(recorded) for number in range(len(files))}
    statistics = RowStatistics(files, given_)

    literals = [Literal(value, kind.keys) for value in values]
    nothing = [Literal(None, kind.keys)] if has_null else []
    keys = KeyList.of(pa.array(values, kind.keys))
    by_literals = bound(In(X, (*literals, *nothing)), kind.column, zone)
    by_keys = bound(InKeys(X, keys, has_null), kind.column, zone)
    assert_same_verdicts(by_keys, by_literals, statistics)


@given(st.sets(st.integers(-40, 40), min_size=1), st.integers(1, 6))
def test_fewer_ranges_have_all_keys(values: set[int], most: int) -> None:
    keys = KeyList.of(pa.array(sorted(values), pa.int32()))
    few = keys.shortened(most)
    assert len(few.lows) <= most
    assert few.count == len(values)
    ranges = list(zip(*few.python_ends(), strict=True))
    assert all(any(low <= value <= high for low, high in ranges) for value in values)
    files = [[{"x": value}] for value in range(-45, 45)]
    evidence = [StatisticsEvidence(RowStatistics(files))]
    verdicts = as_array(may_be(bound(InKeys(X, few), pa.int32()), True, evidence), len(files))
    inside = [any(low <= value <= high for low, high in ranges) for value in range(-45, 45)]
    assert verdicts.tolist() == inside


def test_a_range_proves_nothing_below_not() -> None:
    """A range may have values that are no keys."""
    few = KeyList(pa.int32(), pa.array([1, 20]), pa.array([9, 30]), 4)
    evidence = [StatisticsEvidence(RowStatistics([[{"x": 5}]]))]
    node = bound(Not(InKeys(X, few)), pa.int32())
    assert may_be(node, True, evidence)
    assert may_be(node, False, evidence)


def test_null_is_no_key_and_may_be_what_comes_of_no_match() -> None:
    keys = KeyList.of(pa.array([3, None, 1, 3], pa.int32()))
    assert (keys.python_ends()[0], keys.count) == ([1, 3], 2)
    nothing = KeyList.of(pa.array([], pa.int32()))
    assert bound(InKeys(X, nothing), pa.int32()) == Constant(Truth.NO_NULL)


def test_keys_of_another_type_are_refused() -> None:
    for values in (pa.array([1.5]), pa.array([True]), pa.array([b"a"]), pa.array([[1]])):
        with pytest.raises(KeyTypeError, match="keys of type"):
            KeyList.of(values)


def test_char_columns_have_padded_options() -> None:
    char = Column(("x",), CharType(3, padded=True))
    keys = KeyList.of(pa.array(["a", "b"]))
    node = bound(InKeys(char, keys), pa.string())
    literals = tuple(Literal(value, pa.string()) for value in ("a", "b"))
    assert node == bound(In(char, literals), pa.string())


def test_ranges_for_a_column_of_another_kind_are_unknown() -> None:
    few = KeyList(pa.int32(), pa.array([1]), pa.array([9]), 4)
    assert isinstance(bound(InKeys(X, few), pa.float64()), Unknown)


def test_many_keys_are_shown_in_short() -> None:
    keys = KeyList.of(pa.array(np.arange(100_000) * 3, pa.int64()))
    node = bound(InKeys(X, keys), pa.int64())
    assert isinstance(node, BoundIn)
    assert render(node) == "x IN (0, 3, 6, ... 100000 in all)"
    assert node.options[-1].lower == 299_997
    assert [option.upper for option in node.options[:2]] == [0, 3]

"""The direct mapping preserves the order of every type."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi_expr.manage.layout.mappings import LAST, UnorderedType, direct, exact, is_wide
from tests.example_counts import examples
from tests.manage.layout.ordered_values import TYPES, Ordered, array


@pytest.mark.parametrize("ordered", TYPES.values(), ids=TYPES.keys())
@settings(max_examples=examples(40))
@given(data=st.data())
def test_numbers_are_ordered_as_values_are(ordered: Ordered, data: st.DataObject) -> None:
    values = data.draw(st.lists(ordered.values, max_size=8))
    ascending = sorted(values, key=ordered.key)
    numbers = direct(array(ordered, ascending))
    assert numbers.dtype == np.uint64
    assert (numbers[1:] >= numbers[:-1]).all()
    for index, (left, right) in enumerate(pairwise(ascending)):
        if ordered.key(left) == ordered.key(right):
            assert numbers[index] == numbers[index + 1]
        elif ordered.is_whole:
            assert numbers[index] < numbers[index + 1]


@pytest.mark.parametrize("ordered", TYPES.values(), ids=TYPES.keys())
@settings(max_examples=examples(40))
@given(data=st.data())
def test_nulls_are_last(ordered: Ordered, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.one_of(st.none(), ordered.values), max_size=8))
    numbers = direct(array(ordered, values))
    for value, number in zip(values, numbers, strict=True):
        assert number <= LAST
        if value is None:
            assert number == LAST


@pytest.mark.parametrize("name", [name for name, one in TYPES.items() if not one.is_whole])
@settings(max_examples=examples(40))
@given(data=st.data())
def test_values_with_equal_prefixes_are_ordered(name: str, data: st.DataObject) -> None:
    ordered = TYPES[name]
    assert is_wide(ordered.type)
    ascending = sorted(data.draw(st.lists(ordered.values, max_size=8)), key=ordered.key)
    whole = exact(array(ordered, ascending), 8)
    for index, (left, right) in enumerate(pairwise(ascending)):
        if ordered.key(left) == ordered.key(right):
            assert whole[index] == whole[index + 1]
        else:
            assert whole[index] < whole[index + 1]


def test_narrow_types_fill_the_upper_bits() -> None:
    """Otherwise the bits of an int would be insignificant next to those of a long."""
    for type_ in (pa.int8(), pa.int16(), pa.int32(), pa.int64()):
        assert int(direct(pa.array([0], type_))[0]) == 2**63
    assert direct(pa.array([False, True])).tolist() == [0, 2**63]


def test_every_nan_is_above_infinity_and_zeros_are_neighbours() -> None:
    negative_nan = np.array([0xFFF8_0000_0000_0001], np.uint64).view(np.float64)[0]
    numbers = direct(pa.array(np.array([math.inf, math.nan, negative_nan, -0.0, 0.0])))
    assert numbers[0] < numbers[1] == numbers[2]
    assert numbers[4] - numbers[3] == 1


def test_a_short_string_is_before_a_longer_one() -> None:
    texts = ["", "a", "ab", "abcdefgh", "b", "é"]
    numbers = direct(pa.array(texts)).tolist()
    assert numbers == sorted(set(numbers))
    assert numbers[1] == ord("a") << 56


@pytest.mark.parametrize(
    "type_",
    [pa.list_(pa.int32()), pa.map_(pa.string(), pa.int32()), pa.struct([("a", pa.int32())])],
)
def test_unordered_types_are_refused(type_: Any) -> None:
    with pytest.raises(UnorderedType, match="have no order"):
        direct(pa.array([None], type_))

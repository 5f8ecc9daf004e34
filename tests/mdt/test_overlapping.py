"""Reading ahead changes neither the order of items nor what goes wrong."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.mdt.overlapping import read_ahead


@given(st.lists(st.lists(st.integers(), max_size=4), max_size=5))
def test_items_come_in_order(sources: list[list[int]]) -> None:
    found = list(read_ahead([iter(source) for source in sources]))
    assert found == [item for source in sources for item in source]


def test_trouble_comes_in_its_place() -> None:
    def failing() -> Iterator[int]:
        yield 2
        raise ValueError("damaged")

    items = read_ahead([iter([1]), failing(), iter([3])])
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(ValueError, match="damaged"):
        next(items)


def test_nobody_has_to_read_to_the_end() -> None:
    assert next(read_ahead([iter([1, 2]), iter([3])])) == 1

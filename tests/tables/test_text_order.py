"""Texts in the order of their bytes, and the distinct ones among them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyarrow as pa
import pytest

from pyhudi_expr.tables.positions import distinct_texts, sorted_texts

_LETTERS = ("a", "b", "\0", "\x7f", "é", "\U0001f600")


def _random_texts(number: int, longest: int) -> list[str]:
    chosen = random.Random(number)
    return [
        "".join(chosen.choices(_LETTERS, k=chosen.randrange(longest + 1))) for _ in range(number)
    ]


_CASES = {
    "none": [],
    "one": ["a"],
    "empty ones": ["", "a", "", "\0"],
    "ends of zero bytes": ["ab", "ab\0", "ab\0\0\0\0\0\0", "ab\0c", "ab\0\0\0\0\0\0\0"],
    "a common beginning": [f"file-000000-{number % 700}" for number in range(1_000)],
    "few alike": [f"{number * 2654435761 % (1 << 32):08x}-{number % 3}" for number in range(5_000)],
    "short ones": _random_texts(3_000, 4),
    "long ones": _random_texts(3_000, 20),
}


@pytest.mark.parametrize("texts", _CASES.values(), ids=_CASES)
@pytest.mark.parametrize("first", [0, 2])
def test_texts_are_sorted_as_python_sorts_their_bytes(texts: Sequence[str], first: int) -> None:
    array = pa.array(texts, pa.string()).slice(min(first, len(texts)))
    own = array.to_pylist()
    expected = sorted(own, key=str.encode)
    values, rank = sorted_texts(array)
    assert values.to_pylist() == expected
    assert sorted(rank.tolist()) == list(range(len(own)))
    assert [expected[place] for place in rank.tolist()] == own


@pytest.mark.parametrize("texts", _CASES.values(), ids=_CASES)
def test_each_text_is_found_once_among_the_distinct_ones(texts: Sequence[str]) -> None:
    values, rank = distinct_texts(pa.array(texts, pa.string()))
    distinct = values.to_pylist()
    assert distinct == sorted(set(texts), key=str.encode)
    assert [distinct[place] for place in rank.tolist()] == list(texts)

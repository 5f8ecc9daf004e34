"""JSON of tables' files is what Python's own decoder gives, in pieces and within limits."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.parsing import budget
from pyhudi_expr.tables.parsing.budget import Budget, Limits, OverBudgetError, parse_json, spending

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
#: Texts that are longer than a piece, of many values or of one.
_LONG = {
    "[],": "[{}]",
    "{},": "[{}]",
    "1.5e3,": "[{}]",
    '"a",': "[{}]",
    '"a":1,': "{{{}}}",
    '"a":[{"b":[1,2]}],': "{{{}}}",
    " [ 1 , 2 ] , ": "[{}]",
}


_PIECE = 64


@pytest.fixture(autouse=True, scope="module")
def short_pieces() -> Iterator[None]:
    """Texts of tests are shorter than a piece of real files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "_PIECES", (1, 7, _PIECE))
        yield


def long_text(item: str, shape: str, times: int = 500) -> str:
    return shape.format((item * times).rstrip(", "))


class CountingBudget(Budget):
    """A budget that counts how often it is drawn on."""

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008 - immutable
        super().__init__(limits)
        self.times = 0
        self.memory = 0

    def decoded(self, file: str, nbytes: int) -> None:
        self.times += 1
        self.memory += nbytes
        super().decoded(file, nbytes)


@given(_VALUES, st.sampled_from([None, 1]))
def test_values_are_those_of_pythons_decoder(value: object, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    assert parse_json(text, "f") == parse_json(text.encode(), "f") == json.loads(text)


@given(st.text(alphabet='[]{},:"\\ 0eaE.-ntu'))
def test_any_text_is_decoded_as_by_python_or_refused(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(CorruptFile, match="f: no JSON"):
            parse_json(text, "f")
    else:
        assert parse_json(text, "f") == expected


@pytest.mark.parametrize("content", [b"", b"\xff", b"{", b"[1] 2", b"nul"])
def test_what_is_no_json_is_a_corrupt_file(content: bytes) -> None:
    with pytest.raises(CorruptFile, match="f: no JSON"):
        parse_json(content, "f")


@pytest.mark.parametrize("opening", ["[", "[1,", '{"a":', '{"a":{"b":[', " [ "])
@pytest.mark.parametrize("depth", [1_000, 10_000])
def test_deep_nesting_is_a_corrupt_file(opening: str, depth: int) -> None:
    with pytest.raises(CorruptFile, match="f: no JSON"):
        parse_json(opening * depth, "f")


@pytest.mark.parametrize(("item", "shape"), _LONG.items())
def test_long_texts_are_decoded_in_pieces(item: str, shape: str) -> None:
    """Between two of them other threads run."""
    text = long_text(item, shape)
    budget = CountingBudget()
    with spending(budget):
        assert parse_json(text, "f") == json.loads(text)
    assert budget.times > len(text) / _PIECE - 1


@pytest.mark.parametrize(("item", "shape"), _LONG.items())
def test_the_work_is_linear_in_the_text(item: str, shape: str) -> None:
    once, twice = CountingBudget(), CountingBudget()
    with spending(once):
        parse_json(long_text(item, shape), "f")
    with spending(twice):
        parse_json(long_text(item, shape, 1_000), "f")
    assert twice.times <= 2 * once.times + 10


@pytest.mark.parametrize(("item", "shape"), _LONG.items())
def test_memory_of_a_question_ends_before_that_of_the_process(item: str, shape: str) -> None:
    text = long_text(item, shape)
    budget = CountingBudget(Limits(memory_bytes=1_000))
    with spending(budget), pytest.raises(OverBudgetError, match=r"f: .*bytes of decoded values"):
        parse_json(text, "f")
    assert budget.memory < 1_000 + 116 * _PIECE


@pytest.mark.parametrize("value", [{}, [], {"a": 1}, [[]] * 9, {"a": {"b": {"c": [1.5, None]}}}])
def test_memory_is_not_underrated(value: object) -> None:
    budget = CountingBudget()
    with spending(budget):
        decoded = parse_json(json.dumps([value] * 100), "f")
    assert budget.memory >= size(decoded)


def size(value: object) -> int:
    """Return the bytes of a value, and of all that it holds."""
    inner = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    held = inner if isinstance(inner, list) else []
    # Python has one object for each short text and small number.
    return sys.getsizeof(value) + sum(map(size, held)) if held or value in ([], {}) else 0

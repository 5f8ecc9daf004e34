"""Positions on curves: RFC-28's example, the properties of each curve, and invalid input."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi_expr.manage.layout import hilbert, interleave
from pyhudi_expr.manage.layout.curves import MAX_BYTES, Numbers, Places
from tests.example_counts import examples


def as_bits(places: Places) -> list[str]:
    return ["".join(f"{byte:08b}" for byte in place) for place in places]


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[list[int]], int]:
    """Columns of equal length, and the number of bits of their numbers."""
    bits = draw(st.integers(1, 64))
    rows, count = draw(st.integers(0, 9)), draw(st.integers(1, 16))
    number = st.one_of(st.integers(0, 2**bits - 1), st.just(2**bits - 1))
    column = st.lists(number, min_size=rows, max_size=rows)
    return draw(st.lists(column, min_size=count, max_size=count)), bits


def test_the_example_of_the_rfc() -> None:
    y, x = np.array([214], np.uint8), np.array([97], np.uint8)
    assert as_bits(interleave([y, x], 8)) == ["1011011000101001"]


@settings(max_examples=examples(50))
@given(columns())
def test_bits_are_interleaved(case: tuple[list[list[int]], int]) -> None:
    given_columns, bits = case
    places = interleave([np.array(column, np.uint64) for column in given_columns], bits)
    expected = []
    for row in zip(*given_columns, strict=True):
        digits = [f"{number:0{bits}b}" for number in row]
        joined = "".join(digit for level in zip(*digits, strict=True) for digit in level)
        expected.append(joined + "0" * (-len(joined) % 8))
    assert as_bits(places) == expected
    assert places.shape[1] * 8 < bits * len(given_columns) + 8


@settings(max_examples=examples(50))
@given(columns())
def test_positions_do_not_depend_on_the_width_of_the_array(
    case: tuple[list[list[int]], int],
) -> None:
    given_columns, bits = case
    narrow = next(width for width in (8, 16, 32, 64) if width >= bits)
    for curve in (interleave, hilbert):
        wide = curve([np.array(column, np.uint64) for column in given_columns], bits)
        same = curve([np.array(column, f"u{narrow // 8}") for column in given_columns], bits)
        np.testing.assert_array_equal(wide, same)


def cube(dimensions: int, bits: int) -> list[npt.NDArray[np.uint32]]:
    """Every cell of a cube, as one column for each dimension."""
    cells = np.array(list(itertools.product(range(1 << bits), repeat=dimensions)), np.uint32)
    return list(cells.T)


@pytest.mark.parametrize(
    ("dimensions", "bits"), [(1, 9), (2, 1), (2, 5), (3, 3), (4, 2), (5, 2), (8, 1)]
)
def test_neighbours_on_hilberts_curve_differ_by_one_in_one_column(
    dimensions: int, bits: int
) -> None:
    cells = cube(dimensions, bits)
    places = as_bits(hilbert(cells, bits))
    assert len(set(places)) == len(places), "two cells have the same position"
    order = np.argsort(places)
    steps = np.abs(np.diff(np.stack(cells, axis=1)[order].astype(np.int64), axis=0))
    assert (steps.sum(axis=1) == 1).all()


def test_hilberts_curve_starts_at_the_origin() -> None:
    zeros = [np.zeros(1, np.uint64)] * 3
    assert as_bits(hilbert(zeros, 64)) == ["0" * 192]


def test_blocks_of_rows_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    many = [rng.integers(0, 2**64, 20_001, np.uint64) for _ in range(3)]
    for curve in (interleave, hilbert):
        whole = curve(many, 64)
        for rows in (slice(0, 1), slice(8_191, 8_193), slice(20_000, 20_001)):
            np.testing.assert_array_equal(whole[rows], curve([c[rows] for c in many], 64))


def test_the_longest_position_is_within_the_limit() -> None:
    widest = [np.full(1, 2**64 - 1, np.uint64)] * 16
    assert interleave(widest, 64).shape == (1, 128)
    assert MAX_BYTES >= 128


@pytest.mark.parametrize(
    ("given_columns", "bits", "message"),
    [
        ([], 8, "1 to 16 columns, not 0"),
        ([np.zeros(1, np.uint8)] * 17, 8, "1 to 16 columns, not 17"),
        ([np.zeros(1, np.uint8)], 0, "1 to 64 bits"),
        ([np.zeros(1, np.uint64)], 65, "1 to 64 bits"),
        ([np.zeros(1, np.uint8), np.zeros(2, np.uint8)], 8, "different lengths"),
        ([np.zeros(1, np.int64)], 64, "unsigned integers"),
        ([np.zeros((1, 2), np.uint8)], 8, "unsigned integers"),
        ([np.array([8], np.uint8)], 3, "8 does not fit into 3 bits"),
    ],
)
def test_invalid_columns_are_refused(given_columns: list[Numbers], bits: int, message: str) -> None:
    for curve in (interleave, hilbert):
        with pytest.raises(ValueError, match=message):
            curve(given_columns, bits)

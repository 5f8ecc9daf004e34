"""Files of random values: the first rows of an order are in the flagged ones."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import settings

from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL
from pyhudi_expr.expr.nodes import Column
from pyhudi_expr.index.limits.key_bounds import KeyBounds
from pyhudi_expr.index.limits.narrowing import OrderColumn, may_have_first_rows
from pyhudi_expr.index.statistics.file_ranges import UNKNOWN
from tests.example_counts import examples

SEED = 29 if settings().derandomize else None
CASES = examples(4000)

#: The rows of a file, each a value or None, and whether it matches.
Rows = list[tuple[int | None, bool]]


def random_file(random: Random) -> Rows:
    middle, width = random.randint(-30, 30), random.choice([0, 1, 5, 60])
    with_nulls = random.choice([0, 0, 0.2, 0.5, 1])
    matches = random.choice([1, 1, 1, 0.7, 0])
    return [
        (
            None if random.random() < with_nulls else random.randint(middle, middle + width),
            random.random() < matches,
        )
        for _ in range(random.randint(0, 6))
    ]


def bounds_of(files: list[Rows], random: Random) -> KeyBounds:
    """True bounds, some of them wide or unknown."""
    lower, upper, value, null, nulls, attained = [], [], [], [], [], []
    for rows in files:
        values = [v for v, _ in rows if v is not None]
        count = len(rows) - len(values)
        slack, is_known = random.choice([0, 0, 0, 2]), random.random() < 0.9
        lower.append(min(values) - slack if values and is_known else MIN_ORDINAL)
        upper.append(max(values) + slack if values and is_known else MAX_ORDINAL)
        value.append(bool(values) or random.random() < 0.2)
        null.append(bool(count) or random.random() < 0.2)
        counted = count if count and random.random() < 0.8 else UNKNOWN
        nulls.append(counted if null[-1] else 0)
        attained.append(bool(values) and is_known and not slack)
    return KeyBounds(
        np.array(lower, np.int64),
        np.array(upper, np.int64),
        np.array(value, np.bool_),
        np.array(null, np.bool_),
        np.array(nulls, np.int64),
        np.array(attained, np.bool_),
    )


def first(files: list[Rows], order: OrderColumn, rows: int) -> list[int | None]:
    found = [value for file in files for value, matches in file if matches]
    values = sorted((v for v in found if v is not None), reverse=order.descending)
    nulls: list[int | None] = [None] * found.count(None)
    return ([*nulls, *values] if order.nulls_first else [*values, *nulls])[:rows]


def test_random_files() -> None:
    random, narrower = Random(SEED), 0
    for _ in range(CASES):
        files = [random_file(random) for _ in range(random.randint(1, 12))]
        sure = np.array([len(f) if all(m for _, m in f) else 0 for f in files], np.int64)
        order = OrderColumn(
            Column(("c",)), random.random() < 0.5, random.random() < 0.5, random.random() < 0.5
        )
        wanted = random.choice([1, 1, 2, 3, 8, 20])
        flags = may_have_first_rows(bounds_of(files, random), sure, wanted, order)
        left = [file for file, flag in zip(files, flags.tolist(), strict=True) if flag]
        assert first(left, order, wanted) == first(files, order, wanted), (files, order, wanted)
        narrower += not flags.all()
    assert narrower > CASES / 5


def test_equal_values_stay_for_the_columns_behind() -> None:
    known = np.ones(4, np.bool_)
    bounds = KeyBounds(
        np.array([1, 1, 1, 2]), np.array([1, 1, 2, 2]), known, ~known, np.zeros(4, np.int64), known
    )
    order, sure = OrderColumn(Column(("c",))), np.array([3, 1, 2, 1])
    flags = may_have_first_rows(bounds, sure, 2, order)
    assert flags.tolist() == [True, True, True, False]


def test_one_file_has_a_minimum() -> None:
    """Its first value is known, others overlap with it or are equal."""
    known = np.ones(4, np.bool_)
    bounds = KeyBounds(
        np.array([3, 1, 1, 2]), np.array([9, 8, 9, 4]), known, ~known, np.zeros(4, np.int64), known
    )
    column, sure = Column(("c",)), np.array([5, 5, 5, 5])
    minimum, first_row = OrderColumn(column, any_of_equal=True), OrderColumn(column)
    assert may_have_first_rows(bounds, sure, 1, minimum).tolist() == [False, True, False, False]
    assert may_have_first_rows(bounds, sure, 1, first_row).tolist() == [False, True, True, False]
    doubtful = np.array([5, 0, 0, 5])
    assert may_have_first_rows(bounds, doubtful, 1, minimum).tolist() == [False, True, True, True]

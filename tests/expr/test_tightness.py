"""With exact statistics, a comparison keeps only the files whose range admits a match."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi_expr.expr.nodes import Comparison, Not, Op, StartsWith
from tests.example_counts import examples
from tests.expr.kept_files import X, among, kept, lit
from tests.expr.strategies import FIELDS, Field

FIRST_EXACT_DAY = -25_567  # 1900-01-01: earlier, calendars and offsets leave margins


def is_exact(field: Field, value: Any) -> bool:
    """Whether all engines read the value alike."""
    if pa.types.is_floating(field.type):
        return bool(value == value)
    if pa.types.is_date(field.type):
        return bool(value >= FIRST_EXACT_DAY)
    if pa.types.is_timestamp(field.type):
        per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[field.type.unit]
        return bool(value >= FIRST_EXACT_DAY * 86_400 * per_second)
    return True


TIGHT = [field for field in FIELDS if field.declared is None and "." not in field.name]


def key(value: Any) -> Any:
    """SQL's order: text by its UTF-8 bytes."""
    return value.encode() if isinstance(value, str) else value


ADMITS = {
    Op.EQ: lambda low, high, literal: low <= literal <= high,
    Op.NE: lambda low, high, literal: not low == literal == high,
    Op.LT: lambda low, high, literal: low < literal,
    Op.LTEQ: lambda low, high, literal: low <= literal,
    Op.GT: lambda low, high, literal: high > literal,
    Op.GTEQ: lambda low, high, literal: high >= literal,
    Op.NULL_SAFE_EQ: lambda low, high, literal: low <= literal <= high,
}
NEGATED = {
    Op.EQ: Op.NE,
    Op.NE: Op.EQ,
    Op.LT: Op.GTEQ,
    Op.LTEQ: Op.GT,
    Op.GT: Op.LTEQ,
    Op.GTEQ: Op.LT,
    Op.NULL_SAFE_EQ: Op.NE,
}


@pytest.mark.parametrize("field", TIGHT, ids=lambda field: field.name)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_a_comparison_keeps_exactly_the_files_whose_range_admits_a_match(
    field: Field, data: st.DataObject
) -> None:
    exact = [value for value in field.pool if is_exact(field, value)]
    values = st.sampled_from(exact)
    files = data.draw(st.lists(st.lists(values, min_size=1, max_size=3), min_size=1, max_size=6))
    literal, op = data.draw(values), data.draw(st.sampled_from(Op))
    ranges = [(min(map(key, rows)), max(map(key, rows))) for rows in files]

    def admitted(op: Op) -> list[int]:
        return [
            index for index, (low, high) in enumerate(ranges) if ADMITS[op](low, high, key(literal))
        ]

    comparison = Comparison(op, X, lit(literal, field.type))
    assert kept(comparison, field.type, *files, zone="UTC") == admitted(op)
    assert kept(Not(comparison), field.type, *files, zone="UTC") == admitted(NEGATED[op])


@pytest.mark.parametrize("field", TIGHT, ids=lambda field: field.name)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_in_keeps_exactly_the_files_with_an_option_in_range(
    field: Field, data: st.DataObject
) -> None:
    values = st.sampled_from([value for value in field.pool if is_exact(field, value)])
    files = data.draw(st.lists(st.lists(values, min_size=1, max_size=3), min_size=1, max_size=6))
    options = data.draw(st.lists(values, min_size=1, max_size=40))
    expected = [
        index
        for index, rows in enumerate(files)
        if any(min(map(key, rows)) <= key(option) <= max(map(key, rows)) for option in options)
    ]
    literals = [lit(option, field.type) for option in options]
    assert kept(among(X, *literals), field.type, *files, zone="UTC") == expected


@settings(max_examples=examples(200))
@given(
    st.lists(st.lists(st.text(max_size=3), min_size=1, max_size=3), min_size=1, max_size=6),
    st.text(min_size=1, max_size=2),
)
def test_a_prefix_keeps_exactly_the_files_whose_range_admits_it(
    files: list[list[str]], prefix: str
) -> None:
    encoded = prefix.encode()

    def has_room(rows: list[str]) -> bool:
        low, high = min(map(key, rows)), max(map(key, rows))
        return high >= encoded and (low <= encoded or low.startswith(encoded))

    expected = [index for index, rows in enumerate(files) if has_room(rows)]
    assert kept(StartsWith(X, prefix), pa.string(), *files) == expected

"""Keys and shards as Hudi computes them; golden tables confirm them for whole partitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.tables.mdt.bytes.keys import (
    column_stats_key,
    composite_parts,
    composite_value,
    id64,
    id128,
    java_hash,
    partition_stats_key,
    secondary_key,
    secondary_prefix,
    shard,
    split_secondary_key,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def test_identifiers_have_fixed_lengths() -> None:
    assert len(id64("")) == len(id64("a" * 100)) == 12
    assert len(id128("")) == 24


def test_the_partition_of_a_table_without_any_is_a_dot() -> None:
    assert column_stats_key("c", "", "f") == id64("c") + id64(".") + id128("f")
    assert partition_stats_key("c", "") == id64("c") + id64(".")


@pytest.mark.parametrize(
    ("text", "hashed"),
    [("", 0), ("a", 97), ("hudi", 3213906), ("polygenelubricants", -(2**31)), ("😀", 1772899)],
)
def test_java_hash_equals_javas(text: str, hashed: int) -> None:
    assert java_hash(text) == hashed


@given(TEXT, st.integers(1, 1000))
def test_a_shard_is_one_of_the_shards(key: str, shards: int) -> None:
    assert 0 <= shard(key, shards) < shards


def test_the_minimum_hash_has_a_shard() -> None:
    # Java: Math.abs(Math.abs(Integer.MIN_VALUE) % 10) is 8.
    assert shard("polygenelubricants", 10) == 8


@given(st.one_of(st.none(), TEXT.filter(lambda text: text != "\0")), TEXT)
def test_secondary_keys_can_be_split_again(value: str | None, record_key: str) -> None:
    key = secondary_key(value, record_key)
    assert key.startswith(secondary_prefix(value))
    assert split_secondary_key(key) == (value, record_key)


_MARKS = st.text("a\0\x1e\x1f\n", max_size=4)


@given(st.lists(st.one_of(st.none(), TEXT, _MARKS), max_size=4))
def test_values_of_several_columns_can_be_split_again(values: list[str | None]) -> None:
    joined = composite_value([None if value is None else value.encode() for value in values])
    assert composite_parts(joined.decode()) == values


@given(*[st.lists(st.one_of(st.none(), _MARKS), min_size=2, max_size=2)] * 2)
def test_values_begin_alike_exactly_if_their_first_columns_are_equal(
    one: list[str | None], other: list[str | None]
) -> None:
    first, second = (
        [None if value is None else value.encode() for value in row] for row in (one, other)
    )
    begins = composite_value(first).startswith(composite_value(second[:1]))
    assert begins == (one[0] == other[0])


@pytest.mark.parametrize("key", ["", "a", "a$b\\"])
def test_invalid_secondary_keys_are_refused(key: str) -> None:
    with pytest.raises(ValueError, match="not the key of a secondary index"):
        split_secondary_key(key)

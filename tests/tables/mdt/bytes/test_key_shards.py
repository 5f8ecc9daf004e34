"""Shards of many keys equal those computed one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import java_hash, shard, shards

#: Its hash is the minimum int, whose absolute value overflows in Java.
LEAST = "polygenelubricants"


@given(st.lists(st.text(max_size=12)), st.sampled_from([1, 20]), st.integers(1, 20))
def test_shards_equal_those_computed_one_by_one(some: list[str], times: int, count: int) -> None:
    texts = some * times
    keys = ByteStrings.of([text.encode() for text in texts])
    assert shards(keys, count).tolist() == [shard(text, count) for text in texts]


def test_the_minimum_hash() -> None:
    assert java_hash(LEAST) == -(2**31)
    assert shards(ByteStrings.of([LEAST.encode()]), 10).tolist() == [shard(LEAST, 10)]

"""Hashes of many keys equal those that the library computes one by one."""

from __future__ import annotations

from random import Random

import mmh3
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import digest_sum, hashes


def expected(keys: list[bytes]) -> list[int]:
    return [mmh3.hash64(key, signed=False)[0] for key in keys]


@given(st.lists(st.binary(max_size=50)))
def test_hashes_equal_those_of_the_library(keys: list[bytes]) -> None:
    assert hashes(ByteStrings.of(keys)).tolist() == expected(keys)


@given(st.lists(st.binary(max_size=50), unique=True), st.randoms())
def test_sets_are_compared_by_sums_of_digests(keys: list[bytes], random: Random) -> None:
    expected_sum = [sum(halves) % 2**64 for halves in zip(*map(_digest, keys), strict=True)]
    again = [*keys, *random.choices(keys or [b""], k=len(keys))]
    random.shuffle(again)
    assert digest_sum(ByteStrings.of(again)).tolist() == (expected_sum or [0, 0])


def _digest(key: bytes) -> tuple[int, int]:
    first, second = mmh3.hash64(key, signed=False)
    return first, second


def test_strings_within_a_buffer() -> None:
    keys = [b"a", b"bb" * 20, b"", b"c" * 16]
    assert hashes(ByteStrings.of(keys).take(slice(1, 3))).tolist() == expected(keys[1:3])

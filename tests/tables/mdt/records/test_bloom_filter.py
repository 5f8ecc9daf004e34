"""Bloom filters: no added key is missed, whatever its bytes and the filter's kind."""

from __future__ import annotations

import base64
import gzip
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.records.bloom_filter import (
    DYNAMIC,
    SIMPLE,
    FilterBuilder,
    HashedKeys,
    UnreadableFilterError,
    parse,
)

BITS, HASHES = 1009, 7


def int32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


def murmur(data: bytes, seed: int) -> int:
    """Hadoop's MurmurHash in plain Python, with Java's ints."""
    m = 0x5BD1E995
    h = (seed ^ len(data)) & 0xFFFFFFFF
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & 0xFFFFFFFF
        k = (k ^ k >> 24) * m & 0xFFFFFFFF
        h = (h * m & 0xFFFFFFFF) ^ k
    tail_length = len(data) - whole
    signed = [byte - 256 if byte > 127 else byte for byte in data]
    if tail_length >= 3:
        h ^= signed[-3] << 16 & 0xFFFFFFFF
    if tail_length >= 2:
        h ^= signed[-2] << 8 & 0xFFFFFFFF
    if tail_length >= 1:
        h = (h ^ signed[-1] & 0xFFFFFFFF) * m & 0xFFFFFFFF
    h = (h ^ h >> 13) * m & 0xFFFFFFFF
    return int32(h ^ h >> 15)


def positions(key: bytes) -> list[int]:
    found, seed = [], 0
    for _ in range(HASHES):
        seed = murmur(key, seed)
        found.append(abs(int(seed) if seed >= 0 else -((-seed) % BITS)) % BITS)
    return found


def row(keys: list[bytes]) -> bytes:
    bits = bytearray((BITS + 7) // 8)
    for key in keys:
        for position in positions(key):
            bits[position >> 3] |= 1 << (position & 7)
    return struct.pack(">iiBi", -1, HASHES, 1, BITS) + bytes(bits)


def simple(keys: list[bytes]) -> bytes:
    return base64.b64encode(row(keys))


def dynamic(*rows: list[bytes]) -> bytes:
    head = struct.pack(">iiBi", -1, HASHES, 1, BITS) + struct.pack(">iii", 10, 1, len(rows))
    return base64.b64encode(head + b"".join(map(row, rows)))


def holds(kind: str, text: bytes, *keys: bytes) -> bool:
    return parse(kind, text).may_hold_any(HashedKeys(ByteStrings.of(keys)))


keys = st.lists(st.binary(max_size=20), max_size=10)


@given(keys, keys, keys)
def test_answers_follow_from_the_bits(
    first: list[bytes], second: list[bytes], looked_up: list[bytes]
) -> None:
    def expected(*rows: list[bytes]) -> bool:
        filled = [{p for key in added for p in positions(key)} for added in rows]
        return any(set(positions(key)) <= bits for key in looked_up for bits in filled)

    assert holds(SIMPLE, simple(first), *looked_up) == expected(first)
    assert holds(DYNAMIC, dynamic(first, second), *looked_up) == expected(first, second)


@given(st.lists(st.text(max_size=8), min_size=1, max_size=10))
def test_no_key_is_missed(texts: list[str]) -> None:
    added = [text.encode() for text in texts]
    for key in added:
        assert holds(SIMPLE, simple(added), key)
        assert holds(DYNAMIC, dynamic([], added), b"other", key)


def test_compressed_filters_are_read() -> None:
    packed = base64.b64encode(gzip.compress(base64.b64decode(simple([b"a"]))))
    assert holds(SIMPLE, packed, b"a")
    assert not holds(SIMPLE, packed, b"b")


def test_a_filter_without_keys_is_empty() -> None:
    assert parse(SIMPLE, simple([])).is_empty
    assert not parse(SIMPLE, simple([b"a"])).is_empty


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("CUCKOO", simple([b"a"])),
        (SIMPLE, b""),
        (SIMPLE, b"not base64!"),
        (SIMPLE, simple([b"a"])[:40]),
        (DYNAMIC, simple([b"a"])),
        (DYNAMIC, dynamic()),
        (SIMPLE, base64.b64encode(struct.pack(">iiBi", -1, 7, 0, 64) + bytes(8))),
        (SIMPLE, base64.b64encode(struct.pack(">iiBi", 0, 7, 1, 64) + bytes(8))),
        (SIMPLE, base64.b64encode(struct.pack(">iiBi", -1, 2**30, 1, 64) + bytes(8))),
    ],
)
def test_an_unreadable_filter_is_an_error(kind: str, text: bytes) -> None:
    with pytest.raises(UnreadableFilterError):
        parse(kind, text)


@given(keys=st.lists(st.binary(max_size=20), max_size=60), parts=st.integers(1, 3))
def test_a_built_filter_contains_its_keys(keys: list[bytes], parts: int) -> None:
    builder = FilterBuilder(len(keys))
    for part in range(parts):
        builder.add(ByteStrings.of(keys[part::parts]))
    found = parse(SIMPLE, builder.text())
    assert all(found.may_hold_any(HashedKeys(ByteStrings.of([key]))) for key in keys)


def test_a_built_filter_excludes_other_keys() -> None:
    builder = FilterBuilder(1_000)
    builder.add(ByteStrings.of([b"key-%d" % number for number in range(1_000)]))
    found = parse(SIMPLE, builder.text())
    others = [b"other-%d" % number for number in range(5_000)]
    assert not found.may_hold_any(HashedKeys(ByteStrings.of(others)))

"""Bloom filters as Hudi serialises them, built from and tested for many keys at once.

A filter is the base64 of (big-endian; Hadoop's `BloomFilter` and `DynamicBloomFilter`)

    i32 -1, i32 hashes of a key, u8 hash function, i32 bits,
    SIMPLE:      the bits, the first of each byte lowest
    DYNAMIC_V0:  i32 keys for a row, i32 keys in the last row, i32 rows, each row a SIMPLE filter

A key's k-th bit is the k-th hash modulo the number of bits, where each hash is the seed of the next
(Hadoop's `HashFunction` and its own MurmurHash2, which takes the last bytes as signed).
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import BoolArray, Int64Array, UInt8Array, UInt32Array
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.kernel import as_bytes
from pyhudi_expr.tables.parsing.budget import GZIP, inflate

SIMPLE, DYNAMIC = "SIMPLE", "DYNAMIC_V0"

#: The footer keys of a base file's filter of record keys, and of its kind.
FOOTER_CONTENT, FOOTER_KIND = b"org.apache.hudi.bloomfilter", b"hoodie_bloom_filter_type_code"

_HEAD = struct.Struct(">iiBi")
_DYNAMIC_HEAD = struct.Struct(">iii")
_VERSION = -1
_MURMUR = 1
_GZIP_MAGIC = b"\x1f\x8b"
_MOST_HASHES = 1000
_FALSE_POSITIVES = 1e-9
_M = np.uint32(0x5BD1E995)


class UnreadableFilterError(ValueError):
    """The bytes are not a filter of a known kind; the message says why."""


@dataclass(frozen=True)
class BloomFilter:
    """A filter.

    Attributes:
        rows: One array of bytes for each row; a key may be in any of them.
        bits: Number of bits in a row.
    """

    rows: tuple[UInt8Array, ...]
    bits: int
    hashes: int

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(row.nbytes for row in self.rows)

    @property
    def is_empty(self) -> bool:
        """Whether no key was ever added."""
        return not any(row.any() for row in self.rows)

    def may_hold_any(self, keys: HashedKeys) -> bool:
        """Return whether one of the keys may have been added."""
        return any(len(self._held(row, keys)) for row in self.rows)

    def may_hold(self, keys: HashedKeys) -> BoolArray:
        """Return for each key whether it may have been added."""
        flags = np.zeros(len(keys), np.bool_)
        for row in self.rows:
            flags[self._held(row, keys)] = True
        return flags

    def _held(self, row: UInt8Array, keys: HashedKeys) -> Int64Array:
        """Return the positions of the keys that a row may hold."""
        candidates = np.arange(len(keys))
        for number in range(self.hashes):
            bit = _bits_of(keys.hashes(number)[candidates], self.bits)
            candidates = candidates[(row[bit >> 3] >> (bit & 7).astype(np.uint8) & 1) == 1]
            if not len(candidates):
                break
        return candidates


class HashedKeys:
    """Keys with their chain of hashes, computed on demand."""

    def __init__(self, keys: ByteStrings) -> None:
        self._keys = keys
        self._chain: list[UInt32Array] = []

    def __len__(self) -> int:
        return len(self._keys)

    def hashes(self, number: int) -> UInt32Array:
        """Return the hash of each key with that number, from 0 on."""
        while len(self._chain) <= number:
            nothing = np.zeros(len(self._keys), np.uint32)
            self._chain.append(_murmur(self._keys, self._chain[-1] if self._chain else nothing))
        return self._chain[number]


class FilterBuilder:
    """Builds a SIMPLE filter for so many keys, with one false positive in 10^9 other keys."""

    def __init__(self, keys: int) -> None:
        expected = max(keys, 1)
        self._bits = math.ceil(expected * -math.log(_FALSE_POSITIVES) / math.log(2) ** 2)
        self._hashes = math.ceil(math.log(2) * self._bits / expected)
        self._row = np.zeros((self._bits + 7) // 8, np.uint8)

    def add(self, keys: ByteStrings) -> None:
        """Add the keys (UTF-8)."""
        hashed = HashedKeys(keys)
        for number in range(self._hashes):
            bit = _bits_of(hashed.hashes(number), self._bits)
            np.bitwise_or.at(self._row, bit >> 3, np.uint8(1) << (bit & 7).astype(np.uint8))

    def text(self) -> bytes:
        """Return the filter, for `parse(SIMPLE, ...)` and for Hudi."""
        head = _HEAD.pack(_VERSION, self._hashes, _MURMUR, self._bits)
        return base64.b64encode(head + self._row.tobytes())


def _bits_of(hashed: UInt32Array, bits: int) -> Int64Array:
    found: Int64Array = np.abs(np.fmod(hashed.view(np.int32).astype(np.int64), bits))
    return found


def parse(kind: str, text: bytes) -> BloomFilter:
    """Parse a filter as Hudi stores it.

    Raises:
        UnreadableFilterError: It is not a filter of a known kind.
    """
    try:
        content = base64.b64decode(text, validate=True)
        if content.startswith(_GZIP_MAGIC):
            content = inflate(content, GZIP, "a Bloom filter")
        if kind == SIMPLE:
            return _parse(content, 0)[0]
        if kind == DYNAMIC:
            return _parse_dynamic(content)
    except (binascii.Error, struct.error, CorruptFile) as error:
        raise UnreadableFilterError(f"the filter's bytes are damaged: {error!r}") from error
    raise UnreadableFilterError(f"filters of kind {kind!r} are not known")


def of_footer(metadata: Mapping[bytes, bytes] | None) -> tuple[str, bytes] | None:
    """Return the kind and the text of the filter in a base file's footer; None if there is none."""
    entries = metadata or {}
    kind, text = entries.get(FOOTER_KIND, b"").decode() or SIMPLE, entries.get(FOOTER_CONTENT, b"")
    try:
        return None if parse(kind, text).is_empty else (kind, text)
    except UnreadableFilterError:
        return None


def _head(content: bytes, at: int) -> tuple[int, int]:
    version, hashes, function, bits = _HEAD.unpack_from(content, at)
    if version != _VERSION or function != _MURMUR:
        raise UnreadableFilterError(f"version {version} with hash function {function}")
    if not 0 < hashes <= _MOST_HASHES or bits <= 0:
        raise UnreadableFilterError(f"{hashes} hashes over {bits} bits")
    return hashes, bits


def _parse(content: bytes, at: int) -> tuple[BloomFilter, int]:
    hashes, bits = _head(content, at)
    start, size = at + _HEAD.size, (bits + 7) // 8
    if start + size > len(content):
        raise UnreadableFilterError("the filter ends early")
    row = np.frombuffer(content, np.uint8, size, start)
    return BloomFilter((row,), bits, hashes), start + size


def _parse_dynamic(content: bytes) -> BloomFilter:
    hashes, bits = _head(content, 0)
    _, _, count = _DYNAMIC_HEAD.unpack_from(content, _HEAD.size)
    at = _HEAD.size + _DYNAMIC_HEAD.size
    rows: list[UInt8Array] = []
    if count <= 0:
        raise UnreadableFilterError(f"{count} rows")
    for _ in range(count):
        row, at = _parse(content, at)
        if (row.bits, row.hashes) != (bits, hashes):
            raise UnreadableFilterError("rows of unlike sizes")
        rows.extend(row.rows)
    return BloomFilter(tuple(rows), bits, hashes)


def _murmur(keys: ByteStrings, seeds: UInt32Array) -> UInt32Array:
    """Return Hadoop's MurmurHash2 of each key with its seed; keys of one length together."""
    lengths = keys.end - keys.start
    found = np.empty(len(keys), np.uint32)
    if not len(keys):
        return found
    data = as_bytes(keys.data)
    order = np.argsort(lengths, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        length = int(lengths[rows[0]])
        text = data[keys.start[rows][:, np.newaxis] + np.arange(length)] if length else None
        found[rows] = _murmur_of_length(text, length, seeds[rows])
    return found


def _murmur_of_length(text: UInt8Array | None, length: int, seeds: UInt32Array) -> UInt32Array:
    h = seeds ^ np.uint32(length)
    whole = length & ~3
    with np.errstate(over="ignore"):
        if text is not None and whole:
            for word in np.ascontiguousarray(text[:, :whole]).view("<u4").T:
                k = word.astype(np.uint32) * _M
                k ^= k >> np.uint32(24)
                h = (h * _M) ^ (k * _M)
        left = length - whole
        if text is not None and left:
            signed = text.view(np.int8).astype(np.int32)
            for behind in range(left, 0, -1):
                h = h ^ (signed[:, length - behind] << (8 * (behind - 1))).view(np.uint32)
            h = h * _M
        h = h ^ (h >> np.uint32(13))
        h = h * _M
    return h ^ (h >> np.uint32(15))

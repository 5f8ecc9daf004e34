"""Record keys of the metadata table, their hashes, and the file groups (shards) that hold them.

RFC-27 defines the keys of the statistics, RFC-77 those of secondary indexes; hashes are Hudi's
`HashID` (XXH64 with its seed, MD5), as base64 of the big-endian bytes. Keys are ASCII or UTF-8.

Keys are hashed by length, all keys of one length together as rows of words. A hash may belong to
another key: a look-up by hashes finds too much, never too little.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import xxhash

from pyhudi_expr.arrays import Int64Array, UInt8Array, UInt32Array, UInt64Array
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.kernel import as_bytes

_XXH64_SEED = 0xFFFFFFFFDABADABA
_ESCAPE, _SEPARATOR, _NULL_SECONDARY = "\\", "$", "\0"

COMPONENT_END, COMPONENT_MARK = "\x1f", "\x1e"
"""In values of indexes over several columns: the end of each column's value, and what stands before
such characters within it."""

_COMPONENT = re.compile("((?:[^\x1e\x1f]|\x1e.)*)\x1f", re.DOTALL)
_MARKED = re.compile("\x1e(.)", re.DOTALL)

ALL_PARTITIONS = "__all_partitions__"
"""Key in `files` of the record that lists the table's partitions."""
ROOT_PARTITION = "."
"""How keys name the only partition of a table without partitions, whose path is empty."""
_PARTITION_STAT = "__partition_stat__"


@lru_cache(maxsize=100_000)
def id64(text: str) -> str:
    """Return 12 characters: base64 of XXH64 (columns and partitions)."""
    digest = xxhash.xxh64(text.encode(), seed=_XXH64_SEED).digest()
    return base64.b64encode(digest).decode()


def id128(text: str) -> str:
    """Return 24 characters: base64 of MD5 (file names)."""
    return base64.b64encode(hashlib.md5(text.encode(), usedforsecurity=False).digest()).decode()


def partition_key(partition: str) -> str:
    """Return a partition path as keys have it."""
    return partition or ROOT_PARTITION


def column_prefix(column: str) -> str:
    """Return the prefix of all keys of a column in column_stats and partition_stats."""
    return id64(column)


def column_partition_prefix(column: str, partition: str) -> str:
    """Return the prefix of a column's keys for one partition in column_stats."""
    return id64(column) + id64(partition_key(partition))


def column_stats_key(column: str, partition: str, file_name: str) -> str:
    """Return the key of one file's entry; nested columns are named with dots."""
    return column_partition_prefix(column, partition) + id128(file_name)


def partition_stats_key(column: str, partition: str) -> str:
    """Return the key of one partition's entry."""
    return column_partition_prefix(column, partition)


def expression_partition_stats_key(column: str, partition: str) -> str:
    """Return the key of one partition's entry in an expression index over a source column."""
    return id64(column) + id64(_PARTITION_STAT) + id64(partition_key(partition))


def bloom_filter_key(partition: str, file_name: str) -> str:
    """Return the key of one file's Bloom filter."""
    return id64(partition_key(partition)) + id128(file_name)


def secondary_prefix(value: str | None) -> str:
    """Return the prefix of the keys of all records with a secondary value (null: a NUL).

    An index of version V2 hashes it: a value is in one file group.
    """
    return (_NULL_SECONDARY if value is None else escape(value)) + _SEPARATOR


def secondary_key(value: str | None, record_key: str) -> str:
    """Return the key of one record in a secondary index."""
    return secondary_prefix(value) + escape(record_key)


def composite_value(values: Sequence[bytes | None]) -> bytes:
    """Return what an index over several columns has as the value of rows with these values.

    With values of its first columns only, it is the beginning of the value of such rows. Unlike in
    an index over one column, a text that is a NUL is no null.
    """
    return b"".join(map(_component, values))


def composite_parts(value: str) -> list[str | None]:
    """Return the values of the columns in (the beginning of) a `composite_value`."""
    return [_part(text) for text in _COMPONENT.findall(value)]


def composite_beginnings(value: str) -> Iterator[str]:
    """Return the beginnings of a `composite_value`: of one column, of two, and so on."""
    return (value[: match.end()] for match in _COMPONENT.finditer(value))


def _part(text: str) -> str | None:
    return None if text == _NULL_SECONDARY else _MARKED.sub(r"\1", text)


def _component(value: bytes | None) -> bytes:
    null, mark, end = (text.encode() for text in (_NULL_SECONDARY, COMPONENT_MARK, COMPONENT_END))
    if value is None:
        return null + end
    if value == null:
        return mark + null + end
    return value.replace(mark, mark * 2).replace(end, mark + end) + end


def split_secondary_key(key: str) -> tuple[str | None, str]:
    """Return the secondary value and the record key of a key. Raises ValueError for another key."""
    parts: list[str] = []
    current: list[str] = []
    escaped = False
    for char in key:
        if escaped:
            current.append(char)
            escaped = False
        elif char == _ESCAPE:
            escaped = True
        elif char == _SEPARATOR and not parts:
            parts.append("".join(current))
            current = []
        else:
            current.append(char)
    if escaped or len(parts) != 1:
        raise ValueError(f"not the key of a secondary index: {key!r}")
    return (None if key.startswith(_NULL_SECONDARY + _SEPARATOR) else parts[0]), "".join(current)


def secondary_shard_key(value: str | None) -> str:
    """Return the text that an index over several columns hashes, given its first value.

    Indexes over one column that an earlier version of this package built hash it, too. It differs
    from `secondary_prefix` for values with a dollar sign or a backslash.
    """
    return ("" if value is None else value) + _SEPARATOR


def shard(key: str, shards: int) -> int:
    """Return the file group (0 to shards - 1) of a key: |abs(Java's String.hashCode) % shards|."""
    hashed = java_hash(key)
    # Java's abs of the least int is itself, and its % takes the dividend's sign.
    magnitude = abs(hashed) if hashed != -(2**31) else 2**31
    return magnitude % shards


def java_hash(text: str) -> int:
    """Return Java's String.hashCode: over UTF-16 units, as a signed 32-bit number."""
    hashed = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for i in range(0, len(units), 2):
        hashed = (31 * hashed + (units[i] << 8 | units[i + 1])) & 0xFFFFFFFF
    return hashed - 2**32 if hashed >= 2**31 else hashed


def escape(text: str) -> str:
    """Return a value or a record key as the keys of secondary indexes have it (RFC-77)."""
    return text.replace(_ESCAPE, _ESCAPE * 2).replace(_SEPARATOR, _ESCAPE + _SEPARATOR)


Hashes = UInt64Array
Digests = UInt64Array

_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_ROWS = 1 << 18
_BLOCK_BYTES = 16


def hashes(keys: ByteStrings) -> Hashes:
    """Return one hash for each key, as ``mmh3.hash64(key, signed=False)[0]``."""
    return _halves(keys)[0]


def digests(keys: ByteStrings) -> Digests:
    """Return both halves of each key's hash of 128 bits, as ``mmh3.hash64(key, signed=False)``.

    Sets of keys are compared by `digest_sum`. They are of shape (keys, 2).
    """
    return np.stack(_halves(keys), axis=1)


def digest_sum(keys: ByteStrings) -> Digests:
    """Return the sum (modulo 2^64) of the digests of the distinct keys; two numbers.

    Sets with equal sums are equal: others have them by chance only, once in 2^128.
    """
    distinct = ByteStrings.from_arrow(keys.array().unique())
    return digests(distinct).sum(axis=0, dtype=np.uint64)


def _halves(keys: ByteStrings) -> tuple[Hashes, Hashes]:
    data, start, lengths = as_bytes(keys.data), keys.start, keys.end - keys.start
    first, second = np.empty(len(start), np.uint64), np.empty(len(start), np.uint64)
    if not len(start):
        return first, second
    order = np.argsort(lengths, kind="stable")
    edges = np.flatnonzero(np.diff(lengths[order])) + 1
    for rows in np.split(order, edges):
        for at in range(0, len(rows), _ROWS):
            chosen = rows[at : at + _ROWS]
            length = int(lengths[chosen[0]])
            first[chosen], second[chosen] = _hash_length(data, start[chosen], length)
    return first, second


def _hash_length(data: UInt8Array, start: Int64Array, length: int) -> tuple[Hashes, Hashes]:
    blocks = length // _BLOCK_BYTES
    words = np.zeros((len(start), (blocks + 1) * _BLOCK_BYTES), np.uint8)
    if length:
        words[:, :length] = data[start[:, np.newaxis] + np.arange(length)]
    pairs = words.view("<u8").astype(np.uint64, copy=False)
    h1 = h2 = np.zeros(len(start), np.uint64)
    with np.errstate(over="ignore"):
        for block in range(blocks):
            h1 = _rotated(h1 ^ _first_mix(pairs[:, 2 * block]), 27) + h2
            h1 = h1 * np.uint64(5) + np.uint64(0x52DCE729)
            h2 = _rotated(h2 ^ _second_mix(pairs[:, 2 * block + 1]), 31) + h1
            h2 = h2 * np.uint64(5) + np.uint64(0x38495AB5)
        # The rest, padded with zeros: a word of zeros does not change the hash.
        h2 = h2 ^ _second_mix(pairs[:, 2 * blocks + 1]) ^ np.uint64(length)
        h1 = h1 ^ _first_mix(pairs[:, 2 * blocks]) ^ np.uint64(length)
        h1 = h1 + h2
        h2 = h2 + h1
        h2 = _finished(h2)
        h1 = _finished(h1) + h2
        return h1, h2 + h1


def _first_mix(word: Hashes) -> Hashes:
    return _rotated(word * _C1, 31) * _C2


def _second_mix(word: Hashes) -> Hashes:
    return _rotated(word * _C2, 33) * _C1


def _rotated(word: Hashes, by: int) -> Hashes:
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


def _finished(word: Hashes) -> Hashes:
    word = (word ^ (word >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    word = (word ^ (word >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return word ^ (word >> np.uint64(33))


_FIRST_BEYOND_ASCII = 0x80
_FEW = 16
"""Of so many keys each by itself is faster."""

Shards = Int64Array


def shards(keys: ByteStrings, count: int) -> Shards:
    """Return for each key (UTF-8) its file group, from 0 to `count` - 1."""
    # The magnitude of Java's least int is 2^31, like that of any other.
    magnitude: Shards = np.abs(java_hashes(keys).view(np.int32).astype(np.int64))
    return magnitude % count


def java_hashes(texts: ByteStrings) -> UInt32Array:
    """Return Java's String.hashCode of each text (UTF-8), as unsigned numbers.

    Java hashes UTF-16 units, which are the bytes of ASCII texts. ASCII texts of one length are
    hashed together, other texts one by one.
    """
    return _one_by_one(texts) if len(texts) <= _FEW else _together(texts)


def _one_by_one(keys: ByteStrings) -> UInt32Array:
    return np.array([_hash(keys, row) for row in range(len(keys))], np.uint32)


def _hash(keys: ByteStrings, row: int) -> int:
    return java_hash(keys[row].decode()) & 0xFFFFFFFF


def _together(keys: ByteStrings) -> UInt32Array:
    hashed = np.zeros(len(keys), np.uint32)
    lengths = keys.end - keys.start
    data = as_bytes(keys.data)
    order = np.argsort(lengths, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        length = int(lengths[rows[0]]) if len(rows) else 0
        beyond = np.zeros(len(rows), np.bool_)
        found = np.zeros(len(rows), np.uint32)
        for place in range(length):
            unit = data[keys.start[rows] + place]
            beyond |= unit >= _FIRST_BEYOND_ASCII
            found = found * np.uint32(31) + unit
        hashed[rows] = found
        for row in rows[beyond].tolist():
            hashed[row] = _hash(keys, row)
    return hashed

"""Record keys of the metadata table and the file groups (shards) that hold them.

RFC-27 defines the keys of the statistics, RFC-77 those of secondary indexes; hashes are Hudi's
`HashID` (XXH64 with its seed, MD5), as base64 of the big-endian bytes. Keys are ASCII or UTF-8.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import xxhash

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
    """Return the prefix of the keys of all records with a secondary value (null: a NUL)."""
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
    """Return the text that an index of version V2 hashes: a value is in one file group."""
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

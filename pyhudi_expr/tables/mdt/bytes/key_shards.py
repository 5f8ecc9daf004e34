"""The file groups of many keys at once: `keys.shard`, vectorised."""

from __future__ import annotations

import numpy as np

from pyhudi_expr.arrays import Int64Array, UInt32Array
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.kernel import as_bytes
from pyhudi_expr.tables.mdt.bytes.keys import java_hash

_FIRST_BEYOND_ASCII = 0x80
_FEW = 16
"""Of so many keys each by itself is faster."""

Shards = Int64Array


def shards(keys: ByteStrings, count: int) -> Shards:
    """Return for each key (UTF-8) its file group, from 0 to `count` - 1.

    Java hashes UTF-16 units, which are the bytes of ASCII keys. ASCII keys of one length are hashed
    together, other keys one by one.
    """
    hashed = _one_by_one(keys) if len(keys) <= _FEW else _together(keys)
    # The magnitude of Java's least int is 2^31, like that of any other.
    magnitude: Shards = np.abs(hashed.view(np.int32).astype(np.int64))
    return magnitude % count


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

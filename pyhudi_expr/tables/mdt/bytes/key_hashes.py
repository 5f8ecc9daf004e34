"""64-bit hashes of many keys at once: the first half of MurmurHash3 x64 128, seed 0.

Keys are hashed by length, all keys of one length together as rows of words. A hash may belong to
another key: a look-up by hashes finds too much, never too little.
"""

from __future__ import annotations

import numpy as np

from pyhudi_expr.arrays import Int64Array, UInt8Array, UInt64Array
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.kernel import as_bytes

Hashes = UInt64Array

_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_ROWS = 1 << 18
_BLOCK_BYTES = 16


def hashes(keys: ByteStrings) -> Hashes:
    """Return one hash for each key, as ``mmh3.hash64(key, signed=False)[0]``."""
    data, start, lengths = as_bytes(keys.data), keys.start, keys.end - keys.start
    found = np.empty(len(start), np.uint64)
    if not len(start):
        return found
    order = np.argsort(lengths, kind="stable")
    edges = np.flatnonzero(np.diff(lengths[order])) + 1
    for rows in np.split(order, edges):
        for at in range(0, len(rows), _ROWS):
            chosen = rows[at : at + _ROWS]
            found[chosen] = _hash_length(data, start[chosen], int(lengths[chosen[0]]))
    return found


def _hash_length(data: UInt8Array, start: Int64Array, length: int) -> Hashes:
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
        return _finished(h1) + _finished(h2)


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

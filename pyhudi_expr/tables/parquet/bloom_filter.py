"""Bloom filters of column chunks: split blocks of 32 bytes, looked up by XXH64.

A value sets one bit in each of the eight words of one block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xxhash

from pyhudi_expr.tables.parquet.compact_protocol import NotParquetError, read_struct

BLOCK_BYTES = 32
#: A header is shorter than this.
HEADER_BYTES = 64
#: Fields of BloomFilterHeader, and of its unions: split blocks, XXH64, uncompressed.
_NUM_BYTES, _UNIONS, _FIRST = 1, (2, 3, 4), 1
_MOST_BYTES = 1 << 30
_MASK = (1 << 32) - 1
_SALT = np.array(
    [
        *(0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D),
        *(0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31),
    ],
    np.uint32,
)


@dataclass(frozen=True)
class BloomHeader:
    """A Bloom filter in a file.

    Attributes:
        offset: The first byte of its blocks.
        blocks: Their number.
    """

    offset: int
    blocks: int

    @staticmethod
    def read(data: bytes, offset: int) -> BloomHeader:
        """Read the header that begins at an offset of a file. Raises NotParquetError."""
        fields, end = read_struct(data)
        size = fields.get(_NUM_BYTES)
        kinds = [fields.get(union) for union in _UNIONS]
        if not isinstance(size, int) or not 0 < size <= _MOST_BYTES or size % BLOCK_BYTES:
            raise NotParquetError("a Bloom filter has no whole blocks")
        if not all(isinstance(kind, dict) and kind.keys() == {_FIRST} for kind in kinds):
            raise NotParquetError("a Bloom filter is of an unknown kind")
        return BloomHeader(offset + end, size // BLOCK_BYTES)

    def block_of(self, value: bytes) -> int:
        """Return the number of the block in which a plain value would be."""
        return ((_hash(value) >> 32) * self.blocks) >> 32


def may_hold(block: bytes, value: bytes) -> bool:
    """Return whether the block of a plain value may hold it."""
    key = np.uint32(_hash(value) & _MASK)
    bits = (key * _SALT) >> np.uint32(27)
    words = np.frombuffer(block, "<u4")
    return bool((words >> bits & 1).all())


def _hash(value: bytes) -> int:
    found: int = xxhash.xxh64_intdigest(value)
    return found

"""The values of column chunks: dictionary pages, and Bloom filters of split blocks (XXH64).

A value sets one bit in each of the eight words of one block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from pyhudi_expr.arrays import DAMAGE_ERRORS
from pyhudi_expr.tables.parquet.compact_protocol import NotParquetError, read_struct

#: Larger dictionaries are not read: parquet-mr's limit is 1 MiB.
MOST_BYTES = 2 << 20
#: Fields of PageHeader and DictionaryPageHeader.
_TYPE, _UNCOMPRESSED, _COMPRESSED, _DICTIONARY = 1, 2, 3, 7
_ENCODING = 2
_DICTIONARY_PAGE = 2
_PLAIN_ENCODINGS = frozenset({0, 2})
#: CompressionCodec by number. Hadoop's own framing of LZ4 is not read.
_CODECS: Mapping[int, Any] = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_LENGTH_BYTES = 4


def read_dictionary(data: bytes, codec: int) -> bytes:
    """Return the plain values of the dictionary page with which bytes begin.

    Raises:
        NotParquetError: There is none, it is cut off, or it cannot be decompressed.
    """
    head, at = read_struct(data)
    size, compressed, of_values = (head.get(f) for f in (_UNCOMPRESSED, _COMPRESSED, _DICTIONARY))
    if head.get(_TYPE) != _DICTIONARY_PAGE or not isinstance(of_values, dict):
        raise NotParquetError("a column chunk does not begin with a dictionary")
    encoding = of_values.get(_ENCODING)
    if not isinstance(encoding, int) or encoding not in _PLAIN_ENCODINGS or codec not in _CODECS:
        raise NotParquetError("a dictionary is encoded in an unknown way")
    if not isinstance(size, int) or not isinstance(compressed, int):
        raise NotParquetError("a dictionary has no size")
    content = data[at : at + compressed]
    if len(content) != compressed or not 0 <= size <= MOST_BYTES:
        raise NotParquetError("a dictionary is too long")
    name = _CODECS[codec]
    if name is None:
        return content
    try:
        return pa.Codec(name).decompress(content, size, asbytes=True)
    except DAMAGE_ERRORS as error:
        raise NotParquetError(f"a dictionary cannot be decompressed: {error}") from error


def dictionary_may_hold(dictionary: bytes, value: bytes, width: int | None) -> bool:
    """Return whether a dictionary may hold a plain value.

    Args:
        dictionary: Its plain values.
        value: The value.
        width: Bytes of each value; None: each has its length before it.
    """
    if width is None:
        # Bytes that look like the value can be parts of others: then it is kept in vain.
        return len(value).to_bytes(_LENGTH_BYTES, "little") + value in dictionary
    if len(dictionary) % width:
        raise NotParquetError("a dictionary has a part of a value")
    values = np.frombuffer(dictionary, np.dtype((np.void, width)))
    return bool((values == np.frombuffer(value, values.dtype)).any())


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

"""The index over an HFile's data blocks, as arrays: a large file has a hundred thousand of them.

The root index is entries of [i64 offset][i32 size][vint key length][key]. If there are more levels,
its entries lead to index blocks of [i32 n][i32 offsets x (n + 1)] and n entries without the length
(HBase reference guide, "HFile format"). A key begins with [u16 row length][row].
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.tables.mdt.bytes import kernel
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings, concat_byte_strings
from pyhudi_expr.tables.mdt.hfile.blocks import vint

_ENTRY = struct.Struct(">qi")
_ROW_LENGTH = struct.Struct(">H")


class DamagedIndexError(ValueError):
    """An entry of the index exceeds its block."""


@dataclass(frozen=True, eq=False)
class BlockIndex:
    """Blocks in the order of their keys.

    Attributes:
        first_rows: The first row key of each.
        offset: Where each begins in the file, in bytes.
        size: The length of each with its header and checksums, in bytes.
    """

    first_rows: ByteStrings
    offset: Int64Array
    size: Int64Array

    def __len__(self) -> int:
        return len(self.offset)


def concat_indexes(parts: Sequence[BlockIndex]) -> BlockIndex:
    """Concatenate parts of one index, in their order."""
    if len(parts) == 1:
        return parts[0]
    none = np.zeros(0, np.int64)
    return BlockIndex(
        concat_byte_strings([part.first_rows for part in parts]),
        np.concatenate([none, *(part.offset for part in parts)]),
        np.concatenate([none, *(part.size for part in parts)]),
    )


def root_index(block: bytes, count: int) -> BlockIndex:
    """Parse that many entries of an uncompressed root index.

    Raises:
        DamagedIndexError: There are fewer, or one exceeds the block.
    """
    if not 0 <= count <= len(block) // _ENTRY.size:
        raise DamagedIndexError
    library = kernel.library()
    if library is None:
        return _root_index(block, count)
    offset, size, start, end = columns = [np.empty(count, np.int64) for _ in range(4)]
    targets = [kernel.pointer(column) for column in columns]
    if library.kernel_block_index(
        kernel.pointer(kernel.as_bytes(block)), len(block), count, *targets
    ):
        raise DamagedIndexError
    return BlockIndex(ByteStrings(block, start, end).packed(), offset, size)


def _root_index(block: bytes, count: int) -> BlockIndex:
    """Parse the root index without the kernel."""
    places, at = [], 0
    try:
        for _ in range(count):
            length, key = vint(block, at + _ENTRY.size)
            places.append((at, key, key + length))
            at = key + length
            if length < 0 or at > len(block):
                raise DamagedIndexError
    except IndexError as error:
        raise DamagedIndexError from error
    return _entries(block, places)


def inner_index(block: bytes) -> BlockIndex:
    """Parse an uncompressed index block below the root.

    Raises:
        DamagedIndexError: It is shorter than its entries.
    """
    try:
        (count,) = struct.unpack_from(">i", block)
        if not 0 <= count <= len(block) // _ENTRY.size:
            raise DamagedIndexError
        starts = struct.unpack_from(f">{count + 1}i", block, 4)
    except struct.error as error:
        raise DamagedIndexError from error
    base = 8 + 4 * count
    places = [
        (base + start, base + start + _ENTRY.size, base + end)
        for start, end in itertools.pairwise(starts)
    ]
    return _entries(block, places)


def _entries(block: bytes, places: Sequence[tuple[int, int, int]]) -> BlockIndex:
    """Parse entries, each with where it starts, and where its key starts and ends."""
    blocks, rows = [], []
    try:
        for start, key, end in places:
            (length,) = _ROW_LENGTH.unpack_from(block, key)
            row = key + _ROW_LENGTH.size
            if start < 0 or row + length > min(end, len(block)):
                raise DamagedIndexError
            blocks.append(_ENTRY.unpack_from(block, start))
            rows.append(block[row : row + length])
    except struct.error as error:
        raise DamagedIndexError from error
    numbers = np.array(blocks, np.int64).reshape(-1, 2)
    return BlockIndex(
        ByteStrings.of(rows),
        np.ascontiguousarray(numbers[:, 0]),
        np.ascontiguousarray(numbers[:, 1]),
    )

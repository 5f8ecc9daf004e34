"""Cells of HFile data blocks: keys and values as ranges of the blocks' bytes.

A cell is i32 key length, i32 value length, the key ([u16 row length][row] and a suffix), the value
and one variable-length number, HBase's read point (HBase reference guide, "HFile format"). HBase
says in `KEY_VALUE_VERSION` whether the number is there. Hudi's reader never asks: its native writer
always writes the number, and in some versions leaves that entry out.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pyhudi_expr.arrays import runs
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.tables.mdt.bytes import kernel
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings, concat_byte_strings
from pyhudi_expr.tables.mdt.hfile.blocks import vint_length

_LEAST_CELL_BYTES = 10
_FRAME = struct.Struct(">iiH")


@dataclass(frozen=True)
class Cells:
    """Keys and their values (Avro, without a schema), in the order of the keys.

    For many cells use `key_strings` and `value_strings`, which are arrays over one buffer
    (`ByteStrings.array` converts them to an Arrow array, `mdt.avro_columns.decode_columns` decodes
    the values). `keys` and `values` are lists of bytes, created on first use.
    """

    key_strings: ByteStrings = field(default_factory=ByteStrings.none)
    value_strings: ByteStrings = field(default_factory=ByteStrings.none)

    @staticmethod
    def of(keys: Sequence[bytes], values: Sequence[bytes]) -> Cells:
        """Create cells from Python byte strings."""
        return Cells(ByteStrings.of(keys), ByteStrings.of(values))

    def __len__(self) -> int:
        return len(self.key_strings)

    @property
    def num_bytes(self) -> int:
        """Size of the buffers and of the positions in them, without the Python objects."""
        strings = self.key_strings, self.value_strings
        buffers = {id(one.data): len(one.data) for one in strings}
        positions = sum(one.start.nbytes + one.end.nbytes for one in strings)
        return sum(buffers.values()) + positions

    @computed_once
    def keys(self) -> list[bytes]:
        """The keys as Python objects."""
        return self.key_strings.to_list()

    @computed_once
    def values(self) -> list[bytes]:
        """The values as Python objects."""
        return self.value_strings.to_list()

    def take(self, rows: np.ndarray[tuple[int], np.dtype[np.generic]] | slice) -> Cells:
        """Return the chosen cells (positions, flags or a slice). The bytes are shared."""
        return Cells(self.key_strings.take(rows), self.value_strings.take(rows))

    def packed(self) -> Cells:
        """Return the same cells without the bytes of others, which `take` shares."""
        return Cells(self.key_strings.packed(), self.value_strings.packed())

    def with_prefixes(self, prefixes: Sequence[bytes]) -> Cells:
        """Return the cells whose keys begin with one of the prefixes. All are sorted by bytes.

        No prefix begins with another one.
        """
        start, end = self.key_strings.prefix_bounds(prefixes)
        return self.take(runs(start, end - start))


def concat_cells(parts: Sequence[Cells]) -> Cells:
    """Concatenate the cells of all parts, in their order."""
    if len(parts) == 1:
        return parts[0]
    return Cells(
        concat_byte_strings([part.key_strings for part in parts]),
        concat_byte_strings([part.value_strings for part in parts]),
    )


class DamagedBlockError(ValueError):
    """A block's cells exceed it.

    Attributes:
        block: The number of the block.
    """

    def __init__(self, block: int) -> None:
        super().__init__(f"a cell of block {block} breaks its bounds")
        self.block = block


def parse(blocks: Sequence[bytes]) -> Cells:
    """Parse the cells of uncompressed data blocks.

    Raises:
        DamagedBlockError: Cells exceed their block.
    """
    content = b"".join(blocks)
    library = kernel.library()
    if library is None:
        return _parse(blocks, content)
    capacity = len(content) // _LEAST_CELL_BYTES + 1
    # Pages that no cell is written to are never touched.
    columns = np.empty((4, capacity), np.int64)
    ends = np.fromiter(map(len, blocks), np.int64, len(blocks)).cumsum()
    count = library.kernel_cells(
        kernel.pointer(kernel.as_bytes(content)),
        kernel.pointer(ends),
        len(blocks),
        True,
        capacity,
        *(kernel.pointer(column) for column in columns),
    )
    if count < 0:
        raise DamagedBlockError(-1 - count)
    return _cells(content, columns[:, :count].copy())


def _parse(blocks: Sequence[bytes], content: bytes) -> Cells:
    """Parse the cells without the kernel."""
    rows: list[tuple[int, int, int, int]] = []
    at = 0
    for number, block in enumerate(blocks):
        end = at + len(block)
        try:
            while at < end:
                key_length, value_length, row_length = _FRAME.unpack_from(content, at)
                row = at + _FRAME.size
                value = at + 8 + key_length
                at = value + value_length
                if row_length + 2 > key_length or value_length < 0 or at >= end:
                    raise DamagedBlockError(number)
                rows.append((row, row + row_length, value, at))
                at += vint_length(content[at])
        except (struct.error, IndexError) as error:
            raise DamagedBlockError(number) from error
        if at != end:
            raise DamagedBlockError(number)
    table = np.array(rows, np.int64).reshape(-1, 4)
    return _cells(content, np.ascontiguousarray(table.T))


def _cells(content: bytes, columns: npt.NDArray[np.int64]) -> Cells:
    key_start, key_end, value_start, value_end = columns
    return Cells(
        ByteStrings(content, key_start, key_end), ByteStrings(content, value_start, value_end)
    )

"""A hash table of strings that is built once and searched many times."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, Int64Array, from_buffer
from pyhudi_expr.tables.mdt.bytes import kernel


class StringIndex:
    """Positions of strings. Immutable and thread safe.

    Attributes:
        are_distinct: Whether no string is repeated; of repeated strings the first position is
            found.
    """

    def __init__(self, strings: AnyArray) -> None:
        """Index an array of string or binary type, large or not, without nulls."""
        self._strings = strings.cast(pa.large_binary())
        library = kernel.library()
        if library is None:
            self.are_distinct = pc.count_distinct(self._strings).as_py() == len(strings)
            return
        # At least half of the slots stay free, so that searches are short.
        self._table = np.zeros(1 << (2 * len(strings)).bit_length(), np.int64)
        self._pointers = _pointers(self._strings)
        repeated = library.kernel_index(
            *self._pointers, len(strings), kernel.pointer(self._table), len(self._table)
        )
        self.are_distinct = repeated == 0

    def find(self, wanted: AnyArray) -> Int64Array:
        """Return the position of each wanted string (no nulls); -1 if it is missing."""
        values = wanted.cast(pa.large_binary())
        library = kernel.library()
        if library is None:
            found = pc.index_in(values, self._strings).fill_null(-1)
            return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)
        position = np.empty(len(values), np.int64)
        library.kernel_find(
            *self._pointers,
            kernel.pointer(self._table),
            len(self._table),
            *_pointers(values),
            len(values),
            kernel.pointer(position),
        )
        return position


def _pointers(
    strings: AnyArray,
) -> tuple[kernel.Pointer, kernel.Pointer, kernel.Pointer]:
    """Return data, starts and ends for the kernel."""
    _, offsets, data = strings.buffers()
    starts = from_buffer(offsets, np.int64)[strings.offset :]
    content = from_buffer(data or b"", np.uint8)
    return kernel.pointer(content), kernel.pointer(starts), kernel.pointer(starts[1:])

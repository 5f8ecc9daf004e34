"""A hash table of strings that is built once and searched many times."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.mdt.bytes import kernel


class StringIndex:
    """Positions of strings. Immutable and thread safe.

    Attributes:
        are_distinct: Whether no string is repeated; of repeated strings the first position is
            found.
    """

    def __init__(self, strings: pa.Array) -> None:
        """Index an array of string or binary type, large or not, without nulls."""
        self._strings = strings.cast(pa.large_binary())
        library = kernel.library()
        if library is None:
            self.are_distinct = pc.count_distinct(self._strings).as_py() == len(strings)
            return
        # At least half of the slots stay free, so that searches are short.
        self._table = np.zeros(1 << (2 * len(strings)).bit_length(), np.int64)
        columns = _addresses(self._strings)
        repeated = library.kernel_index(
            *columns,
            len(strings),
            kernel.address(self._table),
            len(self._table),
        )
        self.are_distinct = repeated == 0

    def find(self, wanted: pa.Array) -> Int64Array:
        """Return the position of each wanted string (no nulls); -1 if it is missing."""
        values = wanted.cast(pa.large_binary())
        library = kernel.library()
        if library is None:
            found = pc.index_in(values, self._strings).fill_null(-1)
            return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)
        position = np.empty(len(values), np.int64)
        own, other = _addresses(self._strings), _addresses(values)
        library.kernel_find(
            *own,
            kernel.address(self._table),
            len(self._table),
            *other,
            len(values),
            kernel.address(position),
        )
        return position


def _addresses(strings: pa.LargeBinaryArray) -> tuple[int, int, int]:
    """Return the addresses of data, starts and ends, valid as long as the array lives."""
    _, offsets, data = strings.buffers()
    width = np.dtype(np.int64).itemsize
    start = int(offsets.address) + width * strings.offset
    return (int(data.address) if data else 0), start, start + width

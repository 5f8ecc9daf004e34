"""Where strings are among many: a hash table that is built once and asked often."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.mdt.bytes import kernel


class StringIndex:
    """Positions of strings. Immutable and safe for several threads.

    are_distinct: whether every string is there once; of others the first position is found.
    """

    def __init__(self, strings: pa.Array) -> None:
        """strings: string or binary, large or not, without nulls."""
        self._strings = strings.cast(pa.large_binary())
        library = kernel.library()
        if library is None:
            self.are_distinct = pc.count_distinct(self._strings).as_py() == len(strings)
            return
        # At least half of the places stay free, so that searches end soon.
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
        """The position of each wanted string (no nulls), -1 where it is not there."""
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
    """Where the data, the starts and the ends are; as long as the array lives."""
    _, offsets, data = strings.buffers()
    width = np.dtype(np.int64).itemsize
    start = int(offsets.address) + width * strings.offset
    return (int(data.address) if data else 0), start, start + width

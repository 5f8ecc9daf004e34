"""Many byte strings in one buffer: HFile cells and Avro texts without Python objects."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    Int64Array,
    UInt8Array,
    arrow_buffer,
    from_buffer,
    numpy_numbers,
)
from pyhudi_expr.tables.mdt.bytes import kernel

_NO_ROWS = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class ByteStrings:
    """String i is `data[start[i]:end[i]]`; start and end are int64 and lie within the data."""

    data: bytes
    start: Int64Array
    end: Int64Array

    @staticmethod
    def none() -> ByteStrings:
        """Return no strings."""
        return ByteStrings(b"", _NO_ROWS, _NO_ROWS)

    @staticmethod
    def of(strings: Sequence[bytes]) -> ByteStrings:
        """Concatenate Python byte strings."""
        bounds = np.zeros(len(strings) + 1, np.int64)
        np.fromiter(map(len, strings), np.int64, len(strings)).cumsum(out=bounds[1:])
        return ByteStrings(b"".join(strings), bounds[:-1], bounds[1:])

    @staticmethod
    def from_arrow(array: AnyArray) -> ByteStrings:
        """Return the strings of an array without nulls."""
        _, offsets, data = array.buffers()
        ends = from_buffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
        return ByteStrings(data.to_pybytes() if data else b"", ends[:-1], ends[1:])

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, row: int) -> bytes:
        return self.data[self.start[row] : self.end[row]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByteStrings) and self.to_list() == other.to_list()

    __hash__ = None  # type: ignore[assignment]

    def take(self, rows: npt.NDArray[np.generic] | slice) -> ByteStrings:
        """Return the chosen strings (positions, flags or a slice). The data is shared."""
        return ByteStrings(self.data, self.start[rows], self.end[rows])

    def compact(self) -> ByteStrings:
        """Return the same strings without the bytes before the first and behind the last one."""
        if not len(self):
            return ByteStrings.none()
        low, high = int(self.start.min()), int(self.end.max())
        return ByteStrings(self.data[low:high], self.start - low, self.end - low)

    def packed(self) -> ByteStrings:
        """Return the same strings in a buffer that holds nothing else."""
        offsets = self._offsets()
        return ByteStrings(self._gathered(offsets).tobytes(), offsets[:-1], offsets[1:])

    def to_list(self) -> list[bytes]:
        """Return the strings as Python objects."""
        data = self.data
        bounds = zip(self.start.tolist(), self.end.tolist(), strict=True)
        return [data[start:end] for start, end in bounds]

    def array(self) -> AnyArray:
        """Return an Arrow array of type large_binary."""
        offsets = self._offsets()
        buffers = [None, arrow_buffer(offsets), arrow_buffer(self._gathered(offsets))]
        return pa.Array.from_buffers(pa.large_binary(), len(self), buffers)

    def joined(self) -> bytes:
        """Return the concatenated strings."""
        return self.packed().data

    def texts(self) -> AnyArray:
        """Return an Arrow array of type string. Raises pyarrow.ArrowInvalid if it is not UTF-8."""
        return self.array().cast(pa.string())

    def sorted(self) -> ByteStrings:
        """Return the strings in the order of their bytes."""
        array = self.array()
        return ByteStrings.from_arrow(array.take(pc.array_sort_indices(array)))

    def lower_bound(self, wanted: ByteStrings) -> Int64Array:
        """Return the position of the first string that is not less than each wanted one.

        These are sorted by bytes. It is their number where all are less.
        """
        library = kernel.library()
        if library is None:
            found = (bisect_left(self, key) for key in wanted.to_list())
            return np.fromiter(found, np.int64, len(wanted))
        position = np.empty(len(wanted), np.int64)
        library.kernel_lower_bound(
            *self.pointers(), len(self), *wanted.pointers(), len(wanted), kernel.pointer(position)
        )
        return position

    def prefix_bounds(self, prefixes: Sequence[bytes]) -> tuple[Int64Array, Int64Array]:
        """Return for each prefix the first string that begins with it, and the one behind the last.

        The strings are sorted by bytes.
        """
        wanted = ByteStrings.of(prefixes)
        library = kernel.library()
        if library is None:
            return self.lower_bound(wanted), self._behind(prefixes)
        first, behind = np.empty(len(wanted), np.int64), np.empty(len(wanted), np.int64)
        library.kernel_prefix_bounds(
            *self.pointers(),
            len(self),
            *wanted.pointers(),
            len(wanted),
            kernel.pointer(first),
            kernel.pointer(behind),
        )
        return first, behind

    def _behind(self, prefixes: Sequence[bytes]) -> Int64Array:
        """Return the position behind the strings that begin with each prefix."""
        greater = [_greater(prefix) for prefix in prefixes]
        behind = self.lower_bound(ByteStrings.of(greater))
        behind[[not string for string in greater]] = len(self)
        return behind

    def search(self, wanted: ByteStrings) -> Int64Array:
        """Return each wanted string's position among these, which are sorted by bytes; else -1."""
        position = np.empty(len(wanted), np.int64)
        library = kernel.library()
        if library is None:
            return _search(self, wanted, position)
        library.kernel_search(
            *self.pointers(), len(self), *wanted.pointers(), len(wanted), kernel.pointer(position)
        )
        return position

    def _offsets(self) -> Int64Array:
        """Return where the strings begin and end if they are concatenated."""
        offsets = np.zeros(len(self) + 1, np.int64)
        (self.end - self.start).cumsum(out=offsets[1:])
        return offsets

    def _gathered(self, offsets: Int64Array) -> UInt8Array:
        """Return the concatenated strings as an array."""
        total = int(offsets[-1])
        library = kernel.library()
        if library is None:
            places = np.repeat(self.start - offsets[:-1], np.diff(offsets)) + np.arange(total)
            return kernel.as_bytes(self.data)[places]
        gathered = np.empty(total, np.uint8)
        written = library.kernel_gather(
            *self.pointers(), len(self), kernel.pointer(gathered), total
        )
        assert written == total, "starts and ends were checked when they were read"
        return gathered

    def pointers(self) -> tuple[kernel.Pointer, kernel.Pointer, kernel.Pointer]:
        """Return data, starts and ends for the kernel."""
        return (
            kernel.pointer(kernel.as_bytes(self.data)),
            kernel.pointer(np.ascontiguousarray(self.start)),
            kernel.pointer(np.ascontiguousarray(self.end)),
        )


def concat_byte_strings(parts: Sequence[ByteStrings]) -> ByteStrings:
    """Concatenate the strings of all parts, in their order."""
    if len(parts) == 1:
        return parts[0]
    whole = [part.compact() for part in parts]
    if not whole:
        return ByteStrings.none()
    sizes = np.array([len(part.data) for part in whole], np.int64)
    shifts = (np.cumsum(sizes) - sizes).tolist()
    return ByteStrings(
        b"".join(part.data for part in whole),
        np.concatenate([part.start + shift for part, shift in zip(whole, shifts, strict=True)]),
        np.concatenate([part.end + shift for part, shift in zip(whole, shifts, strict=True)]),
    )


def _greater(prefix: bytes) -> bytes:
    """Return the least string greater than all that begin with the prefix; b"" if all are less."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else b""


def _search(strings: ByteStrings, wanted: ByteStrings, position: Int64Array) -> Int64Array:
    for row in range(len(wanted)):
        key = wanted[row]
        at = bisect_left(strings, key)
        position[row] = at if at < len(strings) and strings[at] == key else -1
    return position


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
            return numpy_numbers(pc.index_in(values, self._strings), -1).astype(np.int64)
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

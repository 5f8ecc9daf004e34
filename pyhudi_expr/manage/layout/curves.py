"""Space-filling curves: rows of several unsigned numbers to bytes that order the rows.

RFC-28 ("Z-value generation"): the interleaved bits of all columns are a row's place on the z-order
curve. Hilbert's curve visits the same cells without jumps; its place is the interleaving of numbers
that John Skilling's transform ("Programming the Hilbert curve", AIP Conference Proceedings 707,
2004) computes from the columns. Places are bytes of equal length, at most `MAX_BYTES`, compared as
unsigned.

Everything works on blocks of rows that fit into a core's cache, without a loop over rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pyhudi_expr.arrays import UInt8Array, UInt32Array, UInt64Array

Numbers = UInt64Array | UInt32Array | npt.NDArray[Any]
"""One column: unsigned integers."""
Places = UInt8Array
"""Places on a curve, of shape (rows, bytes)."""

MAX_COLUMNS = 16
MAX_BYTES = 1024
"""RFC-28's limit for a z-value; the curves here need 128 at most."""

_MAX_BITS = 64
_BLOCK = 8192  # rows; their temporaries stay in the second-level cache


class Curve(str, Enum):
    """The curves; the value is the name for users."""

    LINEAR = "linear"
    """By the first column, rows that are equal there by the second, and so on."""
    Z_ORDER = "z-order"
    HILBERT = "hilbert"


def interleave(columns: Sequence[Numbers], bits: int) -> Places:
    """Return places on the z-order curve: the columns' bits in turn, most significant first.

    If the bits do not fill the last byte, zeros follow them.

    Args:
        columns: 1 to 16 equally long arrays of unsigned integers below 2**bits, the most
            significant first.
        bits: 1 to 64.

    Raises:
        ValueError: The arguments are not of that kind.
    """
    rows = _checked(columns, bits)
    places = np.empty((rows, -(-bits // 8) * len(columns)), np.uint8)
    for block in _blocks(rows):
        _interleave([column[block] for column in columns], bits, places[block])
    return np.ascontiguousarray(places[:, : -(-bits * len(columns) // 8)])


def hilbert(columns: Sequence[Numbers], bits: int) -> Places:
    """Return places on Hilbert's curve, whose neighbours are neighbours in every column.

    Arguments and errors are those of `interleave`.
    """
    rows = _checked(columns, bits)
    places = np.empty((rows, -(-bits // 8) * len(columns)), np.uint8)
    for block in _blocks(rows):
        axes = [column[block].astype(_holding(bits)) for column in columns]
        _to_hilbert(axes, bits)
        _interleave(axes, bits, places[block])
    return np.ascontiguousarray(places[:, : -(-bits * len(columns) // 8)])


def _checked(columns: Sequence[Numbers], bits: int) -> int:
    """Check the arguments and return the number of rows."""
    if not 1 <= len(columns) <= MAX_COLUMNS:
        raise ValueError(f"a curve takes 1 to {MAX_COLUMNS} columns, not {len(columns)}")
    if not 1 <= bits <= _MAX_BITS:
        raise ValueError(f"a curve takes 1 to {_MAX_BITS} bits of each column, not {bits}")
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise ValueError(f"the columns of a curve have different lengths: {sorted(lengths)}")
    for column in columns:
        if column.ndim != 1 or column.dtype.kind != "u":
            raise ValueError(f"a curve takes arrays of unsigned integers, not {column.dtype}")
        too_wide = column.dtype.itemsize * 8 > bits
        if too_wide and len(column) and int(column.max()) >> bits:
            raise ValueError(f"{int(column.max())} does not fit into {bits} bits")
    return lengths.pop()


def _blocks(rows: int) -> list[slice]:
    return [slice(start, min(start + _BLOCK, rows)) for start in range(0, rows, _BLOCK)]


def _holding(bits: int) -> type[np.uint32] | type[np.uint64]:
    return np.uint32 if bits <= 32 else np.uint64


def _bytes(column: Numbers, bits: int) -> Places:
    """Return the numbers as big-endian bytes, (rows, bytes), their most significant bit first."""
    width = -(-bits // 8)
    aligned = column.astype(np.uint64) << np.uint64(_MAX_BITS - bits)
    return aligned.astype(">u8").view(np.uint8).reshape(len(column), 8)[:, :width]


def _interleave(columns: Sequence[Numbers], bits: int, places: Places) -> None:
    """Interleave byte by byte: look 8 bits of each column up as 8 * columns bits of the place."""
    count = len(columns)
    tables = _spread_bytes(count)
    sources = [_bytes(column, bits) for column in columns]
    for position in range(sources[0].shape[1]):
        found = tables[0].take(sources[0][:, position], axis=0)
        for table, source in zip(tables[1:], sources[1:], strict=True):
            found |= table.take(source[:, position], axis=0)
        spread = found.view(np.uint8).reshape(len(found), -1)
        target = places[:, position * count : (position + 1) * count]
        if found.dtype.itemsize == count and found.ndim == 1:
            # One assignment of numbers instead of one of a few bytes for each row.
            target.view(found.dtype)[:, 0] = found
        else:
            target[:] = spread[:, :count]


@lru_cache(maxsize=MAX_COLUMNS)
def _spread_bytes(count: int) -> list[npt.NDArray[Any]]:
    """Return for `count` columns the table that spreads the bits of a byte `count` apart.

    The bytes are held as whole numbers, followed by unused bytes, to be combined fast.
    """
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    width = next(size for size in (1, 2, 4, 8, 16) if size >= count)
    tables = []
    for column in range(count):
        apart = np.zeros((256, 8, count), np.uint8)
        apart[:, :, column] = bits
        padded = np.zeros((256, width), np.uint8)
        padded[:, :count] = np.packbits(apart.reshape(256, 8 * count), axis=1)
        number = padded.view(f"u{min(width, 8)}")
        tables.append(number[:, 0] if width <= 8 else number)
    return tables


def _to_hilbert(axes: list[npt.NDArray[Any]], bits: int) -> None:
    """Apply Skilling's transform to the columns in place; the result is to be interleaved.

    From the most significant bit on, a row's lower bits are inverted or exchanged between columns,
    so that each cell is entered where the one before it was left.
    """
    number = axes[0].dtype.type
    first = axes[0]
    for bit in range(bits - 1, 0, -1):
        lower = number((1 << bit) - 1)
        for axis in axes:
            # All ones where the bit is set.
            is_set = np.negative((axis >> number(bit)) & number(1))
            exchanged = first ^ axis
            exchanged &= lower
            exchanged &= ~is_set
            axis ^= exchanged
            is_set &= lower
            exchanged |= is_set
            first ^= exchanged
    for before, axis in pairwise(axes):
        axis ^= before
    # A bit of the last column inverts all lower ones: each by the parity of those above it.
    above = axes[-1] >> number(1)
    shift = 1
    while shift < bits:
        above ^= above >> number(shift)
        shift *= 2
    for axis in axes:
        axis ^= above

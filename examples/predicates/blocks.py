"""Parse values of Presto and Trino as in their JSON: one serialized block, in base64.

A block has the length and the name of its encoding, the number of its values, and the fields of the
encoding (classes ``*BlockEncoding``): flat arrays (with their nulls as bits, most significant
first), concatenated texts, one repeated value (``RLE``), and dictionary indices. All are
little-endian. With nulls, flat arrays have only the other values. Trino (423) writes the number of
these, and the lengths of texts; Presto (0.289) writes the ends of all texts, and a dictionary's
identity. Integers of 128 bits are two halves: in two's complement, the high one first (Trino), or
as sign and magnitude, the low one first (Presto).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pyhudi_expr.arrays import BoolArray

#: Values of a block by position: integers (for floats their bits), bytes, pairs of a long
#: and an integer, or None.
Values: TypeAlias = list[Any]

MAX_VALUES = 1 << 20
_INT = 4
_MAX_LEVELS = 4


class BlockError(ValueError):
    """The bytes are not a supported block."""


@dataclass(frozen=True)
class _Format:
    """The format of one engine.

    Attributes:
        counts_values: Whether the number of values without nulls, and so the lengths of texts, is
            written.
        identity: Bytes of a dictionary's identity.
        wide: Reads integers of 128 bits.
    """

    counts_values: bool
    identity: int
    wide: Callable[[bytes], Values]


def read_trino_block(text: str) -> Values:
    """Return the values of Trino's serialized block. Raises BlockError."""
    return _Reader(_bytes(text), _TRINO).all()


def read_presto_block(text: str) -> Values:
    """Return the values of Presto's serialized block. Raises BlockError."""
    return _Reader(_bytes(text), _PRESTO).all()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise BlockError("no base64") from None


class _Reader:
    def __init__(self, data: bytes, format_: _Format) -> None:
        self._data, self._at, self._format = data, 0, format_

    def all(self) -> Values:
        values = self._block(0)
        if self._at != len(self._data):
            raise BlockError(f"{len(self._data) - self._at} bytes after the block")
        return values

    def _block(self, level: int) -> Values:
        name = self._take(self._length()).decode("ascii", "replace")
        if level > _MAX_LEVELS:
            raise BlockError("blocks nested too deeply")
        if name == "RLE":
            count = self._length()
            (value,) = self._repeated(self._block(level + 1))
            return [value] * count
        if name == "DICTIONARY":
            return self._dictionary(level)
        if name == "VARIABLE_WIDTH":
            return self._texts()
        if name not in _FLAT:
            raise BlockError(f"the unknown encoding {name[:40]!r}")
        width, convert = _FLAT[name]
        convert = convert or self._format.wide
        count = self._length()
        has_nulls, present = self._present(count)
        total = int(np.count_nonzero(present))
        if self._format.counts_values and has_nulls and self._length() != total:
            raise BlockError("the number of values is not that of the positions without null")
        data = self._take(total * width)
        found = iter(convert(data))
        return [next(found) if one else None for one in present.tolist()]

    def _dictionary(self, level: int) -> Values:
        count = self._length()
        values = self._block(level + 1)
        numbers = np.frombuffer(self._take(count * _INT), "<i4")
        self._take(self._format.identity)
        if count and not (numbers.min() >= 0 and numbers.max() < len(values)):
            raise BlockError("a number beyond the dictionary")
        return [values[number] for number in numbers.tolist()]

    def _texts(self) -> Values:
        count = self._length()
        shown = self._length() if self._format.counts_values else count
        numbers = np.frombuffer(self._take(shown * _INT), "<i4").astype(np.int64)
        _, present = self._present(count)
        data = self._take(self._length())
        if self._format.counts_values:
            ends = np.zeros(count, np.int64)
            if shown != np.count_nonzero(present):
                raise BlockError("the number of texts is not that of the positions without null")
            ends[present] = numbers
            ends = np.cumsum(ends)
        else:
            ends = numbers
        starts = np.concatenate(([0], ends[:-1])) if count else ends
        if count and ((ends < starts).any() or ends[-1] != len(data)):
            raise BlockError("ends of texts that are out of order")
        spans = zip(starts.tolist(), ends.tolist(), present.tolist(), strict=True)
        return [data[start:end] if one else None for start, end, one in spans]

    def _present(self, count: int) -> tuple[bool, BoolArray]:
        (has_nulls,) = self._take(1)
        if not has_nulls:
            return False, np.ones(count, dtype=bool)
        bits = np.frombuffer(self._take((count + 7) // 8), np.uint8)
        return True, np.unpackbits(bits, count=count) == 0

    def _length(self) -> int:
        length = int.from_bytes(self._take(_INT), "little", signed=True)
        if not 0 <= length <= max(MAX_VALUES, len(self._data)):
            raise BlockError(f"a length of {length}")
        return length

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise BlockError("the block is cut off")
        self._at += size
        return taken

    def _repeated(self, values: Values) -> Values:
        if len(values) != 1:
            raise BlockError("a repeated block of other than one value")
        return values


def _numbers(kind: str) -> Callable[[bytes], Values]:
    return lambda data: np.frombuffer(data, kind).tolist()


def _complements(data: bytes) -> Values:
    halves = np.frombuffer(data, np.dtype([("high", "<i8"), ("low", "<u8")]))
    return [(int(high) << 64) + int(low) for high, low in halves.tolist()]


def _signs_and_magnitudes(data: bytes) -> Values:
    halves = np.frombuffer(data, np.dtype([("low", "<u8"), ("high", "<u8")]))
    sign = 1 << 63
    return [
        (-1 if high & sign else 1) * (((high & ~sign) << 64) + low) for low, high in halves.tolist()
    ]


def _pairs(data: bytes) -> Values:
    return list(np.frombuffer(data, np.dtype([("long", "<i8"), ("int", "<i4")])).tolist())


_TRINO = _Format(counts_values=True, identity=0, wide=_complements)
_PRESTO = _Format(counts_values=False, identity=24, wide=_signs_and_magnitudes)
#: The size of a value, and its reader; None: as the engine's format says.
_FLAT: dict[str, tuple[int, Callable[[bytes], Values] | None]] = {
    "BYTE_ARRAY": (1, _numbers("i1")),
    "SHORT_ARRAY": (2, _numbers("<i2")),
    "INT_ARRAY": (4, _numbers("<i4")),
    "LONG_ARRAY": (8, _numbers("<i8")),
    "INT128_ARRAY": (16, None),
    "FIXED12": (12, _pairs),
}

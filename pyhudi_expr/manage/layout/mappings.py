"""RFC-28's mappings of values to unsigned numbers: by sampled boundaries, and direct.

It solves the problems of the direct mapping: columns that use a small part of their type's range,
skewed ones, and strings with a common prefix all spread evenly over the numbers.

A value that is frequent in the sample is several boundaries at once, and all are kept: the numbers
of a column with few values are as far apart as those of any other, so that a column weighs in a
curve by its quantiles, not by its number of values.

A number is never smaller than that of a lesser value, so the order of numbers is that of values
wherever numbers differ. Narrow types fill the upper bits, so that the bits of an int weigh as much
as those of a long. What is longer than 64 bits keeps its beginning: the first 8 bytes of a string
(its UTF-8, zeros behind a shorter one) or binary, the leading bits of a decimal of more than 18
digits. `exact` keeps all of it.

Floats are in IEEE 754's total order (-0.0 directly before 0.0, as different neighbours), but all
NaNs are one, the greatest, as in Spark and Hive. Nulls are last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, BoolArray, UInt32Array, UInt64Array, from_buffer
from pyhudi_expr.expr.domains import Domain, Kind, domain_of

BOUNDARY_BITS = 32
"""Of a number; RFC-28 aligns them so."""

_MAX_WORDS = 32  # of 8 bytes; strings with a longer common prefix are treated as equal


@dataclass(frozen=True)
class Boundaries:
    """The quantiles of one column.

    Attributes:
        values: Ascending, as `direct_mapping.direct` or `direct_mapping.exact` returns them.
        words: The words of `exact`; 0 for a type that is not wide.
    """

    values: npt.NDArray[Any]
    words: int

    @staticmethod
    def of(sample: AnyArray, depth: int) -> Boundaries:
        """Return 2**depth - 1 boundaries, which divide the sample's values into equal shares.

        Args:
            sample: Random values of the column, nulls included; without values there are no
                boundaries.
            depth: Bits of a number.

        Raises:
            UnorderedType: The type has no order.
        """
        known = sample.drop_null()
        words = distinguishing_words(known, _MAX_WORDS) if is_wide(sample.type) else 0
        ordered = np.sort(_comparable(known, words))
        steps = np.arange(1, 2**depth, dtype=np.int64)
        positions = steps * len(ordered) >> depth
        return Boundaries(ordered[positions] if len(ordered) else ordered, words)

    def numbers(self, values: AnyArray) -> UInt32Array:
        """Return how many boundaries are below each value; for nulls, one more than there are."""
        known = values.drop_null()
        found = np.searchsorted(self.values, _comparable(known, self.words)).astype(np.uint32)
        if len(known) == len(values):
            return found
        numbers = np.full(len(values), len(self.values) + 1, np.uint32)
        numbers[values.is_valid().to_numpy(zero_copy_only=False)] = found
        return numbers


def _comparable(values: AnyArray, words: int) -> npt.NDArray[Any]:
    return exact(values, words) if words else direct(values)


def distinguishing_words(values: AnyArray, most: int) -> int:
    """Return how many words of `direct_mapping.exact` distinguish nearly all neighbouring values.

    The result is a power of two, or `most`. The values are of a wide type.
    """
    if pa.types.is_decimal(values.type) or len(values) < 2:
        return 1  # decimals are used whole
    ordered = values.cast(pa.large_binary()).unique().sort()
    words = 1
    while words < most:
        cut = exact(ordered, words)
        if np.count_nonzero(cut[1:] == cut[:-1]) <= len(cut) // 100:
            return words
        words *= 2
    return most


BITS = 64
LAST = np.uint64(2**64 - 1)
"""The number of nulls."""

_WORD = 8  # bytes
_SIGN = np.uint64(1 << 63)


class UnorderedType(TypeError):  # noqa: N818 - names the finding
    """A type whose values have no order, such as an array or a map."""


def domain(type_: pa.DataType) -> Domain:
    """Return the order of the type's values. Raises UnorderedType."""
    found = domain_of(type_)
    if found is None:
        raise UnorderedType(f"values of type {type_} have no order to lay rows out by")
    return found


def direct(values: AnyArray) -> UInt64Array:
    """Return the values' numbers; nulls are `LAST`. Raises UnorderedType."""
    found = domain(values.type)
    if found.kind in (Kind.TEXT, Kind.BINARY):
        numbers = leading_words(values, 1)[:, 0].astype(np.uint64)
    elif found.kind is Kind.DECIMAL:
        numbers = _decimals(values, found.precision)
    else:
        numbers = _fixed(values, found)
    if values.null_count:
        numbers[_is_null(values)] = LAST
    return numbers


def is_wide(type_: pa.DataType) -> bool:
    """Return whether `direct` keeps only the beginning of the type's values.

    Raises:
        UnorderedType: The type has no order.
    """
    return not domain(type_).is_ordinal


def exact(values: AnyArray, words: int) -> npt.NDArray[np.bytes_]:
    """Return the values of a wide type as byte strings in the same order.

    No value may be null. Values are truncated to 8 * words bytes.
    """
    if domain(values.type).kind is Kind.DECIMAL:
        words_of = limbs(values)[:, ::-1].copy()
        words_of[:, 0] ^= _SIGN
        big_endian = words_of.astype(">u8")
    else:
        big_endian = leading_words(values, words)
    return big_endian.view(f"S{big_endian.shape[1] * _WORD}")[:, 0]


def leading_words(values: AnyArray, words: int) -> npt.NDArray[Any]:
    """Return the first 8 * words bytes of strings or binaries as big-endian uint64, (rows, words).

    Shorter values, and nulls, are padded with zeros.
    """
    array = values.cast(pa.large_binary())
    rows = len(array)
    _, offsets_buffer, data = array.buffers()
    if not rows or data is None:
        return np.zeros((rows, words), ">u8")
    offsets = from_buffer(offsets_buffer, np.int64)[array.offset : array.offset + rows + 1]
    first, end = int(offsets[0]), int(offsets[-1])
    padded = np.zeros(end - first + _WORD, np.uint8)
    padded[: end - first] = from_buffer(data, np.uint8)[first:end]
    # The word that begins at each byte.
    at_byte = np.ndarray((end - first + 1,), ">u8", padded, strides=(1,))
    found = np.empty((rows, words), ">u8")
    for word in range(words):
        begins = np.minimum(offsets[:-1] - first + word * _WORD, end - first)
        missing = 8 * (_WORD - np.clip(offsets[1:] - first - begins, 0, _WORD))
        kept = LAST << np.minimum(missing, BITS - 1).astype(np.uint64)
        kept[missing == BITS] = 0
        found[:, word] = at_byte[begins] & kept
    return found


def _fixed(values: AnyArray, found: Domain) -> UInt64Array:
    if found.kind is Kind.BOOLEAN:
        bits = values.cast(pa.uint8())
        return np.asarray(_buffer(bits, np.uint8), np.uint64) << np.uint64(BITS - 1)
    if found.kind is Kind.FLOAT:
        return _floats(_buffer(values, np.dtype(f"f{found.bits // 8}")))
    width = values.type.bit_width
    # From the signed number to the unsigned one: the sign bit flips.
    signed = _buffer(values, np.dtype(f"i{width // 8}")).astype(np.int64)
    return (signed.view(np.uint64) << np.uint64(BITS - width)) ^ _SIGN


def _floats(floats: npt.NDArray[Any]) -> UInt64Array:
    width = floats.dtype.itemsize * 8
    bits = floats.view(f"u{width // 8}").astype(np.uint64) << np.uint64(BITS - width)
    # A negative number's magnitude grows downwards: all its bits flip, else the sign alone.
    is_negative = (bits & _SIGN).astype(np.bool_)
    numbers = bits ^ np.where(is_negative, LAST, _SIGN)
    numbers[np.isnan(floats)] = LAST
    return numbers


def _decimals(values: AnyArray, precision: int) -> UInt64Array:
    """Return unscaled values, shifted so that the precision's widest one fills the 64 bits."""
    words = limbs(values)
    width = (10**precision - 1).bit_length() + 1  # with the sign
    if width <= BITS:
        return (words[:, 0] << np.uint64(BITS - width)) ^ _SIGN
    word, shift = divmod(width - BITS, BITS)
    numbers = words[:, word] >> np.uint64(shift)
    if shift:
        numbers |= words[:, word + 1] << np.uint64(BITS - shift)
    return numbers ^ _SIGN


def limbs(values: AnyArray) -> UInt64Array:
    """Return decimals' unscaled values in two's complement as 64-bit words, (rows, words).

    The least significant word is first.
    """
    if values.type.bit_width < 128:
        values = values.cast(pa.decimal128(values.type.precision, values.type.scale))
    count = values.type.bit_width // BITS
    words = from_buffer(values.buffers()[1], "<u8")
    chosen = words.reshape(-1, count)[values.offset : values.offset + len(values)]
    return chosen.astype(np.uint64)


def _buffer(values: AnyArray, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the numbers in the array's memory, with any values for nulls."""
    data = values.buffers()[1]
    if data is None or not len(values):
        return np.zeros(len(values), dtype)
    return from_buffer(data, dtype)[values.offset : values.offset + len(values)]


def _is_null(values: AnyArray) -> BoolArray:
    flags: BoolArray = values.is_null().to_numpy(zero_copy_only=False)
    return flags

"""RFC-28's boundary-based mapping: a value's number is the number of sampled quantiles below it.

It solves the problems of the direct mapping: columns that use a small part of their type's range,
skewed ones, and strings with a common prefix all spread evenly over the numbers.

A value that is frequent in the sample is several boundaries at once, and all are kept: the numbers
of a column with few values are as far apart as those of any other, so that a column weighs in a
curve by its quantiles, not by its number of values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, UInt32Array
from pyhudi_expr.manage.layout.direct_mapping import direct, exact, is_wide

BITS = 32
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

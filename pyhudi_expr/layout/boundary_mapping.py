"""RFC-28's boundary-based mapping: a value is the number of sampled quantiles below it.

It answers what is wrong with the direct mapping: columns that use a small part of their type's
range, skewed ones, and strings with a common prefix all spread evenly over the numbers.

A value that is frequent in the sample is several boundaries at once, and they are all kept: the
numbers of a column with few values are as far apart as those of any other, so that a column weighs
in a curve by its quantiles, not by how many values it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.arrays import UInt32Array
from pyhudi_expr.layout.direct_mapping import direct, exact, is_wide

BITS = 32
"""Of a number; RFC-28 aligns them so."""

_MAX_WORDS = 32  # of 8 bytes; strings that are alike for longer are taken for the same


@dataclass(frozen=True)
class Boundaries:
    """The quantiles of one column.

    values: ascending, as `direct_mapping.direct` or `direct_mapping.exact` gives them; words: of
    `exact`, 0 for a type that is not wide.
    """

    values: npt.NDArray[Any]
    words: int

    @staticmethod
    def of(sample: pa.Array, depth: int) -> Boundaries:
        """2**depth - 1 boundaries, which part the sample's values into equal shares.

        sample: at random from the column, nulls included; one without values gives no boundaries.
        Raises UnorderedType.
        """
        known = sample.drop_null()
        words = distinguishing_words(known, _MAX_WORDS) if is_wide(sample.type) else 0
        ordered = np.sort(_comparable(known, words))
        steps = np.arange(1, 2**depth, dtype=np.int64)
        positions = steps * len(ordered) >> depth
        return Boundaries(ordered[positions] if len(ordered) else ordered, words)

    def numbers(self, values: pa.Array) -> UInt32Array:
        """How many boundaries are below each value; for nulls, one more than there are."""
        known = values.drop_null()
        found = np.searchsorted(self.values, _comparable(known, self.words)).astype(np.uint32)
        if len(known) == len(values):
            return found
        numbers = np.full(len(values), len(self.values) + 1, np.uint32)
        numbers[values.is_valid().to_numpy(zero_copy_only=False)] = found
        return numbers


def _comparable(values: pa.Array, words: int) -> npt.NDArray[Any]:
    return exact(values, words) if words else direct(values)


def distinguishing_words(values: pa.Array, most: int) -> int:
    """How many words of `direct_mapping.exact` tell neighbours among the values apart, nearly all
    of them; a power of two, or `most`. values: of a wide type.
    """
    if pa.types.is_decimal(values.type) or len(values) < 2:
        return 1  # decimals are taken whole
    ordered = values.cast(pa.large_binary()).unique().sort()
    words = 1
    while words < most:
        cut = exact(ordered, words)
        if np.count_nonzero(cut[1:] == cut[:-1]) <= len(cut) // 100:
            return words
        words *= 2
    return most

"""Many constants of one type: the keys of a join's other side, in arrays instead of literals.

A list of a hundred thousand literals takes seconds to read, to bind and to write into a log. The
same keys as sorted arrays are bound by a few operations on arrays (`expr.key_comparisons`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, arrow_array, value_list, zone_of
from pyhudi_expr.computed_once import computed_once


class KeyTypeError(ValueError):
    """There is no such list of keys; the message says why."""


@dataclass(frozen=True)
class KeyList:
    """Distinct constants that are not NULL, in ascending ranges that do not meet.

    Attributes:
        type: Of the constants: a signed integer, date32, a timestamp without zone, or string.
        lows: The first value of each range: int64 (integers, days, or units of the timestamp), or
            large_binary of UTF-8.
        highs: The last value of each range; `lows` itself if each range is one value.
        count: How many keys there are. A range of several values may have some that are no keys.
    """

    type: pa.DataType
    lows: AnyArray
    highs: AnyArray
    count: int

    def __hash__(self) -> int:
        """Return a hash of the type and the count: arrays have none."""
        return hash((self.type, self.count))

    @classmethod
    def of(cls, values: AnyArray) -> KeyList:
        """Return the distinct values of an array without those that are NULL.

        Raises:
            KeyTypeError: Keys do not have this type.
        """
        physical = pc.unique(physical_keys(values)).drop_null()
        ordered = physical.take(pc.array_sort_indices(physical))
        return cls(values.type, ordered, ordered, len(ordered))

    @computed_once
    def are_values(self) -> bool:
        """Whether each range is one value, and so a key."""
        return self.lows is self.highs or self.lows.equals(self.highs)

    def python_ends(self) -> tuple[list[Any], list[Any]]:
        """Return `lows` and `highs` as the values that literals of the type have."""
        lows, highs = value_list(self.lows), value_list(self.highs)
        if pa.types.is_string(self.type):
            return [text.decode() for text in lows], [text.decode() for text in highs]
        return lows, highs

    def shortened(self, most: int) -> KeyList:
        """Return at most so many ranges that have all keys, and values beside them."""
        size = len(self.lows)
        if size <= most:
            return self
        firsts = np.arange(most, dtype=np.int64) * size // most
        lasts = np.append(firsts[1:], size) - 1
        lows, highs = (
            ends.take(arrow_array(places))
            for ends, places in ((self.lows, firsts), (self.highs, lasts))
        )
        return KeyList(self.type, lows, highs, self.count)


def physical_keys(values: AnyArray) -> AnyArray:
    """Return constants as int64 or large_binary, see `KeyList`. Raises KeyTypeError."""
    type_ = values.type
    if pa.types.is_string(type_):
        return values.cast(pa.large_string()).view(pa.large_binary())
    is_wall_clock = pa.types.is_timestamp(type_) and zone_of(type_) is None
    if pa.types.is_signed_integer(type_) or pa.types.is_date32(type_) or is_wall_clock:
        return values.view(_SAME_WIDTH[type_.bit_width]).cast(pa.int64())
    raise KeyTypeError(f"keys of type {type_}")


_SAME_WIDTH = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}

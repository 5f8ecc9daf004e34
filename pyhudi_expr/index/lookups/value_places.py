"""Where the values of a secondary index are: in memory, or looked up in its files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.index.lookups.direct_lookups import ValueLookup
from pyhudi_expr.index.lookups.hashed_entries import UNLISTED, HashedEntries
from pyhudi_expr.index.lookups.record_index import KeyLocations
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.key_hashes import Hashes, hashes

_NO_HASHES, _NO_SLICES = np.zeros(0, np.uint64), np.zeros(0, np.int32)


class ValuePlaces(Protocol):
    """Where values are.

    Attributes:
        is_trusted: One flag for each slice: whether the index is trusted about it.
        numbers_only: Whether all values are integers in digits, or null.
    """

    @property
    def is_trusted(self) -> BoolArray:
        """The flags of the slices."""

    @property
    def numbers_only(self) -> bool:
        """Whether all values are numbers or null."""

    def slices_with(self, values: Sequence[bytes]) -> BoolArray:
        """Return for each slice whether it may hold one of the values, written as in the index.

        Raises:
            HudiError: The index cannot be read.
        """


@dataclass(frozen=True)
class ValueLocations:
    """The locations of all values.

    Attributes:
        entries: The entries of all values.
        is_trusted: One flag for each slice: whether the index is trusted about it.
        numbers_only: Whether all values are integers in digits, or null.
    """

    entries: HashedEntries
    is_trusted: BoolArray
    numbers_only: bool

    def slices_of(self, values: Hashes) -> BoolArray:
        """Return for each slice whether it may hold one of the values, given by their hashes."""
        return self.entries.find(values, len(self.is_trusted)) | ~self.is_trusted

    def slices_with(self, values: Sequence[bytes]) -> BoolArray:
        """Return for each slice whether it may hold one of the values, see `ValuePlaces`."""
        return self.slices_of(hashes(ByteStrings.of(values)))


@dataclass(frozen=True)
class LookedUpValues:
    """The locations of values, looked up one by one; the attributes are those of `ValuePlaces`."""

    lookup: ValueLookup
    is_trusted: BoolArray
    numbers_only: bool

    def slices_with(self, values: Sequence[bytes]) -> BoolArray:
        """Return for each slice whether it may hold one of the values, see `ValuePlaces`."""
        found = self.lookup.slices_of(values)
        flags = ~self.is_trusted
        flags[found[found != UNLISTED]] = True
        return flags


def locate_values(
    pairs: Iterable[tuple[Hashes, Hashes]], records: KeyLocations, trusted: BoolArray
) -> ValueLocations:
    """Look up the slices of all values.

    Args:
        pairs: Parallel hashes of values and of their record keys.
        records: The locations of the record keys.
        trusted: One flag for each slice, see `SliceTrust.slices`.
    """
    found_hashes, found_slices = [_NO_HASHES], [_NO_SLICES]
    of_key = np.zeros(len(records.entries.hashes), np.int32)
    for values, keys in pairs:
        row, known = records.entries.rows_of(keys)
        np.add.at(of_key, row[known], 1)
        found_hashes.append(values[known])
        found_slices.append(records.entries.slices[row[known]])
    entries = HashedEntries.of(np.concatenate(found_hashes), np.concatenate(found_slices))
    doubtful = records.entries.slices[(of_key != 1) | records.entries.shared]
    is_trusted = trusted.copy()
    is_trusted[doubtful[doubtful != UNLISTED]] = False
    return ValueLocations(entries, is_trusted, True)


@dataclass(frozen=True)
class AnsweredSlices:
    """For how many slices a query trusts a secondary index.

    Attributes:
        slices: Number of slices in the table.
        answered: Number of slices that it is trusted about.
        uncovered: Number of slices with files that it is not known to follow.
        doubtful: Of the other slices, the number of those with a key that has no value or several.
    """

    slices: int
    answered: int
    uncovered: int
    doubtful: int

    @property
    def is_repaired_by_building(self) -> bool:
        """Whether building the index anew makes it answer for more slices."""
        return bool(self.uncovered or self.doubtful)

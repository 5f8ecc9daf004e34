"""Entries of a key index as sorted hashes, each with the slice that it points to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import BoolArray, Int32Array, Int64Array, runs
from pyhudi_expr.tables.mdt.bytes.keys import Hashes

SliceNumbers = Int32Array

UNLISTED = -1


@dataclass(frozen=True)
class HashedEntries:
    """Hashes of keys or values with their slices.

    Attributes:
        hashes: Hashes in ascending order.
        slices: For each hash the number of its slice in the listing; -1 if it is not in the
            listing.
    """

    hashes: Hashes
    slices: SliceNumbers

    @staticmethod
    def of(hashes: Hashes, slices: SliceNumbers) -> HashedEntries:
        """Sort entries of any order."""
        order = np.argsort(hashes, kind="stable")  # fast if parts are sorted already
        return HashedEntries(hashes[order], slices[order])

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.hashes.nbytes + self.slices.nbytes

    def find(self, wanted: Hashes, num_slices: int) -> BoolArray:
        """Return for each slice whether an entry with one of the hashes points to it."""
        # Sorted, so that the searches walk through memory in one direction.
        ordered = np.sort(wanted)
        start = np.searchsorted(self.hashes, ordered, "left")
        count = np.searchsorted(self.hashes, ordered, "right") - start
        # All entries of each requested hash, concatenated.
        found = self.slices[runs(start, count)]
        flags = np.zeros(num_slices, np.bool_)
        flags[found[found != UNLISTED]] = True
        return flags

    def find_all(self, wanted: Hashes, slice_: int) -> bool:
        """Return whether for each hash an entry that has it points to the slice."""
        return bool(np.isin(wanted, self.hashes[self.slices == slice_]).all())

    def rows_of(self, wanted: Hashes) -> tuple[Int64Array, BoolArray]:
        """Return for each hash the row of the first entry that has it, and whether there is one."""
        if not len(self.hashes):
            return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
        row = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        return row, self.hashes[row] == wanted

    @property
    def shared(self) -> BoolArray:
        """Return for each entry whether another one has the same hash."""
        same = self.hashes[1:] == self.hashes[:-1]
        flags: BoolArray = np.append(same, False) | np.append(False, same)
        return flags if len(self.hashes) else flags[:0]

    def per_slice(self, num_slices: int) -> Int64Array:
        """Return for each slice the number of entries that point to it."""
        return np.bincount(self.slices[self.slices != UNLISTED], minlength=num_slices)

"""Sets of slices of a listing, which cost what is in them and not what the listing has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.positions import SliceFiles, ranges

_FEW = 4
"""One in so many slices at most is evaluated apart; more are evaluated with all others."""


@dataclass(frozen=True, eq=False)
class SliceSet:
    """Flagged slices of a listing.

    Attributes:
        listing: The slices.
        among: Positions of slices, ascending; only these can be in the set. None: all.
        flags: One flag for each of them.
    """

    listing: FileListing
    among: Int64Array | None
    flags: BoolArray

    @staticmethod
    def of_partitions(listing: FileListing, partitions: BoolArray) -> SliceSet:
        """Return the slices of the flagged partitions."""
        if partitions.all():
            return SliceSet(listing, None, listing.every_slice)
        slices = listing.partition_slices(partitions)
        if len(slices) * _FEW > listing.num_slices:
            return SliceSet(listing, None, listing.slices_of_partitions(partitions))
        return SliceSet(listing, slices, np.ones(len(slices), np.bool_))

    def in_zones(self, zones: BoolArray) -> SliceSet:
        """Return the slices that are in flagged zones; the set itself if that spares little."""
        found = np.count_nonzero(zones)
        if self.among is None:
            if found * _FEW > len(zones):
                return self
            slices = ranges(self.listing.zone_bounds, np.flatnonzero(zones))
            return SliceSet(self.listing, slices, self.flags[slices])
        if found == len(zones):
            return self
        chosen = zones[self.listing.zones_of(self.among)]
        return SliceSet(self.listing, self.among[chosen], self.flags[chosen])

    def only(self, flags: BoolArray) -> SliceSet:
        """Return the slices that are flagged, too; one flag for each of `among`."""
        return SliceSet(self.listing, self.among, self.flags & flags)

    @computed_once
    def evaluated(self) -> FileListing | SliceFiles:
        """The files of the slices in `among`."""
        return self.listing if self.among is None else self.listing.files_of(self.among)

    @computed_once
    def full(self) -> BoolArray:
        """One flag for each slice of the listing."""
        if self.among is None:
            return self.flags
        found = np.zeros(self.listing.num_slices, np.bool_)
        found[self.among] = self.flags
        return found

    @computed_once
    def positions(self) -> Int64Array:
        """The slices, ascending."""
        return np.flatnonzero(self.flags) if self.among is None else self.among[self.flags]

    @computed_once
    def files(self) -> Int64Array:
        """The positions of their files, ascending."""
        return self.listing.files_of(self.positions).files

    @computed_once
    def num_files(self) -> int:
        """The number of their files."""
        if self.flags is self.listing.every_slice:
            return self.listing.num_files
        if self.listing.num_files == self.listing.num_slices:
            return int(np.count_nonzero(self.flags))
        return len(self.files)

    @computed_once
    def num_bytes(self) -> int:
        """The size of their files in bytes."""
        listing = self.listing
        if self.num_files == listing.num_files:
            return listing.total_bytes
        return int(listing.file_size[self.files].sum())

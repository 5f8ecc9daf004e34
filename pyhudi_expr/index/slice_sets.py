"""Sets of slices of a listing, and slices evaluated by evidence about their files.

The rows of a slice come from its base file and its log files together. A slice is excluded only if
the evidence about its files excludes every row that their merge can give. That depends on how
records of one key are merged:

* whole records: Every row of the slice is a row of one of its files, so the slice is excluded if
  each file is. Deletes and overwritten records only remove rows. (Blocks of partial updates hold
  some columns only. The other columns have no statistics in that file, so a file that decides a
  column of a row cannot be excluded by another column of it.)
* fields: The columns of a row may come from different files, so each leaf is excluded only if all
  files exclude it. A leaf over two columns is never excluded.
* opaque: The merger may produce values that no file holds. Slices with log files are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import BoolArray, Int64Array, Mask
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundExpression, Leaf, columns
from pyhudi_expr.expr.evaluate import Evidence, as_array, may_be
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.positions import SliceFiles, ranges
from pyhudi_expr.tables.properties import SliceMerging

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


def keep_slices(
    predicate: BoundExpression,
    evidence: Sequence[Evidence],
    listing: FileListing | SliceFiles,
    merging: SliceMerging,
) -> BoolArray:
    """Return for each slice whether it may hold a matching row.

    Args:
        predicate: The bound predicate.
        evidence: Evidence over the files.
        listing: The files and slices: those of a listing, or some of them.
        merging: How the records of a slice are merged.
    """
    if not listing.num_slices:
        return np.zeros(0, dtype=np.bool_)
    has_logs = listing.has_logs
    if has_logs and merging is SliceMerging.FIELDS:
        per_slice = [_LeafBySlice(source, listing) for source in evidence]
        return as_array(may_be(predicate, True, per_slice), listing.num_slices)
    files = as_array(may_be(predicate, True, evidence), listing.num_files)
    slices = listing.any_file_of_slice(files)
    if has_logs and merging is SliceMerging.OPAQUE:
        slices = slices | listing.any_file_of_slice(listing.file_is_log)
    return slices


class _LeafBySlice:
    """Evidence over slices: a leaf may hold where it may hold in one of the slice's files."""

    def __init__(self, files: Evidence, listing: FileListing | SliceFiles) -> None:
        self._files = files
        self._listing = listing
        self._has_logs = listing.any_file_of_slice(listing.file_is_log)

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        answer = as_array(self._files.may_be(leaf, truth), self._listing.num_files)
        slices = self._listing.any_file_of_slice(answer)
        return slices if len(columns(leaf)) <= 1 else slices | self._has_logs

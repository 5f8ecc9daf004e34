"""Evidence from look-ups in indexes of keys, values and expressions."""

from __future__ import annotations

from pyhudi_expr.arrays import BoolArray, Mask
from pyhudi_expr.expr.bound import Leaf
from pyhudi_expr.tables.listing import FileListing


class LookupEvidence:
    """For some leaves, the files that may hold a row that makes them TRUE (an `Evidence`).

    Leaves are compared by identity: comparing a long IN list takes longer than looking it up.
    """

    def __init__(self, listing: FileListing) -> None:
        self._listing = listing
        self._answers: list[tuple[Leaf, BoolArray]] = []

    def add(self, leaf: Leaf, slices: BoolArray) -> None:
        """Add a leaf with one flag for each slice of the listing."""
        self.add_files(leaf, slices[self._listing.file_slice])

    def add_files(self, leaf: Leaf, files: BoolArray) -> None:
        """Add a leaf with one flag for each file of the listing."""
        self._answers.append((leaf, files))

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        """Return the flags of a known leaf, see `pyhudi_expr.expr.evaluate.Evidence`."""
        if truth:
            for known, files in self._answers:
                if known is leaf:
                    return files
        return True

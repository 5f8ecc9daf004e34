"""Estimate what an index look-up costs and saves, in bytes, for queries and for the advisor.

A look-up index (of keys, of values, or a Bloom filter for each file) is read to find the slices
that hold the requested values. Where the rows lie is unknown before that. The model spreads them at
random over the remaining slices: rare values are estimated well, and clustered values appear in
more slices than they really do. `planner.gather` chooses by these costs.
"""

from __future__ import annotations

from dataclasses import dataclass

_MEGABYTE = 10**6


def slices_hit(rows: float, slices: float) -> float:
    """Return the expected number of slices that hold at least one of the rows."""
    if slices <= 1:
        return slices
    return float(slices * (1.0 - (1.0 - 1.0 / slices) ** rows))


@dataclass(frozen=True)
class RemainingRead:
    """What a query still has to read.

    Attributes:
        slices: Number of slices; an expected number in estimates.
        bytes: Their size.
    """

    slices: float
    bytes: float


@dataclass(frozen=True)
class LookupCost:
    """The cost of one look-up.

    Attributes:
        read_bytes: Bytes of the index to read; 0 if they are in memory.
        rows: Rows that the look-up will find; the number of requested values where that is unknown.
    """

    read_bytes: float
    rows: float

    def total(self, left: RemainingRead) -> float:
        """Return the bytes to read in all, index and files, if the look-up is done."""
        share = slices_hit(self.rows, left.slices) / left.slices if left.slices else 0.0
        return self.read_bytes + left.bytes * share

    def why_not(self, left: RemainingRead) -> str:
        """Return why the look-up is not worth it, for explanations."""
        if not left.slices:
            return "no file is left that it could skip"
        reads, files = (f"{size / _MEGABYTE:.2f} MB" for size in (self.read_bytes, left.bytes))
        return f"it would read {reads}, more than it would save of the {files} that are left"

    def is_worth(self, left: RemainingRead) -> bool:
        """Return whether the look-up saves more than it reads. In memory it always pays off."""
        return not self.read_bytes or self.total(left) < left.bytes

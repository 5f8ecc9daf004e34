"""What asking an index costs and saves, in bytes: one model for queries and for the advisor.

An index of places (of keys or values, or a filter for each file) is read to learn which of the
slices left hold what is asked for. Where it finds rows is not known before: they are taken to be
spread at random over the slices left, so rare values are judged well, and values that lie together
come out as read from more slices than they are.
"""

from __future__ import annotations

from dataclasses import dataclass


def slices_hit(rows: float, slices: float) -> float:
    """How many of the slices hold one of so many rows, on average."""
    if slices <= 1:
        return slices
    return float(slices * (1.0 - (1.0 - 1.0 / slices) ** rows))


@dataclass(frozen=True)
class RemainingRead:
    """What a query still has to read. slices: a number, expected ones in estimates; bytes."""

    slices: float
    bytes: float


@dataclass(frozen=True)
class LookupCost:
    """A question to an index of places.

    read_bytes: what it reads of the index, 0 where that is in memory. rows: how many rows it will
    find; where that is not known, as many as there are values asked for.
    """

    read_bytes: float
    rows: float

    def total(self, left: RemainingRead) -> float:
        """Bytes that are read in all, if it is asked about what is left: index and files."""
        share = slices_hit(self.rows, left.slices) / left.slices if left.slices else 0.0
        return self.read_bytes + left.bytes * share

    def is_worth(self, left: RemainingRead) -> bool:
        """Whether that is less than reading what is left. What is in memory is always worth it."""
        return not self.read_bytes or self.total(left) < left.bytes

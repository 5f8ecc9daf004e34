"""Wrong rows and entries, counted by slice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import BoolArray, Int32Array
from pyhudi_expr.audit.findings import Fault
from pyhudi_expr.audit.slice_keys import is_among
from pyhudi_expr.mdt.bytes.key_hashes import Hashes, hashes
from pyhudi_expr.mdt.store.metadata_table import MetadataTable

ELSEWHERE = -1
"""The number of a slice that is not among the checked ones."""
EXAMPLES = 3


@dataclass(frozen=True)
class RowFault:
    """Rows of one slice, or entries that name it, that are wrong in one way.

    Attributes:
        slice: The slice, by its number in `SliceNames`; -1: none of them.
        examples: The hashes of some of the keys, or entries.
        loses_ours: Whether this package loses rows by it.
    """

    fault: Fault
    slice: int
    count: int
    examples: tuple[int, ...]
    loses_ours: bool = False


def summarised(
    fault: Fault, slices: Int32Array, keys: Hashes, wrong: BoolArray, ours: BoolArray | None = None
) -> Iterator[RowFault]:
    """Return the flagged rows by slice.

    Args:
        fault: What is wrong.
        slices: The slice of each row.
        keys: The hash of each row's key, or entry.
        wrong: The flags.
        ours: Flags for the rows by which this package loses rows; None: none.
    """
    rows = np.flatnonzero(wrong)
    rows = rows[np.argsort(slices[rows], kind="stable")]
    numbers, starts, counts = np.unique(slices[rows], return_index=True, return_counts=True)
    for number, start, count in zip(
        numbers.tolist(), starts.tolist(), counts.tolist(), strict=True
    ):
        own = rows[start : start + count]
        lost = ours is not None and bool(ours[own].any())
        yield RowFault(fault, number, count, tuple(keys[own[:EXAMPLES]].tolist()), lost)


def key_texts(records: MetadataTable, partition: str, faults: Sequence[RowFault]) -> dict[int, str]:
    """Return the keys of an index that are examples of faults, by their hashes.

    Raises:
        HudiError: The index cannot be read.
    """
    wanted = np.array([key for one in faults for key in one.examples], np.uint64)
    if not len(wanted):
        return {}
    found: dict[int, str] = {}
    ordered = np.sort(wanted)
    for part in records.newest(partition):
        own = hashes(part.cells.key_strings)
        for row in np.flatnonzero(is_among(own, ordered)).tolist():
            found[int(own[row])] = part.cells.key_strings[row].decode(errors="replace")
    return found

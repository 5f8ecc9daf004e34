"""Look a few keys up in a record index that is not in memory.

Only the shards and blocks of the keys are read. No slice's entries are counted then, so the index
is trusted as a whole or not at all: the number of its live entries has to be the number of rows of
the table. Entries are counted by the base files' own counts, corrected by the keys in their logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pyhudi_expr.arrays import string_list
from pyhudi_expr.index.row_counts import UNKNOWN, Counts
from pyhudi_expr.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.mdt.bytes.key_shards import shards
from pyhudi_expr.mdt.hfile.cells import Cells
from pyhudi_expr.mdt.hfile.reader import HFile
from pyhudi_expr.mdt.store.file_group import FileGroup
from pyhudi_expr.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.mdt.store.record_locations import group_of, locations
from pyhudi_expr.table.file_slices import GroupId
from pyhudi_expr.table.hudi_names import RECORD_INDEX

MOST_KEYS = 1000
"""How many keys are looked up one by one."""
MOST_LOG_BYTES = 16 << 20
"""Of the index, for its entries to be counted."""


def groups_of(mdt: MetadataTable, keys: Sequence[bytes]) -> set[GroupId]:
    """Return the file groups that the index names for the keys.

    Raises:
        HudiError: The index cannot be read.
    """
    groups = mdt.groups(RECORD_INDEX)
    shard = shards(ByteStrings.of(keys), len(groups))
    found: set[GroupId] = set()
    for number in np.unique(shard).tolist():
        wanted = [key for key, own in zip(keys, shard.tolist(), strict=True) if own == number]

        def ask(hfile: HFile, wanted: list[bytes] = wanted) -> Iterator[Cells]:
            return iter([hfile.lookup(wanted)])

        for records in groups[number].newest(ask):
            found.update(map(group_of, string_list(locations(records).dictionary)))
    return found


def is_complete(mdt: MetadataTable, rows: Counts) -> bool:
    """Return whether the index has an entry for each row.

    Args:
        mdt: The metadata table.
        rows: Rows of each slice, -1 where unknown.
    """
    groups = mdt.groups(RECORD_INDEX)
    log_bytes = sum(log.size for group in groups for log, _ in group.logs)
    if (rows == UNKNOWN).any() or log_bytes > MOST_LOG_BYTES:
        return False
    return sum(map(_live_entries, groups)) == int(rows.sum())


def _live_entries(group: FileGroup) -> int:
    touched, merged = group.overlay(HFile.scan)
    wanted = touched.to_list()
    replaced = group.base_records(lambda hfile: iter([hfile.lookup(wanted)])) if wanted else ()
    known = sum(len(records.cells) for records in replaced)
    return group.base_cells - known + len(merged.payloads)

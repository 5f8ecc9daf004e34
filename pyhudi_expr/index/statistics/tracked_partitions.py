"""Find the partitions whose files were all written while an index existed.

An index that is created for a table with files has to read them. Hudi 1.2 does not always do so:
where statistics come with another index that CREATE INDEX builds, `column_stats` has no entries for
the older files, and `partition_stats` has the bounds of the later files for all of them. A missing
entry is noticed; bounds that are too narrow are not. Files written once an index exists enter it by
Hudi's protocol. So aggregates are used only for partitions without older files.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.tables.hudi_names import PARTITION_MARKER
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.properties import load_properties

_COMPLETION_TIMES_LAYOUT = 2


def tracked_partitions(mdt: MetadataTable, listing: FileListing, names: Iterable[str]) -> BoolArray:
    """Return for each partition of the listing whether the metadata partitions are older.

    That is, whether all its files were written after the metadata partitions `names` were created.

    Raises:
        HudiError: The timeline cannot be read.
    """
    partitions = np.zeros(len(listing.partitions), np.bool_)
    starts = [_start_time(mdt, name) for name in names]
    if mdt.table.properties.timeline_layout != _COMPLETION_TIMES_LAYOUT or None in starts:
        return partitions
    last = max(str(time) for time in starts)
    of_partition, instants = listing.partition_instants
    later = [i for i in instants.unique().to_pylist() if _completed_after(mdt, i, last)]
    followed = pc.is_in(instants, pa.array(later, pa.string())).to_numpy(zero_copy_only=False)
    partitions[:] = True
    partitions[of_partition[~followed]] = False
    return partitions


def _start_time(mdt: MetadataTable, name: str) -> str | None:
    """Return when the commit that created the metadata partition completed; None if unknown."""
    marker = mdt.metadata.storage.read(f"{name}/{PARTITION_MARKER}")
    instant = str(load_properties(marker).get("commitTime", ""))
    for commit in mdt.metadata.timeline.writes:
        if commit.requested == instant:
            return commit.completed
    return mdt.metadata.archived_times.get(instant)


def _completed_after(mdt: MetadataTable, instant: str | None, time: str) -> bool:
    completed = None if instant is None else mdt.table.completion_time(instant)
    return completed is not None and completed > time

"""Count the entries of a record index that name each file group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, combined, value_list
from pyhudi_expr.tables.mdt.certificates.certificates import RecordCertificate, group_name
from pyhudi_expr.tables.mdt.certificates.states import state_of
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.record_locations import group_of, locations

#: Rows of counts that are held before they are added up.
_MOST_COUNTS = 1_000_000


def count_entries(groups: Sequence[FileGroup], check: Callable[[], None]) -> RecordCertificate:
    """Read a whole record index, some megabytes at a time.

    Args:
        groups: Its shards.
        check: Called for each piece.

    Raises:
        CorruptFile: The index is damaged.
    """
    held: list[pa.Table] = []
    for shard in groups:
        for records in shard.newest(HFile.scan):
            check()
            held.append(_counted(pa.table({"place": locations(records)}), ("place", "count")))
            if sum(map(len, held)) > _MOST_COUNTS:
                held = [_summed(held)]
    total = _summed(held)
    names = pa.array(named_groups(combined(total.column("place"))), pa.large_string())
    return RecordCertificate(state_of(groups), names, np.asarray(total.column("count"), np.int64))


def named_groups(places: AnyArray) -> list[str]:
    """Return the names of the file groups of locations."""
    return [group_name(*group_of(place)) for place in value_list(places)]


def _summed(parts: Sequence[pa.Table]) -> pa.Table:
    if not parts:
        return pa.table({"place": pa.array([], pa.binary()), "count": pa.array([], pa.int64())})
    return _counted(pa.concat_tables(parts), ("count", "sum"))


def _counted(table: pa.Table, aggregate: tuple[str, Literal["count", "sum"]]) -> pa.Table:
    found = table.group_by("place").aggregate([aggregate])
    return pa.table({"place": found.column("place"), "count": found.column("_".join(aggregate))})

"""Merging a file group of a metadata table into one sorted stream: what a new base file holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.mdt.byte_strings import ByteStrings
from pyhudi_expr.mdt.byte_strings import concatenated as one_behind_another
from pyhudi_expr.mdt.file_group import FileGroup
from pyhudi_expr.mdt.hfile import HFile
from pyhudi_expr.mdt.payloads import encoded
from pyhudi_expr.mdt.record_schema import RECORD_SCHEMA
from pyhudi_expr.mdt.records import is_deleted
from pyhudi_expr.table.errors import CorruptFile

Cells = tuple[ByteStrings, ByteStrings]
"""Keys and values."""


def compacted(group: FileGroup) -> Iterator[Cells]:
    """The group's live records by ascending key, for `hfile_writer.write_batches`.

    Tombstones are left out. The base file passes in pieces; what the logs hold is in memory.
    Raises CorruptFile, also for values of another schema than that of new files.
    """
    touched, merged = group.overlay(HFile.scan)
    live = {key: value for key, value in merged.payloads.items() if not is_deleted(value)}
    order = sorted(live)
    keys, values = ByteStrings.of(order), ByteStrings.of([encoded(live[key]) for key in order])
    begun = 0
    for records in group.base_records(HFile.scan):
        if records.schema != RECORD_SCHEMA:
            raise CorruptFile(records.file, "its records are of another schema")
        cells = records.split(touched)[0].cells
        if not len(cells):
            continue
        last = cells.key_strings[len(cells) - 1]
        end = begun + _number_below(keys, begun, last)
        chosen = slice(begun, end)
        yield _united(
            (cells.key_strings, cells.value_strings), (keys.take(chosen), values.take(chosen))
        )
        begun = end
    if begun < len(keys):
        yield keys.take(slice(begun, None)), values.take(slice(begun, None))


def _number_below(keys: ByteStrings, start: int, limit: bytes) -> int:
    """How many of the sorted keys from `start` on are less than the limit."""
    array = keys.take(slice(start, None)).array()
    below = pc.sum(pc.less(array, pa.scalar(limit, pa.large_binary()))).as_py()
    return int(below or 0)


def _united(base: Cells, added: Cells) -> Cells:
    if not len(added[0]):
        return base
    keys = one_behind_another([base[0], added[0]])
    values = one_behind_another([base[1], added[1]])
    order = np.asarray(pc.array_sort_indices(keys.array()))
    return keys.take(order), values.take(order)

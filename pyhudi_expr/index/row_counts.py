"""Compute upper bounds for the rows of file slices, which an index of their keys has to cover.

The rows of a base file are counted by its `column_stats` of the record key, else by the commit that
wrote it. A log file adds at most the records that its commits counted as inserts. Deletes are
subtracted only where each surely removed a row:

* Deletes win over any ordering value: the table merges by commit time, or the operation only
  deletes.
* One commit deleted from the slice. A second one may delete the same key again.
* No later commit wrote to the slice. Its updates may bring a deleted key back.

The count is unknown (-1) for a file that neither source counts, and for a slice with log files in a
partition whose file groups may be hash buckets (their writers count every record as an update).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray, Int64Array, arrow_array, numpy_numbers, string_list
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, RECORD_KEY
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.timeline import Instant, read_record

UNKNOWN = -1

_DELETING = frozenset({"DELETE", "DELETE_PREPPED"})
_COMMIT_TIME = "COMMIT_TIME_ORDERING"
_BUCKET = re.compile(r"[0-9]{8}-")

Counts = Int64Array


@dataclass(frozen=True)
class RowCount:
    """An upper bound of a number of rows.

    Attributes:
        rows: The upper bound.
        exact: Whether reading gives exactly this number.
    """

    rows: int
    exact: bool


@dataclass(frozen=True)
class _Written:
    """What one commit wrote to one file."""

    instant: str
    operation: str
    rows: int
    inserts: int
    deletes: int


def row_counts(mdt: MetadataTable, listing: FileListing) -> Counts:
    """Return an upper bound of the rows of each slice of the listing; -1 where it is unknown.

    Raises:
        HudiError: The metadata table or the timeline cannot be read.
    """
    rows, written = _counted(mdt, listing)
    unknown = rows == UNKNOWN
    added = _added_by_logs(mdt, listing, written)
    total = np.bincount(
        listing.file_slice[~listing.file_is_log],
        weights=rows[~listing.file_is_log],
        minlength=listing.num_slices,
    ).astype(np.int64)
    unknown &= ~listing.file_is_log
    total[listing.file_slice[unknown]] = UNKNOWN
    for slice_, rows_added in added.items():
        known = rows_added is not None and total[slice_] != UNKNOWN
        total[slice_] = total[slice_] + rows_added if known else UNKNOWN
    total[_in_buckets(listing)] = UNKNOWN
    return total


def base_file_rows(mdt: MetadataTable, listing: FileListing) -> Counts:
    """Return the rows of each base file of the listing; -1 where unknown, and for log files.

    Raises:
        HudiError: The metadata table or the timeline cannot be read.
    """
    return _counted(mdt, listing)[0]


def _counted(mdt: MetadataTable, listing: FileListing) -> tuple[Counts, dict[int, list[_Written]]]:
    """Return the rows of each base file, and what commits wrote to the files not counted so."""
    rows = _base_rows(mdt, listing)
    uncounted = np.flatnonzero(rows == UNKNOWN)
    written = _written_rows(mdt, listing, uncounted) if len(uncounted) else {}
    for file in written.keys() & set(np.flatnonzero(~listing.file_is_log).tolist()):
        rows[file] = max(stat.rows for stat in written[file])
    return rows, written


def _base_rows(mdt: MetadataTable, listing: FileListing) -> Counts:
    """Return the rows of each base file, as far as `column_stats` counts them."""
    rows = np.full(listing.num_files, UNKNOWN, np.int64)
    if COLUMN_STATS not in mdt.partitions:
        return rows
    found = mdt.statistics(COLUMN_STATS, [column_prefix(RECORD_KEY)])
    # A base file's name is unique: it holds the group's id and the instant.
    entry = pc.index_in(listing.file_name, found.file_name)
    counts = numpy_numbers(found.value_count.take(entry), UNKNOWN)
    rows[~listing.file_is_log] = counts[~listing.file_is_log]
    return rows


def _written_rows(
    mdt: MetadataTable, listing: FileListing, files: Counts
) -> dict[int, list[_Written]]:
    """Return what the timeline's commits wrote to the files, oldest first."""
    position = dict(zip(listing.paths(files), files.tolist(), strict=True))
    slices = arrow_array(np.unique(listing.file_slice[files]))
    earliest = pc.min(listing.slice_base_instant.take(slices)).as_py()
    written: defaultdict[int, list[_Written]] = defaultdict(list)
    for instant in mdt.table.timeline.writes:
        if instant.requested < earliest:
            continue  # what it wrote is older than the requested slices
        for path, stat in _write_stats(mdt, instant):
            if path in position:
                written[position[path]].append(stat)
    return written


def _added_by_logs(
    mdt: MetadataTable, listing: FileListing, written: Mapping[int, list[_Written]]
) -> dict[int, int | None]:
    """Return for each slice with log files the rows that they add, less those that they delete."""
    start = mdt.table.timeline.start or ""
    grows = mdt.table.properties.timeline_layout == 1
    by_commit_time = mdt.table.properties.merge_mode.upper() == _COMMIT_TIME
    logs: defaultdict[int, list[int]] = defaultdict(list)
    for file in np.flatnonzero(listing.file_is_log).tolist():
        logs[int(listing.file_slice[file])].append(file)
    added: dict[int, int | None] = {}
    for slice_, files in logs.items():
        base_instant = listing.slice_base_instant[slice_].as_py()
        # In layout 1 commits append to a log file, and the first of them may be archived.
        is_counted = all(written.get(file) for file in files) and not (
            grows and base_instant < start
        )
        stats = [stat for file in files for stat in written.get(file, ())]
        added[slice_] = _added(stats, by_commit_time) if is_counted else None
    return added


def _added(stats: Sequence[_Written], by_commit_time: bool) -> int | None:
    inserts = sum(stat.inserts for stat in stats)
    deleting = [stat for stat in stats if stat.deletes]
    if not deleting:
        return inserts
    always_win = all(by_commit_time or stat.operation in _DELETING for stat in deleting)
    newest = max(stat.instant for stat in stats)
    if not always_win or {stat.instant for stat in deleting} != {newest}:
        return None
    return inserts - sum(stat.deletes for stat in deleting)


def _write_stats(mdt: MetadataTable, instant: Instant) -> Iterator[tuple[str, _Written]]:
    table = mdt.table
    path = f"{table.properties.timeline_dir}/{instant.file_name}"
    record = read_record(table.storage.read(path), f"{table.base_path}/{path}")
    operation = record.get("operationType") or ""
    for stats in (record.get("partitionToWriteStats") or {}).values():
        for stat in stats:
            numbers = [_number(stat, name) for name in ("numWrites", "numInserts", "numDeletes")]
            yield stat.get("path") or "", _Written(instant.requested, operation, *numbers)


def _number(stat: dict[str, Any], name: str) -> int:
    return int(stat.get(name) or 0)


def _in_buckets(listing: FileListing) -> BoolArray:
    """Return the slices with log files in partitions where every file id is a bucket's."""
    is_bucket_id = np.array(
        [bool(_BUCKET.match(text)) for text in string_list(listing.slice_file_id)], np.bool_
    )
    only_buckets = np.bincount(listing.slice_partition, weights=~is_bucket_id) == 0
    flags: BoolArray = only_buckets[listing.slice_partition] & listing.slice_has_logs
    return flags

"""The partition `files` against the storage's own listing. Nothing but listings is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array, string_list
from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.audit.findings import Fault, Finding, Severity
from pyhudi_expr.manage.audit.scope import BOTH, MOST, AuditedRecords, AuditedTable
from pyhudi_expr.tables.hudi_names import FILES, log_files
from pyhudi_expr.tables.listing import StoredFiles
from pyhudi_expr.tables.slices.log_rows import is_of_completed_writes


def check_file_lists(
    records: AuditedRecords, table: AuditedTable, stored: StoredFiles
) -> Iterator[Finding]:
    """Return what is wrong with the lists of files.

    Args:
        records: Hudi's metadata table.
        table: The table.
        stored: What the storage holds.

    Raises:
        HudiError: The partition cannot be read.
    """
    listed = _Files.of(records.records.stored_files())
    there = _Files.of(stored)
    yield from _gone(records, listed, there)
    yield from _not_listed(records, table, listed)
    yield from _sizes(records, table, listed, there)


@dataclass(frozen=True)
class _Files:
    """Paths and sizes, in one order."""

    stored: StoredFiles
    paths: AnyArray

    @staticmethod
    def of(stored: StoredFiles) -> _Files:
        partitions = stored.partitions.take(pa.array(stored.partition))
        return _Files(stored, pc.binary_join_element_wise(partitions, stored.name, "/"))

    def place(self, paths: AnyArray) -> Int64Array:
        """Return the positions of paths; -1 for those that are not here."""
        return np.asarray(pc.fill_null(pc.index_in(paths, self.paths), -1), np.int64)


def _gone(records: AuditedRecords, listed: _Files, there: _Files) -> Iterator[Finding]:
    gone = there.place(listed.paths) < 0
    for row in np.flatnonzero(gone)[:MOST].tolist():
        yield records.finding(
            FILES,
            Fault.FILE_GONE,
            Severity.QUERY_FAILS,
            str(listed.paths[row]).lstrip("/"),
            expected="not listed: there is no such file",
            found=f"listed with {listed.stored.size[row]} bytes",
            queries="those that read the file, unless a newer file slice replaces it",
        )


def _not_listed(records: AuditedRecords, table: AuditedTable, listed: _Files) -> Iterator[Finding]:
    """Return files of the snapshot that no list has."""
    every = table.every
    paths = pa.array(every.paths(np.arange(every.num_files)), pa.string())
    named = pc.utf8_ltrim(listed.paths, characters="/")
    missing = ~np.asarray(pc.is_in(paths, named).to_numpy(zero_copy_only=False), np.bool_)
    partitions = every.partitions.take(pa.array(every.file_partition))
    unknown = pc.invert(pc.is_in(partitions, listed.stored.partitions))
    in_unlisted = np.asarray(unknown.to_numpy(zero_copy_only=False), np.bool_)
    for path in pc.unique(partitions.filter(pa.array(missing & in_unlisted))).to_pylist()[:MOST]:
        yield records.finding(
            FILES,
            Fault.PARTITION_NOT_LISTED,
            Severity.ROWS_LOST,
            path or ".",
            expected="listed among all partitions",
            found="not listed",
            queries="any: the partition's rows are not read",
            readers=BOTH,
        )
    rows = np.flatnonzero(missing & ~in_unlisted)
    rows = rows[_are_written(table, string_list(paths.take(pa.array(rows))))]
    for row in rows[:MOST].tolist():
        yield records.finding(
            FILES,
            Fault.FILE_NOT_LISTED,
            Severity.ROWS_LOST,
            str(paths[row]),
            expected=f"listed with {every.file_size[row]} bytes",
            found="not listed",
            queries="any: the file's rows are not read, or an older file slice is",
            readers=BOTH,
        )


def _are_written(table: AuditedTable, paths: Sequence[str]) -> BoolArray:
    """Return which files have rows of a completed write; log files of old names may have none."""
    properties, storage = table.table.properties, table.table.storage
    flags = np.ones(len(paths), np.bool_)
    if properties.timeline_layout == 1:
        names = pa.array([path.rpartition("/")[2] for path in paths], pa.string())
        for at in log_files(names).row.tolist():
            with suppress(HudiError):
                flags[at] = is_of_completed_writes(storage, paths[at], table.table.timeline)
    return flags


def _sizes(
    records: AuditedRecords, table: AuditedTable, listed: _Files, there: _Files
) -> Iterator[Finding]:
    place = there.place(listed.paths)
    known = place >= 0
    real = there.stored.size[np.maximum(place, 0)]
    wrong = known & (listed.stored.size != real) & ~_may_grow(table, listed)
    wrong |= known & (listed.stored.size > real)
    wrong &= _is_in_snapshot(table, listed)
    for row in np.flatnonzero(wrong)[:MOST].tolist():
        said = listed.stored.size[row]
        short = said < real[row]
        yield records.finding(
            FILES,
            Fault.SIZE_WRONG,
            Severity.ROWS_LOST if short else Severity.QUERY_FAILS,
            str(listed.paths[row]).lstrip("/"),
            expected=f"{real[row]} bytes",
            found=f"{said} bytes",
            queries="those that split the file by its size, or read its footer",
            readers=BOTH if short else (),
        )


def _may_grow(table: AuditedTable, listed: _Files) -> BoolArray:
    """Return which files are log files to which writers append."""
    grows = np.zeros(len(listed.paths), np.bool_)
    if table.table.properties.timeline_layout == 1:
        grows[log_files(listed.stored.name).row] = True
    return grows


def _is_in_snapshot(table: AuditedTable, listed: _Files) -> BoolArray:
    every = table.every
    paths = pa.array(every.paths(np.arange(every.num_files)), pa.string())
    there = pc.is_in(pc.utf8_ltrim(listed.paths, characters="/"), paths)
    return np.asarray(there.to_numpy(zero_copy_only=False), np.bool_)

"""`column_stats`: the entries of base files and of log files against these files.

Only from table version 8 on, where a log file is of one commit. Entries may be wider than the rows:
columns that a row leaves out, and deletes, are counted differently by writers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray, Int64Array, string_list
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import Bounds
from pyhudi_expr.index.statistics.column_bounds import concat_bounds
from pyhudi_expr.index.statistics.statistics_decoding import StatisticsEntries, decode
from pyhudi_expr.manage.audit.bound_faults import (
    BoundFaults,
    Described,
    Truth,
    stored_bounds,
    taken,
    wrong_bounds,
)
from pyhudi_expr.manage.audit.column_facts import (
    UNKNOWN,
    ColumnFacts,
    FileFacts,
    joined_values,
    value_bounds,
)
from pyhudi_expr.manage.audit.findings import Fault, Finding, Reader, Severity
from pyhudi_expr.manage.audit.scope import BOTH, MOST, AuditedRecords, AuditedTable
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, META_COLUMNS, RECORD_INDEX, RECORD_KEY
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix, column_stats_key
from pyhudi_expr.tables.mdt.records.value_types import value_type
from pyhudi_expr.tables.mdt.store.statistics import ColumnStatistics
from pyhudi_expr.tables.slices.log_rows import LogRows, read_log
from pyhudi_expr.tables.slices.slice_rows import leaf

_OLD_VERSION = "V1"


def audited_columns(
    records: AuditedRecords, table: AuditedTable, partitions: Collection[str]
) -> list[BoundColumn]:
    """Return the columns of the definition, and others that have entries in the partitions.

    Columns of types for which Hudi keeps no bounds are left out, and meta columns of which neither
    Hudi keeps statistics, as keys are virtual, nor its readers use any.

    Raises:
        HudiError: The partition cannot be read.
    """
    definition = records.definitions.get(COLUMN_STATS)
    fields = frozenset[str]() if definition is None else frozenset(definition.fields)
    others = META_COLUMNS if fields else tuple(table.columns)
    unused = frozenset(META_COLUMNS if not table.table.properties.meta_fields else ()) - fields
    version = _OLD_VERSION if definition is None else definition.version
    return [
        table.columns[name]
        for name in dict.fromkeys((*sorted(fields), *others))
        if name in table.columns
        and name not in unused
        and value_type(table.columns[name].type, version) is not None
        and (name in fields or _has_entries(records, partitions, name))
    ]


def _has_entries(records: AuditedRecords, partitions: Collection[str], column: str) -> bool:
    prefixes = [column_prefix(column)]
    return any(
        len(piece)
        for partition in partitions
        for pieces in records.records.statistics_pieces(partition, prefixes)
        for piece in pieces
    )


def check_column_stats(records: AuditedRecords, facts: FileFacts) -> Iterator[Finding]:
    """Return what is wrong with the entries of the checked base files.

    Raises:
        HudiError: The partition cannot be read.
    """
    definition = records.definitions.get(COLUMN_STATS)
    fields = frozenset[str]() if definition is None else frozenset(definition.fields)
    for column in facts.columns:
        entries = _Entries.of(records, column)
        # Without a definition a column is indexed if any of its files has an entry.
        if column.name in fields or entries.is_any:
            yield from _missing(records, column, entries, facts)
            yield from _misnamed(records, column, entries)
            yield from _wrong(records, column, entries, facts.columns[column])


@dataclass(frozen=True)
class _Entries:
    """A column's entries of listed files.

    Attributes:
        positions: The file of each entry, by its key.
        has_entry: For each file.
        is_any: Whether any file has or had an entry.
    """

    stats: ColumnStatistics
    positions: Int64Array
    has_entry: BoolArray
    is_any: bool

    @staticmethod
    def of(records: AuditedRecords, column: BoundColumn) -> _Entries:
        stats = records.records.statistics(COLUMN_STATS, [column_prefix(column.name)])
        files = records.bases
        place = pc.index_in(stats.key, files.keys(column.name))
        position = np.asarray(pc.fill_null(place, -1), np.int64)
        listed = position >= 0
        has_entry = np.zeros(len(files), np.bool_)
        has_entry[position[listed]] = True
        return _Entries(stats.filter(listed), position[listed], has_entry, bool(len(stats)))


def _missing(
    records: AuditedRecords, column: BoundColumn, entries: _Entries, facts: FileFacts
) -> Iterator[Finding]:
    own = facts.columns[column]
    missing = own.is_stored & (own.rows > 0) & ~entries.has_entry
    if column.name in META_COLUMNS:  # rows of virtual keys have none, and Hudi keeps no statistics
        missing &= own.nulls != own.rows
    for file in np.flatnonzero(missing)[:MOST].tolist():
        yield records.finding(
            COLUMN_STATS,
            Fault.ENTRY_MISSING,
            Severity.SLOWER,
            records.bases.paths[file],
            subject=column.name,
            expected="an entry",
            found="none",
            queries=f"those that filter by {column.name} read the file",
        )


def _misnamed(records: AuditedRecords, column: BoundColumn, entries: _Entries) -> Iterator[Finding]:
    """Return entries whose file or column is not that of their key."""
    names = records.bases.listing.file_name.take(pa.array(entries.positions))
    for fault, named, right in (
        (Fault.OTHER_FILE_NAMED, entries.stats.file_name, names),
        (Fault.OTHER_COLUMN_NAMED, entries.stats.column_name, pa.array([column.name] * len(names))),
    ):
        differ = pc.fill_null(pc.not_equal(named, right), True).to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(differ)[:MOST].tolist():
            yield records.finding(
                COLUMN_STATS,
                fault,
                Severity.ROWS_LOST,
                records.bases.paths[int(entries.positions[row])],
                subject=column.name,
                expected=str(right[row]),
                found=str(named[row]),
                queries=f"the range is taken for that of {named[row]}: any that filters by it",
                readers=BOTH if fault is Fault.OTHER_FILE_NAMED else (Reader.HUDI,),
            )


def _wrong(
    records: AuditedRecords, column: BoundColumn, entries: _Entries, facts: ColumnFacts
) -> Iterator[Finding]:
    own = StatisticsEntries.of(entries.stats)
    truth = Truth.of(facts, entries.positions)
    bounds = stored_bounds(own, column.domain)
    trusted = decode(own, column, np.zeros(len(own), np.bool_)).bounds
    faults = wrong_bounds(column, own, bounds, trusted, truth)
    files: Sequence[str] = records.bases.paths
    described = Described(records, COLUMN_STATS, column, [files[i] for i in entries.positions])
    yield from faults.findings(described)
    yield from _counts(described, own, truth, faults)


def _counts(
    described: Described, own: StatisticsEntries, truth: Truth, faults: BoundFaults
) -> Iterator[Finding]:
    """Return counts that differ, where nothing worse was found about the entry's nulls."""
    differ = (own.null_count >= 0) & (truth.nulls >= 0) & (own.null_count != truth.nulls)
    differ &= ~faults.about_nulls
    called_null = truth.has_value & (own.null_count >= own.value_count) & (own.value_count >= 0)
    for row in np.flatnonzero(differ)[:MOST].tolist():
        name, lost = described.column.name, bool(called_null[row])
        yield described.finding(
            Fault.NULL_COUNT_WRONG,
            Severity.ROWS_LOST if lost else Severity.SLOWER,
            row,
            expected=f"{truth.nulls[row]} nulls",
            found=f"{own.null_count[row]} nulls",
            queries=f"{name} IS NOT NULL" if lost else f"{name} IS NULL reads too many files",
            readers=(Reader.HUDI,) if lost else (),
        )
    differ = (own.value_count >= 0) & (truth.rows >= 0) & (own.value_count != truth.rows)
    differ &= ~faults.about_nulls
    counts_rows = described.column.name == RECORD_KEY
    counts_rows &= RECORD_INDEX in described.records.records.partitions
    for row in np.flatnonzero(differ)[:MOST].tolist():
        lost = counts_rows and own.value_count[row] < truth.rows[row]
        yield described.finding(
            Fault.VALUE_COUNT_WRONG,
            Severity.ROWS_LOST if lost else Severity.SLOWER,
            row,
            expected=f"{truth.rows[row]} values",
            found=f"{own.value_count[row]} values",
            queries="those by record key, if the record index lacks as many keys of the file"
            if lost
            else "none; estimates of costs are wrong",
            readers=(Reader.PYHUDI,) if lost else (),
        )


_THREADS = 4


@dataclass(frozen=True)
class _LogFiles:
    """The log files of the checked slices.

    Attributes:
        bounds: For each file the bounds of its columns, of those that have a value.
    """

    paths: Sequence[str]
    names: Sequence[str]
    partitions: Sequence[str]
    bounds: Sequence[Mapping[str, Bounds]]


def check_log_stats(
    records: AuditedRecords,
    table: AuditedTable,
    columns: Sequence[BoundColumn],
    unchecked: list[str],
) -> Iterator[Finding]:
    """Return the log files whose entries exclude rows of theirs.

    Args:
        records: The metadata table.
        table: The table.
        columns: The columns that have entries.
        unchecked: Why log files cannot be checked is appended.

    Raises:
        HudiError: The partition cannot be read.
    """
    if not records.slices.has_logs:
        return
    if table.table.properties.timeline_layout == 1:
        unchecked.append(f"{COLUMN_STATS}: log files, to which several commits append")
        return
    files = _read(records, table, columns, unchecked)
    for column in columns:
        yield from _of_column(records, column, files)


def _of_column(records: AuditedRecords, column: BoundColumn, files: _LogFiles) -> Iterator[Finding]:
    known = [at for at, bounds in enumerate(files.bounds) if column.name in bounds]
    stats = records.records.statistics(COLUMN_STATS, [column_prefix(column.name)])
    keys = [column_stats_key(column.name, files.partitions[at], files.names[at]) for at in known]
    place = pc.fill_null(pc.index_in(stats.key, pa.array(keys, pa.string())), -1)
    position = np.asarray(place, np.int64)
    listed = position >= 0
    if not listed.any():
        return
    pieces = [(np.array([at], np.int64), files.bounds[at][column.name]) for at in known]
    truth = _truth(concat_bounds(pieces)[1], position[listed])
    own = StatisticsEntries.of(stats.filter(listed))
    trusted = decode(own, column, np.ones(len(own), np.bool_)).bounds
    faults = wrong_bounds(column, own, stored_bounds(own, column.domain), trusted, truth)
    paths = [files.paths[known[at]] for at in position[listed].tolist()]
    for finding in faults.findings(Described(records, COLUMN_STATS, column, paths)):
        # An entry without bounds may be of a writer that did not collect the column.
        if finding.fault is not Fault.RANGE_MISSING:
            yield finding


def _truth(bounds: Bounds, positions: Int64Array) -> Truth:
    size = len(positions)
    nothing, every = np.zeros(size, np.bool_), np.ones(size, np.bool_)
    uncounted = np.full(size, UNKNOWN, np.int64)
    return Truth(
        lower=taken(bounds.lower, positions),
        upper=taken(bounds.upper, positions),
        is_known=every,
        has_value=every,
        nulls=uncounted,
        rows=uncounted,
        is_exact=nothing,
    )


def _read(
    records: AuditedRecords,
    table: AuditedTable,
    columns: Sequence[BoundColumn],
    unchecked: list[str],
) -> _LogFiles:
    slices = records.slices
    chosen = np.flatnonzero(slices.file_is_log)
    paths = slices.paths(chosen)
    partitions = slices.partitions.take(pa.array(slices.file_partition[chosen]))
    with ThreadPoolExecutor(_THREADS) as pool:
        found = list(pool.map(lambda path: _bounds(table, path, columns), paths))
    unchecked += [f"{COLUMN_STATS}: {one}" for one in found if isinstance(one, str)]
    return _LogFiles(
        paths,
        string_list(slices.file_name.take(pa.array(chosen))),
        string_list(partitions),
        [{} if isinstance(one, str) else one for one in found],
    )


def _bounds(
    table: AuditedTable, path: str, columns: Sequence[BoundColumn]
) -> Mapping[str, Bounds] | str:
    """Return the bounds of the columns that have a value in a log file, or why it is not read."""
    roots = list(dict.fromkeys(column.name.partition(".")[0] for column in columns))
    pending = table.table.timeline.pending
    try:
        written = read_log(table.table.storage, [path], pending, lambda _: roots)
    except HudiError as error:
        return str(error)
    rows = [one.rows for one in written if isinstance(one, LogRows)]
    found: dict[str, Bounds] = {}
    for column in columns:
        with suppress(pa.ArrowException):  # of a type that is not the table's any more
            parts = [leaf(part, column.name).drop_null() for part in rows]
            values = joined_values(parts, column.type)
            bounds = value_bounds(values, column)
            if bounds is not None:
                found[column.name] = bounds
    return found

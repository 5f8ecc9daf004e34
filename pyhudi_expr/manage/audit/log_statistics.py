"""`column_stats` of log files: each entry against the rows that the log file holds.

Only from table version 8 on, where a log file is of one commit. Entries may be wider than the rows:
columns that a row leaves out, and deletes, are counted differently by writers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import Int64Array, string_list
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.index.statistics.column_bounds import concat_bounds
from pyhudi_expr.index.statistics.statistics_decoding import StatisticsEntries, decode
from pyhudi_expr.manage.audit.bound_faults import Described, Truth, wrong_bounds
from pyhudi_expr.manage.audit.column_facts import UNKNOWN, joined_values, value_bounds
from pyhudi_expr.manage.audit.findings import Fault, Finding
from pyhudi_expr.manage.audit.scope import AuditedRecords, AuditedTable
from pyhudi_expr.manage.audit.stored_bounds import stored_bounds, taken
from pyhudi_expr.rows.log_rows import LogRows, read_log
from pyhudi_expr.rows.slice_rows import leaf
from pyhudi_expr.tables.hudi_names import COLUMN_STATS
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix, column_stats_key

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

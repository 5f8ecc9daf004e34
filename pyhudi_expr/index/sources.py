"""The sources of evidence that every table has: partition values, file names, `column_stats`.

A file's name gives bounds of `_hoodie_commit_time`. A base file's name holds the commit that wrote
it, a log file's (layout 2) the delta commit. Such a commit can copy older rows, of commits that
were complete by then. Requested times follow no clock that all writers share, so the bound is the
newest requested time among these commits, by their completion times. Layout 1 does not record
completion times, and its log files grow: there names give no bounds.

Incremental queries are pruned by these bounds where `column_stats` does not have the column, as in
log files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, arrow_list, arrow_scalar
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import Bounds, domain_of, is_known
from pyhudi_expr.expr.evaluate import StatisticsEvidence, is_impossible
from pyhudi_expr.index.partition_values import BoundsOfPartition, PartitionRanges, PartitionValues
from pyhudi_expr.index.planner import Answer, Question
from pyhudi_expr.index.statistics.column_stats import ColumnStats, LoadedBounds
from pyhudi_expr.index.statistics.entry_source import ListedEntries
from pyhudi_expr.index.statistics.joined_column_stats import Streaming
from pyhudi_expr.index.statistics.statistics_decoding import decode
from pyhudi_expr.tables.hudi_names import COMMIT_TIME, PARTITION_STATS, RECORD_KEY
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import columns_without_nulls, key_types, null_key_message
from pyhudi_expr.tables.listing import FileListing

_COMPLETION_TIMES_LAYOUT = 2


class CommitTimes:
    """Upper bounds of commit times over the files of a listing (a `Statistics`)."""

    def __init__(self, table: HudiTable, listing: FileListing) -> None:
        self._table = table
        self._listing = listing

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return the bounds of the column, see `pyhudi_expr.expr.evaluate.Statistics`."""
        kept = self._table.properties
        if column.name != COMMIT_TIME or kept.timeline_layout != _COMPLETION_TIMES_LAYOUT:
            return None
        return Bounds(arrow_scalar(None, pa.large_binary()), self._newest)

    @computed_once
    def _newest(self) -> AnyArray:
        """For each file the newest commit that its rows can be of; null if unknown."""
        writes = [write for write in self._table.timeline.writes if write.completed]
        by_completion = sorted(writes, key=lambda write: str(write.completed))
        newest: dict[str, bytes] = {}
        seen = ""
        for write in by_completion:
            seen = max(seen, write.requested)
            newest[write.requested] = seen.encode()
        wrote = arrow_list(list(newest), pa.string())
        bound = arrow_list(list(newest.values()), pa.large_binary())
        return bound.take(pc.index_in(self._listing.file_instants, wrote))


_MOST_FILES = 1_000_000
"""Beyond that the key column is not read for this alone."""


def find_null_key(
    table: HudiTable, listing: FileListing, schema: pa.Schema, stats: ColumnStats
) -> str | None:
    """Return a message about base files in whose rows a key column is null; None if none is known.

    Args:
        table: The table.
        listing: The files.
        schema: The schema of the rows, with the key's columns.
        stats: The statistics of the files.
    """
    columns = columns_without_nulls(table.properties, table.base_path)
    if listing.num_files > _MOST_FILES:
        return None
    for name, type_ in zip(columns, key_types(schema, columns, table.base_path), strict=True):
        domain = domain_of(type_)
        if domain is None or stats.entries is None:
            continue
        try:
            files = _with_nulls(stats.entries, BoundColumn(name, type_, domain))
        except HudiError:  # a query that needs the index reports it
            return None
        if files:
            return null_key_message(table.base_path, name, files)
    return None


def _with_nulls(read: ListedEntries, column: BoundColumn) -> list[str]:
    """Return the paths of base files with nulls.

    A file without bounds is none of them: Hudi counts values as nulls where a footer has no
    statistics. Neither is a log file, which may leave columns out.
    """
    listing = read.listing
    found = np.zeros(listing.num_files, np.bool_)
    for positions, entries in read.every(column.name):
        is_log = listing.file_is_log[positions]
        known = is_known(decode(entries, column, is_log).bounds)
        found[positions] = known & ~is_log & (entries.null_count > 0)
    return listing.paths(found) if found.any() else []


#: Name of the evidence from partition values.
VALUES = "partition values"

#: Name of what excludes every file without evidence: the predicate is TRUE for no row.
CONTRADICTION = "contradiction"


@dataclass(frozen=True)
class ValueSource:
    """Evidence of the partitions' paths, for their files."""

    values: PartitionRanges
    listing: FileListing
    name: str = VALUES

    def answer(self, question: Question) -> Answer | None:
        """Return bounds of every partition column, see `Source`."""
        return Answer(
            StatisticsEvidence(BoundsOfPartition(self.values, self.listing)),
            is_relevant=self.values.have_any(question.columns),
            is_applied=True,
        )


@dataclass(frozen=True)
class NameSource:
    """Evidence of the file names about `_hoodie_commit_time`, the only column that they bound."""

    times: CommitTimes
    name: str = "file names"

    def answer(self, question: Question) -> Answer | None:
        """Return bounds if the predicate needs the column, see `Source`."""
        is_used = any(column.name == COMMIT_TIME for column in question.columns)
        return Answer(StatisticsEvidence(self.times)) if is_used else None


@dataclass(frozen=True)
class ColumnStatsSource:
    """Evidence of `column_stats`, or of footers, about the files of the remaining partitions."""

    stats: ColumnStats
    streaming: Streaming
    values: PartitionValues

    @property
    def name(self) -> str:
        """See `ColumnStats.name`."""
        return self.stats.name

    def answer(self, question: Question) -> Answer | None:
        """Load the bounds of the columns, or stream them, see `Source`."""
        columns = [c for c in question.columns if not self._is_in_paths(c, question)]
        found = self.stats.load(
            columns, question.partitions, question.footer_wait, question.footers
        )
        if not found.too_large or self.stats.entries is None:
            zones = None if found.zones is None else found.zones.evidence()
            notes = (*found.notes, *map(_without_entries, self._unindexed(found)))
            return Answer(found.evidence(), notes, zones=zones, lacks_footers=found.lacks_footers)
        evidence = self.streaming(
            self.stats, question.listing, question.predicate, found, question.partitions
        )
        return Answer(evidence, found.notes)

    def _is_in_paths(self, column: BoundColumn, question: Question) -> bool:
        """Return whether the partitions' paths say what the index, or each footer, would."""
        return column.name not in question.reading.disputed and self.values.has_all(column)

    def _unindexed(self, found: LoadedBounds) -> tuple[BoundColumn, ...]:
        """Return the columns that the index does not have, but keys, which conditions imply."""
        if self.stats.entries is None:
            return ()
        return tuple(column for column in found.without_entries if column.name != RECORD_KEY)


def _without_entries(column: BoundColumn) -> str:
    return f"column_stats has no entries of {column.name}: files are pruned by their own footers"


def dropped_by(by_values: BoolArray, found: Question) -> dict[str, int]:
    """Return the numbers of files that each index excluded, of those that earlier ones left.

    Args:
        by_values: One flag for each partition. False: its values exclude it.
        found: The files by all evidence.
    """
    listing = found.listing
    left = [
        (VALUES, _files_in(listing, by_values)),
        (PARTITION_STATS, _files_in(listing, found.partitions)),
        *((answer.name, left) for answer, left in zip(found.answers, found.left, strict=True)),
    ]
    files, dropped = listing.num_files, dict[str, int]()
    for name, now in left:
        dropped[name] = dropped.get(name, 0) + files - now
        files = now
    by_none = dropped[VALUES] and is_impossible(found.predicate, True)
    return {
        CONTRADICTION if by_none and name == VALUES else name: number
        for name, number in dropped.items()
        if number
    }


def _files_in(listing: FileListing, partitions: BoolArray) -> int:
    """Return the number of files in the flagged partitions."""
    if np.count_nonzero(partitions) == len(partitions):
        return listing.num_files
    return int(listing.partition_files[partitions].sum())

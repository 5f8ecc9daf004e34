"""The sources of evidence that every table has: partition values, file names, `column_stats`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.evaluate import StatisticsEvidence, is_impossible
from pyhudi_expr.index.partition_values import BoundsOfPartition, PartitionRanges, PartitionValues
from pyhudi_expr.index.planner import Answer, Question
from pyhudi_expr.index.statistics.column_stats import ColumnStats, LoadedBounds
from pyhudi_expr.index.statistics.meta_columns import CommitTimes
from pyhudi_expr.index.statistics.streaming_evaluation import Streaming
from pyhudi_expr.tables.hudi_names import COMMIT_TIME, PARTITION_STATS, RECORD_KEY
from pyhudi_expr.tables.listing import FileListing

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
        if not found.too_large or not self.stats.can_stream:
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

"""Evaluate which rows of base files can match: row groups first, then the pages of what is left.

Containers are row groups and segments of pages; they are evaluated as files are, all at once
(`pyhudi_expr.expr.evaluate`). Evidence about files holds for each of their row groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.expr.bound import BoundExpression, columns
from pyhudi_expr.expr.evaluate import (
    Evidence,
    MemoizedEvidence,
    StatisticsEvidence,
    as_array,
    evidence_at,
    may_be,
)
from pyhudi_expr.index.rows.containers import RowGroups, Segments
from pyhudi_expr.index.rows.file_reading import FileReader
from pyhudi_expr.index.rows.known_file import KnownFile
from pyhudi_expr.index.rows.value_evidence import value_evidence

_NO_ROWS = np.zeros(0, np.int64)
MOST_RANGES = 1024
"""Ranges of one file; more are joined where the gaps between them are smallest."""
_FEWEST_RANGES = 16
_MOST_IN_ALL = 1 << 16


@dataclass(frozen=True, eq=False)
class RowRanges:
    """The rows of a file that can match.

    Attributes:
        file: The file.
        starts: The first row of each range. Ranges ascend and do not touch.
        ends: The first row behind it.
        groups: The numbers of the row groups that have some of these rows.
    """

    file: KnownFile
    starts: Int64Array
    ends: Int64Array
    groups: Int64Array

    @property
    def num_rows(self) -> int:
        """Rows of the ranges."""
        return int((self.ends - self.starts).sum())

    @property
    def is_whole(self) -> bool:
        """Whether these are all rows of the file."""
        return self.num_rows == self.file.footer.num_rows


@dataclass(frozen=True)
class RowEvaluation:
    """The rows of files that can match.

    Attributes:
        files: For each file its rows.
        pages: Pages of the predicate's columns in the row groups that were not excluded as a
            whole; a row group without a page index counts as one.
        pages_kept: Of these, those with rows that can match.
    """

    files: Sequence[RowRanges]
    pages: int
    pages_kept: int


def kept_groups(
    predicate: BoundExpression, groups: RowGroups, evidence: Sequence[Evidence] = ()
) -> BoolArray:
    """Return for each row group whether it may hold a row for which a predicate is TRUE.

    Args:
        predicate: The predicate.
        groups: The row groups.
        evidence: Evidence about their files.
    """
    of_files = [evidence_at(one, groups.file) for one in evidence]
    mask = may_be(predicate, True, [*of_files, StatisticsEvidence(groups)])
    return as_array(mask, len(groups))


def evaluate(
    predicate: BoundExpression,
    files: Sequence[KnownFile],
    unread: frozenset[str],
    evidence: Sequence[Evidence],
    reader: FileReader,
) -> RowEvaluation:
    """Return the rows of files for which a predicate may be TRUE.

    Args:
        predicate: The bound predicate.
        files: The files.
        unread: Columns whose stored values are not what readers show.
        evidence: Evidence about the files, in their order.
        reader: Reads the page indexes that are not known yet.
    """
    if not files:
        return RowEvaluation((), 0, 0)
    every = RowGroups.of(files, unread)
    groups = every.some(kept_groups(predicate, every, evidence) & (every.rows > 0))
    needed = list(columns(predicate).values())
    if not len(groups):
        return RowEvaluation(
            [RowRanges(file, _NO_ROWS, _NO_ROWS, _NO_ROWS) for file in files], 0, 0
        )
    reader.read_pages(groups.by_file(), [one for one in needed if one.name not in unread])
    segments = Segments.of(groups, needed)
    of_files = [MemoizedEvidence(evidence_at(one, segments.file)) for one in evidence]
    of_pages = MemoizedEvidence(StatisticsEvidence(segments))
    sources: list[Evidence] = [*of_files, of_pages]
    keep = as_array(may_be(predicate, True, sources), len(segments))
    left = np.zeros(len(groups), np.bool_)
    left[segments.group[keep]] = True
    values = value_evidence(predicate, groups.some(left), reader)
    if values is not None:
        at = np.cumsum(left)[segments.group] - 1  # those of others are excluded already
        sources.append(evidence_at(values, at))
        keep &= as_array(may_be(predicate, True, sources), len(segments))
    return RowEvaluation(
        _ranges(segments, keep),
        segments.num_pages(np.ones(len(segments), np.bool_)),
        segments.num_pages(keep),
    )


def _ranges(segments: Segments, keep: BoolArray) -> list[RowRanges]:
    """Join the kept segments to ranges of each file's rows."""
    groups, file = segments.groups, segments.file[keep]
    start, end = (rows[keep] for rows in segments.file_rows)
    begins = np.append(True, (file[1:] != file[:-1]) | (start[1:] != end[:-1]))[: len(file)]
    finishes = np.append(begins[1:], True)[: len(file)]
    file, starts, ends = file[begins], start[begins], end[finishes]
    bounds = np.searchsorted(file, np.arange(len(groups.files) + 1)).tolist()
    kept = groups.some(np.isin(np.arange(len(groups)), segments.group[keep]))
    numbers = np.split(kept.group, np.searchsorted(kept.file, np.arange(1, len(groups.files))))
    most = max(_FEWEST_RANGES, min(MOST_RANGES, _MOST_IN_ALL // len(groups.files)))
    return [
        RowRanges(one, *_joined(starts[low:high], ends[low:high], most), number)
        for one, low, high, number in zip(
            groups.files, bounds[:-1], bounds[1:], numbers, strict=True
        )
    ]


def _joined(starts: Int64Array, ends: Int64Array, most: int) -> tuple[Int64Array, Int64Array]:
    """Join ranges across the smallest gaps, until there are not too many."""
    if len(starts) <= most:
        return starts, ends
    gaps = starts[1:] - ends[:-1]
    wide = np.sort(np.argsort(gaps, kind="stable")[len(gaps) - most + 1 :])
    return starts[np.append(0, wide + 1)], ends[np.append(wide, len(ends) - 1)]

"""Prune the row groups of Parquet files.

pyarrow prunes row groups itself if it gets a filter, but it trusts every footer. For floats this
loses rows: NaN is not within any bounds, and 0.0 and -0.0 are one bound and two values. So pyarrow
gets no filter, and row groups are pruned by the same rules as files: first by the footers that
pyarrow reads anyway, then, of large files, by pages, dictionaries and Bloom filters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from pyhudi_expr.expr.bound import BoundExpression
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.index.rows.evaluation import RowRanges
from pyhudi_expr.index.statistics.parquet_footers import RowGroupStatistics

#: A ParquetFileFragment of pyarrow, which its stubs do not know as a fragment.
ParquetFragment: TypeAlias = Any


def matching_row_groups(
    fragments: Sequence[ParquetFragment],
    predicate: BoundExpression,
    unread: frozenset[str] = frozenset(),
) -> list[ParquetFragment]:
    """Return the fragments with the row groups that may hold a row for which a predicate is TRUE.

    Args:
        fragments: The files.
        predicate: The predicate.
        unread: Columns whose stored values are not what rows show.
    """
    if not fragments:
        return []
    footers = [fragment.metadata for fragment in fragments]
    counts = [footer.num_row_groups for footer in footers]
    evidence = StatisticsEvidence(RowGroupStatistics(footers, unread))
    keep = as_array(may_be(predicate, True, [evidence]), sum(counts))
    parts = np.split(keep, np.cumsum(counts)[:-1])
    return [
        fragment if part.all() else fragment.subset(row_group_ids=np.flatnonzero(part).tolist())
        for fragment, part in zip(fragments, parts, strict=True)
        if part.any()
    ]


def with_evaluated_rows(
    fragments: Sequence[ParquetFragment], rows: Mapping[str, RowRanges]
) -> list[ParquetFragment]:
    """Return the fragments with the row groups that have rows that can match.

    Args:
        fragments: The files.
        rows: The rows of those that were evaluated, by the files' paths.
    """
    found = []
    for fragment in fragments:
        evaluated = rows.get(fragment.path)
        if evaluated is None:
            found.append(fragment)
            continue
        given = [group.id for group in fragment.row_groups]
        kept = np.intersect1d(given, evaluated.groups).tolist()
        if kept:
            found.append(fragment.subset(row_group_ids=kept))
    return found

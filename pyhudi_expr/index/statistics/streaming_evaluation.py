"""Evaluate leaves piece by piece, on columns whose bounds exceed the memory limit.

Only the results are kept: for each leaf two flags for each file. So an index of any size is
evaluated within a fixed memory limit, at the cost of reading it for every query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import BoolArray, Mask
from pyhudi_expr.expr.bound import BoundColumn, BoundExpression, Leaf, columns, walk
from pyhudi_expr.expr.evaluate import Evidence, StatisticsEvidence, as_array
from pyhudi_expr.index.statistics.column_stats import ColumnStats, LoadedBounds
from pyhudi_expr.tables.listing import FileListing

Streaming = Callable[
    [ColumnStats, FileListing, BoundExpression, LoadedBounds, BoolArray],
    Evidence,
]
"""As `evaluate_streaming`: evidence where bounds are too large, in whatever way it is found."""


@dataclass(frozen=True)
class LeafAnswer:
    """For one leaf, which files may hold a row that makes it TRUE, and FALSE."""

    leaf: Leaf
    true: BoolArray
    false: BoolArray

    @staticmethod
    def unknown(leaf: Leaf, files: int) -> LeafAnswer:
        """Return the answer for a leaf without any evidence: all files may."""
        return LeafAnswer(leaf, np.ones(files, np.bool_), np.ones(files, np.bool_))


class StreamingEvidence:
    """The results for some leaves, and other evidence for the rest (an `Evidence`)."""

    def __init__(self, answers: Sequence[LeafAnswer], rest: Evidence) -> None:
        self._answers = answers
        self._rest = rest

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        """Return the result of a leaf, see `pyhudi_expr.expr.evaluate.Evidence`."""
        for answer in self._answers:
            if answer.leaf is leaf:
                return answer.true if truth else answer.false
        return self._rest.may_be(leaf, truth)


def evaluate_streaming(
    stats: ColumnStats,
    listing: FileListing,
    predicate: BoundExpression,
    loaded: LoadedBounds,
    partitions: BoolArray,
) -> Evidence:
    """Return evidence about the predicate's leaves, including those on columns beyond the limit.

    A leaf over several columns of which one exceeds the limit stays unknown, and so do leaves whose
    results are too large together.

    Args:
        stats: The index.
        listing: The files.
        predicate: The predicate.
        loaded: The bounds in memory.
        partitions: One flag for each partition. False: excluded already.

    Raises:
        HudiError: The index cannot be read.
    """
    too_large = frozenset(loaded.too_large)
    found = _leaves_of_one(predicate, too_large)[: max_leaves(stats, listing)]
    answers: dict[BoundColumn, list[LeafAnswer]] = {}
    for column, leaf in found:
        answers.setdefault(column, []).append(LeafAnswer.unknown(leaf, listing.num_files))
    for piece in stats.pieces(dict.fromkeys(answers, partitions)):
        evidence = StatisticsEvidence(LoadedBounds({piece.column: piece.decoded.bounds}))
        for answer in answers[piece.column]:
            for truth, flags in ((True, answer.true), (False, answer.false)):
                mask = as_array(evidence.may_be(answer.leaf, truth), len(piece.positions))
                flags[piece.positions] = mask
    every = [answer for of_column in answers.values() for answer in of_column]
    return StreamingEvidence(every, StatisticsEvidence(loaded))


def max_leaves(stats: ColumnStats, listing: FileListing) -> int:
    """Return the number of leaves whose results fit in memory together."""
    return stats.limits.nbytes // (2 * listing.num_files)


def _leaves_of_one(
    predicate: BoundExpression, chosen: frozenset[BoundColumn]
) -> Sequence[tuple[BoundColumn, Leaf]]:
    """Return the leaves over a single column that is one of the chosen."""
    found = []
    for node in walk(predicate):
        if isinstance(node, Leaf):
            own = list(columns(node).values())
            if len(own) == 1 and own[0] in chosen:
                found.append((own[0], node))
    return found

"""Leaves on columns whose bounds are too large to be held, judged piece by piece.

Of a piece's bounds nothing is kept but the answers: for each leaf two flags for each file. So an
index of any size is asked within a set memory, at the price of reading it for every query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.expr.bound import BoundColumn, BoundExpression, Leaf, columns, walk
from pyhudi_expr.expr.bounds import Mask
from pyhudi_expr.expr.evaluate import Evidence, StatisticsEvidence, as_array
from pyhudi_expr.index.statistics.column_stats import ColumnStats, LoadedBounds
from pyhudi_expr.table.listing import FileListing

Streaming = Callable[
    [ColumnStats, FileListing, BoundExpression, LoadedBounds, BoolArray],
    Evidence,
]
"""As `evaluate_streaming`: evidence where bounds are too large, in whatever way it is found."""


@dataclass(frozen=True)
class LeafAnswer:
    """Which files may hold a row that makes the leaf TRUE, and FALSE."""

    leaf: Leaf
    true: BoolArray
    false: BoolArray

    @staticmethod
    def unknown(leaf: Leaf, files: int) -> LeafAnswer:
        """Of a leaf of which nothing is known yet: all may."""
        return LeafAnswer(leaf, np.ones(files, np.bool_), np.ones(files, np.bool_))


class StreamingEvidence:
    """What was found out about some leaves, and other evidence for the rest (an `Evidence`)."""

    def __init__(self, answers: Sequence[LeafAnswer], rest: Evidence) -> None:
        self._answers = answers
        self._rest = rest

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        """See `pyhudi_expr.expr.evaluate.Evidence`."""
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
    """Evidence on the predicate's leaves, those on columns that were too large included.

    partitions: one flag for each, False where it is excluded already. A leaf over several columns
    of which one is too large stays unknown, and so do leaves whose answers are too large together.
    Raises HudiError where the index is unreadable.
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
    """Of how many leaves the answers may be in memory together."""
    return stats.limit // (2 * listing.num_files)


def _leaves_of_one(
    predicate: BoundExpression, chosen: frozenset[BoundColumn]
) -> Sequence[tuple[BoundColumn, Leaf]]:
    """The leaves over a single column that is one of the chosen."""
    found = []
    for node in walk(predicate):
        if isinstance(node, Leaf):
            own = list(columns(node).values())
            if len(own) == 1 and own[0] in chosen:
                found.append((own[0], node))
    return found

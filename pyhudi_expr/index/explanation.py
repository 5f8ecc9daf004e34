"""Explain why files are kept or dropped: what each index excludes for each part of the predicate.

The explanation is computed from the evidence of a finished request. It reads nothing, and a request
without an explanation does not pay for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundExpression,
    BoundNot,
    BoundOr,
    columns,
    unknown_reasons,
)
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, is_impossible, may_be
from pyhudi_expr.expr.nodes import Constant, Unknown
from pyhudi_expr.expr.render import render
from pyhudi_expr.index.planner import NamedEvidence, UnaskedIndex
from pyhudi_expr.index.row_counts import Counts
from pyhudi_expr.tables.listing import FileListing


@dataclass(frozen=True)
class IndexAnswer:
    """What one index excludes for one node of the predicate, by itself.

    Attributes:
        index: Name of the index.
        files: Number of files that it excludes.
        bytes: Size of these files.
        seconds: Time to evaluate the node.
        reason: Why it excludes nothing, or less than it could.
    """

    index: str
    files: int
    bytes: int
    seconds: float
    reason: str | None


@dataclass(frozen=True)
class Explanation:
    """What the indexes exclude for one node of the predicate.

    Attributes:
        predicate: Text of the node.
        negated: Whether the node is below a NOT, so that files are kept where it may be FALSE.
        files: Number of files in the listing.
        excluded: Number of files that all indexes together exclude for this node alone.
        excluded_bytes: Size of these files.
        excluded_rows: Rows of the slices that lose all their files. None if unknown.
        seconds: Time to evaluate the node.
        answers: What each index excludes by itself.
        reason: Why nothing is excluded, where this is not due to a single index.
        children: The operands of AND and OR.
        connective: "AND" if a row has to match all children, "OR" if any; below a NOT the one into
            which it turns. Empty without children.
        reached: Number of files that are left by the parts of AND before this one, and before the
            nodes above.
        left: Number of these that this node does not exclude.
    """

    predicate: str
    negated: bool
    files: int
    excluded: int
    excluded_bytes: int
    excluded_rows: int | None
    seconds: float
    answers: tuple[IndexAnswer, ...]
    reason: str | None
    children: tuple[Explanation, ...]
    connective: str
    reached: int
    left: int

    def text(self) -> str:
        """Return the tree as text: a line for each node, and each index without bounds for it."""
        return "\n".join(self._lines(""))

    def _lines(self, indent: str) -> Iterator[str]:
        says = "NOT " if self.negated else ""
        by = ", ".join(f"{answer.index} {answer.files}" for answer in self.answers if answer.files)
        line = f"{indent}{says}{self.predicate}: excludes {self.excluded} of {self.files} files"
        if self.excluded:
            line += f", {self.excluded_bytes / 1e6:.1f} MB"
            line += "" if self.excluded_rows is None else f", {self.excluded_rows:,} rows"
        line += f" ({by})" if by else ""
        yield f"{line}, {1000 * self.seconds:.1f} ms" + (f" - {self.reason}" if self.reason else "")
        for answer in self.answers:
            if answer.reason and not self.children:
                yield f"{indent}    {answer.index}: {answer.reason}"
        for child in self.children:
            yield from child._lines(indent + "  ")

    def as_dict(self) -> dict[str, Any]:
        """Return the tree for JSON."""
        return asdict(self)


def remarks(
    files_kept: int, unasked: Iterable[UnaskedIndex], explanation: Explanation
) -> Iterator[str]:
    """Return which indexes were not asked, and why more files are read than the parts leave."""
    for index in unasked:
        yield f"{index.name} was not asked: {index.reason}"
    more = files_kept - explanation.left
    if more > 0:
        files = "1 more file is" if more == 1 else f"{more:,} more files are"
        yield (
            f"{files} read than the parts of the predicate leave: a base file and its log files "
            "are read together"
        )


def explain(
    node: BoundExpression,
    evidence: Sequence[NamedEvidence],
    listing: FileListing,
    rows: Counts | None = None,
) -> Explanation:
    """Explain a bound predicate over the files of a listing; each node by itself.

    Args:
        node: The predicate.
        evidence: The evidence of each index.
        listing: The files.
        rows: Rows of each slice, -1 where unknown. None: no row counts.
    """
    everything = np.ones(listing.num_files, np.bool_)
    # Nothing is read for a contradiction: what evidence there is knows no column of it.
    read = () if is_impossible(node, True) else evidence
    without = "there is no index" if read or not evidence else "no index was asked"
    return _Explainer(read, listing, rows, without).explain(node, True, everything)[0]


@dataclass(frozen=True)
class _Explainer:
    """The arguments of `explain` that are the same for each node.

    without: The reason where there is no evidence.
    """

    evidence: Sequence[NamedEvidence]
    listing: FileListing
    rows: Counts | None
    without: str

    def explain(
        self, node: BoundExpression, truth: bool, reached: BoolArray
    ) -> tuple[Explanation, BoolArray]:
        """Explain a node; return the files that it leaves of those that reach it, too.

        `truth` is False below a NOT.
        """
        if isinstance(node, BoundNot):
            return self.explain(node.child, not truth, reached)
        connective, children = self._children(node, truth, reached)
        excluded, seconds = _excluded(node, self.evidence, self.listing, truth)
        left = reached & ~excluded
        needs_none = isinstance(node, Constant | Unknown) or is_impossible(node, truth)
        answers = () if needs_none else self.evidence
        explanation = Explanation(
            predicate=render(node),
            negated=not truth,
            files=self.listing.num_files,
            excluded=int(np.count_nonzero(excluded)),
            excluded_bytes=int(self.listing.file_size[excluded].sum()),
            excluded_rows=_excluded_rows(excluded, self.listing, self.rows),
            seconds=seconds,
            answers=tuple(_answer(node, source, self.listing, truth) for source in answers),
            reason=self._reason(node, truth, excluded),
            children=children,
            connective=connective,
            reached=int(np.count_nonzero(reached)),
            left=int(np.count_nonzero(left)),
        )
        return explanation, left

    def _children(
        self, node: BoundExpression, truth: bool, reached: BoolArray
    ) -> tuple[str, tuple[Explanation, ...]]:
        """Explain the operands: those of AND reach what is left by the ones before."""
        if not isinstance(node, BoundAnd | BoundOr):
            return "", ()
        needs_all = isinstance(node, BoundAnd) is truth
        found = []
        for child in _parts(node.children):
            explained, left = self.explain(child, truth, reached)
            found.append(explained)
            reached = left if needs_all else reached
        return "AND" if needs_all else "OR", tuple(found)

    def _reason(self, node: BoundExpression, truth: bool, excluded: BoolArray) -> str | None:
        if isinstance(node, Unknown):
            return node.reason
        if is_impossible(node, truth):
            return "no row can match it"
        if isinstance(node, BoundAnd | BoundOr) or excluded.any():
            return None
        opaque = unknown_reasons(node)
        if opaque:
            return "; ".join(opaque)
        if isinstance(node, Constant):
            return None
        if not self.evidence:
            return self.without
        if not any(_has_columns(node, source) for source in self.evidence):
            return "no index has its columns"
        return "no index that was asked excludes a file"


def _parts(nodes: Sequence[BoundExpression]) -> Sequence[BoundExpression]:
    """Return the operands without those that say only what follows from the others."""
    return [node for node in nodes if not isinstance(node, Constant)] or nodes


def _excluded(
    node: BoundExpression, evidence: Sequence[NamedEvidence], listing: FileListing, truth: bool
) -> tuple[BoolArray, float]:
    start = perf_counter()
    mask = may_be(node, truth, [source.evidence for source in evidence])
    seconds = perf_counter() - start
    return ~as_array(mask, listing.num_files), seconds


def _excluded_rows(excluded: BoolArray, listing: FileListing, rows: Counts | None) -> int | None:
    if rows is None:
        return None
    of_slices = rows[~listing.any_file_of_slice(~excluded)]
    return None if (of_slices < 0).any() else int(of_slices.sum())


def _answer(
    node: BoundExpression, source: NamedEvidence, listing: FileListing, truth: bool
) -> IndexAnswer:
    excluded, seconds = _excluded(node, [source], listing, truth)
    return IndexAnswer(
        index=source.name,
        files=int(np.count_nonzero(excluded)),
        bytes=int(listing.file_size[excluded].sum()),
        seconds=seconds,
        reason=_gap(node, source, listing),
    )


def _gap(node: BoundExpression, source: NamedEvidence, listing: FileListing) -> str | None:
    """Return which columns of a leaf the index has no bounds for."""
    if not isinstance(source.evidence, StatisticsEvidence) or isinstance(node, BoundAnd | BoundOr):
        return None
    gaps = []
    for column in columns(node).values():
        known = source.evidence.known(column)
        if known is None:
            gaps.append(f"has no column {column.name}")
            continue
        count = int(np.count_nonzero(~as_array(known, listing.num_files)))
        if count:
            files = "1 file" if count == 1 else f"{count:,} files"
            gaps.append(f"no bounds of {column.name} were read for {files}")
    return "; ".join(gaps) or None


def _has_columns(node: BoundExpression, source: NamedEvidence) -> bool:
    if not isinstance(source.evidence, StatisticsEvidence):
        return True
    known = (source.evidence.known(column) for column in columns(node).values())
    return all(one is not None for one in known)

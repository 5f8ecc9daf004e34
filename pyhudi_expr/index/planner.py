"""Which indexes a question goes to, and in which order: cheap and broad ones first.

Partitions are judged before (by their values, then by `partition_stats`); then each source is
asked about the files of what is left, and may look at what the sources before it have excluded.
A source that has nothing to say about a predicate costs nothing: it answers None.

A *key index* (`record_index`, `secondary_index_*`, `bloom_filters`) answers only where a leaf asks
for certain values to be there, so it is asked about leaves whose truth matters as TRUE, never
about those below a NOT. Looking keys up costs reads that bounds in memory do not, so the rule of
`is_worth` comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pyhudi_expr.expr.bound import (
    BoundAnd,
    BoundColumn,
    BoundExpression,
    BoundNot,
    BoundOr,
    Leaf,
)
from pyhudi_expr.expr.evaluate import Evidence
from pyhudi_expr.expr.nodes import Constant, Unknown
from pyhudi_expr.index.merging import Merging, keep_slices
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.listing import FileListing

_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class NamedEvidence:
    """Evidence with the name of the index that gives it, for the explanation.

    seconds: how long the index took to answer, reading included.
    """

    name: str
    evidence: Evidence
    seconds: float = 0.0


@dataclass(frozen=True)
class Question:
    """What a predicate asks about the files of a listing.

    columns: those of the predicate. partitions: one flag for each, False where it is
    excluded already. footer_wait: seconds to wait for footers that are read in the background.
    answers: what the sources before have said.
    """

    predicate: BoundExpression
    columns: Sequence[BoundColumn]
    listing: FileListing
    merging: Merging
    partitions: _Flags
    footer_wait: float
    answers: tuple[NamedEvidence, ...] = ()

    @cached_property
    def positive_leaves(self) -> tuple[Leaf, ...]:
        """The leaves that are asked whether they may be TRUE."""
        return tuple(_positive_leaves(self.predicate, True))

    @cached_property
    def slices(self) -> _Flags:
        """One flag for each slice: False where the answers so far exclude it."""
        evidence = [answer.evidence for answer in self.answers]
        kept = keep_slices(self.predicate, evidence, self.listing, self.merging)
        flags: _Flags = kept & self.partitions[self.listing.slice_partition]
        return flags

    @cached_property
    def files(self) -> _Flags:
        """`slices` for each file."""
        flags: _Flags = self.slices[self.listing.file_slice]
        return flags


class StillReadingError(HudiError):
    """The index is being read in the background; a later query finds it."""


class Source(Protocol):
    """An index that can be asked about files."""

    @property
    def name(self) -> str:
        """As the explanation calls it."""

    def answer(self, question: Question) -> Evidence | None:
        """Evidence over the files of the question's listing; None: nothing to say about it.

        All reading is done here. Raises HudiError where the index is unreadable, StillReadingError
        where it is not read yet.
        """


def gather(sources: Sequence[Source], question: Question, notes: list[str]) -> list[NamedEvidence]:
    """Asks the sources in their order; those that cannot be read are noted and left out."""
    for source in sources:
        start = perf_counter()
        try:
            evidence = source.answer(question)
        except StillReadingError:
            notes.append(f"{source.name} is still being read")
            continue
        except HudiError as error:
            notes.append(f"{source.name} cannot be read: {error}")
            continue
        if evidence is not None:
            answer = NamedEvidence(source.name, evidence, perf_counter() - start)
            question = replace(question, answers=(*question.answers, answer))
    return list(question.answers)


def is_worth(question: Question, read_bytes: int) -> bool:
    """Whether a look-up that reads so many bytes of an index may save more than it costs.

    Little is to be saved where one slice is left, and at most the reading of all that is left: an
    index that is larger than the files themselves would be slower than the query without it. What
    is in memory already costs nothing.
    """
    if not read_bytes:
        return True
    if np.count_nonzero(question.slices) <= 1:
        return False
    return read_bytes <= int(question.listing.file_size[question.files].sum())


def _positive_leaves(node: BoundExpression, truth: bool) -> Iterator[Leaf]:
    match node:
        case BoundAnd(children=nodes) | BoundOr(children=nodes):
            for child in nodes:
                yield from _positive_leaves(child, truth)
        case BoundNot(child=child):
            yield from _positive_leaves(child, not truth)
        case Constant() | Unknown():
            return
        case _:
            if truth:
                yield node

"""Which indexes a question goes to, and in which order: cheap and broad ones first.

Partitions are judged before (by their values, then by `partition_stats`); then each source is
asked about the files of what is left, and may look at what the sources before it have excluded.
A source that has nothing to say about a predicate costs nothing: it answers None.

A *key index* (`record_index`, `secondary_index_*`, `bloom_filters`) answers only where a leaf asks
for certain values to be there, so it is asked about leaves whose truth matters as TRUE, never
about those below a NOT. Looking keys up costs reads that bounds in memory do not, so these indexes
come last: always the one with which least is read in all (`index.costs`), until none is worth it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Protocol

import numpy as np

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.expr.bound import BoundAnd, BoundColumn, BoundExpression, BoundNot, BoundOr, Leaf
from pyhudi_expr.expr.evaluate import Evidence, MemoizedEvidence
from pyhudi_expr.expr.nodes import Constant, Unknown
from pyhudi_expr.index.costs import LookupCost, RemainingRead
from pyhudi_expr.index.partition_semantics import FROM_FILES, ReaderSemantics
from pyhudi_expr.index.slice_merging import SliceMerging, keep_slices
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.listing import FileListing


@dataclass(frozen=True)
class NamedEvidence:
    """Evidence with the name of the index that gives it, for the explanation.

    seconds: how long the index took to answer, reading included.
    """

    name: str
    evidence: Evidence
    seconds: float = 0.0


@dataclass(frozen=True)
class Answer:
    """What a source says of the files of a listing. notes: why that is less than it could be."""

    evidence: Evidence
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """What a predicate asks about the files of a listing.

    columns: those of the predicate. partitions: one flag for each, False where it is
    excluded already. footer_wait: seconds to wait for footers that are read in the background.
    reading: what the sources' answers say to who asks. answers: what the sources before have said;
    left: for each of them the slices that it and those before it leave, one flag for each.
    notes: why they told less than they could.
    """

    predicate: BoundExpression
    columns: Sequence[BoundColumn]
    listing: FileListing
    merging: SliceMerging
    partitions: BoolArray
    footer_wait: float
    reading: ReaderSemantics = FROM_FILES
    answers: tuple[NamedEvidence, ...] = ()
    left: tuple[BoolArray, ...] = ()
    notes: tuple[str, ...] = ()
    _evaluated: tuple[Evidence, ...] = ()

    def answered(self, answer: NamedEvidence) -> Question:
        """The question with one answer more, and what that leaves."""
        evaluated = (*self._evaluated, MemoizedEvidence(answer.evidence))
        kept = keep_slices(self.predicate, evaluated, self.listing, self.merging)
        left = kept & self.partitions[self.listing.slice_partition]
        return replace(
            self, answers=(*self.answers, answer), left=(*self.left, left), _evaluated=evaluated
        )

    def noted(self, note: str) -> Question:
        """The question with one note more."""
        return replace(self, notes=(*self.notes, note))

    @cached_property
    def positive_leaves(self) -> tuple[Leaf, ...]:
        """The leaves that are asked whether they may be TRUE."""
        return tuple(_positive_leaves(self.predicate, True))

    @cached_property
    def slices(self) -> BoolArray:
        """One flag for each slice: False where the answers so far exclude it."""
        return self.left[-1] if self.left else self.partitions[self.listing.slice_partition]

    @cached_property
    def files(self) -> BoolArray:
        """`slices` for each file."""
        flags: BoolArray = self.slices[self.listing.file_slice]
        return flags

    @cached_property
    def remaining(self) -> RemainingRead:
        """What is to be read by the answers so far."""
        slices = int(np.count_nonzero(self.slices))
        return RemainingRead(slices, int(self.listing.file_size[self.files].sum()))


class StillReadingError(HudiError):
    """The index is being read in the background; a later query finds it."""


class Source(Protocol):
    """An index that can be asked about files."""

    @property
    def name(self) -> str:
        """As the explanation calls it."""

    def answer(self, question: Question) -> Answer | None:
        """Evidence over the files of the question's listing; None: nothing to say about it.

        All reading is done here. Raises HudiError where the index is unreadable, StillReadingError
        where it is not read yet.
        """


class CostedSource(ABC):
    """A source that reads for each question, and so is asked only where that is worth it.

    A class to inherit from, unlike `Source`: each query tells the two apart, and to ask for a
    protocol's methods would take longer than the query.
    """

    name: str

    @abstractmethod
    def look_up(self, question: Question) -> LookupCost | None:
        """What `answer` would cost and find; None: it has nothing to say. Raises HudiError."""

    @abstractmethod
    def answer(self, question: Question) -> Answer | None:
        """See `Source`."""


def gather(sources: Sequence[Source | CostedSource], question: Question) -> Question:
    """The question with all answers.

    The sources are asked in their order, then the priced ones, the one first with which least is
    read in all. Those that cannot be read are noted and left out.
    """
    for source in sources:
        if not isinstance(source, CostedSource):
            question = _asked(source, question)
    waiting = [source for source in sources if isinstance(source, CostedSource)]
    while waiting:
        offers, question = _offers(waiting, question)
        worth = [(source, offer) for source, offer in offers if offer.is_worth(question.remaining)]
        if not worth:
            break
        best = _cheapest(worth, question.remaining)
        question = _asked(best, question)
        # What one has read, another need not read again: prices change.
        waiting = [source for source, _ in offers if source is not best]
    return question


_Offer = tuple[CostedSource, LookupCost]


def _offers(sources: Sequence[CostedSource], question: Question) -> tuple[list[_Offer], Question]:
    offers: list[_Offer] = []
    for source in sources:
        try:
            offer = source.look_up(question)
        except HudiError as error:
            question = question.noted(_unreadable(source, error))
            continue
        if offer is not None:
            offers.append((source, offer))
    return offers, question


def _cheapest(
    offers: Sequence[tuple[CostedSource, LookupCost]], left: RemainingRead
) -> CostedSource:
    return min(offers, key=lambda pair: pair[1].total(left))[0]


def _asked(source: Source | CostedSource, question: Question) -> Question:
    """The question with the source's answer, if it has one."""
    start = perf_counter()
    try:
        answer = source.answer(question)
    except StillReadingError:
        return question.noted(f"{source.name} is still being read")
    except HudiError as error:
        return question.noted(_unreadable(source, error))
    if answer is None:
        return question
    evidence = question.reading.of_files(answer.evidence, question.listing)
    named = NamedEvidence(source.name, evidence, perf_counter() - start)
    return replace(question, notes=(*question.notes, *answer.notes)).answered(named)


def _unreadable(source: Source | CostedSource, error: HudiError) -> str:
    return f"{source.name} cannot be read: {error}"


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

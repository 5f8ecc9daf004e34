"""Decide which indexes evaluate a predicate, and in which order: by estimates of their costs.

A look-up index (of keys, of values, or a Bloom filter for each file) is read to find the slices
that hold the requested values. Where the rows lie is unknown before that. The model spreads them at
random over the remaining slices: rare values are estimated well, and clustered values appear in
more slices than they really do. `planner.gather` chooses by these costs.

Partitions are pruned before, by their values and then by `partition_stats`. Then each source
evaluates the files that remain, and may use what the sources before it excluded. A source that
cannot evaluate a predicate returns None at no cost.

A *key index* (`record_index`, `secondary_index_*`, `bloom_filters`) can only find values. It
evaluates leaves that have to be TRUE, never leaves below a NOT. A look-up reads more than bounds in
memory, so these indexes come last. The planner always picks the one that reads least in all
(`index.costs`), until none pays off.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Protocol

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundAnd, BoundColumn, BoundExpression, BoundNot, BoundOr, Leaf
from pyhudi_expr.expr.evaluate import (
    Evidence,
    MemoizedEvidence,
    as_array,
    evidence_at,
    may_be,
)
from pyhudi_expr.expr.nodes import Constant, Unknown
from pyhudi_expr.index.partition_semantics import FROM_FILES, ReaderSemantics
from pyhudi_expr.index.slice_sets import SliceSet, keep_slices
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.positions import SliceFiles
from pyhudi_expr.tables.properties import SliceMerging

_MEGABYTE = 10**6


def slices_hit(rows: float, slices: float) -> float:
    """Return the expected number of slices that hold at least one of the rows."""
    if slices <= 1:
        return slices
    return float(slices * (1.0 - (1.0 - 1.0 / slices) ** rows))


@dataclass(frozen=True)
class RemainingRead:
    """What a query still has to read.

    Attributes:
        slices: Number of slices; an expected number in estimates.
        bytes: Their size.
    """

    slices: float
    bytes: float


@dataclass(frozen=True)
class LookupCost:
    """The cost of one look-up.

    Attributes:
        read_bytes: Bytes of the index to read; 0 if they are in memory.
        rows: Rows that the look-up will find; the number of requested values where that is unknown.
    """

    read_bytes: float
    rows: float

    def total(self, left: RemainingRead) -> float:
        """Return the bytes to read in all, index and files, if the look-up is done."""
        share = slices_hit(self.rows, left.slices) / left.slices if left.slices else 0.0
        return self.read_bytes + left.bytes * share

    def why_not(self, left: RemainingRead) -> str:
        """Return why the look-up is not worth it, for explanations."""
        if not left.slices:
            return "no file is left that it could skip"
        reads, files = (f"{size / _MEGABYTE:.2f} MB" for size in (self.read_bytes, left.bytes))
        return f"it would read {reads}, more than it would save of the {files} that are left"

    def is_worth(self, left: RemainingRead) -> bool:
        """Return whether the look-up saves more than it reads. In memory it always pays off."""
        return not self.read_bytes or self.total(left) < left.bytes


@dataclass(frozen=True)
class NamedEvidence:
    """Evidence with the name of its index, for the explanation.

    Attributes:
        name: Name of the index.
        evidence: The evidence.
        seconds: Time that the index took, reading included.
    """

    name: str
    evidence: Evidence
    seconds: float = 0.0


@dataclass(frozen=True)
class UnaskedIndex:
    """An index about a column of the predicate that was not asked.

    Attributes:
        name: Name of the index.
        cost: Cost of the look-up; None if the index cannot evaluate what the predicate says.
        left: What the other indexes had left to read.
    """

    name: str
    cost: LookupCost | None
    left: RemainingRead

    @property
    def reason(self) -> str:
        """Why it was not asked."""
        if self.cost is None:
            return "it only finds values that a row must have (= or IN)"
        return self.cost.why_not(self.left)


@dataclass(frozen=True)
class Answer:
    """Evidence of a source over the files of a listing.

    Attributes:
        evidence: The evidence.
        notes: Why it is less than it could be.
        is_relevant: Whether it is about a column of the predicate. Other evidence excludes nothing,
            and is listed in explanations only.
        is_applied: Whether all that it excludes by itself has been excluded before, with the
            partitions.
        zones: The evidence over the listing's zones; None if there is none.
    """

    evidence: Evidence
    notes: tuple[str, ...] = ()
    is_relevant: bool = True
    is_applied: bool = False
    zones: Evidence | None = None
    lacks_footers: bool = False


@dataclass(frozen=True)
class Question:
    """A predicate to evaluate over the files of a listing, with the evidence so far.

    Attributes:
        predicate: The bound predicate.
        columns: The columns of the predicate.
        listing: The files.
        merging: How the records of a slice are merged.
        partitions: One flag for each partition. False: excluded already.
        footer_wait: Seconds to wait for footers that are read in the background.
        footers: One flag for each file whose footer may be read.
        reading: How the reader understands partition columns.
        answers: The evidence of the sources so far.
        left: For each of them the number of files that remain after this source and those before.
        notes: Why the sources excluded less than they could.
        unasked: The sources that were not asked although they have a column of the predicate.
        lacks_footers: Whether footers that are not read yet would tell more.
    """

    predicate: BoundExpression
    columns: Sequence[BoundColumn]
    listing: FileListing
    merging: SliceMerging
    partitions: BoolArray
    footer_wait: float
    footers: BoolArray
    reading: ReaderSemantics = FROM_FILES
    answers: tuple[NamedEvidence, ...] = ()
    left: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    unasked: tuple[UnaskedIndex, ...] = ()
    lacks_footers: bool = False
    _kept: SliceSet | None = None
    _used: tuple[Evidence, ...] = ()
    _evaluated: tuple[Evidence, ...] = ()

    def in_zones(self, evidence: Evidence) -> Question:
        """Exclude the zones that evidence over them excludes.

        A zone has whole slices, and the evidence is about all of their rows. Where the rows of a
        slice are no rows of its files, zones are not used.
        """
        whole = self.merging is SliceMerging.WHOLE_RECORDS or not self.listing.has_logs
        if self.reading.disputed or not whole:
            return self
        zones = as_array(may_be(self.predicate, True, [evidence]), len(self.listing.zone_starts))
        kept = self.kept.in_zones(zones)
        return self if kept is self.kept else replace(self, _kept=kept, _evaluated=())

    def with_answer(self, answer: NamedEvidence) -> Question:
        """Add the evidence of one more source, and evaluate what remains."""
        used = (*self._used, answer.evidence)
        fresh = [self._limited(evidence) for evidence in used[len(self._evaluated) :]]
        evaluated = (*self._evaluated, *fresh)
        files = self.kept.evaluated
        kept = self.kept.only(keep_slices(self.predicate, evaluated, files, self.merging))
        return replace(
            self,
            answers=(*self.answers, answer),
            left=(*self.left, kept.num_files),
            _kept=kept,
            _used=used,
            _evaluated=evaluated,
        )

    def _limited(self, evidence: Evidence) -> Evidence:
        """Return evidence over the files that are evaluated."""
        files = self.kept.evaluated
        if isinstance(files, SliceFiles):
            evidence = evidence_at(evidence, files.files)
        return MemoizedEvidence(evidence)

    def with_unevaluated_answer(self, answer: NamedEvidence, *used: Evidence) -> Question:
        """Add evidence that excludes nothing by itself; `used` may, together with others."""
        return replace(
            self,
            answers=(*self.answers, answer),
            left=(*self.left, self.kept.num_files),
            _kept=self.kept,
            _used=(*self._used, *used),
        )

    def with_note(self, note: str) -> Question:
        """Add a note."""
        return replace(self, notes=(*self.notes, note))

    @computed_once
    def positive_leaves(self) -> tuple[Leaf, ...]:
        """The leaves that exclude a file if they cannot be TRUE."""
        return tuple(positive_leaves(self.predicate, True))

    @computed_once
    def kept(self) -> SliceSet:
        """The slices that the evidence so far does not exclude."""
        return self._kept or SliceSet.of_partitions(self.listing, self.partitions)

    @property
    def slices(self) -> BoolArray:
        """One flag for each slice. False: the evidence so far excludes it."""
        return self.kept.full

    @computed_once
    def files(self) -> BoolArray:
        """The flags of `slices` for each file."""
        flags: BoolArray = self.slices[self.listing.file_slice]
        return flags

    @computed_once
    def remaining(self) -> RemainingRead:
        """What is to be read by the evidence so far."""
        return RemainingRead(len(self.kept.positions), self.kept.num_bytes)


class StillReadingError(HudiError):
    """The entries of an index are being counted in the background; a later query may use it."""


class Source(Protocol):
    """An index that gives evidence over files."""

    @property
    def name(self) -> str:
        """The name in explanations."""

    def answer(self, question: Question) -> Answer | None:
        """Return evidence over the files of the question's listing; None if the index has none.

        All reading is done here.

        Raises:
            HudiError: The index cannot be read.
            StillReadingError: The index's entries are being counted.
        """


class CostedSource(ABC):
    """A source that reads for each request, and so is used only where that pays off.

    This is an abstract class, unlike `Source`: each request tests for it, and a test for a runtime
    protocol takes longer than the rest of a request.
    """

    name: str

    @abstractmethod
    def estimate_cost(self, question: Question) -> LookupCost | None:
        """Estimate the cost of `answer`; None if the index has no evidence.

        Raises:
            HudiError: The index cannot be read.
        """

    @abstractmethod
    def answer(self, question: Question) -> Answer | None:
        """See `Source`."""

    def is_about(self, question: Question) -> bool:
        """Return whether the predicate has a column of the index, for the explanation."""
        return False

    def announce(self, question: Question) -> None:  # noqa: B027 - most need not
        """Announce what `answer` will probably read first, see `Storage.expect`."""


def announce(sources: Sequence[Source | CostedSource], question: Question) -> None:
    """Announce what the sources will probably read first: over a network that saves waiting."""
    for source in sources:
        if isinstance(source, CostedSource):
            with suppress(HudiError):  # its answer meets the error, too
                source.announce(question)


def gather(sources: Sequence[Source | CostedSource], question: Question) -> Question:
    """Return the question with the evidence of all sources.

    Sources without cost come first, in their order. Then the costed ones, always the one that reads
    least in all. Sources that cannot be read are left out, with a note.
    """
    free, waiting = list[Source](), list[CostedSource]()
    for source in sources:
        if isinstance(source, CostedSource):
            waiting.append(source)
        else:
            free.append(source)
    for one in free:
        question = _with_evidence_of(one, question)
    while waiting:
        offers, question = _offers(waiting, question)
        worth = [(source, offer) for source, offer in offers if offer.is_worth(question.remaining)]
        if not worth:
            return _with_unasked(offers, question)
        best = _cheapest(worth, question.remaining)
        question = _with_evidence_of(best, question)
        # Parts of an index that one source has read are cheaper for the next one: costs change.
        waiting = [source for source, _ in offers if source is not best]
    return question


_Offer = tuple[CostedSource, LookupCost]


def _with_unasked(offers: Sequence[_Offer], question: Question) -> Question:
    """Return the question with the indexes whose look-ups are not worth it."""
    if not offers:
        return question
    left = question.remaining
    more = (UnaskedIndex(source.name, offer, left) for source, offer in offers)
    return replace(question, unasked=(*question.unasked, *more))


def _offers(sources: Sequence[CostedSource], question: Question) -> tuple[list[_Offer], Question]:
    offers: list[_Offer] = []
    for source in sources:
        try:
            offer = source.estimate_cost(question)
        except HudiError as error:
            question = question.with_note(_unreadable(source, error))
            continue
        if offer is not None:
            offers.append((source, offer))
        elif source.is_about(question):
            unable = UnaskedIndex(source.name, None, question.remaining)
            question = replace(question, unasked=(*question.unasked, unable))
    return offers, question


def _cheapest(
    offers: Sequence[tuple[CostedSource, LookupCost]], left: RemainingRead
) -> CostedSource:
    return min(offers, key=lambda pair: pair[1].total(left))[0]


def _with_evidence_of(source: Source | CostedSource, question: Question) -> Question:
    """Return the question with the evidence of one source, if it has any."""
    start = perf_counter()
    try:
        answer = source.answer(question)
    except StillReadingError:
        return question.with_note(
            f"{source.name} is not used yet: it has no certificate, so all its entries are counted"
            " first ('pyhudi index verify --certify' does that once for all)"
        )
    except HudiError as error:
        return question.with_note(_unreadable(source, error))
    if answer is None:
        return question
    evidence = question.reading.of_files(answer.evidence, question.listing)
    named = NamedEvidence(source.name, evidence, perf_counter() - start)
    if answer.lacks_footers:
        question = replace(question, lacks_footers=True)
    if answer.notes:
        question = replace(question, notes=(*question.notes, *answer.notes))
    if not answer.is_relevant:
        return question.with_unevaluated_answer(named)
    if answer.is_applied:
        return question.with_unevaluated_answer(named, evidence)
    if answer.zones is not None:
        question = question.in_zones(answer.zones)
    return question.with_answer(named)


def _unreadable(source: Source | CostedSource, error: HudiError) -> str:
    return f"{source.name} cannot be read: {error}"


def positive_leaves(node: BoundExpression, truth: bool) -> Iterator[Leaf]:
    """Return the leaves that have to be TRUE if the node is to be `truth`."""
    match node:
        case BoundAnd(children=nodes) | BoundOr(children=nodes):
            for child in nodes:
                yield from positive_leaves(child, truth)
        case BoundNot(child=child):
            yield from positive_leaves(child, not truth)
        case Constant() | Unknown():
            return
        case _:
            if truth:
                yield node

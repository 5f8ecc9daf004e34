"""Bounds of `column_stats` that are not in one place: in parts, or in pieces that are not kept.

The bounds of a joined listing are those of its parts, which earlier instants have read. A part's
bounds hold for the partitions that the joined listing has of it: no later entry is about them
(`mdt.store.listing_state`). A selective question takes bounds of some files from the parts. In one
about all files each part is evaluated by itself. Bounds of all files are put together only if
somebody asks for them.

Bounds of a column that exceed the memory limit are evaluated piece by piece. Only the results are
kept: for each leaf two flags for each file. So an index of any size is evaluated within a fixed
memory limit, at the cost of reading it for every query.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyhudi_expr.arrays import BoolArray, Int64Array, Mask
from pyhudi_expr.expr.bound import BoundColumn, BoundExpression, Leaf, columns, walk
from pyhudi_expr.expr.domains import Bounds, Values
from pyhudi_expr.expr.evaluate import DerivedStatistics, Evidence, StatisticsEvidence, as_array
from pyhudi_expr.index.statistics.column_bounds import bounds_bytes, concatenated, zone_bounds
from pyhudi_expr.index.statistics.column_stats import (
    BoundsLimits,
    ColumnStats,
    Footers,
    LoadedBounds,
)
from pyhudi_expr.index.statistics.entry_source import ListedEntries
from pyhudi_expr.tables.hudi_names import COLUMN_STATS
from pyhudi_expr.tables.listing import FileListing, Runs
from pyhudi_expr.tables.storage import Storage


class JoinedColumnStats:
    """The bounds of a joined listing's files (`ColumnStats`).

    Attributes:
        entries: The entries of all files, for what is read piece by piece.
        storage: The table's storage.
        limits: What the bounds may take.
        parts: For each part of the listing its statistics, by entries in which those of the
            listing's partitions are as in `entries`.
    """

    def __init__(
        self,
        entries: ListedEntries,
        storage: Storage,
        limits: BoundsLimits,
        parts: Sequence[ColumnStats],
    ) -> None:
        self.entries = entries
        self.storage = storage
        self.limits = limits
        self.parts = tuple(parts)
        self._listing = entries.listing
        self._whole_bounds = _WholeBounds(entries.listing.file_runs)

    @property
    def name(self) -> str:
        """See `ColumnStats`."""
        return COLUMN_STATS

    @property
    def nbytes(self) -> int:
        """Memory in bytes, with that of the parts."""
        return self._whole_bounds.nbytes + sum(part.nbytes for part in self.parts)

    def load(
        self,
        columns: Sequence[BoundColumn],
        partitions: BoolArray,
        footer_wait: float,
        footers: BoolArray | None = None,
    ) -> LoadedBounds:
        """See `ColumnStats`."""
        end = time.monotonic() + footer_wait
        found = [
            part.load(
                columns,
                self._flags_of(number, partitions),
                max(end - time.monotonic(), 0),
                None if footers is None else self._files_of(number, footers),
            )
            for number, part in enumerate(self.parts)
        ]
        too_large = tuple(c for c in columns if any(c in part.too_large for part in found))
        notes = tuple(dict.fromkeys(note for part in found for note in part.notes))
        fitting = [column for column in columns if column not in too_large]
        without = tuple(c for c in columns if all(c in part.without_entries for part in found))
        zones = LoadedBounds({column: self._zones_of(column, found) for column in fitting})
        return _JoinedBounds(
            {},
            too_large,
            notes,
            without,
            any(part.lacks_footers for part in found),
            zones,
            tuple(found),
            whole=self._whole_bounds,
            listing=self._listing,
        )

    def footers(self) -> Footers:
        """Return none: parts keep what they have read, as long as they are used."""
        return {}

    def _flags_of(self, number: int, partitions: BoolArray) -> BoolArray:
        """Return the flags of a part's partitions; those that have changed since are not needed."""
        listing = self._listing
        flags = np.zeros(len(listing.parts[number].partitions), np.bool_)
        own = listing.part_of == number
        flags[listing.place[own]] = partitions[own]
        return flags

    def _files_of(self, number: int, files: BoolArray) -> BoolArray:
        """Return the flags of a part's files."""
        part, place = self._listing.file_runs.places(np.flatnonzero(files))
        flags = np.zeros(self._listing.parts[number].num_files, np.bool_)
        flags[place[part == number]] = True
        return flags

    def _zones_of(self, column: BoundColumn, found: Sequence[LoadedBounds]) -> Bounds:
        """Return the bounds of the zones: those of a part's zone hold for some of it, too."""
        zones = [self._part_zones(column, *one) for one in enumerate(found)]
        return _joined(zones, self._listing.zone_runs)

    def _part_zones(self, column: BoundColumn, number: int, loaded: LoadedBounds) -> Bounds:
        known = None if loaded.zones is None else loaded.zones.bounds(column)
        if known is not None:
            return known
        bounds = loaded.bounds(column)
        assert bounds is not None
        return zone_bounds(bounds, self._listing.parts[number].zone_starts, column.domain)


class _WholeBounds:
    """Bounds of all files, made when they are first needed, as long as the parts' are the same."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self._known: dict[BoundColumn, tuple[list[Bounds], Bounds]] = {}

    @property
    def nbytes(self) -> int:
        return sum(bounds_bytes(bounds) for _, bounds in list(self._known.values()))

    def of(self, column: BoundColumn, parts: list[Bounds]) -> Bounds:
        known = self._known.get(column)
        if known is None or not all(map(_is_same, known[0], parts)):
            known = self._known[column] = parts, _joined(parts, self.runs)
        return known[1]


@dataclass(frozen=True)
class _JoinedBounds(LoadedBounds, DerivedStatistics):
    """The loaded bounds of the parts, as bounds over the files of all."""

    parts: Sequence[LoadedBounds] = ()
    whole: _WholeBounds = field(kw_only=True)
    listing: FileListing = field(kw_only=True)

    def bounds(self, column: BoundColumn) -> Bounds | None:
        found = self.of_parts(column)
        return None if found is None else self.whole.of(column, found)

    def of_parts(self, column: BoundColumn) -> list[Bounds] | None:
        """Return a column's bounds in each part; None if one of them has not loaded it."""
        found = [part.bounds(column) for part in self.parts]
        known = [bounds for bounds in found if bounds is not None]
        return known if len(known) == len(found) else None

    def at(self, containers: Int64Array) -> _TakenBounds:
        return _TakenBounds(self, containers)

    def evidence(self) -> StatisticsEvidence:
        return _EvidenceOfParts(self)


class _EvidenceOfParts(StatisticsEvidence):
    """The evidence of the parts, each about its own files: flags are put together, not bounds."""

    def __init__(self, loaded: _JoinedBounds) -> None:
        super().__init__(loaded)
        self._listing = loaded.listing
        self._parts = [part.evidence() for part in loaded.parts]

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        pairs = zip(self._parts, self._listing.parts, strict=True)
        flags = [as_array(one.may_be(leaf, truth), part.num_files) for one, part in pairs]
        return self._listing.file_runs.joined(flags)


class _TakenBounds(DerivedStatistics):
    """The bounds of some files."""

    def __init__(self, loaded: _JoinedBounds, files: Int64Array) -> None:
        self._loaded = loaded
        self._files = files

    def bounds(self, column: BoundColumn) -> Bounds | None:
        parts = self._loaded.of_parts(column)
        if parts is None:
            return None
        part, place = self._loaded.listing.file_runs.places(self._files)
        rows = [np.flatnonzero(part == number) for number in range(len(parts))]
        order = np.empty(len(part), np.int64)
        order[np.concatenate(rows)] = np.arange(len(part))
        places = [place[own] for own in rows]

        def taken(values: Sequence[Any]) -> Values:
            found = [one.take(own) for one, own in zip(values, places, strict=True)]
            return concatenated(found).take(order)

        return _of_each(parts, taken)

    def at(self, containers: Int64Array) -> _TakenBounds:
        return _TakenBounds(self._loaded, self._files[containers])


def _is_same(one: Bounds, other: Bounds) -> bool:
    return (
        one.lower is other.lower
        and one.upper is other.upper
        and one.may_be_value is other.may_be_value
        and one.may_be_null is other.may_be_null
    )


def _joined(parts: Sequence[Bounds], runs: Runs) -> Bounds:
    """Return the runs' bounds of the parts' bounds, which are arrays."""
    rows = runs.slices()
    return _of_each(parts, lambda ends: concatenated([ends[part][own] for part, own in rows]))


def _of_each(parts: Sequence[Bounds], make: Callable[[Sequence[Any]], Any]) -> Bounds:
    """Return bounds whose every array is made of the parts' arrays."""
    return Bounds(
        make([part.lower for part in parts]),
        make([part.upper for part in parts]),
        make([part.may_be_value for part in parts]),
        make([part.may_be_null for part in parts]),
    )


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
    assert stats.entries is not None
    for piece in stats.entries.pieces(dict.fromkeys(answers, partitions)):
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

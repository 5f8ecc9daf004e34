"""`column_stats`: minimum, maximum and null count of each column of each file (RFC-27).

Entries are looked up by the prefix ``id64(column) + id64(partition)`` for the columns and the
partitions that a predicate needs, and kept as arrays over the files of one listing. Where a file
has no entry, or one that is not trusted, its own footer takes its place, as soon as that has been
read. Bounds that exceed the memory limit are not kept: leaves are then evaluated piece by piece
(`joined_column_stats`).

Files lack entries where a table has no index, where the index does not have the column, and where
they are older than the column's entries, or than the column: a footer proves, too, that a file
lacks a column, so that each of its rows has NULL.

**Which footers are read.** An engine opens each file that all other evidence leaves, and reads its
footer at least. So of these files the footers are read in the background, for some seconds for each
question, whatever the storage's latency makes of these; the next questions go on. That costs at
most a fraction of what the unpruned queries cost, once, and later ones are pruned.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Container, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    BoolArray,
    Int64Array,
    arrow_array,
    numpy_numbers,
)
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import Bounds
from pyhudi_expr.expr.evaluate import StatisticsEvidence
from pyhudi_expr.index.statistics.column_bounds import (
    BoundsSnapshots,
    ColumnBounds,
    KeptBounds,
    bounds_at,
    bounds_bytes,
    concat_bounds,
    no_rows,
)
from pyhudi_expr.index.statistics.entry_source import EntrySource, ListedEntries, Piece
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, RECORD_KEY
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix
from pyhudi_expr.tables.storage import Storage

#: Name of the evidence from Parquet footers.
FOOTERS = "footers"
#: Memory for reading, as a multiple of the bytes read, until the bounds are stored.
_COPIES = 3
#: Fewer zones are evaluated as fast as their files.
_LEAST_ZONES = 4
#: After so many footers other tables have their turn, and queries see the bounds.
_FOOTERS = 256
#: Reads footers for all snapshots of the process.
_FOOTER_READER = ThreadPoolExecutor(1, thread_name_prefix="footers")


@dataclass(frozen=True)
class BoundsLimits:
    """What bounds may take.

    Attributes:
        nbytes: Memory in bytes, including what building them takes.
        footer_seconds: Time for which footers are read for one question.
    """

    nbytes: int = sys.maxsize
    footer_seconds: float = math.inf


@dataclass
class _Column:
    """The bounds of one column so far."""

    store: ColumnBounds
    loaded: BoolArray  # for each partition
    unread: BoolArray  # for each file: whether its footer is to be read
    by_footer: BoolArray  # for each file: whether its bounds are those of its footer
    has_entries: bool = False
    checks: list[Future[None]] = field(default_factory=list)

    @property
    def lacks_entries(self) -> bool:
        return not self.has_entries and bool(self.loaded.any())


NO_LIMITS = BoundsLimits()


class _Time:
    """The seconds that are left for the footers of one question; one thread spends them."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    @contextmanager
    def spending(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.left -= time.monotonic() - began


@dataclass(frozen=True)
class FooterBounds:
    """The bounds of a column by the footers of M files.

    Attributes:
        files: Their partitions, names and sizes, in one text each.
        bounds: The bounds; arrays of length M.
    """

    files: AnyArray
    bounds: Bounds


@dataclass(frozen=True)
class LoadedBounds:
    """Bounds over the files of a listing (a `Statistics`), and the columns that exceed the limit.

    Attributes:
        notes: Why files have no bounds yet.
        without_entries: The columns of which no file has an entry that is trusted.
        lacks_footers: Whether footers would tell more that are not read yet.
        zones: The same columns' bounds over the zones of the listing. None: it has few files.
    """

    columns: Mapping[BoundColumn, Bounds]
    too_large: tuple[BoundColumn, ...] = ()
    notes: tuple[str, ...] = ()
    without_entries: tuple[BoundColumn, ...] = ()
    lacks_footers: bool = False
    zones: LoadedBounds | None = None

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return the bounds of a loaded column, see `pyhudi_expr.expr.evaluate.Statistics`."""
        return self.columns.get(column)

    def evidence(self) -> StatisticsEvidence:
        """Return the evidence of the bounds, over the files."""
        return StatisticsEvidence(self)


Footers: TypeAlias = Mapping[BoundColumn, FooterBounds]
_NONE: Footers = MappingProxyType({})


def _unread_notes(column: BoundColumn, known: _Column, files: BoolArray) -> Iterator[str]:
    number = np.count_nonzero(known.unread & files)
    if number and known.checks:
        yield f"footers are still being read for {column.name}"
    elif number:
        yield (
            f"the footers of {number} files are not read yet for {column.name}: each question has"
            " some of them read"
        )


class ColumnStats(Protocol):
    """The bounds of a listing's files, for as many columns as fit in memory. Thread safe."""

    @property
    def entries(self) -> ListedEntries | None:
        """The entries of the files. None: there is no `column_stats`, and footers are used."""

    @property
    def storage(self) -> Storage:
        """The table's storage."""

    @property
    def limits(self) -> BoundsLimits:
        """What the bounds may take."""

    @property
    def name(self) -> str:
        """What the bounds are called in explanations."""

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""

    def load(
        self,
        columns: Sequence[BoundColumn],
        partitions: BoolArray,
        footer_wait: float,
        footers: BoolArray | None = None,
    ) -> LoadedBounds:
        """Return the columns' bounds, with the entries of the flagged partitions at least.

        Columns that exceed the memory limit are left out. Columns that are not requested now are
        evicted to make room.

        Args:
            columns: The requested columns.
            partitions: One flag for each partition.
            footer_wait: Seconds to wait for footers. They are read in the background, so a later
                query finds them.
            footers: One flag for each file whose footer may be read. None: all of the partitions.

        Raises:
            HudiError: The index cannot be read.
        """

    def footers(self) -> Footers:
        """Return the bounds of all footers that were read, for the table's next state."""


class WholeColumnStats:
    """The bounds of all files of a listing by one source of entries (`ColumnStats`)."""

    def __init__(
        self,
        entries: EntrySource | None,
        listing: FileListing,
        storage: Storage,
        limits: BoundsLimits = NO_LIMITS,
        table_partitions: int | None = None,
        earlier: Footers = _NONE,
    ) -> None:
        """Open the index for a listing.

        Args:
            entries: The source of entries. None: there is no `column_stats`, and footers are used.
            listing: The files.
            storage: The table's storage.
            limits: What the bounds may take.
            table_partitions: The number of partitions with entries. None: those of the listing.
            earlier: The `footers` of the table's earlier state.
        """
        self.entries = (
            None if entries is None else ListedEntries(entries, listing, table_partitions)
        )
        self.storage = storage
        self.limits = limits
        self._listing = listing
        self._earlier = earlier
        self._columns: OrderedDict[BoundColumn, _Column] = OrderedDict()  # the latest used is last
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        """See `ColumnStats`."""
        return FOOTERS if self.entries is None else COLUMN_STATS

    @property
    def nbytes(self) -> int:
        """See `ColumnStats`."""
        with self._lock:
            held = sum([column.store.nbytes for column in self._columns.values()])
        earlier = self._earlier.values()
        return held + sum([one.files.nbytes + bounds_bytes(one.bounds) for one in earlier])

    def load(
        self,
        columns: Sequence[BoundColumn],
        partitions: BoolArray,
        footer_wait: float,
        footers: BoolArray | None = None,
    ) -> LoadedBounds:
        """See `ColumnStats`."""
        with self._lock:
            held = self._held(columns, partitions)
            if held is not None:
                return held
            self._map_kept(columns)
            missing = {
                column: partitions & ~known.loaded
                if (known := self._columns.get(column))
                else partitions
                for column in columns
            }
            fitting = self._with_room(missing)
            self._load({column: flags for column, flags in missing.items() if column in fitting})
            requested = {c: self._columns[c] for c in columns if c in self._columns}
            files = self._in(partitions)
            may_read = files & (self.limits.footer_seconds > 0)
            asked = may_read if footers is None else may_read & footers
            self._read_footers(requested, asked)
            checks = [
                check
                for known in requested.values()
                if (known.unread & asked).any()
                for check in known.checks
            ]
        unfinished = wait(checks, timeout=footer_wait).not_done if checks else ()
        with self._lock:
            for known in requested.values():
                known.checks = [
                    check for check in known.checks if check in unfinished or not check.done()
                ]
            found = {column: known.store.bounds() for column, known in requested.items()}
            zones = self._zones(requested)
            notes = [
                note for c, known in requested.items() for note in _unread_notes(c, known, asked)
            ]
            missing_entries = tuple(c for c, known in requested.items() if known.lacks_entries)
            lacks = any((known.unread & may_read).any() for known in requested.values())
        too_large = tuple(c for c in columns if c not in found)
        return LoadedBounds(found, too_large, tuple(notes), missing_entries, lacks, zones)

    def _held(self, columns: Sequence[BoundColumn], partitions: BoolArray) -> LoadedBounds | None:
        """Return the bounds of columns if all that `load` is asked for is in memory."""
        found = [self._columns.get(column) for column in columns]
        requested: dict[BoundColumn, _Column] = {}
        for column, known in zip(columns, found, strict=True):
            if known is None or known.checks or (partitions & ~known.loaded).any():
                return None
            if known.unread.any() and (known.unread & self._in(partitions)).any():
                return None
            requested[column] = known
        for column in columns:
            self._columns.move_to_end(column)
        bounds = {column: known.store.bounds() for column, known in requested.items()}
        without = tuple(column for column, known in requested.items() if known.lacks_entries)
        return LoadedBounds(bounds, without_entries=without, zones=self._zones(requested))

    def _zones(self, requested: Mapping[BoundColumn, _Column]) -> LoadedBounds | None:
        starts = self._listing.zone_starts
        if len(starts) < _LEAST_ZONES:
            return None
        return LoadedBounds({c: known.store.zones(starts) for c, known in requested.items()})

    def _with_room(self, missing: Mapping[BoundColumn, BoolArray]) -> dict[BoundColumn, _Column]:
        """Return the columns that fit in memory together, new ones without any bounds."""
        fitting: dict[BoundColumn, _Column] = {}
        for column in missing:
            known = self._columns.pop(column, None)
            if known is not None:
                fitting[column] = self._columns[column] = known
        least = ColumnBounds.least_bytes(self._listing.num_files)
        promised = 0
        for column in missing:
            needed = promised + least + _COPIES * least
            if column not in fitting and self._make_room(needed, fitting):
                fitting[column] = self._columns[column] = self._unknown(column)
                promised += _COPIES * least
        return fitting

    def _make_room(self, nbytes: int, requested: Container[BoundColumn]) -> bool:
        """Evict columns that are not requested until so many bytes more fit in memory."""
        held = self.nbytes
        for column in [known for known in self._columns if known not in requested]:
            if held + nbytes <= self.limits.nbytes:
                break
            held -= self._columns.pop(column).store.nbytes
        return held + nbytes <= self.limits.nbytes

    def _unknown(self, column: BoundColumn) -> _Column:
        return _Column(
            store=ColumnBounds(self._listing.num_files, column.domain),
            loaded=np.zeros(len(self._listing.partitions), dtype=np.bool_),
            unread=np.zeros(self._listing.num_files, dtype=np.bool_),
            by_footer=np.zeros(self._listing.num_files, dtype=np.bool_),
        )

    def _map_kept(self, columns: Sequence[BoundColumn]) -> None:
        """Take the bounds of columns that an earlier process has kept on disk."""
        fresh = [column for column in columns if column not in self._columns]
        if not fresh or self._kept is None:
            return
        for column in fresh:
            found = self._kept.find(column)
            if found is not None:
                store = ColumnBounds.mapped(column.domain, found.bounds)
                everywhere = np.ones(len(self._listing.partitions), dtype=np.bool_)
                unread = found.doubted & ~self._listing.file_is_log
                has_entries = not found.doubted.all()
                by_footer = np.zeros_like(unread)
                known = _Column(store, everywhere, unread, by_footer, has_entries)
                self._columns[column] = known
                self._take_footers(column, known)

    @computed_once
    def _kept(self) -> BoundsSnapshots | None:
        return None if self.entries is None else BoundsSnapshots.of(self.entries)

    def _load(self, missing: Mapping[BoundColumn, BoolArray]) -> None:
        lacking = {column: flags for column, flags in missing.items() if flags.any()}
        if not lacking:
            return
        if self.entries is None:
            doubted = {c: self._in(flags) for c, flags in lacking.items()}
        else:
            entries = self.entries
            lacking = {c: self._whole(entries, c, flags) for c, flags in lacking.items()}
            doubted = self._load_entries(entries, lacking)
        for column, files in doubted.items():
            known = self._columns[column]
            known.loaded |= lacking[column]
            if self._kept is not None and lacking[column].all():
                known.store = self._kept.keep(column, KeptBounds(known.store.bounds(), files))
            known.unread |= files & ~self._listing.file_is_log & ~known.by_footer
            self._take_footers(column, known)

    def footers(self) -> Footers:
        """See `ColumnStats`."""
        found = dict(self._earlier)
        with self._lock:
            for column, known in self._columns.items():
                here = np.flatnonzero(known.by_footer)
                elsewhere = np.flatnonzero(~self._in(known.loaded))
                pieces = [
                    (here, bounds_at(known.store.bounds(), here)),
                    *self._read_earlier(column, elsewhere),
                ]
                positions, bounds = concat_bounds(pieces)
                if len(positions):
                    found[column] = FooterBounds(self._identities(positions), bounds)
        return found

    def _take_footers(self, column: BoundColumn, known: _Column) -> None:
        """Take the bounds of footers that were read in an earlier state of the table."""
        lacking = np.flatnonzero(known.unread)
        for positions, bounds in self._read_earlier(column, lacking):
            known.store.put(positions, bounds)
            known.unread[positions], known.by_footer[positions] = False, True

    def _read_earlier(
        self, column: BoundColumn, positions: Int64Array
    ) -> Iterator[tuple[Int64Array, Bounds]]:
        """Return which of the files had their footers read in an earlier state, with the bounds."""
        earlier = self._earlier.get(column)
        if earlier is not None and len(positions):
            places = numpy_numbers(pc.index_in(self._identities(positions), earlier.files), -1)
            found = places >= 0
            yield positions[found], bounds_at(earlier.bounds, places[found])

    def _identities(self, positions: Int64Array) -> AnyArray:
        """Return what files are known by in the table's next state."""
        listing, text = self._listing, pa.large_string()
        partitions = listing.partitions.take(arrow_array(listing.file_partition[positions]))
        names = listing.file_name.take(arrow_array(positions))
        sizes = arrow_array(listing.file_size[positions])
        parts = [part.cast(text) for part in (partitions, names, sizes)]
        return pc.binary_join_element_wise(*parts, pa.scalar("/", text))

    def _in(self, partitions: BoolArray) -> BoolArray:
        """Return flags for the files of the flagged partitions."""
        flags: BoolArray = partitions[self._listing.file_partition]
        return flags

    def _whole(
        self, entries: ListedEntries, column: BoundColumn, partitions: BoolArray
    ) -> BoolArray:
        """Return the flags of all partitions where the entries of all are read, to be kept."""
        is_whole = entries.prefixes(column.name, partitions) == [column_prefix(column.name)]
        untouched = not self._columns[column].loaded.any()
        return np.ones_like(partitions) if self._kept and is_whole and untouched else partitions

    def _read_footers(self, requested: Mapping[BoundColumn, _Column], files: BoolArray) -> None:
        """Have footers read in the background that the columns need, of the flagged files.

        The footers that several columns need are read once.
        """
        together: dict[bytes, list[BoundColumn]] = {}
        for column, known in requested.items():
            if not known.checks and (chosen := known.unread & files).any():
                together.setdefault(chosen.tobytes(), []).append(column)
        time_left = _Time(self.limits.footer_seconds)
        for flags, columns in together.items():
            positions = np.flatnonzero(np.frombuffer(flags, np.bool_))
            checks = [
                _FOOTER_READER.submit(
                    self._check,
                    {column: requested[column] for column in columns},
                    positions[at : at + _FOOTERS],
                    time_left,
                )
                for at in range(0, len(positions), _FOOTERS)
            ]
            for column in columns:
                requested[column].checks += checks

    def _load_entries(
        self, entries: ListedEntries, lacking: Mapping[BoundColumn, BoolArray]
    ) -> dict[BoundColumn, BoolArray]:
        """Store the bounds of the files in the lacking partitions; return files without trust.

        Columns that turn out to exceed the limit are evicted.
        """
        found: dict[BoundColumn, list[Piece]] = {column: [] for column in lacking}
        held = 0
        for piece in entries.pieces(lacking):
            if piece.column in found:
                held += _COPIES * bounds_bytes(piece.decoded.bounds)
                found[piece.column].append(piece)
                if not self._make_room(held, lacking):
                    for dropped in found.pop(piece.column):
                        held -= _COPIES * bounds_bytes(dropped.decoded.bounds)
                    del self._columns[piece.column]
        return {
            column: self._put(entries, column, lacking[column], pieces)
            for column, pieces in found.items()
        }

    def _put(
        self,
        entries: ListedEntries,
        column: BoundColumn,
        partitions: BoolArray,
        pieces: list[Piece],
    ) -> BoolArray:
        """Store the bounds of the partitions' files; return those whose footers are to be read."""
        store = self._columns[column].store
        doubted = self._in(partitions)
        for piece in pieces:
            doubted[piece.positions] = piece.decoded.doubted
            self._columns[column].has_entries |= not piece.decoded.doubted.all()
        store.put(*concat_bounds([(piece.positions, piece.decoded.bounds) for piece in pieces]))
        without_values = np.concatenate([piece.without_values for piece in pieces])
        if len(without_values) and entries.source.meta_fields:
            # Only a log file without records lacks a record key, so the column was collected.
            keyless = [
                positions[keys.value_count == 0]
                for source in entries.of_column(RECORD_KEY, partitions)
                for positions, keys in source
            ]
            without_rows = np.intersect1d(without_values, np.concatenate(keyless))
            store.put(without_rows, no_rows(len(without_rows), column.domain))
        return doubted

    def _check(
        self, columns: Mapping[BoundColumn, _Column], positions: Int64Array, time_left: _Time
    ) -> None:
        if time_left.left <= 0:
            return
        # Imported on use: few questions read footers, and the import takes time.
        from pyhudi_expr.index.statistics import parquet_footers

        with time_left.spending():
            paths = self._listing.paths(positions)
            found = parquet_footers.read_bounds(self.storage, paths, list(columns))
        with self._lock:
            for known, bounds in zip(columns.values(), found, strict=True):
                known.store.put(positions, bounds)
                known.unread[positions], known.by_footer[positions] = False, True

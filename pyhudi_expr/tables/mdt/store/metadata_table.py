"""The metadata table of a Hudi table: merged look-ups, without a JVM."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import HudiError, TableNotFound
from pyhudi_expr.tables.hudi_names import (
    COLUMN_STATS,
    FILES,
    METADATA_DIR,
    PARTITION_MARKER,
    PARTITION_STATS,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, StoredFiles, TableView
from pyhudi_expr.tables.mdt.bytes.keys import shard
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.lost_files import BOOTSTRAP_PREFIX, WrittenFiles, valid_instants
from pyhudi_expr.tables.mdt.records.metadata_records import Payload
from pyhudi_expr.tables.mdt.store import file_lists
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.file_group import (
    EncodedRecords,
    FileGroup,
    Question,
    all_cells,
    announce,
)
from pyhudi_expr.tables.mdt.store.group_files import GroupFiles, newest_files
from pyhudi_expr.tables.mdt.store.listing_state import ListingState, kept_listing, listing_identity
from pyhudi_expr.tables.mdt.store.statistics import ColumnStatistics, concatenated, read_statistics
from pyhudi_expr.tables.parsing.budget import REMOTE_THREADS, THREADS, iter_unordered
from pyhudi_expr.tables.storage import Expected

_OPEN_ATTEMPTS = 5
_FIRST_READ = frozenset({FILES, COLUMN_STATS, PARTITION_STATS})
"""The partitions that nearly every question reads."""


@dataclass(frozen=True)
class Records:
    """Merged records by ascending key bytes; `mdt.records.metadata_records` decodes `payloads`."""

    keys: list[str]
    payloads: list[Payload]

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True)
class MetadataTable:
    """A snapshot of the metadata table that agrees with one snapshot of the data table, `table`.

    Thread safe. Reads raise CorruptFile or another HudiError; a caller that catches one must take
    the records as unknown.
    """

    table: HudiTable
    """The data table's snapshot; it may be newer than the one that was given to `open`."""
    metadata: HudiTable
    """The metadata table itself."""
    cache: DiskCache | None = None
    """Where what base files say is kept between processes."""
    _earlier: dict[str, list[FileGroup]] = field(default_factory=dict, repr=False, compare=False)
    _groups: dict[str, list[FileGroup]] = field(default_factory=dict, repr=False, compare=False)
    _sizes: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @staticmethod
    def open(
        table: HudiTable, cache: DiskCache | None = None, earlier: MetadataTable | None = None
    ) -> MetadataTable | None:
        """Open the metadata table; None if the table has none.

        Both timelines must be read without a write in between. So the data table is checked again
        after the metadata table's timeline is read, and if it has changed, both are read again. So
        are the definitions of its indexes, which are read with the first state: an index that was
        dropped and built anew has another definition, or an instant that this snapshot lacks.

        Args:
            table: The data table.
            cache: Caches base files between processes.
            earlier: An earlier snapshot, whose log blocks are reused.
        """
        for _ in range(_OPEN_ATTEMPTS):
            if not table.properties.metadata_partitions:
                return None
            try:
                metadata = HudiTable.at(table.storage.child(METADATA_DIR))
            except TableNotFound:
                return None
            definitions = table.index_definitions_file
            opened = MetadataTable(table, metadata, cache, _groups_of(earlier))
            opened._announce_reads()
            latest = table.refreshed()
            if latest is table and latest.read_index_definitions() == definitions:
                opened._open_listed()
                return opened
            # What was announced for the old state may be older than the new one.
            table.storage.forget_expected()
            table = HudiTable(latest.storage, latest.properties, latest.timeline)
        raise HudiError(f"{table.base_path}: the table changes faster than it can be read")

    def _announce_reads(self) -> None:
        """Send the requests for what the first questions read, over a network.

        The data table's state is read after the metadata table's, see `open`. So are the
        partitions' directories: a listing that is older than the timeline could lack a log file of
        a completed commit. An earlier listing, sent with the first requests, only says which files
        will probably be read.
        """
        table, storage = self.table, self.metadata.storage
        if not storage.is_remote:
            return
        first = sorted(self.partitions & _FIRST_READ)
        ended = {i.requested: i.completed for i in self.metadata.timeline.writes if i.completed}
        probable = [one for name in first for one in newest_files(storage.list(name), ended)]
        table.storage.expect(table.state_reads)
        table.storage.expect(Expected(files=(table.properties.index_definitions_path,)))
        storage.expect(self.metadata.commit_reads)
        markers = [f"{name}/{PARTITION_MARKER}" for name in first if name != FILES]
        storage.expect(Expected((), sorted(self.partitions), unchanging=markers, inputs=probable))

    def _open_listed(self) -> None:
        """Take the listings that are under way, so that no question waits for one."""
        if self.metadata.storage.is_remote:
            for partition in sorted(self.partitions):
                with suppress(HudiError):  # who reads the partition gets the error
                    self._file_groups(partition)

    @property
    def partitions(self) -> frozenset[str]:
        """The metadata partitions that are complete."""
        return self.table.properties.metadata_partitions

    @property
    def meta_fields(self) -> bool:
        """Whether the table's files have Hudi's meta columns, with values."""
        return self.table.properties.meta_fields

    @computed_once
    def instant(self) -> str | None:
        """Requested time of the newest completed write that the metadata table knows."""
        writes = reversed(self.table.timeline.writes)
        return next((i.requested for i in writes if self.covers(i.requested)), None)

    def covers(self, instant: str) -> bool:
        """Whether a completed write of the data table is in the metadata table.

        It is when the metadata table has a delta commit of that time, or had its first one later:
        it starts with all files that the table has then.
        """
        if not self.table.timeline.is_committed(instant):
            return False
        return instant in self._regular_instants or instant < self._first_delta_commit

    @property
    def lists_files(self) -> bool:
        """Whether `stored_files` gives all files of the data table's snapshot."""
        newest = self.table.instant
        return FILES in self.partitions and newest is not None and self.covers(newest)

    @property
    def bytes_read(self) -> int:
        """Bytes read from the metadata table's files so far."""
        with self._lock:
            groups = [group for groups in self._groups.values() for group in groups]
        return sum(group.bytes_read for group in groups)

    def lookup(self, partition: str, keys: Iterable[str]) -> Records:
        """The records of those of the keys that the partition has; only their shards are read.

        For partitions whose shard follows from the whole key: all but secondary indexes.
        """
        groups = self._file_groups(partition)
        by_group: dict[int, list[bytes]] = {}
        for key in keys:
            by_group.setdefault(shard(key, len(groups)), []).append(key.encode())
        found: dict[bytes, Payload] = {}
        announce([groups[number] for number in by_group])
        for number, requested in by_group.items():
            found.update(groups[number].read(partial(HFile.lookup, keys=requested)))
        return _sorted(found)

    def prefix(self, partition: str, prefixes: Iterable[str]) -> Records:
        """Return the records whose keys begin with one of the prefixes.

        Keys are hashed as a whole, so all shards are read.
        """
        requested = [prefix.encode() for prefix in prefixes]
        return self._read_all(partition, partial(HFile.prefix, prefixes=requested))

    def scan(self, partition: str) -> Records:
        """Return all records of the partition."""
        return self._read_all(partition, all_cells)

    def announce(self, partition: str) -> None:
        """Announce that all file groups of a partition will be read, see `Storage.expect`."""
        with suppress(HudiError):  # who reads the partition gets the error
            announce(self._file_groups(partition))

    def groups(self, partition: str) -> Sequence[FileGroup]:
        """Return the partition's file groups, in the order of their shards."""
        groups = self._file_groups(partition)
        announce(groups)
        return groups

    def stored_bytes(self, partition: str) -> int:
        """Return the size of the partition's current base and log files."""
        known = self._sizes.get(partition)
        if known is None:
            groups = self._file_groups(partition)
            known = self._sizes[partition] = sum(
                file.size
                for group in groups
                for file in (*filter(None, [group.base]), *(log for log, _ in group.logs))
            )
        return known

    def statistics(self, partition: str, prefixes: Sequence[str]) -> ColumnStatistics:
        """Return entries of column_stats, partition_stats or expression indexes, in no order."""
        pieces = self.statistics_pieces(partition, prefixes)
        return concatenated(list(iter_unordered(pieces, self.reading_threads)))

    @property
    def reading_threads(self) -> int:
        """How many pieces of statistics are best read at a time."""
        return REMOTE_THREADS if self.metadata.storage.is_remote else THREADS

    def statistics_pieces(
        self, partition: str, prefixes: Sequence[str]
    ) -> list[Iterator[ColumnStatistics]]:
        """Return `statistics` of each shard, some megabytes at a time; one piece at least."""
        groups = self.groups(partition)
        return [read_statistics(group, prefixes, self.cache) for group in groups]

    def newest(self, partition: str) -> Iterator[EncodedRecords]:
        """Return all records of the partition in pieces, still encoded: see `FileGroup.newest`."""
        for group in self.groups(partition):
            yield from group.newest(HFile.scan)

    def stored_files(self) -> StoredFiles:
        """Return all files of the data table, from the partition `files`."""
        return file_lists.stored_files(self.groups(FILES), self.cache)

    def kept_listing(
        self, state: ListingState | None, view: TableView, as_of: str | None = None
    ) -> FileListing:
        """Return the slices that a query sees, see `current_listing`; kept by the table's state."""
        path = self.table.base_path
        identity = None if state is None else listing_identity(path, state, view, as_of)
        return kept_listing(
            self.cache, identity, lambda: self.table.listing(view, as_of, self.stored_files())
        )

    def _read_all(self, partition: str, ask: Question) -> Records:
        found: dict[bytes, Payload] = {}
        for group in self.groups(partition):
            found.update(group.read(ask))
        return _sorted(found)

    def _file_groups(self, partition: str) -> list[FileGroup]:
        if partition not in self.partitions:
            raise HudiError(f"{self.table.base_path}: the metadata table has no {partition!r}")
        with self._lock:
            groups = self._groups.get(partition)
            if groups is None:
                groups = self._files_of(partition).groups(partition, self._valid)
                self._groups[partition] = groups
                for group, earlier in zip(groups, self._earlier.pop(partition, ()), strict=False):
                    group.follow(earlier)
        return groups

    def _files_of(self, partition: str) -> GroupFiles:
        if partition in _FIRST_READ:
            return self._first_files
        return GroupFiles.listed(self._written, [partition])

    @computed_once
    def _first_files(self) -> GroupFiles:
        return GroupFiles.listed(self._written, sorted(self.partitions & _FIRST_READ))

    @computed_once
    def _written(self) -> WrittenFiles:
        known = {instant.requested for instant in self.table.timeline.writes} & self._valid
        writes = self.metadata.timeline.writes
        recorded = {i.requested for i in writes if i.action == "deltacommit"} & known
        return WrittenFiles(self.metadata, frozenset(recorded))

    def lost_files(self, partition: str) -> list[tuple[str, str]]:
        """Return files that are gone or empty, each with the commit that wrote it.

        Their paths are from the metadata table's base path. Look-ups find only those without which
        entries would be too old.

        Raises:
            HudiError: A commit cannot be read, or the partition cannot be listed.
        """
        return list(self._files_of(partition).lost(partition))

    @computed_once
    def _valid(self) -> frozenset[str]:
        valid = valid_instants(self.table, self.metadata)
        # A block is valid only if the metadata table's own commit completed, too.
        return frozenset(i for i in valid if self.metadata.timeline.is_committed(i))

    @computed_once
    def _first_delta_commit(self) -> str:
        """When the metadata table had its first delta commit; "" if it had none.

        That of an index has an instant before the time at which it was announced.
        """
        first = min(self._regular_instants, default="")
        builds = [
            build.announced
            for action in self.table.timeline.index_actions
            if action.requested == first
            for build in self.table.index_builds(action)
        ]
        return max(builds, default=first)

    @computed_once
    def _regular_instants(self) -> frozenset[str]:
        return frozenset(
            instant.requested
            for instant in self.metadata.timeline.writes
            if not instant.requested.startswith(BOOTSTRAP_PREFIX)
        )


def current_listing(
    table: HudiTable, metadata: MetadataTable | None, view: TableView, as_of: str | None = None
) -> FileListing:
    """Return the file slices that a query sees.

    They come from the metadata table if it is of the same snapshot and lists files, else from the
    storage.
    """
    if metadata is not None and metadata.table is table and metadata.lists_files:
        state = None
        if metadata.cache is not None:
            state = ListingState.of(table, metadata.groups(FILES), ())
        return metadata.kept_listing(state, view, as_of)
    return table.listing(view, as_of)


def _sorted(found: dict[bytes, Payload]) -> Records:
    keys = sorted(found)
    return Records([key.decode() for key in keys], [found[key] for key in keys])


def _groups_of(metadata: MetadataTable | None) -> dict[str, list[FileGroup]]:
    """Return the newest known file groups of each partition."""
    if metadata is None:
        return {}
    with metadata._lock:
        return {**metadata._earlier, **metadata._groups}

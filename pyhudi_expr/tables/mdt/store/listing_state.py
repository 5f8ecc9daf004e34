"""What a listing was made from, what has changed of that, and listings on disk.

A partition's file slices follow from its record in `files` and from what the timeline says about
its files' instants. Its statistics follow from their entries in `column_stats`. A log block only
changes the keys that it has. So if a later state has the same base files and log blocks, and more
blocks, the partitions that these name are all that has changed, as long as the timeline tells
nothing else about the others' instants.

A file of an instant that was not complete is in no record: the instant's own log block brings it,
and that block is not valid before. So an instant that completes changes what its block names.

To select slices means to parse, to compare and to sort the names of all files. What was selected is
valid as long as everything that it was selected from is the same: the metadata table's records of
files, the timeline, and the table's properties.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from pyhudi_expr.arrays import (
    AnyArray,
    BoolArray,
    arrow_array,
    arrow_list,
    combined,
    numpy_numbers,
    string_list,
    value_list,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, ListingPart, TableView
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import id64, partition_key
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.store.block_cache import BlockId
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache, Identity
from pyhudi_expr.tables.mdt.store.file_group import EncodedRecords, FileGroup
from pyhudi_expr.tables.mdt.store.file_lists import mentioned_partitions
from pyhudi_expr.tables.timeline import ARCHIVE_VERSION, Instant, State, Timeline

GroupState: TypeAlias = list[Any]
"""The state of the base file (`base_state`), and a list for each valid block, in merge order."""
Place: TypeAlias = tuple[str, str, str | None, int, int]
"""A log block's file, kind, instant, offset and length: no other valid block ever has the same."""


def group_states(groups: Sequence[FileGroup]) -> list[GroupState] | None:
    """Return the files and log blocks that the groups are merged from; None if one is not known.

    The values can be encoded as JSON.

    Raises:
        CorruptFile: A file is damaged.
    """
    states: list[GroupState] = []
    for group in groups:
        base = base_state(group)
        modified = {log.path: log.modified_ns for log, _ in group.logs}
        if (group.base is not None and base is None) or None in modified.values():
            return None
        blocks = [
            [
                source.path,
                modified.get(source.path),
                source.block.kind.name,
                source.block.instant,
                source.block.offset,
                source.block.length,
            ]
            for source, _, _ in group.sources[1]
        ]
        states.append([base, blocks])
    return states


def base_state(group: FileGroup) -> list[Any] | None:
    """Return what identifies a group's base file; None if it has none, or it is not known."""
    base = group.base_identity("")
    return None if base is None else [base.file, base.size, base.modified_ns, base.tail]


def block_place(source: BlockId) -> Place:
    """Return the place of a block."""
    block = source.block
    return source.path, block.kind.name, block.instant, block.offset, block.length


def place_of(state: Sequence[Any]) -> Place:
    """Return the place of a block of a `GroupState`."""
    path, _, kind, instant, offset, length = state
    return path, kind, instant, offset, length


_FOLLOWED = frozenset({"commit", "deltacommit", "clean"})
"""Actions that change nothing but the partitions that their log blocks name."""

_PARTITION_IN_KEY = 12, 24
"""Where a key of `column_stats` has the hash of the partition, after that of the column."""

GroupStates: TypeAlias = list[GroupState]


@dataclass(frozen=True)
class ListingState:
    """What a table's listing and its statistics were made from.

    Attributes:
        files: The states of the file groups of `files`.
        statistics: Those of `column_stats`; None if the table has none.
        properties: The table's properties.
        timeline: The active timeline.
        archive: The version of the archived timeline, whose completion times are used.
    """

    files: GroupStates
    statistics: GroupStates | None
    properties: list[tuple[str, str]]
    timeline: Timeline
    archive: str | None

    @staticmethod
    def of(
        table: HudiTable, files: Sequence[FileGroup], statistics: Sequence[FileGroup]
    ) -> ListingState | None:
        """Return the state of a table; None if a part of it is not known.

        Args:
            table: The data table.
            files: The file groups of `files`.
            statistics: Those of `column_stats`, if there are any.

        Raises:
            HudiError: A file is damaged, or cannot be read.
        """
        of_files, of_statistics = group_states(files), group_states(statistics)
        if of_files is None or of_statistics is None:
            return None
        properties = table.properties
        # Completion times of archived instants decide which slice a log file belongs to.
        path = f"{properties.timeline_dir}/{properties.history_path}/{ARCHIVE_VERSION}"
        version = table.storage.read_if_present(path)
        return ListingState(
            of_files,
            of_statistics or None,
            sorted(properties.raw.items()),
            table.timeline,
            None if version is None else version.hex(),
        )

    @property
    def listing_digest(self) -> str:
        """A digest of what determines the listing: equal for equal listings."""
        instants = [[i.file_name, i.action, i.state.name, i.completed] for i in self._instants]
        state = [self.files, self.properties, instants, self.archive]
        return xxhash.xxh3_128_hexdigest(json.dumps(state).encode())

    @property
    def _instants(self) -> tuple[Instant, ...]:
        return self.timeline.instants

    def to_json(self) -> str:
        """Return the state as a text."""
        instants = [
            [i.requested, i.action, i.state.name, i.completed, i.file_name] for i in self._instants
        ]
        state = [self.files, self.statistics, self.properties, instants, self.archive]
        return json.dumps(state)

    @staticmethod
    def from_json(text: str) -> ListingState:
        """Return the state of a text from `to_json`."""
        files, statistics, properties, instants, archive = json.loads(text)
        timeline = Timeline(
            tuple(
                Instant(requested, action, State[state], completed, name)
                for requested, action, state, completed, name in instants
            )
        )
        pairs = [(str(key), str(value)) for key, value in properties]
        return ListingState(files, statistics, pairs, timeline, archive)

    def changed_partitions(
        self,
        later: ListingState,
        files: Sequence[FileGroup],
        statistics: Sequence[FileGroup],
        partitions: AnyArray,
    ) -> frozenset[str] | None:
        """Return the paths of all partitions that a later state may have changed.

        Args:
            later: The later state.
            files: Its file groups of `files`.
            statistics: Those of `column_stats`.
            partitions: The paths of the partitions in the listing of this state. Statistics of
                others are not in use.

        Returns:
            The paths, also of partitions that are new; None if anything may have changed.

        Raises:
            HudiError: A log block cannot be read.
        """
        if later.properties != self.properties or later.archive != self.archive:
            return None
        if not _is_followed(self.timeline, later.timeline):
            return None
        of_files = _added(files, self.files)
        of_statistics = _added(statistics, self.statistics or [])
        if of_files is None or of_statistics is None:
            return None
        changed: set[str] = set()
        for records in of_files:
            mentioned = mentioned_partitions(records)
            if mentioned is None:
                return None
            changed |= mentioned
        return frozenset(changed.union(_described(of_statistics, changed, partitions)))


def _is_followed(earlier: Timeline, later: Timeline) -> bool:
    """Return whether only commits and cleans were started or completed since.

    Their changes are in the metadata table. What else happens changes the meaning of files without
    a change of their records: a rollback, a replaced group, a planned compaction, a savepoint.
    """
    if earlier.start != later.start:
        return False  # it says which instants count as committed
    known, now = set(earlier.instants), set(later.instants)
    gone, fresh = known - now, now - known
    going_on = {(i.requested, i.action) for i in fresh}
    return all(i.action in _FOLLOWED for i in fresh) and all(
        not i.is_completed and i.action in _FOLLOWED and (i.requested, i.action) in going_on
        for i in gone
    )


def _added(
    groups: Sequence[FileGroup], known: GroupStates
) -> list[EncodedRecords | list[bytes]] | None:
    """Return what the groups' log blocks have that earlier states lack.

    None if the groups do not have all that they had, in the same order.
    """
    if len(groups) != len(known):
        return None
    found: list[EncodedRecords | list[bytes]] = []
    for group, (base, blocks) in zip(groups, known, strict=True):
        places = [place_of(block) for block in blocks]
        earlier = frozenset(places)
        own = [place for one, _, _ in group.sources[1] if (place := block_place(one)) in earlier]
        if base_state(group) != base or own != places:
            return None
        found += _without(group, earlier).log_records(HFile.scan)
    return found


def _without(group: FileGroup, places: frozenset[Place]) -> FileGroup:
    return group.of_blocks(lambda block: block_place(block) not in places, None)


def restricted(groups: Sequence[FileGroup], known: GroupStates) -> list[FileGroup]:
    """Return the groups with the log blocks of an earlier state only, which they have, too."""
    return [
        _only(group, frozenset(place_of(block) for block in blocks))
        for group, (_, blocks) in zip(groups, known, strict=True)
    ]


def _only(group: FileGroup, places: frozenset[Place]) -> FileGroup:
    return group.of_blocks(lambda block: block_place(block) in places, group.base)


def _described(
    added: Sequence[EncodedRecords | list[bytes]], known: Collection[str], partitions: AnyArray
) -> Iterator[str]:
    """Return the partitions of which some entries of `column_stats` are about a file.

    Args:
        added: The entries.
        known: Partitions that need not be returned. Nearly always they are all, and a table may
            have many more to compare with.
        partitions: The partitions of the table.
    """
    ids = set[bytes]()
    for records in added:
        keys = ByteStrings.of(records) if isinstance(records, list) else records.cells.key_strings
        named = pc.binary_slice(keys.array(), *_PARTITION_IN_KEY).unique()
        ids.update(value_list(named))
    if ids - {_id_of(path) for path in known}:
        yield from (path for path in string_list(partitions) if _id_of(path) in ids)


def _id_of(partition: str) -> bytes:
    return id64(partition_key(partition)).encode()


LEAST_FILES = 1_000
"""Fewer files are selected in less time than it takes to keep them."""
#: Changes whenever the columns or their meaning change, and whenever the rules of selection do.
_LAYOUT = 1
_OF_SLICES = ("slice_partition", "slice_file_id", "slice_base_instant")
_OF_FILES = ("file_slice", "file_name", "file_size", "file_is_log")


def listing_identity(
    base_path: str, state: ListingState, view: TableView, as_of: str | None
) -> Identity:
    """Return what determines the slices that a query sees.

    Args:
        base_path: That of the data table.
        state: The state of the table.
        view: The view of the table.
        as_of: The instant of time travel.
    """
    content = f"listing {_LAYOUT} {view.value} {as_of or ''}"
    return Identity(base_path, 0, 0, state.listing_digest, content)


def remember_state(cache: DiskCache, base_path: str, state: ListingState, view: TableView) -> None:
    """Write down the state of the newest listing that is kept as a whole."""
    cache.replace(_newest(base_path, view), [pa.table({"state": [state.to_json()]})])


def remembered(
    cache: DiskCache, base_path: str, view: TableView
) -> tuple[FileListing, ListingState] | None:
    """Return the listing of `remember_state` and its state, if both are still kept."""
    found = cache.find(_newest(base_path, view))
    if found is None:
        return None
    state = ListingState.from_json(found[0].column("state")[0].as_py())
    listing = found_listing(cache, listing_identity(base_path, state, view, None))
    return None if listing is None else (listing, state)


def _newest(base_path: str, view: TableView) -> Identity:
    return Identity(base_path, 0, 0, "", f"newest listing {_LAYOUT} {view.value}")


def kept_listing(
    cache: DiskCache | None, identity: Identity | None, select: Callable[[], FileListing]
) -> FileListing:
    """Return the listing of an identity, mapped from the disk; `select` makes it if it is missing.

    Args:
        cache: Where listings are kept.
        identity: See `listing_identity`.
        select: Selects the slices; its exceptions are passed on.
    """
    if cache is None or identity is None:
        return select()
    known = cache.find(identity)
    if known is None:
        fresh = select()
        if not is_worth_keeping(fresh):
            return fresh
        known = cache.tables(identity, lambda: to_tables(fresh))
    return from_tables(known)


def found_listing(cache: DiskCache, identity: Identity) -> FileListing | None:
    """Return the listing of an identity, mapped from the disk; None if it is missing."""
    tables = cache.find(identity)
    return None if tables is None else from_tables(tables)


def is_worth_keeping(listing: FileListing) -> bool:
    """Return whether a listing has so many files that what is known of them is kept on disk."""
    return listing.num_files >= LEAST_FILES


def to_tables(listing: FileListing) -> list[pa.Table]:
    """Return a listing as tables: about itself, and of partitions, slices and files."""
    about = {
        "instant": arrow_list([listing.instant], pa.string()),
        "view": arrow_list([listing.view.value], pa.string()),
    }
    return [
        pa.table(about),
        pa.table({"path": listing.partitions}),
        pa.table({name: _stored(getattr(listing, name)) for name in _OF_SLICES}),
        pa.table({name: _stored(getattr(listing, name)) for name in _OF_FILES}),
    ]


def from_tables(tables: Sequence[pa.Table]) -> FileListing:
    """Return the listing of tables from `to_tables`; its arrays are views of theirs."""
    about, partitions, slices, files = tables
    part = ListingPart(
        partitions=combined(partitions.column("path")),
        slice_partition=numpy_numbers(combined(slices.column("slice_partition"))),
        slice_file_id=combined(slices.column("slice_file_id")),
        slice_base_instant=combined(slices.column("slice_base_instant")),
        file_slice=numpy_numbers(combined(files.column("file_slice"))),
        file_name=combined(files.column("file_name")),
        file_size=numpy_numbers(combined(files.column("file_size"))),
        file_is_log=flags_of(combined(files.column("file_is_log"))),
    )
    view = TableView(about.column("view")[0].as_py())
    return FileListing.of(about.column("instant")[0].as_py(), view, part)


def _stored(column: AnyArray | npt.NDArray[Any]) -> AnyArray:
    if isinstance(column, pa.Array):
        return column
    return stored_flags(column) if column.dtype == np.bool_ else arrow_array(column)


def stored_flags(flags: BoolArray) -> AnyArray:
    """Return flags as an Arrow array of bytes, which numpy can map; Arrow's own flags are bits."""
    return arrow_array(flags.view(np.uint8))


def flags_of(stored: AnyArray) -> BoolArray:
    """Return the flags of an array from `stored_flags`, without a copy."""
    return numpy_numbers(stored).view(np.bool_)

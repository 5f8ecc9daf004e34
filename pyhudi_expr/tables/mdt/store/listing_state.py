"""What a listing and its statistics were made from, and what a later state has changed of that.

A partition's file slices follow from its record in `files` and from what the timeline says about
its files' instants. Its statistics follow from their entries in `column_stats`. A log block only
changes the keys that it has. So if a later state has the same base files and log blocks, and more
blocks, the partitions that these name are all that has changed, as long as the timeline tells
nothing else about the others' instants.

A file of an instant that was not complete is in no record: the instant's own log block brings it,
and that block is not valid before. So an instant that completes changes what its block names.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow.compute as pc
import xxhash

from pyhudi_expr.arrays import AnyArray, string_list, value_list
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import id64, partition_key
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.store.block_cache import BlockId
from pyhudi_expr.tables.mdt.store.file_group import EncodedRecords, FileGroup
from pyhudi_expr.tables.mdt.store.file_lists import mentioned_partitions
from pyhudi_expr.tables.timeline.timeline import ARCHIVE_VERSION, Instant, State, Timeline

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

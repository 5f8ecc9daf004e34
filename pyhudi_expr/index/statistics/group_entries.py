"""Entries of `column_stats` from some of a metadata table's file groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyhudi_expr.tables.hudi_names import COLUMN_STATS
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.file_group import FileGroup, announce
from pyhudi_expr.tables.mdt.store.listing_state import GroupStates, restricted
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.mdt.store.statistics import ColumnStatistics, read_statistics

#: The entries of fewer files are read in the time that threads take to start and to take turns.
_FEW_FILES = 4_000


@dataclass(frozen=True)
class GroupEntries:
    """An `EntrySource` over file groups.

    Attributes:
        metadata: The metadata table.
        of_groups: Its file groups of `column_stats`.
        cache: The cache of whole columns; None: nothing is kept on disk.
        reading_threads: How many pieces are best read at a time.
    """

    metadata: MetadataTable
    of_groups: Sequence[FileGroup]
    cache: DiskCache | None
    reading_threads: int

    @staticmethod
    def of_few(metadata: MetadataTable, files: int) -> GroupEntries:
        """Return the entries, to be read for some partitions with so many files."""
        threads = metadata.reading_threads
        if files < _FEW_FILES and not metadata.metadata.storage.is_remote:
            threads = 1
        return GroupEntries(metadata, metadata.groups(COLUMN_STATS), None, threads)

    @staticmethod
    def as_of(metadata: MetadataTable, state: GroupStates) -> GroupEntries:
        """Return the entries in an earlier state, of which the groups still have all blocks."""
        groups = restricted(metadata.groups(COLUMN_STATS), state)
        return GroupEntries(metadata, groups, metadata.cache, metadata.reading_threads)

    @property
    def meta_fields(self) -> bool:
        """Whether the table's files have Hudi's meta columns, with values."""
        return self.metadata.meta_fields

    def groups(self, partition: str) -> Sequence[FileGroup]:
        """Return the shards of `column_stats`, which is the only partition that is asked for."""
        assert partition == COLUMN_STATS
        announce(self.of_groups)
        return self.of_groups

    def statistics_pieces(
        self, partition: str, prefixes: Sequence[str]
    ) -> list[Iterator[ColumnStatistics]]:
        """See `EntrySource`."""
        return [read_statistics(group, prefixes, self.cache) for group in self.groups(partition)]

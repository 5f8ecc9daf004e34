"""Entries of `column_stats` from some of a metadata table's file groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyhudi_expr.mdt.store.disk_cache import DiskCache
from pyhudi_expr.mdt.store.file_group import FileGroup, announce
from pyhudi_expr.mdt.store.listing_state import GroupStates, restricted
from pyhudi_expr.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.mdt.store.statistics import ColumnStatistics, read_statistics
from pyhudi_expr.table.hudi_names import COLUMN_STATS


class GroupEntries:
    """An `EntrySource` over file groups."""

    def __init__(
        self, metadata: MetadataTable, groups: Sequence[FileGroup], cache: DiskCache | None
    ) -> None:
        """Use groups of a metadata table, with a cache of whole columns or without one."""
        self.cache = cache
        self._metadata = metadata
        self._groups = groups

    @staticmethod
    def of_few(metadata: MetadataTable) -> GroupEntries:
        """Return the entries, to be read for few partitions: nothing of them is kept on disk."""
        return GroupEntries(metadata, metadata.groups(COLUMN_STATS), None)

    @staticmethod
    def as_of(metadata: MetadataTable, state: GroupStates) -> GroupEntries:
        """Return the entries in an earlier state, of which the groups still have all blocks."""
        return GroupEntries(
            metadata, restricted(metadata.groups(COLUMN_STATS), state), metadata.cache
        )

    @property
    def meta_fields(self) -> bool:
        """Whether the table's files have Hudi's meta columns, with values."""
        return self._metadata.meta_fields

    @property
    def reading_threads(self) -> int:
        """How many pieces are best read at a time."""
        return self._metadata.reading_threads

    def groups(self, partition: str) -> Sequence[FileGroup]:
        """Return the shards of `column_stats`, which is the only partition that is asked for."""
        assert partition == COLUMN_STATS
        announce(self._groups)
        return self._groups

    def statistics_pieces(
        self, partition: str, prefixes: Sequence[str]
    ) -> list[Iterator[ColumnStatistics]]:
        """See `EntrySource`."""
        return [read_statistics(group, prefixes, self.cache) for group in self.groups(partition)]

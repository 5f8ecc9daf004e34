"""Where the entries of statistics come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.statistics import ColumnStatistics


class EntrySource(Protocol):
    """The source of entries: a metadata table, or some of its entries."""

    @property
    def cache(self) -> DiskCache | None:
        """The cache of whole columns' entries between processes."""

    @property
    def meta_fields(self) -> bool:
        """Whether the table's files have Hudi's meta columns, with values."""

    @property
    def reading_threads(self) -> int:
        """How many pieces are best read at a time."""

    def groups(self, partition: str) -> Sequence[FileGroup]:
        """Return the shards that hold the entries; none if these are in memory."""

    def statistics_pieces(
        self, partition: str, prefixes: Sequence[str]
    ) -> list[Iterator[ColumnStatistics]]:
        """Return the entries whose keys begin with one of the prefixes; one piece at least."""

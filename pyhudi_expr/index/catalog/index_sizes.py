"""The sizes of a table's indexes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus
from pyhudi_expr.mdt.extension.changes import Extension
from pyhudi_expr.mdt.hfile.cells import Cells
from pyhudi_expr.mdt.hfile.reader import HFile
from pyhudi_expr.mdt.records.metadata_records import is_deleted
from pyhudi_expr.mdt.store.file_group import FileGroup
from pyhudi_expr.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.table.hudi_table import HudiTable


@dataclass(frozen=True)
class PartitionSize:
    """The size of one metadata partition of an index.

    Attributes:
        partition: Name of the metadata partition.
        shards: Number of its file groups.
        entries: Number of keys with an entry, in base files or log files.
        base_bytes: Size of the base files.
        log_files: Number of log files.
        log_bytes: Size of the log files.
    """

    partition: str
    shards: int
    entries: int
    base_bytes: int
    log_files: int
    log_bytes: int

    @property
    def bytes(self) -> int:
        """Size of all files in bytes."""
        return self.base_bytes + self.log_bytes


class IndexSizes:
    """Reads the sizes of one table's indexes, as of its creation.

    Raises:
        HudiError: The table cannot be read.
    """

    def __init__(self, table: HudiTable) -> None:
        extension = Extension.open(table)
        self._stores: Mapping[Store, MetadataTable | None] = {
            Store.HUDI: MetadataTable.open(table),
            Store.EXTENSION: None if extension is None else extension.records,
        }

    def of(self, status: IndexStatus) -> list[PartitionSize]:
        """Return the sizes of the complete metadata partitions of an index.

        Raises:
            HudiError: The index cannot be read.
        """
        records = self._stores[status.store]
        if records is None:
            return []
        there = (name for name in status.partitions if name in records.partitions)
        return [_size(name, records.groups(name)) for name in there]


def _size(partition: str, groups: Sequence[FileGroup]) -> PartitionSize:
    logs = [log for group in groups for log, _ in group.logs]
    return PartitionSize(
        partition=partition,
        shards=len(groups),
        entries=sum(map(_entries, groups)),
        base_bytes=sum(group.base.size for group in groups if group.base is not None),
        log_files=len(logs),
        log_bytes=sum(log.size for log in logs),
    )


def _entries(group: FileGroup) -> int:
    """Return the number of keys that have an entry: log files add and delete some."""
    touched, merged = group.overlay(HFile.scan)
    if not len(touched):
        return group.base_cells

    def look_up(base: HFile) -> Iterator[Cells]:
        return iter([base.lookup(touched.to_list())])

    replaced = sum(len(records.cells) for records in group.base_records(look_up))
    added = sum(not is_deleted(payload) for payload in merged.payloads.values())
    return group.base_cells - replaced + added

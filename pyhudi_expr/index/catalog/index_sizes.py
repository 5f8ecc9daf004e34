"""The sizes of a table's indexes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus, State
from pyhudi_expr.tables.mdt.hfile.cells import Cells
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.records.metadata_records import is_deleted
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.parsing.budget import REMOTE_THREADS, THREADS


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


def index_sizes(
    catalog: IndexCatalog, statuses: Sequence[IndexStatus]
) -> list[list[PartitionSize]]:
    """Return for each index the sizes of its complete metadata partitions.

    Partitions with damaged files are left out.

    Raises:
        HudiError: The metadata table cannot be read.
    """
    stores = {Store.HUDI: catalog.metadata}
    if catalog.extension is not None:
        stores[Store.EXTENSION] = catalog.extension.records
    named = [
        {} if status.state is State.BROKEN else _groups(stores.get(status.store), status.partitions)
        for status in statuses
    ]
    groups = [group for by_name in named for of_one in by_name.values() for group in of_one]
    threads = REMOTE_THREADS if catalog.table.storage.is_remote else THREADS
    with ThreadPoolExecutor(threads, thread_name_prefix="sizes") as pool:
        counts = iter(pool.map(_entries, groups))
        return [
            [
                _size(name, of_one, sum(entries))
                for name, of_one in by_name.items()
                if _UNREADABLE not in (entries := list(islice(counts, len(of_one))))
            ]
            for by_name in named
        ]


_UNREADABLE = -1


def _groups(
    records: MetadataTable | None, names: Sequence[str]
) -> Mapping[str, Sequence[FileGroup]]:
    """Return the file groups of the partitions that are there; their requests are sent."""
    if records is None:
        return {}
    return {name: records.groups(name) for name in names if name in records.partitions}


def _size(partition: str, groups: Sequence[FileGroup], entries: int) -> PartitionSize:
    logs = [log for group in groups for log, _ in group.logs]
    return PartitionSize(
        partition=partition,
        shards=len(groups),
        entries=entries,
        base_bytes=sum(group.base.size for group in groups if group.base is not None),
        log_files=len(logs),
        log_bytes=sum(log.size for log in logs),
    )


def _entries(group: FileGroup) -> int:
    """Return the number of keys that have an entry; -1 if a file is damaged."""
    try:
        return _merged_entries(group)
    except HudiError:
        return _UNREADABLE


def _merged_entries(group: FileGroup) -> int:
    """Return the number of keys that have an entry: log files add and delete some."""
    touched, merged = group.overlay(HFile.scan)
    if not len(touched):
        return group.base_cells

    def look_up(base: HFile) -> Iterator[Cells]:
        return iter([base.lookup(touched.to_list())])

    replaced = sum(len(records.cells) for records in group.base_records(look_up))
    added = sum(not is_deleted(payload) for payload in merged.payloads.values())
    return group.base_cells - replaced + added

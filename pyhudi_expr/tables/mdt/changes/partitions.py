"""Create, list and remove partitions of a table's metadata table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyhudi_expr.errors import HudiError, TableNotFound
from pyhudi_expr.tables import hudi_names, properties
from pyhudi_expr.tables.hudi_names import HOODIE_DIR, METADATA_DIR, PARTITION_MARKER
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt import log_files as log_writer
from pyhudi_expr.tables.mdt.index_definitions import (
    IndexDefinition,
    index_definitions,
    remove_definitions,
)
from pyhudi_expr.tables.mdt.store import group_files

if TYPE_CHECKING:
    from pyhudi_expr.tables.locks import Lease, TableLock


class IndexConflict(HudiError):  # noqa: N818 - names the finding
    """The table's state does not allow the change; nothing was changed."""


@dataclass(frozen=True)
class NewPartition:
    """A metadata partition to build.

    Attributes:
        name: `column_stats`, `secondary_index_x` ...
    """

    name: str
    shards: int
    definition: IndexDefinition | None = None


def begin_groups(metadata: HudiTable, partition: NewPartition, instant: str) -> None:
    """Create the partition's directory anew, with an empty first log file for each file group."""
    storage = metadata.storage
    storage.delete_dir(partition.name)  # of a build that was never announced, or was dropped
    marker = f"#partition metadata\ncommitTime={instant}\npartitionDepth=1\n"
    storage.write(f"{partition.name}/{PARTITION_MARKER}", marker.encode())
    content = log_writer.empty_block(instant)
    for shard in range(partition.shards):
        group = group_files.file_id(partition.name, shard)
        name = group_files.log_file(group, group_files.STUB_TOKEN, instant)
        storage.write(f"{partition.name}/{name}", content)


def move_partitions(
    table: HudiTable,
    *,
    added: Iterable[str] = (),
    added_inflight: Iterable[str] = (),
    removed: Iterable[str] = (),
) -> None:
    """Change the lists of complete and in-flight partitions; an added one leaves the other list."""
    listed = HudiTable.at(table.storage).properties
    gone, complete, inflight = set(removed), set(added), set(added_inflight)
    properties.update(
        table.storage,
        {
            hudi_names.METADATA_PARTITIONS: _joined((listed.metadata_partitions - gone) | complete),
            hudi_names.METADATA_PARTITIONS_INFLIGHT: _joined(
                (listed.metadata_partitions_inflight - gone - complete) | inflight
            ),
        },
    )


def _joined(names: Iterable[str]) -> str:
    return ",".join(sorted(names))


def drop(table: HudiTable, names: Sequence[str], lock: TableLock) -> None:
    """Remove partitions, complete or not, with their definitions.

    Raises:
        HudiError: The lock cannot be taken (UnknownLock, LockNotAcquired), or another error.
    """
    with lock.held(f"drops {', '.join(names)}") as lease:
        lock.check()
        lease.check()
        move_partitions(table, removed=names)
        lease.check()
        remove_definitions(table, names)
        lease.check()
        _delete(table, names)


def unlisted(table: HudiTable) -> list[str]:
    """Return partitions that have files or a definition, and that the properties do not list.

    A drop that died left them; no query reads them.

    Raises:
        HudiError: The table cannot be read.
    """
    listed = table.properties
    stored = {e.name for e in table.storage.list(METADATA_DIR) if not e.is_file} - {HOODIE_DIR}
    there = stored | index_definitions(table).keys()
    return sorted(there - listed.metadata_partitions - listed.metadata_partitions_inflight)


def remove_unread(table: HudiTable, names: Sequence[str], lease: Lease) -> None:
    """Remove partitions that no query reads, while the table's lock is held.

    The files go first, as other files may need their space.
    """
    lease.check()
    _delete(table, names)
    lease.check()
    move_partitions(table, removed=names)
    lease.check()
    remove_definitions(table, names)


def _delete(table: HudiTable, names: Sequence[str]) -> None:
    for name in names:
        table.storage.delete_dir(f"{METADATA_DIR}/{name}")


def check_metadata_table(table: HudiTable) -> None:
    """Check that the metadata table is there if the properties say so. Raises HudiError."""
    if table.properties.metadata_partitions and not _has_metadata_table(table):
        raise HudiError(
            f"{table.base_path}: {METADATA_DIR} is not there, though hoodie.properties "
            f"says that it is; pyhudi audit {table.base_path} --repair makes it again"
        )


def _has_metadata_table(table: HudiTable) -> bool:
    try:
        HudiTable.at(table.storage.child(METADATA_DIR))
    except TableNotFound:
        return False
    return True


def check_restores(table: HudiTable) -> None:
    """Check that the table is not being restored, which removes files.

    Raises:
        IndexConflict: It is.
    """
    restoring = [i for i in table.timeline.instants if i.action == "restore" and not i.is_completed]
    if restoring:
        raise IndexConflict(
            f"{table.base_path}: a restore ({restoring[0].requested}) is pending; let it complete, "
            "then try again"
        )


def known_times(*tables: HudiTable) -> Iterable[str | None]:
    """Return all times of the timelines; see `next_time`."""
    for table in tables:
        for instant in table.timeline.instants:
            yield instant.requested
            yield instant.completed

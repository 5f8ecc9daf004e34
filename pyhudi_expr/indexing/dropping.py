"""DROP INDEX in either metadata table; needs no Spark."""

from __future__ import annotations

from collections.abc import Sequence

from pyhudi_expr.index.catalog.registry import Registry, Store, kind_of
from pyhudi_expr.index.catalog.status import (
    IndexStatus,
    index_status,
    index_statuses,
    no_such_index,
)
from pyhudi_expr.indexing.build_options import BuildOptions
from pyhudi_expr.indexing.index_plan import InvalidIndex
from pyhudi_expr.indexing.leftovers import remove_leftovers
from pyhudi_expr.indexing.reverse_mapping import ReverseMapping
from pyhudi_expr.indexing.statements import DropIndex
from pyhudi_expr.mdt.certificates.stored import delete_certificate
from pyhudi_expr.mdt.changes import partitions
from pyhudi_expr.mdt.extension import changes as extension
from pyhudi_expr.mdt.extension.changes import EXTENSION_DIR, Extension
from pyhudi_expr.table.hudi_names import RECORD_INDEX, SECONDARY_INDEX
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import TableLock


def drop_index(request: DropIndex, options: BuildOptions) -> None:
    """Drop an index, whichever program created it.

    Raises:
        HudiError: There is no such index, or the table cannot be changed.
    """
    table = HudiTable.open(request.table)
    lock = options.lock(table.storage)
    remove_leftovers(table, lock)
    status = index_status(table, request.name)
    if status is None:
        left = [p for p in partitions.unlisted(table) if request.name in (p, kind_of(p)[1])]
        if left:  # by a drop that died
            partitions.drop(table, left, lock)
            return
        if request.if_exists:
            return
        raise InvalidIndex(no_such_index(table, request.name))
    _check_unneeded(table, status)
    if status.store is Store.EXTENSION:
        extension_drop(table, status.partitions, lock)
    else:
        partitions.drop(table, status.partitions, lock)
        for partition in status.partitions:
            delete_certificate(table.storage, partition)
    with lock.held(f"unregisters {status.name}") as lease:
        registry = Registry.read(table.storage)
        if status.name in registry.indexes:
            lease.check()
            registry.without(status.name).write(table.storage)


def planned_drop(request: DropIndex) -> tuple[str, ...]:
    """Return the metadata partitions that `drop_index` would remove; none if there is no index.

    Raises:
        HudiError: `drop_index` would refuse it, or the table cannot be read.
    """
    table = HudiTable.open(request.table)
    status = index_status(table, request.name)
    if status is None:
        left = [p for p in partitions.unlisted(table) if request.name in (p, kind_of(p)[1])]
        if not left and not request.if_exists:
            raise InvalidIndex(no_such_index(table, request.name))
        return tuple(left)
    _check_unneeded(table, status)
    if status.store is Store.EXTENSION:
        return tuple(sorted(_gone_from_extension(table, status.partitions)))
    return status.partitions


def extension_drop(table: HudiTable, partitions: Sequence[str], lock: TableLock) -> None:
    """Delete metadata partitions with their definitions and reverse mappings.

    The record index that was built only for secondary indexes goes with the last of these.

    Raises:
        IndexConflict: The extension is being changed.
        HudiError: The extension cannot be changed.
    """
    gone = sorted(_gone_from_extension(table, partitions))
    extension.drop(table, gone, lock)
    for partition in gone:
        ReverseMapping(table.base_path).drop(partition)
        delete_certificate(table.storage.child(EXTENSION_DIR), partition)


def _gone_from_extension(table: HudiTable, partitions: Sequence[str]) -> set[str]:
    gone = set(partitions)
    found = Extension.open(table)
    asked_for = Registry.read(table.storage).indexes.get(RECORD_INDEX)
    if asked_for is None or asked_for.store is not Store.EXTENSION:
        left = set() if found is None else found.partitions - gone
        gone |= {RECORD_INDEX} if left <= {RECORD_INDEX} else set()  # no other: a drop died
    return gone


def _check_unneeded(table: HudiTable, status: IndexStatus) -> None:
    if RECORD_INDEX not in status.partitions:
        return
    secondary = (s for s in index_statuses(table) if s.kind == SECONDARY_INDEX)
    needing = [s.name for s in secondary if s.store is status.store]
    if needing:
        raise InvalidIndex(
            f"{table.base_path}: {', '.join(needing)} cannot be without the record index; "
            "drop them first"
        )

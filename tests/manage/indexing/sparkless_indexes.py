"""The commands of indexes as a user gives them, with one thread instead of Spark's tasks.

The entries are true, so queries use them. Each function can be repeated after it has died.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.index.catalog.registry import RegisteredIndex, Registry, note_of, register
from pyhudi_expr.manage import dropping
from pyhudi_expr.manage.building import build_index
from pyhudi_expr.manage.indexing.build_options import BuildOptions, BuildResult, sum_by_partition
from pyhudi_expr.manage.indexing.index_plan import IndexPlan
from pyhudi_expr.manage.indexing.leftovers import remove_leftovers
from pyhudi_expr.manage.indexing.preparation import BuildPlan, Work
from pyhudi_expr.manage.indexing.reverse_mapping import ReverseMapping, covered_slice_name
from pyhudi_expr.manage.indexing.statements import CreateIndex, DropIndex
from pyhudi_expr.manage.invariants import SliceKeys
from pyhudi_expr.manage.operations import run
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import DisableVirtualKeys, Rewritten, enable
from pyhudi_expr.tables.hudi_names import METADATA_DIR, RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt import extension_changes as extension
from pyhudi_expr.tables.mdt import log_files as log_writer
from pyhudi_expr.tables.mdt.bytes.keys import secondary_key
from pyhudi_expr.tables.mdt.changes import async_indexing, bootstrap, recovery
from pyhudi_expr.tables.mdt.changes.partitions import NewPartition
from pyhudi_expr.tables.mdt.changes.rollback import reserve_disk_space, rollback_on_failure
from pyhudi_expr.tables.mdt.extension import Coverage, identities
from pyhudi_expr.tables.mdt.extension_changes import Change, Extension
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.index_definitions import COLUMN_TYPE, IndexDefinition
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store import group_files
from pyhudi_expr.tables.mdt.store.compaction import compact_group
from pyhudi_expr.tables.slices.slice_rows import scalar_type
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline_writer import WrittenFile

BY_NAME, BY_NUMBER, OWN = "by_name", "by_number", RECORD_INDEX
COLUMNS = {BY_NAME: "name", BY_NUMBER: "intField"}
_OPTIONS = BuildOptions(wait=5)
_EXTENSION = {"store": "extension"}


def rows(table: HudiTable) -> Iterator[dict[str, object]]:
    """The rows of the table's base files, with the path of each."""
    listing = table.listing()
    for path in listing.paths(~listing.file_is_log):
        with table.storage.open_input(path) as file:
            for row in pq.ParquetFile(file).read().to_pylist():
                yield {**row, "path": path}


def create_in_extension(uri: str, name: str) -> None:
    request = CreateIndex(name, uri, columns=(COLUMNS[name],), options=_EXTENSION)
    build_index(replace(request, if_not_exists=True), _OPTIONS, build_in_extension)


def build_in_extension(work: Work) -> BuildResult:
    """Build a secondary index as Spark's builder does, without Spark."""
    assert isinstance(work, BuildPlan)
    table, lock = work.table, _lock(work.table)
    found = Extension.open(table)
    there = frozenset[str]() if found is None else found.partitions
    new = [_typed(table, p.definition) for p in work.planned.partitions if p.name not in there]
    index = work.planned.registered([d.name for d in new if d.name != RECORD_INDEX])
    change = extension.begin(table, lock)
    undone = rollback_on_failure(lambda: extension.abort(change, lock))
    with undone, reserve_disk_space(table.storage) as give_back:
        listing = table.listing()
        coverage = Coverage.of(table, listing, _row_counts(table))
        files = []
        for definition in new:
            extension.begin_partition(change, NewPartition(definition.name, 1, definition))
            for identity in identities(listing).to_pylist():
                mapping = ReverseMapping(table.base_path)
                mapping.write(definition.name, covered_slice_name(identity), pa.array(["a"]))
            files.append(_base_file(change, definition, cells(table, definition)))

        def registering() -> None:
            give_back()
            register(table.refreshed(), note_of([index]))

        extension.publish(change, files, coverage, lock, new, registering)
    records = sum_by_partition(files, lambda file: file.records)
    return BuildResult(index.name, change.instant, records, {}, work.notes)


def create_by_name(uri: str) -> None:
    create_in_extension(uri, BY_NAME)


def create_by_number(uri: str) -> None:
    create_in_extension(uri, BY_NUMBER)


def drop_by_number(uri: str) -> None:
    dropping.drop_index(DropIndex(BY_NUMBER, uri, if_exists=True), _OPTIONS)


def refresh_extension(uri: str) -> None:
    """Adds the same entries once more, unless that was done."""
    table = HudiTable.open(uri)
    lock = _lock(table)
    remove_leftovers(table, lock)
    found = Extension.open(table)
    if found is None or _has_logs(found):
        return
    change = extension.begin(table, lock)
    assert change.before is not None
    with (
        rollback_on_failure(lambda: extension.abort(change, lock)),
        reserve_disk_space(table.storage),
    ):
        files = []
        for definition in change.before.definitions.values():
            content = log_writer.records(change.instant, cells(table, definition))
            group = group_files.file_id(definition.name, 0)
            name = group_files.log_file(group, "0-0-0", change.instant)
            path = f"{definition.name}/{name}"
            change.storage.write(path, content)
            files.append(WrittenFile(group, path, len(content), 1, is_log=True))
        extension.publish(change, files, change.before.coverage, lock)


def compact_extension(uri: str) -> None:
    table = HudiTable.open(uri)
    lock = _lock(table)
    remove_leftovers(table, lock)
    change = extension.begin_compaction(table, lock)
    assert change.before is not None
    if not _has_logs(change.before):
        extension.abort(change, lock)
        return
    undone = rollback_on_failure(lambda: extension.abort(change, lock))
    with undone, reserve_disk_space(table.storage):
        extension.clean(change)
        files = []
        for definition in change.before.definitions.values():
            sink = io.BytesIO()
            (group,) = change.before.records.groups(definition.name)
            hfile_writer.write_batches(sink, compact_group(group), RECORD_SCHEMA)
            files.append(_base(change.storage, definition.name, change.instant, sink.getvalue()))
        extension.publish(change, files, change.before.coverage, lock)


def create_of_hudi(uri: str) -> None:
    """The record index in Hudi's metadata table."""
    request = CreateIndex(OWN, uri, RECORD_INDEX, if_not_exists=True)
    build_index(request, _OPTIONS, _build_of_hudi)


def _build_of_hudi(work: Work) -> BuildResult:
    assert isinstance(work, BuildPlan)
    table, lock = work.table, _lock(work.table)
    bootstrap.ensure_metadata_table(table, lock)
    table = table.refreshed()
    new = [
        NewPartition(p.name, 1, p.definition if p.is_listed else None)
        for p in work.planned.partitions
    ]
    note = note_of([_registered(work.planned)])
    announced = async_indexing.announce(table, new, lock, note)
    undone = rollback_on_failure(lambda: async_indexing.abort(announced, lock))
    with undone, reserve_disk_space(table.storage) as give_back:
        async_indexing.wait_for_writers(announced, 5)
        metadata = table.storage.child(METADATA_DIR)
        files = []
        for planned in work.planned.partitions:
            content = _hfile(cells(table, planned.definition))
            files.append(_base(metadata, planned.name, announced.instant, content))

        def finish(now: HudiTable, note: str) -> None:
            give_back()
            register(now, note)

        async_indexing.publish(announced, files, lock, 5, lambda _table, _instant: [], finish)
    return BuildResult(OWN, announced.instant, {}, {}, work.notes)


def drop_of_hudi(uri: str) -> None:
    dropping.drop_index(DropIndex(OWN, uri, if_exists=True), _OPTIONS)


def forget_registration(uri: str) -> None:
    """Hudi's writers register nothing."""
    storage = Storage.open(uri)
    Registry.read(storage).without(OWN).write(storage)


def recover(uri: str) -> None:
    table = HudiTable.open(uri)
    recovery.recover(table, _lock(table), register)


def bootstrap_metadata(uri: str) -> None:
    """As a build of Hudi's index begins."""
    table = HudiTable.open(uri)
    remove_leftovers(table, _lock(table))
    bootstrap.ensure_metadata_table(table, _lock(table))


def enable_virtual_keys(uri: str) -> None:
    table = HudiTable.open(uri)
    enable(table, VirtualKeySettings(), _lock(table))


def _rewrite_nothing(slices: Sequence[SliceKeys]) -> Rewritten:
    raise AssertionError(f"all rows have stored keys, but those of {len(slices)} slices")


def _build_nothing() -> tuple[str, ...]:
    raise AssertionError("column_stats has entries of the keys")


def disable_virtual_keys(uri: str) -> None:
    """Disable them in a table whose rows all have stored keys."""
    table = HudiTable.open(uri)
    run(DisableVirtualKeys(table.storage, _lock(table), _rewrite_nothing, _build_nothing))


def cells(table: HudiTable, definition: IndexDefinition) -> list[tuple[bytes, bytes]]:
    """The entries of all rows."""
    if definition.name == RECORD_INDEX:
        return sorted(
            (
                str(row["_hoodie_record_key"]).encode(),
                payloads.location(
                    str(row["_hoodie_partition_path"]),
                    str(row["_hoodie_file_name"]).split("_")[0],
                    1_752_368_499_392,
                ),
            )
            for row in rows(table)
        )
    (column,) = definition.fields
    return sorted(
        (
            secondary_key(str(row[column]), str(row["_hoodie_record_key"])).encode(),
            payloads.secondary_entry(),
        )
        for row in rows(table)
    )


def _has_logs(found: Extension) -> bool:
    """Whether there are log files of later changes than the base files."""
    return any(
        group.base is not None and f"_{written}." not in group.base.path
        for name in found.partitions
        for group in found.records.groups(name)
        for _, written in group.logs
    )


def _row_counts(table: HudiTable) -> Int64Array:
    counts = Counter(str(row["_hoodie_file_name"]).split("_")[0] for row in rows(table))
    groups = table.listing().slice_file_id.to_pylist()
    return np.array([counts[group] for group in groups], np.int64)


def _typed(table: HudiTable, definition: IndexDefinition) -> IndexDefinition:
    if definition.name == RECORD_INDEX:
        return definition
    type_ = scalar_type(table, table.schema(), definition.fields[0])
    return replace(definition, options={**definition.options, COLUMN_TYPE: str(type_)})


def _base_file(
    change: Change, definition: IndexDefinition, own: Sequence[tuple[bytes, bytes]]
) -> WrittenFile:
    return _base(change.storage, definition.name, change.instant, _hfile(own))


def _hfile(own: Sequence[tuple[bytes, bytes]]) -> bytes:
    sink = io.BytesIO()
    hfile_writer.write(sink, own, RECORD_SCHEMA)
    return sink.getvalue()


def _base(metadata: Storage, partition: str, instant: str, content: bytes) -> WrittenFile:
    group = group_files.file_id(partition, 0)
    path = f"{partition}/{group_files.base_file(group, '0-0-0', instant)}"
    metadata.write(path, content)
    return WrittenFile(group, path, len(content), 4)


def _registered(planned: IndexPlan) -> RegisteredIndex:
    return planned.registered([partition.name for partition in planned.partitions])


def _lock(table: HudiTable) -> TableLock:
    return _OPTIONS.lock(table.storage)

"""The indexes of RFC-77's example in an extension: built, changed, read."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt import extension_changes as extension
from pyhudi_expr.tables.mdt import log_files as log_writer
from pyhudi_expr.tables.mdt.bytes.keys import secondary_key, shard
from pyhudi_expr.tables.mdt.changes.partitions import NewPartition
from pyhudi_expr.tables.mdt.changes.rollback import rollback_on_failure
from pyhudi_expr.tables.mdt.extension import Coverage
from pyhudi_expr.tables.mdt.extension_changes import EXTENSION_DIR, Change, Extension
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store import group_files
from pyhudi_expr.tables.mdt.store.compaction import compact_group
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline_writer import WrittenFile

SHARDS = 2
CITY = IndexDefinition("secondary_index_city", "secondary_index", "", ("city",), {}, "V2")
_KEYS = IndexDefinition(RECORD_INDEX, RECORD_INDEX, "", (), {}, "V1")
Pairs = Sequence[tuple[str, str]]


def begin_and_abort(path: str) -> None:
    """Completes what a killed process has started."""
    extension.abort(extension.begin(HudiTable.open(path), lock(path)), lock(path))


def build(path: str, content: Pairs, as_of: str | None = None) -> None:
    """Both indexes of the pairs, as if the table's slices held them."""
    table = HudiTable.open(path)
    change = extension.begin(table, lock(path))
    with rollback_on_failure(lambda: extension.abort(change, lock(path))):
        files = []
        for definition, cells in ((CITY, city_cells(content)), (_KEYS, key_cells(content))):
            extension.begin_partition(change, NewPartition(definition.name, SHARDS, definition))
            for number in range(SHARDS):
                sink = io.BytesIO()
                own = sharded(definition, cells, number)
                hfile_writer.write(sink, own, RECORD_SCHEMA)
                group, size = group_files.file_id(definition.name, number), len(own)
                name = group_files.base_file(group, f"{number}-0-0", change.instant)
                files.append(written(change, definition.name, group, name, sink.getvalue(), size))
        listing = table.listing(TableView.SNAPSHOT, as_of)
        rows = np.arange(listing.num_slices, dtype=np.int64)
        coverage = Coverage.of(table, listing, rows)
        extension.publish(change, files, coverage, lock(path), [CITY, _KEYS])


def update(path: str, added: Pairs, deleted: Pairs) -> None:
    change = extension.begin(HudiTable.open(path), lock(path))
    assert change.before is not None
    with rollback_on_failure(lambda: extension.abort(change, lock(path))):
        files = write_logs(change, added, deleted)
        extension.publish(change, files, change.before.coverage, lock(path))


def write_logs(change: Change, added: Pairs, deleted: Pairs) -> list[WrittenFile]:
    files = []
    tombstones = [(key, payloads.secondary_tombstone()) for key, _ in city_cells(deleted)]
    cells = sorted([*city_cells(added), *tombstones])
    deleted_keys = {key for key, _ in key_cells(deleted)} - {key for key, _ in key_cells(added)}
    for number in range(SHARDS):
        own = sharded(CITY, cells, number)
        if own:
            content = log_writer.records(change.instant, own)
            files.append(log(change, CITY, number, content))
        kept = sharded(_KEYS, key_cells(added), number)
        lost = [key for key in sorted(deleted_keys) if shard(key.decode(), SHARDS) == number]
        content = log_writer.deletes(change.instant, lost) if lost else b""
        content += log_writer.records(change.instant, kept) if kept else b""
        if content:
            files.append(log(change, _KEYS, number, content))
    return files


def log(change: Change, definition: IndexDefinition, number: int, content: bytes) -> WrittenFile:
    group = group_files.file_id(definition.name, number)
    name = group_files.log_file(group, f"{number}-0-0", change.instant)
    return written(change, definition.name, group, name, content, 1, is_log=True)


def compact(path: str) -> None:
    change = extension.begin_compaction(HudiTable.open(path), lock(path))
    assert change.before is not None
    extension.clean(change)
    files = []
    for definition in (CITY, _KEYS):
        for number, group in enumerate(change.before.records.groups(definition.name)):
            sink = io.BytesIO()
            hfile_writer.write_batches(sink, compact_group(group), RECORD_SCHEMA)
            file_id = group_files.file_id(definition.name, number)
            name = group_files.base_file(file_id, f"{number}-0-0", change.instant)
            files.append(written(change, definition.name, file_id, name, sink.getvalue(), 1))
    extension.publish(change, files, change.before.coverage, lock(path))


def written(
    change: Change,
    partition: str,
    group: str,
    name: str,
    content: bytes,
    records: int,
    *,
    is_log: bool = False,
) -> WrittenFile:
    change.storage.write(f"{partition}/{name}", content)
    return WrittenFile(group, f"{partition}/{name}", len(content), records, is_log=is_log)


def city_cells(content: Pairs) -> list[tuple[bytes, bytes]]:
    return sorted((secondary_key(*pair).encode(), payloads.secondary_entry()) for pair in content)


def key_cells(content: Pairs) -> list[tuple[bytes, bytes]]:
    place = payloads.location("", "b5a1d7e2-0a4b-4f7e-9f8e-0f4e0a6b3c1d-0", 0)
    return sorted({key.encode(): place for _, key in content}.items())


def sharded(
    definition: IndexDefinition, cells: Sequence[tuple[bytes, bytes]], number: int
) -> list[tuple[bytes, bytes]]:
    def own(key: bytes) -> str:
        return key.decode().split("$")[0] + "$" if definition is CITY else key.decode()

    return [cell for cell in cells if shard(own(cell[0]), SHARDS) == number]


def opened(path: str) -> Extension:
    found = Extension.open(HudiTable.open(path))
    assert found is not None
    return found


def pairs(path: str) -> list[tuple[str, str]]:
    found = opened(path).records.scan(CITY.name).keys
    return sorted((value, key) for value, _, key in (text.partition("$") for text in found))


def keys(path: str) -> list[str]:
    return opened(path).records.scan(RECORD_INDEX).keys


def stored_pairs(path: str) -> list[tuple[str, str]]:
    """The pairs in the index; none if there is no index."""
    found = Extension.open(HudiTable.open(path))
    return pairs(path) if found is not None and CITY.name in found.partitions else []


def cells_of_bases(path: str) -> int:
    return sum(group.base_cells for group in opened(path).records.groups(CITY.name))


def city_files(path: str) -> list[str]:
    folder = Path(path) / EXTENSION_DIR / CITY.name
    return [file.name for file in folder.glob("*") if "partition_metadata" not in file.name]


def files_by_slice(listing: FileListing) -> list[list[str]]:
    names: list[list[str]] = [[] for _ in range(listing.num_slices)]
    for number, token in zip(listing.file_slice.tolist(), listing.tokens.to_pylist(), strict=True):
        names[number].append(token)
    return names


def lock(path: str) -> TableLock:
    return TableLock(Storage.open(path), wait=0.2)

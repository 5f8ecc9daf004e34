"""Create, list and remove partitions of a table's metadata table, and their definitions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyhudi_expr.errors import CorruptFile, HudiError, TableNotFound
from pyhudi_expr.tables import hudi_names, properties
from pyhudi_expr.tables.hudi_names import (
    HOODIE_DIR,
    INDEX_DEFINITIONS_FILE,
    METADATA_DIR,
    PARTITION_MARKER,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.log import reader as log_writer
from pyhudi_expr.tables.mdt.store import file_group_names
from pyhudi_expr.tables.parsing.json_texts import parse_json

if TYPE_CHECKING:
    from pyhudi_expr.tables.locks import Lease, TableLock

COLUMN_TYPE = "columnType"
"""The option of an extension's secondary index with the types that its columns had when the index
was built (`type_names`): values are spelled by them."""


def type_names(types: Iterable[object]) -> str:
    """Return Arrow's names of types, as `COLUMN_TYPE` has them: with semicolons between them."""
    return ";".join(map(str, types))


@dataclass(frozen=True)
class IndexDefinition:
    """The definition of one index.

    Attributes:
        name: The name of its metadata partition.
        fields: The columns that it is over.
    """

    name: str
    type: str
    function: str
    fields: tuple[str, ...]
    options: Mapping[str, str]
    version: str


def index_definitions(table: HudiTable) -> dict[str, IndexDefinition]:
    """Read the table's index definitions by name; empty if it has none.

    Raises:
        CorruptFile: The file cannot be parsed.
    """
    path = table.properties.index_definitions_path
    try:
        entries = _parsed(table, table.index_definitions_file)
        return {name: _definition(name, entry) for name, entry in entries.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise CorruptFile(
            f"{table.base_path}/{path}", f"no index definitions: {error!r}"
        ) from error


def add_definitions(table: HudiTable, definitions: Iterable[IndexDefinition]) -> None:
    """Add definitions, and replace those of the same names. The caller holds the table's lock.

    Raises:
        HudiError: The file cannot be read or written.
    """
    added = {definition.name: _entry(definition) for definition in definitions}
    if added:
        _write(table, {**_entries(table), **added})


def remove_definitions(table: HudiTable, names: Iterable[str]) -> None:
    """Remove the definitions of these names; see `add_definitions`."""
    entries, gone = _entries(table), set(names)
    if gone & entries.keys():
        _write(table, {name: entry for name, entry in entries.items() if name not in gone})


def _entries(table: HudiTable) -> dict[str, Any]:
    """Return the definitions as they are now."""
    return _parsed(table, table.storage.read_if_present(table.properties.index_definitions_path))


def _parsed(table: HudiTable, content: bytes | None) -> dict[str, Any]:
    if content is None:
        return {}
    path = f"{table.base_path}/{table.properties.index_definitions_path}"
    try:
        entries: dict[str, Any] = parse_json(content, path)["indexDefinitions"]
    except (KeyError, TypeError) as error:
        raise CorruptFile(path, f"no index definitions: {error!r}") from error
    return entries


def _write(table: HudiTable, entries: Mapping[str, Any]) -> None:
    content = json.dumps({"indexDefinitions": entries}, indent=2)
    table.storage.write(table.properties.index_definitions_path, content.encode())
    if not table.properties.raw.get(hudi_names.INDEX_DEFINITIONS_PATH):
        changes = {hudi_names.INDEX_DEFINITIONS_PATH: INDEX_DEFINITIONS_FILE}
        properties.update(table.storage, changes)


def _entry(definition: IndexDefinition) -> dict[str, Any]:
    return {
        "indexName": definition.name,
        "indexType": definition.type,
        "indexFunction": definition.function,
        "sourceFields": list(definition.fields),
        "indexOptions": dict(definition.options),
        "version": definition.version,
    }


def _definition(name: str, entry: Mapping[str, object]) -> IndexDefinition:
    fields, options = entry.get("sourceFields") or (), entry.get("indexOptions") or {}
    if not isinstance(fields, list | tuple) or not isinstance(options, dict):
        raise ValueError(f"the fields or options of {name}")
    return IndexDefinition(
        name=name,
        type=str(entry.get("indexType") or ""),
        function=str(entry.get("indexFunction") or ""),
        fields=tuple(map(str, fields)),
        options={str(key): str(value) for key, value in options.items()},
        version=str(entry.get("version") or "V1"),
    )


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
        group = file_group_names.file_id(partition.name, shard)
        name = file_group_names.log_file(group, file_group_names.STUB_TOKEN, instant)
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

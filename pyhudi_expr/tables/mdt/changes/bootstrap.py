"""Create a metadata table for a table that has none, with the partition `files`, as Hudi does."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np

from pyhudi_expr.arrays import arrow_array, string_list
from pyhudi_expr.tables import hudi_names, properties
from pyhudi_expr.tables.hudi_names import (
    FILES,
    METADATA_DIR,
    PARTITION_MARKER,
    PROPERTIES_FILE,
    base_files,
    log_files,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import StoredFiles
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt import log_files as log_writer
from pyhudi_expr.tables.mdt.bytes.keys import ALL_PARTITIONS, partition_key
from pyhudi_expr.tables.mdt.changes.partitions import IndexConflict, known_times
from pyhudi_expr.tables.mdt.changes.rollback import rollback_on_failure
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store import group_files
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline_writer import Action, WrittenFile, commit_record, next_time

# The instant of Hudi's first action on a metadata table, by timeline layout.
_FIRST_INSTANT = {1: "00000000000000010", 2: "00000000000000000"}
_WRITE_TOKEN = "0-0-1"
_OPERATION = "BULK_INSERT"


def ensure_metadata_table(table: HudiTable, lock: TableLock) -> bool:
    """Create the metadata table if there is none; return whether it was created.

    Raises:
        HudiError: Other writers are active, whose files would be missed or listed too early
            (IndexConflict), or another error; no metadata table is created.
    """
    if FILES in table.properties.metadata_partitions:
        return False
    with lock.held("makes the metadata table") as lease:
        table = table.refreshed()
        if FILES in table.properties.metadata_partitions:
            return False
        lock.check()
        if table.timeline.pending:
            raise IndexConflict(
                f"{table.base_path}: {', '.join(sorted(table.timeline.pending))} are pending, and "
                "the table has no metadata table; let them complete, then try again"
            )

        def remove() -> None:
            lease.check()
            table.storage.delete_dir(METADATA_DIR)

        remove()
        with rollback_on_failure(remove):
            name = f"{table.properties.name}_metadata"
            metadata = write_table(table.storage.child(METADATA_DIR), name, table.properties)
            _write_files(metadata, _data_files(table))
            lease.check()
            properties.update(
                table.storage,
                {
                    hudi_names.METADATA_PARTITIONS: FILES,
                    hudi_names.METADATA_PARTITIONS_INFLIGHT: "",
                },
            )
    return True


def write_table(storage: Storage, name: str, data: TableProperties) -> HudiTable:
    """Create an empty metadata table for a data table with the properties `data`."""
    layout = data.timeline_layout
    settings = {
        hudi_names.TABLE_NAME: name,
        hudi_names.TABLE_TYPE: "MERGE_ON_READ",
        hudi_names.TABLE_VERSION: str(data.version),
        hudi_names.INITIAL_VERSION: str(data.version),
        hudi_names.TIMELINE_LAYOUT_VERSION: str(layout),
        hudi_names.TIMELINE_PATH: "timeline",
        hudi_names.TIMELINE_HISTORY_PATH: "history",
        hudi_names.ARCHIVE_FOLDER: "archived" if layout == 1 else "history",
        hudi_names.BASE_FILE_FORMAT: "HFILE",
        hudi_names.RECORDKEY_FIELDS: "key",
        hudi_names.KEY_GENERATOR_TYPE: "HOODIE_TABLE_METADATA",
        hudi_names.PAYLOAD_CLASS: "org.apache.hudi.metadata.HoodieMetadataPayload",
        hudi_names.RECORD_MERGE_MODE: "CUSTOM",
        hudi_names.RECORD_MERGE_STRATEGY_ID: "00000000-0000-0000-0000-000000000000",
        hudi_names.POPULATE_META_FIELDS: "false",
        hudi_names.DROP_PARTITION_COLUMNS: "false",
    }
    settings[hudi_names.TABLE_CHECKSUM] = properties.table_checksum(settings)
    storage.write(PROPERTIES_FILE, properties.dump_properties(settings))
    return HudiTable.at(storage)


def _data_files(table: HudiTable) -> StoredFiles:
    """Return the base and log files, and no others, as Hudi lists them.

    Hudi's readers take each name that is listed and has the base files' format in it for a base
    file: also that of a checksum, `.(name).parquet.crc`, which Hadoop keeps on local disks.
    """
    stored = table.stored_files()
    bases = base_files(stored.name, table.properties.base_file_format.lower())
    rows = np.sort(np.concatenate([bases.row, log_files(stored.name).row]))
    return StoredFiles(
        stored.partitions,
        stored.partition[rows],
        stored.name.take(arrow_array(rows)),
        stored.size[rows],
    )


def _write_files(metadata: HudiTable, stored: StoredFiles) -> None:
    layout = metadata.properties.timeline_layout
    instant = _FIRST_INSTANT[layout]
    storage, group = metadata.storage, group_files.file_id(FILES, 0)
    marker = f"#partition metadata\ncommitTime={instant}\npartitionDepth=1\n"
    storage.write(f"{FILES}/{PARTITION_MARKER}", marker.encode())
    stub = group_files.log_file(group, group_files.STUB_TOKEN, instant)
    storage.write(f"{FILES}/{stub}", log_writer.empty_block(instant))

    cells = sorted(_file_lists(stored))
    content = io.BytesIO()
    size = hfile_writer.write(content, cells, RECORD_SCHEMA)
    path = f"{FILES}/{group_files.base_file(group, _WRITE_TOKEN, instant)}"
    storage.write(path, content.getvalue())

    action = Action(storage, metadata.properties, instant, "deltacommit")
    action.request()
    action.start()
    written = WrittenFile(group, path, size, len(cells))
    completed = next_time(metadata.properties, known_times(metadata))
    action.complete(commit_record(layout, [written], _OPERATION, {}), completed)


def _file_lists(stored: StoredFiles) -> Iterator[tuple[bytes, bytes]]:
    partitions = [partition_key(str(path)) for path in stored.partitions.to_pylist()]
    yield ALL_PARTITIONS.encode(), payloads.partition_list(partitions)
    for number, key in enumerate(partitions):
        rows = np.flatnonzero(stored.partition == number)
        names = string_list(stored.name.take(rows))
        sizes = stored.size[rows].tolist()
        yield key.encode(), payloads.file_list(dict(zip(names, sizes, strict=True)))

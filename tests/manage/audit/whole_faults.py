"""Faults of whole partitions and files, and of the extension."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.manage.audit.findings import Fault, Reader
from pyhudi_expr.tables.hudi_names import (
    COLUMN_STATS,
    FILES,
    METADATA_DIR,
    PARTITION_STATS,
    PROPERTIES_FILE,
    RECORD_INDEX,
    TABLE_NAME,
)
from pyhudi_expr.tables.mdt.bytes.keys import secondary_key
from pyhudi_expr.tables.mdt.extension_changes import Extension
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from tests.manage.audit.living_rows import BLOOMS, BY_NAME, BY_NUMBER, LOWERED, LOWERED_FILTER
from tests.manage.audit.living_table import LivingTable
from tests.manage.audit.seeding import (
    EXTENSION_VALUES,
    HUDI,
    OURS,
    Expected,
    entry_in,
    fault,
    first,
    key_in,
    metadata_file,
    tampered,
)
from tests.manage.indexing import sparkless_indexes

_DEFINED = (BY_NAME, BY_NUMBER, LOWERED, LOWERED_FILTER)


@fault
def a_definition_is_missing(table: LivingTable) -> Expected:
    path = table.path / ".hoodie" / ".index_defs" / "index.json"
    content = json.loads(path.read_text())
    del content["indexDefinitions"][BY_NUMBER]
    path.write_text(json.dumps(content))
    return Expected(BY_NUMBER, Fault.DEFINITION_MISSING, "index.json")


@fault
def the_definitions_are_damaged(table: LivingTable) -> Expected:
    (table.path / ".hoodie" / ".index_defs" / "index.json").write_text("{")
    along = tuple((name, Fault.DEFINITION_MISSING) for name in _DEFINED)
    return Expected("all", Fault.UNREADABLE, "index.json", along=along)


@fault
def the_definitions_are_gone(table: LivingTable) -> Expected:
    """Queries by `column_stats` fail in Hudi 1.2 then."""
    (table.path / ".hoodie" / ".index_defs" / "index.json").unlink()
    along = tuple((name, Fault.DEFINITION_MISSING) for name in _DEFINED)
    return Expected(COLUMN_STATS, Fault.DEFINITION_MISSING, "index.json", along=along)


@fault
def the_tables_name_is_cut_off(table: LivingTable) -> Expected:
    """Hudi 1.2 finds another checksum then, and opens the table no more."""
    path = table.path / PROPERTIES_FILE
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line for line in lines if not line.startswith(TABLE_NAME)))
    return Expected("table", Fault.UNREADABLE, "hoodie.properties")


@fault
def the_metadata_table_is_gone(table: LivingTable) -> Expected:
    shutil.rmtree(table.path / METADATA_DIR)
    return Expected("all", Fault.PARTITION_MISSING, METADATA_DIR)


@fault
def a_block_of_an_hfile_is_damaged(table: LivingTable) -> Expected:
    path = metadata_file(table, RECORD_INDEX)
    content = bytearray(path.read_bytes())
    content[60:70] = bytes(10)
    path.write_bytes(content)
    return Expected(RECORD_INDEX, Fault.UNREADABLE, path.name)


@fault
def an_hfile_is_truncated(table: LivingTable) -> Expected:
    path = metadata_file(table, COLUMN_STATS)
    path.write_bytes(path.read_bytes()[:-1000])
    return Expected(COLUMN_STATS, Fault.UNREADABLE, path.name)


@fault
def the_schema_of_a_log_block_is_damaged(table: LivingTable) -> Expected:
    """Only Hudi's readers decode it."""
    table.update([1])
    logs = sorted((table.path / METADATA_DIR / FILES).glob(".*.log.*"))
    path = max(logs, key=lambda log: log.name.split("_")[-2])
    content = bytearray(path.read_bytes())
    at = content.index(b'"HoodieMetadataRecord"')
    content[at : at + 8] = bytes(8)
    path.write_bytes(content)
    return Expected(FILES, Fault.UNREADABLE, path.name)


@fault
def a_log_block_is_damaged(table: LivingTable) -> Expected:
    table.insert("a", [900])
    logs = sorted((table.path / METADATA_DIR / BY_NAME).glob(".*.log.*"))
    path = max(logs, key=lambda log: log.name.split("_")[-2])
    content = bytearray(path.read_bytes())
    content[8:14] = b"\xff" * 6
    path.write_bytes(content)
    return Expected(BY_NAME, Fault.UNREADABLE, path.name)


@fault
def a_record_cannot_be_decoded(table: LivingTable) -> Expected:
    path = metadata_file(table, BY_NUMBER)
    cells = [(f"{n}${n}".encode(), b"\xff\xff") for n in range(3)]
    sink = io.BytesIO()
    hfile_writer.write(sink, cells, RECORD_SCHEMA)
    path.write_bytes(sink.getvalue())
    return Expected(BY_NUMBER, Fault.UNREADABLE, path.name)


@fault
def the_directory_of_a_partition_is_gone(table: LivingTable) -> Expected:
    shutil.rmtree(table.path / METADATA_DIR / BLOOMS)
    return Expected(BLOOMS, Fault.PARTITION_MISSING, BLOOMS)


@fault
def a_file_group_of_an_index_is_gone(table: LivingTable) -> Expected:
    for path in (table.path / METADATA_DIR / RECORD_INDEX).glob("*record-index-0000-0_*"):
        path.unlink()
    return Expected(RECORD_INDEX, Fault.PARTITION_MISSING, RECORD_INDEX)


@fault
def the_metadata_table_lacks_a_commit(table: LivingTable) -> Expected:
    table._metadata_commit = lambda instant, cells: None  # type: ignore[method-assign]
    table.insert("c", [950, 951])
    found = Expected("all", Fault.LAGGING, METADATA_DIR, (HUDI,))
    along = (
        (FILES, Fault.PARTITION_NOT_LISTED),
        (COLUMN_STATS, Fault.ENTRY_MISSING),
        (PARTITION_STATS, Fault.ENTRY_MISSING),
        (RECORD_INDEX, Fault.KEY_MISSING),
        (BY_NAME, Fault.VALUE_MISSING),
        (BY_NUMBER, Fault.VALUE_MISSING),
        (BLOOMS, Fault.ENTRY_MISSING),
        (LOWERED, Fault.ENTRY_MISSING),
        (LOWERED_FILTER, Fault.ENTRY_MISSING),
    )
    return replace(found, along=along)


@fault
def a_data_file_is_truncated(table: LivingTable) -> Expected:
    group = first(table)
    path = table.path / group.part / group.name
    path.write_bytes(path.read_bytes()[:200])
    along = ((FILES, Fault.SIZE_WRONG),)
    return Expected(FILES, Fault.UNREADABLE, group.name, along=along)


def _in_extension(partition: str, name: Fault, file: str, *readers: Reader) -> Expected:
    return Expected(partition, name, file, readers, Store.EXTENSION)


def _extended(table: LivingTable) -> None:
    sparkless_indexes.create_by_name(str(table.path))


@contextmanager
def _covered_rows(table: LivingTable) -> Iterator[np.ndarray]:
    """The numbers of rows in the list of covered slices."""
    _extended(table)
    extension = Extension.open(table.open())
    assert extension is not None
    slices = extension.coverage.slices
    rows = np.array(slices.column("rows")).copy()
    yield rows
    at = slices.schema.get_field_index("rows")
    changed = slices.set_column(at, slices.schema.field("rows"), pa.array(rows))
    content = replace(extension.coverage, slices=changed).content()
    folder = table.path / ".hoodie" / "pyhudi" / "metadata" / ".hoodie" / "coverage"
    (path,) = folder.glob("*.parquet")
    path.write_bytes(content)


@fault
def the_extension_counts_too_few_rows(table: LivingTable) -> Expected:
    with _covered_rows(table) as rows:
        rows[:] -= 1
    return _in_extension("coverage", Fault.COVERED_ROWS_WRONG, first(table).name, OURS)


@fault
def the_extension_counts_too_many_rows(table: LivingTable) -> Expected:
    with _covered_rows(table) as rows:
        rows[:] += 1
    return _in_extension("coverage", Fault.COVERED_ROWS_WRONG, first(table).name)


@fault
def the_extension_lacks_a_key(table: LivingTable) -> Expected:
    _extended(table)
    with tampered(table, RECORD_INDEX, Store.EXTENSION) as records:
        del records[key_in(first(table))]
    return _in_extension(RECORD_INDEX, Fault.KEY_MISSING, first(table).name)


@fault
def the_extension_has_another_value(table: LivingTable) -> Expected:
    _extended(table)
    with tampered(table, EXTENSION_VALUES, Store.EXTENSION) as records:
        entry = records.pop(entry_in(first(table), "name"))
        records[secondary_key("tampered", key_in(first(table)).decode()).encode()] = entry
    found = _in_extension(EXTENSION_VALUES, Fault.VALUE_MISSING, first(table).name, OURS)
    return replace(found, along=((EXTENSION_VALUES, Fault.VALUE_STALE),))


@fault
def the_extension_lacks_a_value(table: LivingTable) -> Expected:
    _extended(table)
    with tampered(table, EXTENSION_VALUES, Store.EXTENSION) as records:
        del records[entry_in(first(table), "name")]
    return _in_extension(EXTENSION_VALUES, Fault.VALUE_MISSING, first(table).name)


@fault
def a_file_of_the_extension_is_damaged(table: LivingTable) -> Expected:
    _extended(table)
    path = metadata_file(table, EXTENSION_VALUES, Store.EXTENSION)
    path.write_bytes(path.read_bytes()[:50])
    return _in_extension(EXTENSION_VALUES, Fault.UNREADABLE, path.name)


@fault
def the_list_of_covered_slices_is_damaged(table: LivingTable) -> Expected:
    _extended(table)
    folder = table.path / ".hoodie" / "pyhudi" / "metadata" / ".hoodie" / "coverage"
    (path,) = folder.glob("*.parquet")
    path.write_bytes(b"damaged")
    return _in_extension("all", Fault.UNREADABLE, ".hoodie/pyhudi/metadata")

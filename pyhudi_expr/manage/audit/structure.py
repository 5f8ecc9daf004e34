"""What holds for a table and every metadata partition: keys, existence, coverage, readability.

Hudi's next update of a row without a key fails, or writes the row a second time.

All blocks of its current files are decompressed, and each key's file group is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import string_list
from pyhudi_expr.errors import CorruptFile, HudiError, UnsupportedTable
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.index.catalog.registry import Registry, Store
from pyhudi_expr.manage.audit.findings import Fault, Finding, Reader, Severity
from pyhudi_expr.manage.audit.scope import BOTH, HUDI_ONLY, MOST, AuditedRecords, AuditedTable
from pyhudi_expr.manage.invariants import SliceKeys, stored_keys
from pyhudi_expr.tables.hudi_names import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    EXPRESSION_INDEX_PREFIX,
    INDEX_DEFINITIONS_PATH,
    METADATA_DIR,
    PARTITION_STATS,
    PROPERTIES_FILE,
    RECORD_KEY,
    SECONDARY_INDEX_PREFIX,
    TABLE_CHECKSUM,
    TABLE_NAME,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import is_virtual
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import shards
from pyhudi_expr.tables.mdt.extension import Extension
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition, index_definitions
from pyhudi_expr.tables.mdt.lost_files import BOOTSTRAP_PREFIX
from pyhudi_expr.tables.mdt.store.file_group import EncodedRecords, FileGroup
from pyhudi_expr.tables.mdt.store.index_records import entries
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.parsing.budget import parse_json
from pyhudi_expr.tables.properties import table_checksum
from pyhudi_expr.tables.timeline import CommitMetadata, Instant

PARTITION = "table"
"""Stands for the table's own files where findings name a partition of the metadata table."""


def check_names(table: HudiTable) -> Iterator[Finding]:
    """Check that a table's properties have the names that Hudi's readers require."""
    raw = table.properties.raw
    expected = table_checksum(raw)
    checksum = raw.get(TABLE_CHECKSUM, expected)
    if raw.get(TABLE_NAME) and checksum == expected:
        return
    yield Finding(
        store=Store.HUDI,
        partition=PARTITION,
        fault=Fault.UNREADABLE,
        severity=Severity.QUERY_FAILS,
        file=PROPERTIES_FILE,
        subject=TABLE_NAME,
        expected=f"a name whose {TABLE_CHECKSUM} is {checksum}",
        found=f"{raw.get(TABLE_NAME, '')!r}",
        queries="all of Hudi's own readers, and each write",
        readers=(),
        remedy="",
    )


def check_stored_keys(table: AuditedTable, unchecked: list[str]) -> Iterator[Finding]:
    """Check that each slice can be read, and each row has its key, unless keys are virtual."""
    try:
        found = stored_keys(table.table, table.slices)
    except HudiError as error:
        unchecked.append(f"the table's files: {error}")
        return
    unchecked += [
        f"{log}: no row of its damaged blocks ({number}) is read"
        for one in found
        for log, number in one.damaged
    ]
    if is_virtual(table.table.properties):
        return
    for one in found:
        if one.lacks_keys:
            yield _finding(one)


def _finding(one: SliceKeys) -> Finding:
    rows, keys = one.rows + one.log_rows, one.keys + one.log_keys
    return Finding(
        store=Store.HUDI,
        partition=PARTITION,
        fault=Fault.STORED_KEY_MISSING,
        severity=Severity.QUERY_FAILS,
        file=one.slice.path(one.slice.base or one.slice.logs[0]),
        subject=RECORD_KEY,
        expected=f"a stored key in each of {rows} rows",
        found=f"keys in {keys} of them",
        queries="updates, deletes and compactions of these rows; queries of the column",
        readers=(Reader.HUDI, Reader.PYHUDI),
        remedy="",
    )


def check_written_files(table: HudiTable) -> Iterator[Finding]:
    """Return what is wrong with the files that the timeline names, without a metadata table.

    Those of the newest write of each file group that no later one replaced are gone: a cleaner
    keeps them. Or a file is in another partition than its write names, so its rows are read there.

    Raises:
        HudiError: The timeline or the storage cannot be read.
    """
    stored = table.stored_files()
    paths = string_list(stored.partitions.take(pa.array(stored.partition)))
    there = {*zip(paths, string_list(stored.name), strict=True)}
    later: set[tuple[str, str]] = set()
    named: dict[str, str] = {}
    for write in reversed(table.timeline.writes):
        commit = table.commit_metadata(write)
        groups = {(path, one) for path, ids in commit.replaced.items() for one in ids}
        for path, names in _names_of(commit):
            named.update(dict.fromkeys(names, path))
            for name in names:
                group = path, name.lstrip(".").partition("_")[0]
                groups.add(group)
                if group not in later and (path, name) not in there:
                    yield _of_file(
                        Fault.FILE_LOST,
                        f"{path}/{name}",
                        expected=f"the file that the completed commit {write.requested} wrote",
                        found="none",
                        queries="any: the file's rows are not read, or an older file slice is",
                    )
        later |= groups
    for place, name in sorted(there):
        if named.get(name, place) != place:
            yield _of_file(
                Fault.FILE_MISPLACED,
                f"{place}/{name}",
                expected=f"a file of the partition {named[name] or '.'}, in which it was written",
                found="it in another partition",
                queries="any: the file's rows are read in the wrong partition, perhaps twice",
            )


def _names_of(commit: CommitMetadata) -> Iterator[tuple[str, list[str]]]:
    for path, files in commit.written.items():
        yield path, [file.rpartition("/")[2] for file in files]


def _of_file(fault: Fault, file: str, expected: str, found: str, queries: str) -> Finding:
    """Return what is wrong with the place of a data file."""
    return Finding(
        store=Store.HUDI,
        partition=PARTITION,
        fault=fault,
        severity=Severity.ROWS_LOST,
        file=file.lstrip("/"),
        subject="",
        expected=expected,
        found=found,
        queries=queries,
        readers=(Reader.HUDI, Reader.PYHUDI),
        remedy="",
    )


_T = TypeVar("_T")
_EXAMPLES = 3
_USING = "those that use it, in Hudi's readers; others are not pruned by it"
_WITHOUT_LOST = "those that use it, in Hudi's readers: they trust older entries"
_SCANNED = (COLUMN_STATS, PARTITION_STATS)
"""Partitions that are not looked up by whole keys."""


@dataclass(frozen=True)
class OpenedCatalog:
    """A table's indexes, as far as they can be opened.

    Attributes:
        definitions: The definitions of Hudi's partitions; empty if they cannot be read.
        findings: What cannot be opened.
    """

    catalog: IndexCatalog
    definitions: Mapping[str, IndexDefinition]
    findings: tuple[Finding, ...]

    @staticmethod
    def of(table: HudiTable) -> OpenedCatalog:
        """Open the indexes of a table. Raises HudiError if the table itself cannot be read."""
        _check_own_properties(table)
        damage: list[Finding] = []

        def opened(store: Store, read: Callable[[], _T], instead: _T) -> _T:
            try:
                return read()
            except CorruptFile as error:
                damage.append(_damaged(store, table, error))
                return instead

        metadata = opened(Store.HUDI, lambda: MetadataTable.open(table), None)
        if metadata is None and table.properties.metadata_partitions and not damage:
            damage.append(_gone(table))
        now = table if metadata is None else metadata.table
        extension = opened(Store.EXTENSION, lambda: Extension.open(now), None)
        registry = opened(Store.EXTENSION, lambda: Registry.read(now.storage), Registry())
        nothing: dict[str, IndexDefinition] = {}
        definitions = opened(Store.HUDI, lambda: index_definitions(now), nothing)
        catalog = IndexCatalog(now, metadata, extension, registry.indexes)
        return OpenedCatalog(catalog, definitions, tuple(damage))


def _check_own_properties(table: HudiTable) -> None:
    """Check that a table's properties are not its metadata table's. Raises CorruptFile."""
    is_metadata = table.base_path.rstrip("/").endswith(METADATA_DIR)
    if table.properties.base_file_format.upper() == "HFILE" and not is_metadata:
        raise CorruptFile(
            f"{table.base_path}/{PROPERTIES_FILE}",
            f"it is that of a metadata table, {table.properties.name}: restore it from a backup",
        )


def _damaged(store: Store, table: HudiTable, error: CorruptFile) -> Finding:
    ours = store is Store.EXTENSION
    return Finding(
        store=store,
        partition="all",
        fault=Fault.UNREADABLE,
        severity=Severity.SLOWER if ours else Severity.QUERY_FAILS,
        file=error.file.removeprefix(table.base_path).lstrip("/"),
        subject="",
        expected="a file that can be read",
        found=error.reason,
        queries="all: no query uses these indexes" if ours else "all of Hudi's own readers",
        readers=(),
        remedy="",
    )


def _gone(table: HudiTable) -> Finding:
    named = ", ".join(sorted(table.properties.metadata_partitions))
    return Finding(
        store=Store.HUDI,
        partition="all",
        fault=Fault.PARTITION_MISSING,
        severity=Severity.SLOWER,
        file=METADATA_DIR,
        subject="",
        expected=f"a metadata table with {named}",
        found="none",
        queries="all: the table's directories are listed, and no index is used",
        readers=(),
        remedy="",
    )


def check_timeline(records: AuditedRecords, table: AuditedTable) -> Iterator[Finding]:
    """Return the commits that Hudi's metadata table lacks."""
    if records.store is Store.EXTENSION:
        return
    missing = [one.requested for one in table.table.timeline.writes if not _covers(records, one)]
    if missing:
        named = ", ".join(missing[:_EXAMPLES]) + (", ..." if len(missing) > _EXAMPLES else "")
        yield records.finding(
            "all",
            Fault.LAGGING,
            Severity.ROWS_LOST,
            METADATA_DIR,
            expected=f"every commit up to {table.table.instant}",
            found=f"{len(missing)} commits are missing: {named}",
            queries="any by readers that take the files from the metadata table",
            readers=HUDI_ONLY,
        )


def _covers(records: AuditedRecords, write: Instant) -> bool:
    if records.records.covers(write.requested):
        return True
    # A new metadata table has no delta commits yet, and all files of its first moment.
    made = records.records.metadata.timeline.writes
    is_new = all(one.requested.startswith(BOOTSTRAP_PREFIX) for one in made)
    last = max((one.completed or "" for one in made), default="")
    return is_new and bool(made) and (write.completed or "") <= last


def check_structure(records: AuditedRecords, partition: str) -> Iterator[Finding]:
    """Return why a partition cannot be used as a whole; after such a finding it is not checked.

    Raises:
        UnsupportedTable: It is of a form that is not read here.
    """
    needs_definition = partition.startswith((SECONDARY_INDEX_PREFIX, EXPRESSION_INDEX_PREFIX))
    fails = partition == COLUMN_STATS and _has_lost_definitions(records.records.table)
    if fails or (needs_definition and partition not in records.definitions):
        yield records.finding(
            partition,
            Fault.DEFINITION_MISSING,
            Severity.QUERY_FAILS if fails else Severity.SLOWER,
            records.relative(
                f"{records.records.table.base_path}/"
                f"{records.records.table.properties.index_definitions_path}"
            ),
            expected="the definition of the index",
            found="none",
            queries=_USING if fails else "all: no query uses the index",
        )
    try:
        lost = records.records.lost_files(partition)
        if lost:
            yield from (_lost(records, partition, *one) for one in lost[:MOST])
            return
        groups = records.records.groups(partition)
    except CorruptFile as error:
        yield _missing(records, partition, error)
        return
    for number, group in enumerate(groups):
        yield from _of_group(records, partition, group, number, len(groups))


def _has_lost_definitions(table: HudiTable) -> bool:
    """Return whether the file with the definitions is gone: Hudi 1.2 fails at `column_stats` so."""
    return INDEX_DEFINITIONS_PATH in table.properties.raw and table.index_definitions_file is None


def _check_schemas(group: FileGroup) -> None:
    """Check the schemas of log blocks: Hudi's readers decode each, which ours have no use for."""
    files = {block.block.schema: name for block, name, _ in group.sources[1]}
    for schema, name in files.items():
        if schema is not None:
            parse_json(schema, name)


def _of_group(
    records: AuditedRecords, partition: str, group: FileGroup, number: int, count: int
) -> Iterator[Finding]:
    try:
        _check_schemas(group)
        misplaced = _misplaced(records, partition, group, number, count)
    except CorruptFile as error:
        yield records.unreadable(partition, error.file, error.reason, _USING)
    except UnsupportedTable:
        raise
    except HudiError as error:
        yield records.unreadable(partition, records.path_of(partition), str(error), _USING)
    else:
        if misplaced:
            yield _wrong_shard(records, partition, group, misplaced)


def _missing(records: AuditedRecords, partition: str, error: HudiError) -> Finding:
    return records.finding(
        partition,
        Fault.PARTITION_MISSING,
        Severity.QUERY_FAILS,
        records.path_of(partition),
        expected="the file groups of the partition",
        found=str(error),
        queries=_USING,
    )


def _lost(records: AuditedRecords, partition: str, path: str, instant: str) -> Finding:
    is_looked_up = partition not in (COLUMN_STATS, BLOOM_FILTERS)
    return records.finding(
        partition,
        Fault.FILE_LOST,
        Severity.ROWS_LOST if is_looked_up else Severity.SLOWER,
        records.relative(f"{records.records.metadata.base_path}/{path}"),
        expected=f"the file that the completed commit {instant} wrote",
        found="none, or an empty one",
        queries=_WITHOUT_LOST if is_looked_up else "none: files without entries are read",
        readers=HUDI_ONLY if is_looked_up else (),
    )


def _wrong_shard(
    records: AuditedRecords, partition: str, group: FileGroup, misplaced: list[bytes]
) -> Finding:
    named = ", ".join(repr(key.decode(errors="replace")) for key in misplaced[:_EXAMPLES])
    is_looked_up = not partition.endswith(_SCANNED)
    files = [file.path for file in group.stored_files]
    path = f"{records.records.metadata.base_path}/{files[0]}"
    return records.finding(
        partition,
        Fault.WRONG_SHARD,
        Severity.ROWS_LOST if is_looked_up else Severity.SLOWER,
        records.relative(path),
        subject=named,
        expected="in the file group that the key's hash names",
        found=f"{len(misplaced)} keys are here",
        queries="look-ups of these keys" if is_looked_up else "none: all groups are scanned",
        readers=BOTH if is_looked_up else (),
    )


def _misplaced(
    records: AuditedRecords, partition: str, group: FileGroup, number: int, count: int
) -> list[bytes]:
    """Read a group as a whole, and return the keys that belong to another one."""
    definition = records.definitions.get(partition)
    is_secondary = partition.startswith(SECONDARY_INDEX_PREFIX)
    by_value = is_secondary and definition is not None and definition.version != "V1"
    found: list[bytes] = []
    for part in chain(group.base_records(HFile.scan), group.log_pieces(HFile.scan)):
        if not isinstance(part, EncodedRecords) or not len(part.cells):
            continue
        keys = part.cells.key_strings
        if by_value:
            for split in entries(part):
                wrong = shards(_prefixes(split.values), count) != number
                found += split.records.take(wrong).to_list()
        elif definition is None and is_secondary:
            continue
        else:
            wrong = shards(keys, count) != number
            found += keys.take(wrong).to_list()
    return found


def _prefixes(values: ByteStrings) -> ByteStrings:
    """Return what an index of version V2 hashes, see `mdt.bytes.keys.secondary_prefix`."""
    doubled = pc.replace_substring(values.array(), b"\\", b"\\\\")
    escaped = pc.replace_substring(doubled, b"$", b"\\$")
    ends = (pa.scalar(text, pa.large_binary()) for text in (b"$", b""))
    return ByteStrings.from_arrow(pc.binary_join_element_wise(escaped, *ends))

"""The metadata table of a living table: each commit maintains all of its partitions."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random

import pyarrow as pa

from pyhudi_expr.spark.entries import slice_entries
from pyhudi_expr.tables.hudi_names import (
    COLUMN_STATS,
    FILES,
    METADATA_DIR,
    PARTITION_STATS,
    RECORD_INDEX,
    RECORD_KEY,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt import log_files as log_writer
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import (
    bloom_filter_key,
    column_stats_key,
    expression_partition_stats_key,
    partition_key,
    partition_stats_key,
    secondary_key,
    secondary_prefix,
    shard,
    split_secondary_key,
)
from pyhudi_expr.tables.mdt.changes import bootstrap
from pyhudi_expr.tables.mdt.changes.partitions import NewPartition, begin_groups, move_partitions
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition, add_definitions
from pyhudi_expr.tables.mdt.records import metadata_records, payloads
from pyhudi_expr.tables.mdt.records.bloom_filter import SIMPLE, FilterBuilder
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store import group_files
from pyhudi_expr.tables.slices.slice_files import FileSlice
from pyhudi_expr.tables.timeline_writer import Action, WrittenFile, commit_record
from tests.manage.audit.living_rows import (
    BLOOMS,
    BY_NAME,
    BY_NUMBER,
    COLUMNS,
    LOWERED,
    LOWERED_FILTER,
    SHARDS,
    START,
    TYPES,
    Cells,
    Group,
    statistics_of,
)


@dataclass
class LivingMetadata:
    """What is known of the table, and the entries of its metadata table."""

    path: Path
    random: Random
    version: int = 9
    groups: dict[str, Group] = field(default_factory=dict)
    replaced: list[Group] = field(default_factory=list)
    old_files: list[tuple[str, str]] = field(default_factory=list)
    indexed: Cells = field(default_factory=dict)
    ticks: int = 0
    measured: tuple[str, ...] = (*COLUMNS, RECORD_KEY)
    """The columns that have statistics."""
    padding: int = 0
    """Random bytes in each row, in a column of their own."""

    def open(self) -> HudiTable:
        return HudiTable.open(str(self.path))

    def _tick(self) -> str:
        self.ticks += 1
        moment = START + timedelta(seconds=self.ticks)
        return f"{moment:%Y%m%d%H%M%S}000"

    def _written(self, group: Group) -> WrittenFile:
        path = f"{group.part}/{group.name}".lstrip("/")
        size = (self.path / path).stat().st_size
        return WrittenFile(group.file_id, path, size, len(group.rows))

    # ---- the metadata table

    def _index(self) -> None:
        """Build the metadata table, as Hudi does for the first commit."""
        table = self.open()
        bootstrap.ensure_metadata_table(table, TableLock(table.storage))
        table = self.open()
        metadata = HudiTable.at(table.storage.child(METADATA_DIR))
        cells = self._cells_of(list(self.groups.values()))
        self.indexed = self._row_cells()
        for partition, own in self.indexed.items():
            cells[partition] |= own
        for partition, own in self._partition_cells({g.part for g in self.groups.values()}).items():
            cells[partition] |= own
        files: list[WrittenFile] = []
        instant = "00000000000000001"
        for name in [name for name in SHARDS if name != FILES]:
            begin_groups(metadata, NewPartition(name, SHARDS[name]), instant)
            for number, own in enumerate(self._by_shard(name, cells[name])):
                content = io.BytesIO()
                hfile_writer.write(content, sorted(own.items()), RECORD_SCHEMA)
                files.append(self._base(name, number, instant, content.getvalue()))
        action = Action(metadata.storage, metadata.properties, instant, "deltacommit")
        action.request()
        action.start()
        action.complete(commit_record(2, files, "BULK_INSERT", {}), self._tick())
        add_definitions(table, [one for one in self._definitions.values() if one.name != BLOOMS])
        move_partitions(table, added=[name for name in SHARDS if name != FILES])

    def _base(self, partition: str, number: int, instant: str, content: bytes) -> WrittenFile:
        group = group_files.file_id(partition, number)
        path = f"{partition}/{group_files.base_file(group, '0-0-0', instant)}"
        (self.path / METADATA_DIR / path).write_bytes(content)
        return WrittenFile(group, path, len(content), 1)

    def _metadata_commit(self, instant: str, cells: Cells) -> None:
        table = self.open()
        metadata = HudiTable.at(table.storage.child(METADATA_DIR))
        files = []
        for partition, own in cells.items():
            for number, of_shard in enumerate(self._by_shard(partition, own)):
                content = self._block(instant, of_shard)
                if content:
                    group = group_files.file_id(partition, number)
                    name = group_files.log_file(group, "0-1-0", instant)
                    metadata.storage.write(f"{partition}/{name}", content)
                    path = f"{partition}/{name}"
                    files.append(WrittenFile(group, path, len(content), 1, is_log=True))
        action = Action(metadata.storage, metadata.properties, instant, "deltacommit")
        action.request()
        action.start()
        action.complete(commit_record(2, files, "UPSERT", {}), self._tick())

    def _block(self, instant: str, cells: Mapping[bytes, bytes | None]) -> bytes:
        written = sorted((key, value) for key, value in cells.items() if value is not None)
        gone = sorted(key for key, value in cells.items() if value is None)
        content = log_writer.records(instant, written) if written else b""
        return content + (log_writer.deletes(instant, gone) if gone else b"")

    def _by_shard(
        self, partition: str, cells: Mapping[bytes, bytes | None]
    ) -> list[dict[bytes, bytes | None]]:
        found: list[dict[bytes, bytes | None]] = [{} for _ in range(SHARDS[partition])]
        for key, value in cells.items():
            found[shard_of(partition, key)][key] = value
        return found

    @property
    def _definitions(self) -> dict[str, IndexDefinition]:
        every = (
            _definition(COLUMN_STATS, COLUMN_STATS, self.measured),
            _definition(BY_NAME, "secondary_index", ["name"]),
            _definition(BY_NUMBER, "secondary_index", ["intField"]),
            _definition(LOWERED, COLUMN_STATS, ["name"], "lower"),
            _definition(LOWERED_FILTER, BLOOMS, ["name"], "lower"),
            _definition(BLOOMS, BLOOMS, ()),
        )
        return {one.name: one for one in every}

    def _empty(self) -> Cells:
        return {name: {} for name in SHARDS}

    def _cells_of(self, groups: Sequence[Group]) -> Cells:
        """The entries of files."""
        cells = self._empty()
        sizes: dict[str, dict[str, int]] = {}
        for group in groups:
            written = self._written(group)
            sizes.setdefault(group.part, {})[group.name] = written.bytes
        for part, own in sizes.items():
            cells[FILES][partition_key(part).encode()] = payloads.file_list(own)
        if sizes:
            cells[FILES][b"__all_partitions__"] = payloads.partition_list(map(partition_key, sizes))
        table = self.open()
        slices = [FileSlice(g.part, g.file_id, "20260101000000000", g.name, ()) for g in groups]
        for name in (COLUMN_STATS, BLOOMS):
            extract = slice_entries(table, None, self._definitions[name], SHARDS[name])
            assert extract is not None
            for batch in extract(slices):
                pairs = zip(*(batch.column(at).to_pylist() for at in ("key", "value")), strict=True)
                cells[name] |= dict(pairs)
        for group in groups:
            self._expression_cells(group, cells)
        return cells

    def _expression_cells(self, group: Group, cells: Cells) -> None:
        lowered = [each["name"].lower() for each in group.rows.values()]
        key = column_stats_key("name", group.part, group.name).encode()
        entry = statistics_of(group.name, "name", pa.string(), lowered, is_tight=False)
        cells[LOWERED][key] = payloads.statistics(metadata_records.COLUMN_STATS, entry)
        builder = FilterBuilder(len(lowered))
        builder.add(ByteStrings.of([text.encode() for text in lowered]))
        key = bloom_filter_key(group.part, group.name).encode()
        cells[LOWERED_FILTER][key] = payloads.bloom_filter(SIMPLE, "", builder.text())

    def _partition_cells(self, parts: Iterable[str]) -> Cells:
        cells: Cells = {PARTITION_STATS: {}, LOWERED: {}}
        for part in parts:
            rows = [r for g in self.groups.values() if g.part == part for r in g.rows.values()]
            for column in self.measured:
                values = [each.get(column, str(each["id"])) for each in rows]
                type_ = TYPES.get(column, pa.string())
                entry = statistics_of(part, column, type_, values, is_tight=True)
                key = partition_stats_key(column, part).encode()
                cells[PARTITION_STATS][key] = payloads.statistics(
                    metadata_records.PARTITION_STATS, entry
                )
            lowered = [each["name"].lower() for each in rows]
            entry = statistics_of(part, "name", pa.string(), lowered, is_tight=True)
            key = expression_partition_stats_key("name", part).encode()
            cells[LOWERED][key] = payloads.statistics(metadata_records.PARTITION_STATS, entry)
        return cells

    def _row_cells(self) -> Cells:
        """The entries of all rows."""
        cells: Cells = {RECORD_INDEX: {}, BY_NAME: {}, BY_NUMBER: {}}
        for group in self.groups.values():
            place = payloads.location(group.part, group.file_id, 1_767_225_600_000)
            for key, each in group.rows.items():
                cells[RECORD_INDEX][str(key).encode()] = place
                for index, column in ((BY_NAME, "name"), (BY_NUMBER, "intField")):
                    value = None if each[column] is None else str(each[column])
                    cells[index][secondary_key(value, str(key)).encode()] = (
                        payloads.secondary_entry()
                    )
        return cells


def shard_of(partition: str, key: bytes) -> int:
    """The file group of a key."""
    text = key.decode()
    if partition in (BY_NAME, BY_NUMBER):
        text = secondary_prefix(split_secondary_key(text)[0])
    return shard(text, SHARDS[partition])


def _definition(
    name: str, type_: str, fields: Sequence[str], function: str = ""
) -> IndexDefinition:
    options = {"expr": function} if function else {}
    return IndexDefinition(name, type_, function or name, tuple(fields), options, "V2")

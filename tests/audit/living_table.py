"""A copy-on-write table that changes as writers change it, without Spark.

It has every kind of metadata partition, and each commit maintains all of them as Hudi's writers do:
a delta commit of the metadata table with the new entries, tombstones and delete blocks, before the
table's own commit. Entries come from the builders of indexes, so that the audit's own computations
are compared with others.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.mdt.bytes.keys import (
    bloom_filter_key,
    column_stats_key,
    expression_partition_stats_key,
    partition_stats_key,
    secondary_key,
    secondary_shard_key,
    shard,
    split_secondary_key,
)
from pyhudi_expr.mdt.changes import bootstrap
from pyhudi_expr.mdt.changes.index_definitions import IndexDefinition, add_definitions
from pyhudi_expr.mdt.changes.partitions import NewPartition, begin_groups, move_partitions
from pyhudi_expr.mdt.hfile import writer as hfile_writer
from pyhudi_expr.mdt.log import writer as log_writer
from pyhudi_expr.mdt.records import metadata_records, payloads
from pyhudi_expr.mdt.records.bloom_filter import (
    FOOTER_CONTENT,
    FOOTER_KIND,
    SIMPLE,
    FilterBuilder,
)
from pyhudi_expr.mdt.records.schema import RECORD_SCHEMA
from pyhudi_expr.mdt.records.value_types import value_type
from pyhudi_expr.mdt.store import file_group_names
from pyhudi_expr.mdt.store.compaction import compact_group
from pyhudi_expr.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.reading.slice_files import FileSlice
from pyhudi_expr.spark.entries import slice_entries
from pyhudi_expr.table import config_keys
from pyhudi_expr.table.hudi_names import (
    COLUMN_STATS,
    FILES,
    META_COLUMNS,
    METADATA_DIR,
    PARTITION_MARKER,
    PARTITION_STATS,
    RECORD_INDEX,
    RECORD_KEY,
)
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import TableLock
from pyhudi_expr.table.timeline.action_records import WrittenFile, commit_record
from pyhudi_expr.table.timeline.writer import Action

BY_NAME, BY_NUMBER = "secondary_index_by_name", "secondary_index_by_number"
LOWERED, LOWERED_FILTER = "expr_index_lowered", "expr_index_lowered_filter"
BLOOMS = "bloom_filters"
SHARDS = {FILES: 1, COLUMN_STATS: 2, PARTITION_STATS: 1, RECORD_INDEX: 2, BY_NAME: 2}
SHARDS |= {BY_NUMBER: 1, BLOOMS: 2, LOWERED: 1, LOWERED_FILTER: 1}
COLUMNS = ("id", "name", "intField", "score", "amount", "born")
_START = datetime(2026, 1, 1)
_AVRO = {
    "type": "record",
    "name": "living",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string"},
        {"name": "intField", "type": ["null", "int"]},
        {"name": "score", "type": ["null", "double"]},
        {
            "name": "amount",
            "type": [
                "null",
                {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            ],
        },
        {"name": "born", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "part", "type": "string"},
    ],
}
_TYPES = {
    "id": pa.int64(),
    "name": pa.string(),
    "intField": pa.int32(),
    "score": pa.float64(),
    "amount": pa.decimal128(9, 2),
    "born": pa.date32(),
    "part": pa.string(),
}

Row = dict[str, Any]
Cells = dict[str, dict[bytes, bytes | None]]
"""For each metadata partition the new values by key; None deletes the key."""


def row(key: int, random: Random, part: str) -> Row:
    """A row with values of every kind: nulls, NaN, negative numbers, texts beyond ASCII."""
    name = random.choice([f"Name {key}", f"näme {key}", f"back\\slash ${key}", "", "same"])
    return {
        "id": key,
        "name": name,
        "intField": random.choice([None, key, -key, 7]),
        "score": random.choice([None, 0.0, -0.0, key / 4, -1.5, float("nan")]),
        "amount": random.choice([None, Decimal(key) / 100, Decimal("-12.50")]),
        "born": random.choice([None, date(1990, 1, 1) + timedelta(days=key)]),
        "part": part,
    }


@dataclass
class Group:
    """A file group: its newest file, and the rows in it by key."""

    part: str
    file_id: str
    rows: dict[int, Row]
    name: str = ""


@dataclass
class LivingTable:
    """The table; its operations change the files and what is remembered here."""

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

    # ---- operations

    def begin(self, parts: Mapping[str, Sequence[Sequence[int]]], floats: bool = True) -> None:
        """Write the first commit: for each partition the keys of each of its files."""
        timeline = self.path / ".hoodie" / "timeline"
        timeline.mkdir(parents=True)
        lines = "".join(f"{k}={v}\n" for k, v in self._properties().items())
        (self.path / ".hoodie" / "hoodie.properties").write_text(lines)
        groups = [
            self._group(part, [row(key, self.random, part) for key in keys])
            for part, files in parts.items()
            for keys in files
        ]
        if not floats:
            for group in groups:
                for each in group.rows.values():
                    each["score"] = 1.0
        instant = self._tick()
        self._write(groups, instant)
        self._complete(instant, "commit", [self._written(group) for group in groups])
        self._index()

    def insert(self, part: str, keys: Iterable[int]) -> None:
        """Add a file with new rows."""
        fresh = [key for key in keys if self.where(key) is None]
        if fresh:
            group = self._group(part, [row(key, self.random, part) for key in fresh])
            self._commit([group])

    def update(self, keys: Iterable[int]) -> None:
        """Change rows: the files that hold them are written anew."""
        self._rewrite(keys, lambda group, key: row(key, self.random, group.part))

    def delete(self, keys: Iterable[int]) -> None:
        """Delete rows; a file may be left empty."""
        self._rewrite(keys, lambda _group, _key: None)

    def move(self, key: int, part: str) -> None:
        """Move a row to another partition."""
        group = self.where(key)
        if group is not None and group.part != part:
            del group.rows[key]
            target = self._group(part, [row(key, self.random, part)])
            self._commit([group, target])

    def replace_part(self, part: str) -> None:
        """Cluster a partition: all its rows are written to one new group."""
        old = [group for group in self.groups.values() if group.part == part]
        if old:
            rows = [each for group in old for each in group.rows.values()]
            new = self._group(part, rows)
            self._commit([new] if rows else [], replaced=old)

    def delete_part(self, part: str) -> None:
        """Delete a partition's file groups."""
        old = [group for group in self.groups.values() if group.part == part]
        if old:
            self._commit([], replaced=old)

    def clean(self) -> None:
        """Delete the files of older slices and of replaced groups."""
        gone = [*self.old_files, *((group.part, group.name) for group in self.replaced)]
        if not gone:
            return
        cells = self._empty()
        for part, name in gone:
            (self.path / part / name).unlink()
            for column in self.measured:
                key = column_stats_key(column, part, name).encode()
                cells[COLUMN_STATS][key] = payloads.deleted_statistics(
                    metadata_records.COLUMN_STATS, name, column
                )
            for filters in (BLOOMS, LOWERED_FILTER):
                key = bloom_filter_key(part, name).encode()
                cells[filters][key] = payloads.deleted_bloom_filter(SIMPLE, "")
        for part in {part for part, _ in gone}:
            names = [name for of, name in gone if of == part]
            cells[FILES][part.encode()] = payloads.file_list({}, names)
        instant = self._tick()
        self._metadata_commit(instant, cells)
        self._complete(instant, "clean", [])
        self.old_files, self.replaced = [], []

    def fail_to_write(self, part: str, keys: Iterable[int]) -> None:
        """A writer dies: its files are there, and its commit is not complete."""
        instant = self._tick()
        group = self._group(part, [row(key, self.random, part) for key in keys])
        del self.groups[group.file_id]
        for state in ("requested", "inflight"):
            (self.path / ".hoodie" / "timeline" / f"{instant}.commit.{state}").touch()
        self._write([group], instant)

    def compact_metadata(self) -> None:
        """Merge the log files of the metadata table."""
        metadata = MetadataTable.open(self.open())
        assert metadata is not None
        instant = self._tick()
        properties, storage = metadata.metadata.properties, metadata.metadata.storage
        for state in ("requested", "inflight"):
            name = f"{properties.timeline_dir}/{instant}.compaction.{state}"
            storage.write(name, b"")
        files = []
        for partition in sorted(metadata.partitions):
            for number, group in enumerate(metadata.groups(partition)):
                content = io.BytesIO()
                hfile_writer.write_batches(content, compact_group(group), RECORD_SCHEMA)
                files.append(self._base(partition, number, instant, content.getvalue()))
        action = Action(storage, properties, instant, "commit")
        action.complete(commit_record(2, files, "COMPACT", {}), self._tick())

    # ---- what is there

    def open(self) -> HudiTable:
        return HudiTable.open(str(self.path))

    def where(self, key: int) -> Group | None:
        return next((group for group in self.groups.values() if key in group.rows), None)

    @property
    def keys(self) -> list[int]:
        return [key for group in self.groups.values() for key in group.rows]

    # ---- writing

    def _properties(self) -> dict[str, str]:
        return {
            config_keys.TABLE_NAME: "living",
            config_keys.TABLE_TYPE: "COPY_ON_WRITE",
            config_keys.TABLE_VERSION: str(self.version),
            config_keys.TIMELINE_LAYOUT_VERSION: "2",
            config_keys.RECORDKEY_FIELDS: "id",
            config_keys.PARTITION_FIELDS: "part",
            config_keys.KEY_GENERATOR_TYPE: "SIMPLE",
            config_keys.POPULATE_META_FIELDS: "true",
            config_keys.CREATE_SCHEMA: json.dumps(_AVRO).replace(":", "\\:"),
        }

    def _tick(self) -> str:
        self.ticks += 1
        moment = _START + timedelta(seconds=self.ticks)
        return f"{moment:%Y%m%d%H%M%S}000"

    def _group(self, part: str, rows: Sequence[Row]) -> Group:
        file_id = f"{UUID(int=self.random.getrandbits(128), version=4)}-0"
        group = Group(part, file_id, {each["id"]: each for each in rows})
        self.groups[file_id] = group
        return group

    def _write(self, groups: Sequence[Group], instant: str) -> None:
        for group in groups:
            if group.name:
                self.old_files.append((group.part, group.name))
            folder = self.path / group.part
            folder.mkdir(exist_ok=True)
            (folder / PARTITION_MARKER).write_text("#partition metadata\npartitionDepth=1\n")
            group.name = f"{group.file_id}_0-{self.ticks}-0_{instant}.parquet"
            table = _table(group, instant)
            if self.padding:
                content = [self.random.randbytes(self.padding) for _ in range(len(table))]
                table = table.append_column("padding", pa.array(content, pa.binary()))
            pq.write_table(table, folder / group.name, row_group_size=3)

    def _written(self, group: Group) -> WrittenFile:
        path = f"{group.part}/{group.name}"
        size = (self.path / path).stat().st_size
        return WrittenFile(group.file_id, path, size, len(group.rows))

    def _complete(
        self,
        instant: str,
        action: str,
        files: Sequence[WrittenFile],
        replaced: Sequence[Group] = (),
    ) -> None:
        timeline = self.path / ".hoodie" / "timeline"
        if replaced:
            ids: dict[str, list[str]] = {}
            for group in replaced:
                ids.setdefault(group.part, []).append(group.file_id)
            content = json.dumps({"partitionToReplaceFileIds": ids}).encode()
        else:
            content = commit_record(2, files, "UPSERT", {})
        (timeline / f"{instant}_{self._tick()}.{action}").write_bytes(content)

    def _rewrite(self, keys: Iterable[int], change: Any) -> None:
        touched: dict[str, Group] = {}
        for key in keys:
            group = self.where(key)
            if group is None:
                continue
            touched[group.file_id] = group
            changed = change(group, key)
            if changed is None:
                del group.rows[key]
            else:
                group.rows[key] = changed
        if touched:
            self._commit(list(touched.values()))

    def _commit(self, groups: Sequence[Group], replaced: Sequence[Group] = ()) -> None:
        before = self.indexed
        for group in replaced:
            self.groups.pop(group.file_id)
            self.replaced.append(group)
        instant = self._tick()
        self._write(groups, instant)
        cells = self._cells_of(groups)
        parts = {group.part for group in (*groups, *replaced)}
        for partition, own in self._partition_cells(parts).items():
            cells[partition] |= own
        self.indexed = self._row_cells()
        for partition, own in self.indexed.items():
            known = before[partition]
            changed = {key: value for key, value in own.items() if known.get(key) != value}
            gone: dict[bytes, bytes | None] = dict.fromkeys(known.keys() - own.keys())
            if partition != RECORD_INDEX:
                gone = dict.fromkeys(gone, payloads.secondary_tombstone())
            cells[partition] |= {**changed, **gone}
        action = "replacecommit" if replaced else "commit"
        self._metadata_commit(instant, cells)
        self._complete(instant, action, [self._written(group) for group in groups], replaced)

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
        group = file_group_names.file_id(partition, number)
        path = f"{partition}/{file_group_names.base_file(group, '0-0-0', instant)}"
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
                    group = file_group_names.file_id(partition, number)
                    name = file_group_names.log_file(group, "0-1-0", instant)
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
            cells[FILES][part.encode()] = payloads.file_list(own)
        if sizes:
            cells[FILES][b"__all_partitions__"] = payloads.partition_list(sizes)
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
        entry = _statistics(group.name, "name", pa.string(), lowered, is_tight=False)
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
                type_ = _TYPES.get(column, pa.string())
                entry = _statistics(part, column, type_, values, is_tight=True)
                key = partition_stats_key(column, part).encode()
                cells[PARTITION_STATS][key] = payloads.statistics(
                    metadata_records.PARTITION_STATS, entry
                )
            lowered = [each["name"].lower() for each in rows]
            entry = _statistics(part, "name", pa.string(), lowered, is_tight=True)
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
        text = secondary_shard_key(split_secondary_key(text)[0])
    return shard(text, SHARDS[partition])


def _definition(
    name: str, type_: str, fields: Sequence[str], function: str = ""
) -> IndexDefinition:
    options = {"expr": function} if function else {}
    return IndexDefinition(name, type_, function or name, tuple(fields), options, "V2")


def _table(group: Group, instant: str) -> pa.Table:
    rows = list(group.rows.values())
    keys = [str(each["id"]) for each in rows]
    meta = {name: [""] * len(rows) for name in META_COLUMNS}
    meta |= {
        "_hoodie_commit_time": [instant] * len(rows),
        "_hoodie_record_key": keys,
        "_hoodie_partition_path": [group.part] * len(rows),
        "_hoodie_file_name": [group.name] * len(rows),
    }
    columns = {name: pa.array(values, pa.string()) for name, values in meta.items()}
    columns |= {
        name: pa.array([each[name] for each in rows], type_) for name, type_ in _TYPES.items()
    }
    builder = FilterBuilder(len(keys))
    builder.add(ByteStrings.of([key.encode() for key in keys]))
    footer = {FOOTER_CONTENT: builder.text(), FOOTER_KIND: SIMPLE.encode()}
    return pa.table(columns).replace_schema_metadata(footer)


def _statistics(
    described: str, column: str, type_: pa.DataType, values: Sequence[Any], *, is_tight: bool
) -> payloads.Statistics:
    """Statistics by Python's own comparison, with NaN above all numbers."""
    present = sorted((value for value in values if value is not None), key=_rank)
    kind = value_type(type_, "V2")
    assert kind is not None
    return payloads.Statistics(
        described=described,
        column=column,
        value_type=kind,
        bounds=(_bound(present[0]), _bound(present[-1])) if present else None,
        value_count=len(values),
        null_count=len(values) - len(present),
        size=1,
        uncompressed_size=1,
        is_tight=is_tight,
    )


def _rank(value: Any) -> Any:
    if isinstance(value, float):
        return (True, 0.0) if value != value else (False, value)
    return value.encode() if isinstance(value, str) else value


def _bound(value: Any) -> Any:
    match value:
        case str():
            return value.encode()
        case Decimal():
            return int(value.scaleb(2))
        case date():
            return (value - date(1970, 1, 1)).days
    return value

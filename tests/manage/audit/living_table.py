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
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, FILES, PARTITION_MARKER, RECORD_INDEX
from pyhudi_expr.tables.mdt.bytes.keys import bloom_filter_key, column_stats_key, partition_key
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.records import metadata_records, payloads
from pyhudi_expr.tables.mdt.records.bloom_filter import SIMPLE
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.compaction import compact_group
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.timeline_writer import Action, WrittenFile, commit_record
from tests.manage.audit.living_metadata import LivingMetadata
from tests.manage.audit.living_rows import (
    AVRO,
    BLOOMS,
    LOWERED_FILTER,
    Group,
    Row,
    parquet_table,
    row,
)
from tests.tables.mdt.records.tombstones import deleted_bloom_filter, deleted_statistics


@dataclass
class LivingTable(LivingMetadata):
    """The table; its operations change the files and what is remembered here."""

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
                cells[COLUMN_STATS][key] = deleted_statistics(
                    metadata_records.COLUMN_STATS, name, column
                )
            for filters in (BLOOMS, LOWERED_FILTER):
                key = bloom_filter_key(part, name).encode()
                cells[filters][key] = deleted_bloom_filter(SIMPLE, "")
        for part in {part for part, _ in gone}:
            names = [name for of, name in gone if of == part]
            cells[FILES][partition_key(part).encode()] = payloads.file_list({}, names)
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

    def where(self, key: int) -> Group | None:
        return next((group for group in self.groups.values() if key in group.rows), None)

    @property
    def keys(self) -> list[int]:
        return [key for group in self.groups.values() for key in group.rows]

    # ---- writing

    def _properties(self) -> dict[str, str]:
        return {
            hudi_names.TABLE_NAME: "living",
            hudi_names.TABLE_TYPE: "COPY_ON_WRITE",
            hudi_names.TABLE_VERSION: str(self.version),
            hudi_names.TIMELINE_LAYOUT_VERSION: "2",
            hudi_names.RECORDKEY_FIELDS: "id",
            hudi_names.PARTITION_FIELDS: "part",
            hudi_names.KEY_GENERATOR_TYPE: "SIMPLE",
            hudi_names.POPULATE_META_FIELDS: "true",
            hudi_names.CREATE_SCHEMA: json.dumps(AVRO).replace(":", "\\:"),
        }

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
            table = parquet_table(group, instant)
            if self.padding:
                content = [self.random.randbytes(self.padding) for _ in range(len(table))]
                table = table.append_column("padding", pa.array(content, pa.binary()))
            pq.write_table(table, folder / group.name, row_group_size=3)

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

"""Bringing the extension's indexes to the table's newest snapshot, and adding new ones to it.

Only file slices that changed since the last time are read: those that are not covered
(`mdt.coverage`). From each a task takes the record keys and the indexed values, and puts them into
the reverse mapping (`spark.reverse`). Then

* an index that is there gets one log file for each of its file groups that change: of keys and
  values what `key_changes` finds between the old slices and the new ones, of statistics and filters
  the entries of the new files (those of files that are gone are never asked for);
* a new index gets its base files, of keys and values from the reverse mapping of all slices.

All indexes of an extension cover the same slices, and all that is written becomes visible at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timezone
from functools import cached_property, reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from pyhudi_expr.mdt import extension
from pyhudi_expr.mdt.coverage import Coverage, may_be_covered
from pyhudi_expr.mdt.extension import Change, Extension
from pyhudi_expr.mdt.index_action import NewPartition
from pyhudi_expr.mdt.index_definitions import IndexDefinition
from pyhudi_expr.mdt.reader import RECORD_INDEX
from pyhudi_expr.spark.entries import entries
from pyhudi_expr.spark.entries.record_index import instant_ms
from pyhudi_expr.spark.key_changes import (
    IndexedSlice,
    KeyIndexes,
    changer,
    is_secondary,
    new_entries,
    rows_of,
)
from pyhudi_expr.spark.logs import LOG_ENTRIES, spread_over, write_logs
from pyhudi_expr.spark.reverse import ReverseFiles, covered_slice_name, slice_name
from pyhudi_expr.spark.shards import ENTRIES, ShardTarget, write_shards
from pyhudi_expr.spark.slice_keys import SliceKeys
from pyhudi_expr.spark.slices import FileSlice, read_slices
from pyhudi_expr.table.action_records import WrittenFile
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing

_ROWS_OF_TASK = 1_000_000
"""About how many rows a task compares in its memory."""
_CHANGED = "name string, partition string, file_id string, written long, is_new boolean"

_Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Refresh:
    """What is to be done in one change.

    listing: the slices that the indexes can cover. before: the extension until now.
    """

    spark: SparkSession
    table: HudiTable
    listing: FileListing
    change: Change
    new: tuple[NewPartition, ...]

    @staticmethod
    def of(
        spark: SparkSession,
        table: HudiTable,
        listing: FileListing,
        change: Change,
        new: Sequence[tuple[IndexDefinition, int]],
    ) -> Refresh:
        """listing: of the table's snapshot; new: definitions and numbers of shards."""
        covered = listing.some(may_be_covered(table, listing))
        partitions = tuple(NewPartition(d.name, shards, d) for d, shards in new)
        return Refresh(spark, table, covered, change, partitions)

    def run(self) -> tuple[list[WrittenFile], Coverage]:
        """Writes all files; what they are, and what they cover. Raises HudiError."""
        for partition in self.new:
            extension.begin_partition(self.change, partition)
        rows = self._read()
        coverage = Coverage.of(self.table, self.listing, rows)
        files = self._logs(rows)
        for definition, shards in self._new_definitions():
            files += self._bases(definition, shards)
        return files, coverage

    def forget(self) -> None:
        """Deletes the reverse mapping of slices that are not covered any more; after the change."""
        for definition in self._key_definitions(self._old):
            self._reverse.forget(definition.name, [one.name for one in self._removed])

    def _read(self) -> _Rows:
        """Fills the reverse mapping; for each slice its number of rows, -1: not counted."""
        old, new = (self._key_definitions(d) for d in (self._old, [*self._new]))
        added = self._added
        rows = self._before.rows_of(self.table, self.listing)
        if old or new:
            self._read_some(rows, added, [*old, *new])
        if new:
            self._read_some(rows, ~added, new)
        return rows

    def _read_some(
        self, rows: _Rows, chosen: npt.NDArray[np.bool_], definitions: Sequence[IndexDefinition]
    ) -> None:
        if not chosen.any():
            return
        listing = self.listing.some(chosen)
        reader = SliceKeys.of(self.table, listing.instant, definitions)
        files = self._reverse
        found = read_slices(
            self.spark, listing, lambda one: reader.stored(files, one), SliceKeys.COUNTED
        )
        counted = {(row.partition, row.file_id): row.rows for row in found.collect()}
        partitions = listing.partitions.take(pa.array(listing.slice_partition)).to_pylist()
        groups = zip(partitions, listing.slice_file_id.to_pylist(), strict=True)
        rows[chosen] = [counted[group] for group in groups]

    def _logs(self, rows: _Rows) -> list[WrittenFile]:
        frames = []
        added, removed = self._added, self._removed
        if self._key_definitions(self._old) and (added.any() or removed):
            frames.append(self._changed_keys(int(rows[added].sum())))
        if added.any():
            fresh = self.listing.some(added)
            for definition in self._old:
                if not _is_of_keys(definition):
                    shards = self._shards[definition.name]
                    frame = entries(self.spark, self.table, fresh, definition, shards)
                    named = frame.select(
                        sql.lit(definition.name).alias("partition"), "shard", "key", "value"
                    )
                    frames.append(named)
        if not frames:
            return []
        joined = reduce(DataFrame.unionByName, frames)
        tasks = _tasks(2 * max(int(rows[added].sum()), 0))
        if not all(map(_is_of_keys, self._old)):
            # Statistics are read where their entries are written, if that is one task.
            tasks = max(tasks, self.spark.sparkContext.defaultParallelism)
        return write_logs(joined, tasks, self.change.storage.uri, self.change.instant)

    def _changed_keys(self, new_rows: int) -> DataFrame:
        indexes = KeyIndexes.of(self._key_definitions(self._old), self._shards)
        files = self._reverse
        slices = [*self._removed, *self._added_slices]
        parallelism = self.spark.sparkContext.defaultParallelism
        dealt = self.spark.sparkContext.parallelize(
            [(s.name, s.partition, s.file_id, s.written, s.is_new) for s in slices],
            min(len(slices), 4 * parallelism),
        )

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for row in batch.to_pylist():
                    yield rows_of(files, indexes, IndexedSlice(**row))

        texts = "".join(f", `{name}` string" for name in indexes.by_value)
        schema = f"key string, place string, written long, is_new boolean{texts}"
        rows = self.spark.createDataFrame(dealt, _CHANGED).mapInArrow(read, schema)
        tasks = _tasks(2 * new_rows)
        return spread_over(rows, tasks, "key").mapInArrow(changer(indexes), LOG_ENTRIES)

    def _bases(self, definition: IndexDefinition, shards: int) -> list[WrittenFile]:
        if _is_of_keys(definition):
            frame = self._all_entries(definition)
        else:
            frame = entries(self.spark, self.table, self.listing, definition, shards)
        target = ShardTarget(self.change.storage.uri, definition.name, self.change.instant)
        return [
            WrittenFile(one.path.rpartition("/")[2].split("_")[0], one.path, one.bytes, one.records)
            for one in write_shards(frame, shards, target)
        ]

    def _all_entries(self, definition: IndexDefinition) -> DataFrame:
        wanted = [definition] if is_secondary(definition) else []
        indexes = KeyIndexes.of(wanted, self._shards)
        files, zone, partition = self._reverse, self._zone, definition.name

        def extract(one: FileSlice) -> Iterator[pa.RecordBatch]:
            written = instant_ms(one.base_instant, zone)
            found = IndexedSlice(slice_name(one), one.partition, one.file_id, written, True)
            yield new_entries(indexes, partition, rows_of(files, indexes, found), written)

        return read_slices(self.spark, self.listing, extract, ENTRIES)

    @property
    def _before(self) -> Coverage:
        return Coverage() if self.change.before is None else self.change.before.coverage

    @property
    def _old(self) -> list[IndexDefinition]:
        before = self.change.before
        return [] if before is None else list(before.definitions.values())

    @property
    def _new(self) -> list[IndexDefinition]:
        return [definition for definition, _ in self._new_definitions()]

    def _new_definitions(self) -> Iterator[tuple[IndexDefinition, int]]:
        for partition in self.new:
            if partition.definition is not None:
                yield partition.definition, partition.shards

    @cached_property
    def _shards(self) -> Mapping[str, int]:
        """The number of file groups of each index, old or new."""
        found = {partition.name: partition.shards for partition in self.new}
        before: Extension | None = self.change.before
        if before is not None:
            found |= {name: len(before.records.groups(name)) for name in before.partitions}
        return found

    @property
    def _reverse(self) -> ReverseFiles:
        return ReverseFiles(self.table.base_path)

    @property
    def _zone(self) -> timezone | None:
        return timezone.utc if self.table.properties.timeline_zone == "UTC" else None

    @cached_property
    def _added(self) -> npt.NDArray[np.bool_]:
        return ~self._before.known(self.table, self.listing)

    @cached_property
    def _added_slices(self) -> list[IndexedSlice]:
        fresh = Coverage.of(self.table, self.listing.some(self._added), _no_rows(self._added))
        return self._indexed(fresh.slices, True)

    @cached_property
    def _removed(self) -> list[IndexedSlice]:
        slices = self._before.slices
        return self._indexed(
            slices.filter(pa.array(self._before.missing_from(self.listing))), False
        )

    def _indexed(self, slices: pa.Table, is_new: bool) -> list[IndexedSlice]:
        return [
            IndexedSlice(
                covered_slice_name(row["slice"]),
                row["partition"],
                row["file_id"],
                instant_ms(row["base_instant"], self._zone),
                is_new,
            )
            for row in slices.to_pylist()
        ]

    def _key_definitions(self, definitions: Sequence[IndexDefinition]) -> list[IndexDefinition]:
        return [definition for definition in definitions if _is_of_keys(definition)]


def _is_of_keys(definition: IndexDefinition) -> bool:
    return definition.name == RECORD_INDEX or is_secondary(definition)


def _tasks(rows: int) -> int:
    """How many tasks compare so many rows, or write what comes of them."""
    return 1 + rows // _ROWS_OF_TASK


def _no_rows(chosen: npt.NDArray[np.bool_]) -> _Rows:
    return np.zeros(int(chosen.sum()), np.int64)

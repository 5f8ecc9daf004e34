"""Bring the extension's indexes to the table's newest snapshot, and add new ones.

Only file slices that changed since the last time are read: those that are not covered
(`mdt.extension`). From each a task takes the record keys and the indexed values, and
writes them to the reverse mapping (`indexing.reverse_mapping`). Then

* an existing index gets one log file for each of its file groups that change: for keys and values
  the differences that `key_changes` finds between the old slices and the new ones, for statistics
  and filters the entries of the new files (those of removed files are never looked up);
* a new index gets its base files, for keys and values from the reverse mapping of all slices.

Slices whose log files cannot be merged are left out. Statistics and filters are of base files only:
other files have no entry, so they are read.

All indexes of an extension cover the same slices, and everything that is written becomes visible at
once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timezone

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.manage.indexing.reverse_mapping import (
    ReverseMapping,
    covered_slice_name,
    slice_name,
)
from pyhudi_expr.spark.builds.key_changes import (
    DELETED,
    IndexedSlice,
    KeyIndexes,
    SliceKeys,
    changer,
    new_entries,
    rows_of,
)
from pyhudi_expr.spark.entries import Partition, file_entries, slice_entries
from pyhudi_expr.spark.entries.key_entries import counted_through
from pyhudi_expr.spark.entries.secondary_index import instant_ms
from pyhudi_expr.spark.jobs.batch_runner import Batches, Row, SparkBatches, each_item, runner
from pyhudi_expr.spark.jobs.log_files import (
    LOG_ENTRIES,
    LogTarget,
    as_log_entries,
    deletions,
    write_logs,
)
from pyhudi_expr.spark.jobs.shard_writer import ENTRIES, ShardTarget, write_shards
from pyhudi_expr.spark.jobs.slice_frames import Extract, of_slices, read_slices
from pyhudi_expr.tables.hudi_names import COLUMN_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt import extension_changes as extension
from pyhudi_expr.tables.mdt.changes.partitions import NewPartition
from pyhudi_expr.tables.mdt.extension import Coverage, may_be_covered
from pyhudi_expr.tables.mdt.extension_changes import Change, Extension
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.store.group_files import has_rows
from pyhudi_expr.tables.slices.slice_files import FileSlice, slice_table
from pyhudi_expr.tables.timeline_writer import WrittenFile

_ROWS_OF_TASK = 1_000_000
"""About how many rows a task compares in its memory."""
_ROW_BYTES = 100
"""About how many bytes such a row has."""
_SLICES_OF_TASK = 250
"""Whose statistics or filters a task writes, from its memory."""

_UNREADABLE = -2
"""Instead of a number of rows: the slice is left out, so its files are kept."""


@dataclass(frozen=True)
class RefreshResult:
    """What a change wrote, and what it covers.

    Attributes:
        problems: Why slices were left out, one reason for each.
    """

    files: list[WrittenFile]
    coverage: Coverage
    problems: tuple[str, ...]


@dataclass(frozen=True)
class ExtensionRefresh:
    """The work of one change.

    Attributes:
        listing: The slices that the indexes can cover.
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
    ) -> ExtensionRefresh:
        """Prepare a change.

        Args:
            spark: The session.
            table: The table.
            listing: The slices of its snapshot.
            change: The change.
            new: Definitions and numbers of shards of new indexes.
        """
        covered = listing.some(may_be_covered(table, listing))
        partitions = tuple(NewPartition(d.name, shards, d) for d, shards in new)
        return ExtensionRefresh(spark, table, covered, change, partitions)

    def run(self) -> RefreshResult:
        """Write all files, and return the result.

        Raises:
            HudiError: The change failed.
        """
        for partition in self.new:
            extension.begin_partition(self.change, partition)
        rows, problems = self._read()
        readable = rows != _UNREADABLE
        rest = self if readable.all() else replace(self, listing=self.listing.some(readable))
        return rest._refreshed(rows[readable], problems)

    def _refreshed(self, rows: Int64Array, problems: list[str]) -> RefreshResult:
        coverage = Coverage.of(self.table, self.listing, rows)
        files = self._logs(rows)
        files += self._bases()
        return RefreshResult(files, coverage, tuple(problems))

    def forget(self) -> None:
        """Delete the reverse mapping of slices that are not covered any more; after the change."""
        for definition in self._key_definitions(self._old):
            self._reverse.forget(definition.name, [one.name for one in self._removed])

    def _read(self) -> tuple[Int64Array, list[str]]:
        """Write the reverse mapping.

        Returns:
            The number of rows of each slice (-1: not counted, or _UNREADABLE), and the reasons.
        """
        old, new = (self._key_definitions(d) for d in (self._old, [*self._new]))
        added = self._added
        rows = self._before.rows_of(self.table, self.listing)
        problems: list[str] = []
        if old or new:
            problems += self._read_some(rows, added, [*old, *new])
        if new:
            problems += self._read_some(rows, ~added, new)
        return rows, problems

    def _read_some(
        self, rows: Int64Array, chosen: BoolArray, definitions: Sequence[IndexDefinition]
    ) -> list[str]:
        if not chosen.any():
            return []
        listing = self.listing.some(chosen)
        reader = SliceKeys.of(self.table, listing.instant, definitions)
        files = self._reverse
        read = of_slices(each_item(lambda one: reader.stored(files, one)))
        way = runner(self.spark, _bytes(listing))
        found = way.each(slice_table(listing), read, SliceKeys.COUNTED).rows()
        counted = {
            (row["partition"], row["file_id"]): row["rows"]
            if row["problem"] is None
            else _UNREADABLE
            for row in found
        }
        partitions = listing.partitions.take(listing.slice_partition).to_pylist()
        groups = zip(partitions, listing.slice_file_id.to_pylist(), strict=True)
        rows[chosen] = [counted[group] for group in groups]
        return [row["problem"] for row in found if row["problem"] is not None]

    def _logs(self, rows: Int64Array) -> list[WrittenFile]:
        files: list[WrittenFile] = []
        added = self._added.any()
        if self._key_definitions(self._old) and (added or self._removed):
            gone = self._before.slices.filter(self._is_removed).column("rows")
            compared = int(rows[self._added].sum()) + (pc.sum(gone).as_py() or 0)
            files += self._changed_keys([*self._removed, *self._added_slices], compared)
        if added:
            files += self._new_entries()
        return files

    def _changed_keys(self, slices: Sequence[IndexedSlice], rows: int) -> list[WrittenFile]:
        """Write the logs of keys and values, given the rows of the slices."""
        indexes = KeyIndexes.of(self._key_definitions(self._old), self._shards)
        files = self._reverse

        def read(row: Row) -> Iterator[pa.RecordBatch]:
            return rows_of(files, indexes, IndexedSlice(**row))

        items = pa.Table.from_pylist([asdict(one) for one in slices])
        texts = "".join(f", `{name}` string" for name in indexes.secondary)
        schema = f"key string, place string, written long, is_new boolean{texts}"
        tasks = 1 + rows // _ROWS_OF_TASK
        compared = runner(self.spark, rows * _ROW_BYTES).each(items, each_item(read), schema)
        changed = compared.together(tasks, "key").then(changer(indexes), LOG_ENTRIES)
        return self._written(changed, tasks)

    def _new_entries(self) -> list[WrittenFile]:
        """Write the logs of statistics and filters."""
        fresh = self.listing.some(self._added).base_files_only()
        extracts: dict[str, Extract] = {}
        parts: list[Batches] = []
        for definition in self._old:
            if not has_rows(definition.name):
                name, shards = definition.name, self._shards[definition.name]
                extract = slice_entries(self.table, fresh.instant, definition, shards)
                if extract is not None:
                    extracts[name] = extract
                else:
                    frame = file_entries(self.spark, self.table, fresh, definition, shards)
                    value = sql.col("value")
                    if _is_added_up(definition):
                        value = sql.explode(sql.array(sql.lit(DELETED), value)).alias("value")
                    named = sql.lit(name).alias("partition"), "shard", "key", value
                    parts.append(SparkBatches(frame.select(*named)))

        added_up = frozenset(d.name for d in self._old if _is_added_up(d))

        def read(slices: Iterable[FileSlice]) -> Iterator[pa.RecordBatch]:
            own = list(slices)
            for name, extract in extracts.items():
                for batch in extract(own):
                    if name in added_up:
                        yield as_log_entries(name, deletions(batch))
                    yield as_log_entries(name, batch)

        if extracts:
            way = runner(self.spark, _bytes(fresh))
            parts.append(way.each(slice_table(fresh), of_slices(read), LOG_ENTRIES))
        tasks = 1 + fresh.num_slices // _SLICES_OF_TASK
        return [file for part in parts for file in self._written(part, tasks)]

    def _written(self, entries: Batches, tasks: int) -> list[WrittenFile]:
        instant = self.change.instant
        return write_logs(entries, tasks, LogTarget(self.change.storage.uri, instant, instant))

    def _bases(self) -> list[WrittenFile]:
        """Write the base files of new indexes; those of keys and values together."""
        new = list(self._new_definitions())
        of_keys = [(definition, n) for definition, n in new if has_rows(definition.name)]
        files = self._base_files(self._all_entries(of_keys), of_keys) if of_keys else []
        for definition, n in new:
            if not has_rows(definition.name):
                bases = self.listing.base_files_only()
                frame = file_entries(self.spark, self.table, bases, definition, n)
                files += self._base_files(frame, [(definition, n)])
        return files

    def _base_files(self, frame: DataFrame, partitions: Sequence[Partition]) -> list[WrittenFile]:
        uri, instant = self.change.storage.uri, self.change.instant
        targets = [ShardTarget(uri, definition.name, instant, n) for definition, n in partitions]
        return [written.file for written in write_shards(frame, targets)]

    def _all_entries(self, partitions: Sequence[Partition]) -> DataFrame:
        """Return the entries of all slices in new indexes, whose shards are counted through."""
        names = [definition.name for definition, _ in partitions]
        indexes = KeyIndexes.of([definition for definition, _ in partitions], self._shards)
        files, zone = self._reverse, self._zone

        def extract(one: FileSlice) -> Iterator[pa.RecordBatch]:
            written = instant_ms(one.base_instant, zone)
            found = IndexedSlice(slice_name(one), one.partition, one.file_id, written, True)
            for rows in rows_of(files, indexes, found):
                parts = (new_entries(indexes, name, rows, written) for name in names)
                counts = (indexes.shards[name] for name in names)
                yield from counted_through(list(zip(parts, counts, strict=True)))

        return read_slices(self.spark, self.listing, each_item(extract), ENTRIES)

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

    @computed_once
    def _shards(self) -> Mapping[str, int]:
        """The number of file groups of each index, old or new."""
        found = {partition.name: partition.shards for partition in self.new}
        before: Extension | None = self.change.before
        if before is not None:
            found |= {name: len(before.records.groups(name)) for name in before.partitions}
        return found

    @property
    def _reverse(self) -> ReverseMapping:
        return ReverseMapping(self.table.base_path)

    @property
    def _zone(self) -> timezone | None:
        return timezone.utc if self.table.properties.timeline_zone == "UTC" else None

    @computed_once
    def _added(self) -> BoolArray:
        return ~self._before.covered(self.table, self.listing)

    @computed_once
    def _added_slices(self) -> list[IndexedSlice]:
        fresh = Coverage.of(self.table, self.listing.some(self._added), _no_rows(self._added))
        return self._indexed(fresh.slices, True)

    @computed_once
    def _is_removed(self) -> pa.BooleanArray:
        """Return for each slice that was covered whether it is gone."""
        return pa.array(self._before.missing_from(self.listing))

    @computed_once
    def _removed(self) -> list[IndexedSlice]:
        return self._indexed(self._before.slices.filter(self._is_removed), False)

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
        return [definition for definition in definitions if has_rows(definition.name)]


def _is_added_up(definition: IndexDefinition) -> bool:
    """Return whether a second entry of a file would be added to the first, with its counts.

    There may be a second one, as files come back by rollbacks, and stay when log files are added to
    them.
    """
    return definition.type == COLUMN_STATS


def _bytes(listing: FileListing) -> int:
    return int(listing.file_size.sum())


def _no_rows(chosen: BoolArray) -> Int64Array:
    return np.zeros(int(chosen.sum()), np.int64)

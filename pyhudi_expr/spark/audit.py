"""Audit the indexes of rows and of functions in Spark's tasks, for large tables.

The rows of file slices and the entries of indexes become hashes, in the tasks. Those of one record
key meet in one task, which compares them as `pyhudi_expr.manage.audit` does in one process. The
driver gets only counts and some examples of what is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Row as SparkRow

from pyhudi_expr.arrays import Int32Array, Int64Array, arrow_schema_of
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.manage.audit.expressions import check_results
from pyhudi_expr.manage.audit.findings import Fault, Finding
from pyhudi_expr.manage.audit.key_places import (
    KeyPlaces,
    PlacedKeys,
    check_coverage,
    place_findings,
    with_trust,
)
from pyhudi_expr.manage.audit.runner import RowChecks, row_reader
from pyhudi_expr.manage.audit.scope import AuditedRecords, AuditedTable
from pyhudi_expr.manage.audit.slice_keys import (
    EXAMPLES,
    RowEntries,
    RowFault,
    RowReader,
    SliceNames,
    hashed,
)
from pyhudi_expr.manage.audit.value_entries import IndexedValues, ValueEntries, value_findings
from pyhudi_expr.spark.entries import file_entries
from pyhudi_expr.spark.jobs.batch_runner import Read, Row, SparkRunner, Step
from pyhudi_expr.spark.jobs.executor_archive import with_storage_options
from pyhudi_expr.spark.jobs.job_errors import translate_spark_errors
from pyhudi_expr.tables.hudi_names import (
    BLOOM_FILTERS,
    EXPRESSION_INDEX_PREFIX,
    RECORD_INDEX,
    SECONDARY_INDEX_PREFIX,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.keys import Hashes
from pyhudi_expr.tables.mdt.extension_changes import Extension
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.slices.slice_files import slice_of, slice_table

_ROWS, _ENTRIES, _UNREAD, _ROWS_OF_OPTIONAL = 0, 1, 2, 3
"""Sides of the comparison; rows whose entries are optional are a side of their own."""
_HASHES = "index int, side int, slice int, key long, entry long"
_HASHES_SCHEMA = arrow_schema_of(
    [
        ("index", pa.int32()),
        ("side", pa.int32()),
        ("slice", pa.int32()),
        ("key", pa.int64()),
        ("entry", pa.int64()),
    ]
)
_FAULTS = "index int, fault string, slice int, count long, examples array<long>, ours boolean"
_FAULTS_SCHEMA = arrow_schema_of(
    [
        ("index", pa.int32()),
        ("fault", pa.string()),
        ("slice", pa.int32()),
        ("count", pa.int64()),
        ("examples", pa.list_(pa.int64())),
        ("ours", pa.bool_()),
    ]
)
_COUNT_OF_ROWS, _COUNT_OF_ENTRIES, _FAILED = "rows", "entries", "unread"
_BYTES_OF_TASK = 64 << 20
"""Of files and indexes, stored, whose hashes one task compares."""


def row_checks(spark: SparkSession) -> RowChecks:
    """Return the checks of rows for `pyhudi_expr.manage.audit.runner.audit`."""

    def check(
        records: AuditedRecords,
        table: AuditedTable,
        partitions: Sequence[str],
        unchecked: list[str],
    ) -> Iterator[Finding]:
        with translate_spark_errors():
            yield from _of_rows(spark, records, table, partitions, unchecked)
            yield from _of_functions(spark, records, table, partitions, unchecked)

    return check


def _of_rows(
    spark: SparkSession,
    records: AuditedRecords,
    table: AuditedTable,
    partitions: Sequence[str],
    unchecked: list[str],
) -> Iterator[Finding]:
    secondary = [one for one in partitions if one.startswith(SECONDARY_INDEX_PREFIX)]
    if not (secondary or RECORD_INDEX in partitions) or not records.slices.num_slices:
        return
    reader = row_reader(records, table, secondary, unchecked)
    if reader is None:
        return
    indexes = [RECORD_INDEX] if RECORD_INDEX in partitions else []
    comparison = _Comparison(records, table.table, reader, (*indexes, *reader.values))
    found = comparison.run(spark)
    names = comparison.names
    unchecked += [
        f"{names.slices[at].name}: its rows cannot be read" for at in sorted(found.unread)
    ]
    extension = Extension.open(table.table) if records.store is Store.EXTENSION else None
    if extension is not None:
        yield from check_coverage(records, table, extension, names, found.rows, found.unread)
    for number, index in enumerate(comparison.indexes):
        faults = found.faults[number]
        if index == RECORD_INDEX:
            trusted = with_trust(faults, found.rows == found.entries)
            yield from place_findings(records, reader, names, trusted)
        else:
            yield from value_findings(records, index, reader, names, faults)


@dataclass(frozen=True)
class _Compared:
    """What the tasks found.

    Attributes:
        faults: By the numbers of indexes.
        rows: The number of rows of each slice.
        entries: The number of entries of the record index that name each slice.
        unread: The slices that cannot be read.
    """

    faults: dict[int, list[RowFault]]
    rows: Int64Array
    entries: Int64Array
    unread: frozenset[int]


@dataclass(frozen=True)
class _Comparison:
    """The comparison of rows with indexes of them."""

    records: AuditedRecords
    table: HudiTable
    reader: RowReader
    indexes: tuple[str, ...]

    @property
    def names(self) -> SliceNames:
        return SliceNames.of(self.records.slices)

    def run(self, spark: SparkSession) -> _Compared:
        """Compare all, in Spark's tasks."""
        both = self._of_slices(spark).union(self._of_indexes(spark))
        tasks = 1 + self._size() // _BYTES_OF_TASK
        together = both.repartition(max(tasks, spark.sparkContext.defaultParallelism), "key")
        step = _comparing(self.records.is_whole, RECORD_INDEX in self.indexes)
        return self._collected(together.mapInArrow(step, _FAULTS).collect())

    def _size(self) -> int:
        stored = sum(map(self.records.records.stored_bytes, self.indexes))
        return stored + self.records.slices.total_bytes

    def _of_slices(self, spark: SparkSession) -> DataFrame:
        items = slice_table(self.records.slices)
        numbered = items.append_column("number", pa.array(np.arange(len(items)), pa.int32()))
        read = _slice_hashes(self.reader, self.indexes)
        return SparkRunner(spark).each(numbered, read, _HASHES).frame

    def _of_indexes(self, spark: SparkSession) -> DataFrame:
        shards = [
            {"index": number, "partition": name, "shard": shard}
            for number, name in enumerate(self.indexes)
            for shard in range(len(self.records.records.groups(name)))
        ]
        numbers = dict(self.names.numbers)
        read = _index_hashes(self.table.base_path, self.records.store, numbers)
        return SparkRunner(spark).each(pa.Table.from_pylist(shards), read, _HASHES).frame

    def _collected(self, rows: Iterable[SparkRow]) -> _Compared:
        count = self.records.slices.num_slices
        totals = {name: np.zeros(count, np.int64) for name in (_COUNT_OF_ROWS, _COUNT_OF_ENTRIES)}
        unread: set[int] = set()
        faults: dict[tuple[int, str, int], RowFault] = {}
        for row in rows:
            if row.fault in totals:
                totals[row.fault][row.slice] += row["count"]
            elif row.fault == _FAILED:
                unread.add(row.slice)
            else:
                key = (row["index"], row.fault, row.slice)
                faults[key] = _added(faults.get(key), row)
        found: dict[int, list[RowFault]] = defaultdict(list)
        for (index, _, number), fault in sorted(faults.items()):
            # Entries of rows that were not read are not known to be wrong.
            if number not in unread and not (unread and fault.fault is Fault.VALUE_STALE):
                found[index].append(fault)
        return _Compared(
            found, totals[_COUNT_OF_ROWS], totals[_COUNT_OF_ENTRIES], frozenset(unread)
        )


def _added(known: RowFault | None, row: SparkRow) -> RowFault:
    unsigned = np.array(row.examples, np.int64).view(np.uint64)
    examples = tuple(unsigned.tolist())
    if known is None:
        return RowFault(Fault(row.fault), row.slice, row["count"], examples, row.ours)
    return replace(
        known,
        count=known.count + row["count"],
        examples=(*known.examples, *examples)[:EXAMPLES],
        loses_ours=known.loses_ours or row.ours,
    )


def _slice_hashes(reader: RowReader, indexes: Sequence[str]) -> Read:
    def read(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
        for row in rows:
            number = row.pop("number")
            found = hashed(reader, slice_of(row))
            if isinstance(found, str):
                nothing = np.zeros(1, np.uint64)
                yield _batch(0, _UNREAD, np.full(1, number, np.int32), nothing, nothing)
                continue
            keys, entries = found
            slices = np.full(len(keys), number, np.int32)
            for index, name in enumerate(indexes):
                if name == RECORD_INDEX:
                    yield _batch(index, _ROWS, slices, keys, keys)
                else:
                    sides = np.where(entries[name].is_optional, _ROWS_OF_OPTIONAL, _ROWS)
                    yield _batch(index, sides, slices, keys, entries[name].hash)

    return read


def _index_hashes(base_path: str, store: Store, numbers: dict[tuple[str, str], int]) -> Read:
    def read(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
        records = _opened(base_path, store)
        for row in rows:
            group = records.groups(row["partition"])[row["shard"]]
            parts = group.newest(HFile.scan)
            if row["partition"] == RECORD_INDEX:
                places = KeyPlaces.read(parts, numbers)
                yield _batch(row["index"], _ENTRIES, places.slice, places.key, places.key)
            else:
                stored = ValueEntries.read(parts)
                slices = np.full(len(stored.key), -1, np.int32)
                yield _batch(row["index"], _ENTRIES, slices, stored.key, stored.entry)

    return read


def _opened(base_path: str, store: Store) -> MetadataTable:
    table = HudiTable.open(base_path)
    extension = Extension.open(table) if store is Store.EXTENSION else None
    found = MetadataTable.open(table) if extension is None else extension.records
    if found is None or (store is Store.EXTENSION) != (extension is not None):
        raise HudiError(f"{base_path}: the metadata table is gone; run the audit again")
    return found


def _batch(
    index: int, side: int | Int64Array, slices: Int32Array, keys: Hashes, entries: Hashes
) -> pa.RecordBatch:
    same = (np.full(len(keys), value, np.int32) for value in (index, side))
    columns: list[Any] = [*same, slices, keys.view(np.int64), entries.view(np.int64)]
    return pa.record_batch([pa.array(column) for column in columns], schema=_HASHES_SCHEMA)


def _comparing(is_whole: bool, has_places: bool) -> Step:
    def compare(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = pa.Table.from_batches(list(batches), _HASHES_SCHEMA)
        index, side = (table.column(name).to_numpy() for name in ("index", "side"))
        slices = table.column("slice").to_numpy()
        keys, entries = (table.column(n).to_numpy().view(np.uint64) for n in ("key", "entry"))
        yield _described(0, [_counted(_FAILED, one, 1) for one in slices[side == _UNREAD].tolist()])
        for number in np.unique(index[side != _UNREAD]).tolist():
            held = (index == number) & (side == _ENTRIES)
            own = (index == number) & np.isin(side, (_ROWS, _ROWS_OF_OPTIONAL))
            if number == 0 and has_places:
                places = KeyPlaces.of(keys[held], slices[held])
                placed = PlacedKeys(keys[own], slices[own], places, is_whole)
                counts = [
                    *_counts(_COUNT_OF_ROWS, slices[own]),
                    *_counts(_COUNT_OF_ENTRIES, slices[held]),
                ]
                yield _described(number, [*map(_row, placed.faults()), *counts])
            else:
                stored = ValueEntries(entries[held], keys[held])
                wanted = RowEntries(entries[own], side[own] == _ROWS_OF_OPTIONAL)
                values = IndexedValues(keys[own], slices[own], wanted, stored, is_whole)
                yield _described(number, list(map(_row, values.faults())))

    return with_storage_options(compare)


def _row(fault: RowFault) -> Row:
    examples = np.array(fault.examples, np.uint64).view(np.int64).tolist()
    counted = _counted(fault.fault.value, fault.slice, fault.count)
    return {**counted, "examples": examples, "ours": fault.loses_ours}


def _counted(name: str, number: int, count: int) -> Row:
    return {"fault": name, "slice": number, "count": count, "examples": [], "ours": False}


def _counts(name: str, slices: Int32Array) -> Iterator[Row]:
    numbers, counts = np.unique(slices[slices >= 0], return_counts=True)
    for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
        yield _counted(name, number, count)


def _described(index: int, rows: Sequence[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{**row, "index": index} for row in rows], _FAULTS_SCHEMA)


def _of_functions(
    spark: SparkSession,
    records: AuditedRecords,
    table: AuditedTable,
    partitions: Sequence[str],
    unchecked: list[str],
) -> Iterator[Finding]:
    """Compare bounds of functions' results with those that Spark computes."""
    for name in partitions:
        definition = records.definitions.get(name)
        if not name.startswith(EXPRESSION_INDEX_PREFIX) or definition is None:
            continue
        if definition.type == BLOOM_FILTERS:
            unchecked.append(f"{name}: filters of results are checked without --spark only")
            continue
        try:
            bases = records.slices.base_files_only()
            expected = file_entries(spark, table.table, bases, definition, 1)
        except HudiError as error:
            unchecked.append(f"{name}: {error}")
            continue
        rows = expected.select("key", "value").collect()
        entries = {bytes(row.key): bytes(row.value) for row in rows}
        yield from check_results(records, definition, entries)

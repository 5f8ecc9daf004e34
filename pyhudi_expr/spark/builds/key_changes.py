"""Compute what changes in indexes of keys and values when file slices replace others.

The rows of the old slices are compared with those of the new ones, key by key: each row is its key,
its file group and its indexed values. For a key whose rows differ

* `record_index` gets the location of its newest row, or loses the key if no row is left;
* a secondary index gets an entry for each value of its rows, and a tombstone (old value, key,
  deleted) for each value that no row has any more.

All entries of such a key are written, not only the new ones. So for each key that the record index
places in a file group, a secondary index has the values of that group's rows, even if other groups
hold the key, too: the proof in `index.lookups.secondary_index` relies on that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    AnyChunkedArray,
    BoolArray,
    Int64Array,
    arrow_schema_of,
    string_list,
)
from pyhudi_expr.manage.indexing.reverse_mapping import ReverseMapping, slice_name
from pyhudi_expr.rows.key_columns import KeyColumns
from pyhudi_expr.spark.entries.secondary_index import EntryKeys, IndexedColumns
from pyhudi_expr.spark.jobs.batch_runner import Step
from pyhudi_expr.spark.jobs.log_files import as_log_entries
from pyhudi_expr.spark.jobs.shard_writer import constant_entries, entry_batch
from pyhudi_expr.tables.hudi_names import RECORD_INDEX, SECONDARY_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.slices.slice_files import FileSlice
from pyhudi_expr.tables.slices.slice_rows import SliceReader, UnmergeableSlice

_COUNTED_SCHEMA = arrow_schema_of(
    [
        pa.field("partition", pa.string()),
        pa.field("file_id", pa.string()),
        pa.field("rows", pa.int64()),
        pa.field("problem", pa.string()),
    ]
)


@dataclass(frozen=True)
class SliceKeys:
    """Extracts keys and values from slices of one table; sent to Spark's tasks."""

    COUNTED: ClassVar[str] = "partition string, file_id string, rows long, problem string"
    """Schema of what tasks tell of the slices that they read; problem: why one could not be."""

    reader: SliceReader
    keys: KeyColumns
    with_keys: bool
    values: tuple[tuple[str, IndexedColumns], ...]

    @staticmethod
    def of(
        table: HudiTable, instant: str | None, definitions: Sequence[IndexDefinition]
    ) -> SliceKeys:
        """Prepare the extraction from slices of a listing at `instant`.

        Raises:
            HudiError: A column cannot be indexed.
        """
        values = [(d.name, IndexedColumns.of(table, d)) for d in definitions if is_secondary(d)]
        wants_keys = any(definition.name == RECORD_INDEX for definition in definitions)
        reader = SliceReader.of(table, instant)
        return SliceKeys(reader, KeyColumns.of(table), wants_keys, tuple(values))

    def stored(self, files: ReverseMapping, one: FileSlice) -> Iterator[pa.RecordBatch]:
        """Write a slice's keys and values to the reverse mapping; return one row of `COUNTED`.

        The slice's keys, and the values of its indexed columns, are held in memory. A slice that
        cannot be merged is reported in the row.

        Raises:
            HudiError: A file cannot be read.
        """
        try:
            keys, values = self._columns(one)
        except UnmergeableSlice as error:
            yield _counted(one, 0, str(error))
            return
        order = pc.array_sort_indices(keys)
        name = slice_name(one)
        if self.with_keys:
            files.write(RECORD_INDEX, name, keys.take(order))
        for (index, _), texts in zip(self.values, values, strict=True):
            files.write(index, name, texts.take(order))
        yield _counted(one, len(keys), None)

    def _columns(self, one: FileSlice) -> tuple[AnyArray, list[AnyArray]]:
        text = pa.large_string()
        keys: list[AnyArray] = [pa.array([], text)]
        values: list[list[AnyArray]] = [[pa.array([], text)] for _ in self.values]
        fields = [field for _, indexed in self.values for field in indexed.fields]
        names = tuple(dict.fromkeys([*self.keys.columns, *fields]))
        for columns in self.reader.columns(one, names):
            read = dict(zip(names, columns, strict=True))
            keys.append(self.keys.keys([read[column] for column in self.keys.columns]).cast(text))
            for found, (_, indexed) in zip(values, self.values, strict=True):
                own = [read[field] for field in indexed.fields]
                found.append(indexed.texts(own, one.name).cast(text))
        return pa.concat_arrays(keys), [pa.concat_arrays(found) for found in values]


def _counted(one: FileSlice, rows: int, problem: str | None) -> pa.RecordBatch:
    columns = [[one.partition], [one.file_id], [rows], [problem]]
    return pa.record_batch(columns, schema=_COUNTED_SCHEMA)


DELETED = b""
"""The payload of a key that is to be deleted."""

_SEPARATOR = "\0"
_ROWS_OF_BATCH = 64 * 1024


@dataclass(frozen=True)
class KeyIndexes:
    """The record index and the secondary indexes of a table.

    Attributes:
        shards: The shards of each metadata partition.
        secondary: How each secondary index makes its keys.
    """

    shards: Mapping[str, int]
    secondary: Mapping[str, EntryKeys]

    @staticmethod
    def of(definitions: Iterable[IndexDefinition], shards: Mapping[str, int]) -> KeyIndexes:
        """Return the indexes of keys and values among all definitions of an extension."""
        secondary = {d.name: EntryKeys.of(d) for d in definitions if is_secondary(d)}
        return KeyIndexes(shards, secondary)

    @property
    def schema(self) -> pa.Schema:
        """Return the schema of the compared rows."""
        texts = [pa.field(name, pa.string()) for name in self.secondary]
        return arrow_schema_of(
            [
                pa.field("key", pa.string()),
                pa.field("place", pa.string()),
                pa.field("written", pa.int64()),
                pa.field("is_new", pa.bool_()),
                *texts,
            ]
        )


@dataclass(frozen=True)
class IndexedSlice:
    """A slice with a reverse mapping.

    Attributes:
        name: The name of its files there.
        written: The time of its write in the record index, in milliseconds since the epoch.
    """

    name: str
    partition: str
    file_id: str
    written: int
    is_new: bool


def is_secondary(definition: IndexDefinition) -> bool:
    """Return whether the index maps values to record keys."""
    return definition.type == SECONDARY_INDEX


def rows_of(
    files: ReverseMapping, indexes: KeyIndexes, one: IndexedSlice
) -> Iterator[pa.RecordBatch]:
    """Return the slice's rows, some at a time, in the schema of `indexes`. Raises HudiError."""
    keys = files.read(RECORD_INDEX, one.name)
    values = [files.read(name, one.name) for name in indexes.secondary]
    place = f"{one.partition}{_SEPARATOR}{one.file_id}"
    for start in range(0, len(keys), _ROWS_OF_BATCH):
        texts = [c.slice(start, _ROWS_OF_BATCH).cast(pa.string()) for c in (keys, *values)]
        constants = [
            pa.repeat(pa.scalar(place), len(texts[0])),
            pa.repeat(pa.scalar(one.written, pa.int64()), len(texts[0])),
            pa.repeat(pa.scalar(one.is_new), len(texts[0])),
        ]
        yield pa.record_batch([texts[0], *constants, *texts[1:]], schema=indexes.schema)


def changer(indexes: KeyIndexes) -> Step:
    """Return the step from all old and new rows of some keys to log entries.

    The entries have the schema `spark.jobs.log_files.LOG_ENTRIES`.
    """

    def change(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Compute the log entries of the batches' keys."""
        held = [batch for batch in batches if batch.num_rows]
        if held:
            rows = pa.Table.from_batches(held).combine_chunks()
            changed = rows.filter(pa.array(_of_changed_keys(rows, list(indexes.secondary))))
            yield from _record_index(indexes, changed)
            for name in indexes.secondary:
                yield from _secondary(indexes, name, changed)

    return change


def new_entries(
    indexes: KeyIndexes, partition: str, rows: pa.RecordBatch, version: int
) -> pa.RecordBatch:
    """Return the entries of the rows in a partition that is built.

    They have the schema `spark.jobs.shard_writer.ENTRIES`.
    """
    shards = indexes.shards[partition]
    keys = rows.column("key").cast(pa.string())
    if partition == RECORD_INDEX:
        value = _location(rows.column("place")[0].as_py(), version) if len(keys) else DELETED
        return constant_entries(keys, value, shards, version=version)
    return _entries(indexes, partition, keys, rows.column(partition), payloads.secondary_entry())


def _of_changed_keys(rows: pa.Table, values: Sequence[str]) -> BoolArray:
    """Return the rows of keys whose old and new rows have other locations or values."""
    key = _codes(rows.column("key"))
    version = key
    for name in ("place", *values):
        version = _pairs(version, _codes(rows.column(name)))
    is_new = np.asarray(rows.column("is_new"))
    count = int(version.max()) + 1
    in_new = np.bincount(version[is_new], minlength=count) > 0
    in_old = np.bincount(version[~is_new], minlength=count) > 0
    changed = np.zeros(int(key.max()) + 1, np.bool_)
    changed[key[(in_new != in_old)[version]]] = True
    flags: BoolArray = changed[key]
    return flags


def _record_index(indexes: KeyIndexes, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    if not len(rows):
        return
    shards = indexes.shards[RECORD_INDEX]
    key, is_new = _codes(rows.column("key")), np.asarray(rows.column("is_new"))
    place, written = _codes(rows.column("place")), np.asarray(rows.column("written"))
    order = np.lexsort((place, written, is_new, key))
    # The last row of each key: a new one if there is one, and the one written last.
    last = order[np.append(key[order][1:] != key[order][:-1], True)]
    kept, gone = last[is_new[last]], last[~is_new[last]]
    # New rows of a file group are all of its one new slice, and have one payload.
    _, first, of_row = np.unique(place[kept], return_index=True, return_inverse=True)
    places = string_list(rows.column("place").take(pa.array(kept[first])))
    located = [_location(*one) for one in zip(places, written[kept[first]].tolist(), strict=True)]
    values = pa.array(located, pa.binary()).take(of_row)
    yield as_log_entries(RECORD_INDEX, entry_batch(_texts(rows, kept), values, shards))
    yield as_log_entries(RECORD_INDEX, constant_entries(_texts(rows, gone), DELETED, shards))


def _secondary(indexes: KeyIndexes, name: str, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    if not len(rows):
        return
    pair = _pairs(_codes(rows.column("key")), _codes(rows.column(name)))
    is_new = np.asarray(rows.column("is_new"))
    _, first, of_row = np.unique(pair, return_index=True, return_inverse=True)
    in_new = np.bincount(of_row, weights=is_new) > 0
    for chosen, payload in (
        (first[in_new], payloads.secondary_entry()),
        (first[~in_new], payloads.secondary_tombstone()),
    ):
        values = rows.column(name).take(chosen).combine_chunks()
        yield as_log_entries(name, _entries(indexes, name, _texts(rows, chosen), values, payload))


def _entries(
    indexes: KeyIndexes, name: str, keys: AnyArray, values: AnyArray, payload: bytes
) -> pa.RecordBatch:
    made = indexes.secondary[name]
    return made.entries(values.cast(pa.string()), keys, payload, indexes.shards[name])


def _texts(rows: pa.Table, chosen: Int64Array) -> AnyArray:
    return rows.column("key").take(chosen).combine_chunks().cast(pa.string())


def _location(place: str, written: int) -> bytes:
    partition, _, file_id = place.partition(_SEPARATOR)
    return payloads.location(partition, file_id, written)


def _codes(column: AnyChunkedArray) -> Int64Array:
    """Return equal numbers for equal values; null is a value."""
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    chunk = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    return np.asarray(chunk.indices).astype(np.int64)


def _pairs(left: Int64Array, right: Int64Array) -> Int64Array:
    """Return equal numbers for equal pairs."""
    joined = left * (int(right.max()) + 1) + right
    found: Int64Array = np.unique(joined, return_inverse=True)[1].astype(np.int64)
    return found

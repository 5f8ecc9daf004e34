"""Entries of indexes of keys and values, one for each row, from one reading of the files.

`bloom_filters` has one for each base file: a filter of its record keys, in Hudi's format. Hudi's
writers put one into the file's footer. If there is none (files of Flink, or of bulk inserts
without), it is built from the keys, in the size that they need. Log files have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray
from pyhudi_expr.rows.key_columns import KeyColumns
from pyhudi_expr.spark.entries.secondary_index import RecordEntries, SecondaryEntries
from pyhudi_expr.spark.jobs.batch_runner import each_item
from pyhudi_expr.spark.jobs.shard_writer import text_entries
from pyhudi_expr.spark.jobs.slice_frames import Extract
from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import bloom_filter_key
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.bloom_filter import SIMPLE, FilterBuilder, of_footer
from pyhudi_expr.tables.slices.slice_files import FileSlice
from pyhudi_expr.tables.slices.slice_rows import SliceReader, parquet_columns, parquet_file


class RowEntries(Protocol):
    """Makes the entries of one index."""

    @property
    def shards(self) -> int:
        """The index's number of shards."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose values it needs."""

    def entries(
        self, one: FileSlice, keys: AnyArray, values: Mapping[str, AnyArray]
    ) -> pa.RecordBatch:
        """Return the entries of some rows of a slice, in `shard_writer.ENTRY_SCHEMA`.

        Args:
            one: The slice.
            keys: The rows' record keys.
            values: Their values of `columns`.

        Raises:
            HudiError: The text of a type depends on the writer.
        """


def key_entries(
    table: HudiTable, instant: str | None, partitions: Sequence[tuple[IndexDefinition, int]]
) -> Extract:
    """Return the entries of slices for several indexes, whose shards are counted through.

    Args:
        table: The table.
        instant: The instant of the slices' listing.
        partitions: Indexes of keys and values with their numbers of shards.

    Raises:
        HudiError: A column or the table's keys cannot be indexed.
    """
    reader, keys = SliceReader.of(table, instant), KeyColumns.of(table)
    makers = [_maker(table, definition, shards) for definition, shards in partitions]
    names = tuple(dict.fromkeys([*keys.columns, *(c for one in makers for c in one.columns)]))

    def extract(one: FileSlice) -> Iterator[pa.RecordBatch]:
        """Return the entries of one slice."""
        for columns in reader.columns(one, names):
            values = dict(zip(names, columns, strict=True))
            own = keys.keys([values[column] for column in keys.columns])
            yield from counted_through([(m.entries(one, own, values), m.shards) for m in makers])

    return each_item(extract)


def counted_through(parts: Sequence[tuple[pa.RecordBatch, int]]) -> Iterator[pa.RecordBatch]:
    """Return entries of several indexes, given with their numbers of shards, as of one index."""
    first = 0
    for entries, shards in parts:
        moved = pc.add(entries.column("shard"), pa.scalar(first, pa.int32()))
        yield entries.set_column(0, entries.schema.field(0), moved) if first else entries
        first += shards


def _maker(table: HudiTable, definition: IndexDefinition, shards: int) -> RowEntries:
    if definition.name == RECORD_INDEX:
        return RecordEntries.of(table, definition, shards)
    return SecondaryEntries.of(table, definition, shards)


def bloom_filters(
    table: HudiTable, instant: str | None, definition: IndexDefinition, shards: int
) -> Extract:
    """Return the entries of a slice, see `entries.slice_entries`."""
    reader = SliceReader.of(table, instant)
    keys = KeyColumns.of(table)

    def extract(one: FileSlice) -> Iterator[pa.RecordBatch]:
        """Return the entry of one slice's base file."""
        if one.base is not None:
            kind, text = _filter(reader, one.path(one.base), keys)
            value = payloads.bloom_filter(kind, one.base_instant, text)
            yield text_entries([(bloom_filter_key(one.partition, one.base), value)], shards)

    return each_item(extract)


def _filter(reader: SliceReader, path: str, keys: KeyColumns) -> tuple[str, bytes]:
    """Return the kind and the text of a file's filter."""
    with parquet_file(reader.storage(), path) as file:
        # A filter from before the keys became virtual may have other texts.
        found = of_footer(file.metadata.metadata) if keys.are_stored else None
        if found is not None:
            return found
        builder = FilterBuilder(file.metadata.num_rows)
        for columns in parquet_columns(file, keys.columns, f"{reader.base_uri}/{path}"):
            texts = keys.keys(columns).cast(pa.large_binary())
            builder.add(ByteStrings.from_arrow(texts))
        return SIMPLE, builder.text()

"""Entries of `bloom_filters`: a filter of the record keys of each base file, in Hudi's format.

Hudi's writers put one into the file's footer. If there is none (files of Flink, or of bulk inserts
without), it is built from the keys, in the size that they need. Log files have none.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyhudi_expr.rows.key_columns import KeyColumns
from pyhudi_expr.rows.slice_files import FileSlice
from pyhudi_expr.rows.slice_rows import SliceReader, parquet_columns, parquet_file
from pyhudi_expr.spark.entries.batches import text_entries
from pyhudi_expr.spark.jobs.batch_runner import each_item
from pyhudi_expr.spark.jobs.slice_frames import Extract
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import bloom_filter_key
from pyhudi_expr.tables.mdt.changes.partitions import IndexDefinition
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.bloom_filter import SIMPLE, FilterBuilder, of_footer


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

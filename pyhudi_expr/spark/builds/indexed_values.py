"""The reverse mapping of a secondary index (RFC-77): from a record key to its indexed values.

The extension stores it, slice by slice, as its refreshes need it (`indexing.reverse_mapping`). Hudi
does not: there the entries are read, shard by shard, as Hudi's writers do for an update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.arrays import AnyArray, arrow_schema_of, string_list
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus
from pyhudi_expr.manage.indexing.reverse_mapping import ReverseMapping, covered_slice_name
from pyhudi_expr.spark.jobs.executor_archive import with_storage_options
from pyhudi_expr.tables.hudi_names import RECORD_INDEX, SECONDARY_INDEX_PREFIX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.keys import composite_parts
from pyhudi_expr.tables.mdt.extension_changes import Extension
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.store.index_records import NULL_VALUE
from pyhudi_expr.tables.mdt.store.index_records import entries as secondary_entries
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

_ROWS = "key string, values array<string>"
_SCHEMA = arrow_schema_of([pa.field("key", pa.string()), pa.field("values", pa.list_(pa.string()))])
_BATCH_ROWS = 64 * 1024


def indexed_values(spark: SparkSession, table: HudiTable, status: IndexStatus) -> DataFrame:
    """Return the indexed values of each record key, as texts of the index: `_ROWS`.

    A key that several file slices of the extension's index hold has a row for each.

    Raises:
        HudiError: It is no secondary index, or it is gone.
    """
    partition = next((p for p in status.partitions if p.startswith(SECONDARY_INDEX_PREFIX)), None)
    if partition is None:
        raise HudiError(f"{table.base_path}: {status.name} is no secondary index")
    if status.store is Store.HUDI:
        return _of_hudi(spark, table, partition)
    return _of_extension(spark, table, partition, len(status.columns) > 1)


def _of_extension(
    spark: SparkSession, table: HudiTable, partition: str, is_composite: bool
) -> DataFrame:
    extension = Extension.open(table)
    if extension is None or partition not in extension.partitions:
        raise HudiError(f"{table.base_path}: the index {partition} is gone")
    files = ReverseMapping(table.base_path)
    identities = string_list(extension.coverage.slices.column("slice"))
    slices = [(covered_slice_name(identity),) for identity in identities]

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for name in _items(batches):
            keys, texts = files.read(RECORD_INDEX, name), files.read(partition, name)
            for start in range(0, len(keys), _BATCH_ROWS):
                some = texts.slice(start, _BATCH_ROWS)
                values = (
                    [composite_parts(text) for text in string_list(some)]
                    if is_composite
                    else [[text] for text in some.to_pylist()]
                )
                yield _rows(keys.slice(start, _BATCH_ROWS).cast(pa.string()), values)

    return _in_tasks(spark, slices, "item string", read)


def _of_hudi(spark: SparkSession, table: HudiTable, partition: str) -> DataFrame:
    base_path = table.base_path

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        groups = _stored(base_path, partition).groups(partition)
        for shard in _items(batches):
            for records in groups[shard].newest(HFile.scan):
                for part in secondary_entries(records):
                    alive = ~part.deleted
                    texts = part.values.take(alive).to_list()
                    values = [[None if t == NULL_VALUE else t.decode()] for t in texts]
                    yield _rows(part.keys.take(alive).texts(), values)

    shards = [(number,) for number in range(len(_stored(base_path, partition).groups(partition)))]
    return _in_tasks(spark, shards, "item int", read)


def _stored(base_path: str, partition: str) -> MetadataTable:
    metadata = MetadataTable.open(HudiTable.open(base_path))
    if metadata is None or partition not in metadata.partitions:
        raise HudiError(f"{base_path}: the index {partition} is gone")
    return metadata


def _in_tasks(
    spark: SparkSession,
    items: Sequence[tuple[str] | tuple[int]],
    schema: str,
    read: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
) -> DataFrame:
    dealt = spark.createDataFrame(items, schema).repartition(max(len(items), 1))
    return dealt.mapInArrow(with_storage_options(read), _ROWS)


def _items(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    for batch in batches:
        yield from batch.column("item").to_pylist()


def _rows(keys: AnyArray, values: Sequence[Sequence[str | None]]) -> pa.RecordBatch:
    return pa.record_batch([keys, pa.array(values, _SCHEMA.field("values").type)], schema=_SCHEMA)

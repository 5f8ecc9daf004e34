"""Verify an index: compare its entries with the table's files.

Both sides are converted to texts, one for each key, of the fields that pruning and Hudi's writers
rely on, and Spark joins them. Fields that may differ without harm are left out: instants, sizes in
bytes, how a bound was computed. So are entries of files that are not in the snapshot, which are
never looked up. For an index of the extension, the covered slices are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from pyhudi_expr.arrays import arrow_schema_of, string_list, value_list
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus
from pyhudi_expr.spark.entries import entries, file_entries
from pyhudi_expr.spark.jobs.executor_archive import with_storage_options
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_names import BLOOM_FILTERS, PARTITION_STATS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.mdt.bytes.keys import bloom_filter_key
from pyhudi_expr.tables.mdt.extension_changes import Extension
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition, index_definitions
from pyhudi_expr.tables.mdt.records.metadata_records import (
    COLUMN_STATS,
    Payload,
    decode,
    is_deleted,
    wrapper_name,
)
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.file_group import FileGroup, all_cells
from pyhudi_expr.tables.mdt.store.group_files import has_rows
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from pyhudi_expr.tables.storage import using_storage_options

_EXAMPLES = 10
_BATCH_ROWS = 10_000
_FACTS = "key binary, facts string"
_FACTS_SCHEMA = arrow_schema_of([pa.field("key", pa.binary()), pa.field("facts", pa.string())])


@dataclass(frozen=True)
class Verification:
    """The result for one metadata partition.

    Attributes:
        checked: Number of keys on either side.
        missing: Keys of the files that are not in the index.
        superfluous: Keys in the index only.
        different: Keys with other facts.
        examples: Some of these keys, with what is wrong.
    """

    partition: str
    checked: int
    missing: int
    superfluous: int
    different: int
    examples: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether all entries are there, and no others."""
        return not (self.missing or self.superfluous or self.different)


def verify(spark: SparkSession, table: HudiTable, status: IndexStatus) -> list[Verification]:
    """Compare each metadata partition of the index with the table as it is now.

    Raises:
        HudiError: The files or the index cannot be read.
    """
    with using_storage_options(table.storage.options):
        return _verified(spark, table, status)


def _verified(spark: SparkSession, table: HudiTable, status: IndexStatus) -> list[Verification]:
    metadata = MetadataTable.open(table)
    table = table if metadata is None else metadata.table
    stored = _stored(table, metadata, status.store)
    listing = _compared_listing(table, metadata, status.store)
    found = []
    for partition in status.partitions:
        shards = len(stored.groups(partition))
        definition = _definition(stored, partition)
        of_rows = has_rows(partition) or status.store is Store.HUDI
        make_entries = entries if of_rows else file_entries
        expected = make_entries(spark, table, listing, definition, shards)
        facts = expected.select("key", "value").mapInArrow(_described(_Files.of(listing)), _FACTS)
        stored_entries = _stored_entries(spark, table.base_path, status.store, partition, shards)
        found.append(_compared(partition, facts.distinct(), stored_entries))
    return found


def _compared_listing(
    table: HudiTable, metadata: MetadataTable | None, store: Store
) -> FileListing:
    listing = current_listing(table, metadata, TableView.SNAPSHOT)
    extension = Extension.open(table) if store is Store.EXTENSION else None
    if extension is None:
        return listing
    return listing.some(extension.coverage.covered(table, listing))


def _stored(table: HudiTable, metadata: MetadataTable | None, store: Store) -> MetadataTable:
    """Return the metadata table that holds the index."""
    if store is Store.EXTENSION:
        extension = Extension.open(table)
        if extension is None:
            raise HudiError(f"{table.base_path}: the extension is gone; refresh the index")
        return extension.records
    if metadata is None:
        raise HudiError(
            f"{table.base_path}: the metadata table is gone; pyhudi audit --repair makes it again"
        )
    return metadata


def _definition(stored: MetadataTable, partition: str) -> IndexDefinition:
    known = index_definitions(stored.table).get(partition)
    if known is not None:
        return known
    if partition == PARTITION_STATS:
        columns = index_definitions(stored.table).get(hudi_names.COLUMN_STATS)
        if columns is not None:
            return IndexDefinition(
                partition, partition, partition, columns.fields, {}, columns.version
            )
    if partition == BLOOM_FILTERS:
        return IndexDefinition(partition, partition, partition, (), {}, "V1")
    raise HudiError(f"{stored.table.base_path}: the index definition of {partition} is missing")


def _stored_entries(
    spark: SparkSession, base_path: str, store: Store, partition: str, shards: int
) -> DataFrame:
    """Return the merged entries of the index, shard by shard."""
    numbers = spark.createDataFrame([(n,) for n in range(shards)], "shard int")

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = HudiTable.open(base_path)
        metadata = MetadataTable.open(table)
        table = table if metadata is None else metadata.table
        stored = _stored(table, metadata, store)
        merged = _newest if has_rows(partition) else _merged
        files = _Files.of(_compared_listing(table, metadata, store))
        for batch in batches:
            for shard in value_list(batch.column("shard")):
                for found in merged(stored.groups(partition)[shard]):
                    yield from _batches({k: v for k, v in found.items() if files.have(k, v)})

    return numbers.repartition(shards, "shard").mapInArrow(with_storage_options(read), _FACTS)


def _merged(group: FileGroup) -> Iterator[dict[bytes, Payload]]:
    """Return the records of a file group, whose entries are those of files."""
    yield group.read(all_cells)


def _newest(group: FileGroup) -> Iterator[dict[bytes, Payload]]:
    """Return the records of a file group in pieces, as it has an entry for each row."""
    for records in group.newest(HFile.scan):
        found = zip(records.cells.keys, records.decoded(), strict=True)
        yield {key: payload for key, payload in found if not is_deleted(payload)}


@dataclass(frozen=True)
class _Files:
    """The files whose entries are compared: no log files, as Hudi leaves some without entries."""

    partitions: frozenset[str]
    names: frozenset[str]
    keys: frozenset[bytes]
    """In indexes of filters."""

    @staticmethod
    def of(listing: FileListing) -> _Files:
        bases = listing.base_files_only()
        names = string_list(bases.file_name)
        partitions = string_list(bases.partitions.take(bases.file_partition))
        keys = (bloom_filter_key(*file) for file in zip(partitions, names, strict=True))
        every = string_list(listing.partitions)
        return _Files(frozenset(every), frozenset(names), frozenset(key.encode() for key in keys))

    def have(self, key: bytes, payload: Payload) -> bool:
        """Return whether the entry is about one of them, or about no file."""
        stats = payload.get("ColumnStatsMetadata")
        if stats is not None:
            of_file = payload["type"] == COLUMN_STATS
            return stats["fileName"] in (self.names if of_file else self.partitions)
        return payload.get("BloomFilterMetadata") is None or key in self.keys


def _batches(records: dict[bytes, Payload]) -> Iterator[pa.RecordBatch]:
    keys = list(records)
    for start in range(0, len(keys), _BATCH_ROWS):
        some = keys[start : start + _BATCH_ROWS]
        texts = [facts(records[key]) for key in some]
        yield pa.record_batch([some, texts], schema=_FACTS_SCHEMA)


def _described(
    files: _Files,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def described(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            made = zip(*(batch.column(name).to_pylist() for name in ("key", "value")), strict=True)
            every = [(key, *_decoded(value)) for key, value in made]
            found = [(key, text) for key, payload, text in every if files.have(key, payload)]
            keys, texts = [key for key, _ in found], [text for _, text in found]
            yield pa.record_batch([keys, texts], schema=_FACTS_SCHEMA)

    return described


@lru_cache(maxsize=10_000)  # the entries of a file are equal in most kinds of index
def _decoded(value: bytes) -> tuple[Payload, str]:
    """Return an entry that was just made, with its facts."""
    (payload,) = decode(RECORD_SCHEMA, [value], "an entry that was just made")
    return payload, facts(payload)


def facts(payload: Payload) -> str:
    """Return the facts of a record that pruning and Hudi's writers rely on, as text."""
    stats = payload.get("ColumnStatsMetadata")
    if stats is not None:
        values = [stats["fileName"], stats["columnName"]]
        values += [_bound(stats[end]) for end in ("minValue", "maxValue")]
        if payload["type"] == COLUMN_STATS:  # Hudi's writers miscount those of partitions
            values += [stats["valueCount"], stats["nullCount"]]
        return repr(values)
    place = payload.get("recordIndexMetadata")
    if place is not None:
        parts = ("partitionName", "fileIdHighBits", "fileIdLowBits", "fileIndex", "fileId")
        return repr([place[part] for part in parts])
    bloom = payload.get("BloomFilterMetadata")
    if bloom is not None:
        return repr([bloom["type"], bloom["bloomFilter"]])
    return ""


def _bound(bound: tuple[str, Payload] | None) -> list[object] | None:
    return None if bound is None else [wrapper_name(bound), bound[1]["value"]]


def _compared(partition: str, right: DataFrame, held: DataFrame) -> Verification:
    joined = right.withColumnRenamed("facts", "right").join(
        held.withColumnRenamed("facts", "held"), "key", "full_outer"
    )
    finding = (
        sql.when(sql.col("held").isNull(), "missing")
        .when(sql.col("right").isNull(), "superfluous")
        .when(sql.col("held") != sql.col("right"), "different")
        .otherwise("equal")
    )
    compared = joined.withColumn("finding", finding).persist()
    try:
        counts = {
            row.finding: row["count"] for row in compared.groupBy("finding").count().collect()
        }
        wrong = compared.where("finding <> 'equal'").orderBy("key").limit(_EXAMPLES).collect()
    finally:
        compared.unpersist()
    return Verification(
        partition=partition,
        checked=sum(counts.values()),
        missing=counts.get("missing", 0),
        superfluous=counts.get("superfluous", 0),
        different=counts.get("different", 0),
        examples=tuple(_example(row.key, row.finding, row.right, row.held) for row in wrong),
    )


def _example(key: bytes, finding: str, right: str | None, held: str | None) -> str:
    name = bytes(key).decode(errors="replace")
    return f"{finding} {name}: the files say {right}, the index {held}"

"""The entries of each kind of index, computed from a table's files.

Most kinds are computed slice by slice (`slice_entries`). Where Spark evaluates functions or
aggregates over slices, there is only a DataFrame of entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.errors import HudiError
from pyhudi_expr.spark.entries.column_stats import both_statistics, column_stats, partition_stats
from pyhudi_expr.spark.entries.expression_index import (
    expression_index,
    expression_of_files,
    expression_of_partitions,
)
from pyhudi_expr.spark.entries.key_entries import bloom_filters, key_entries
from pyhudi_expr.spark.jobs.shard_writer import ENTRIES
from pyhudi_expr.spark.jobs.slice_frames import Extract, read_slices
from pyhudi_expr.tables.hudi_names import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    EXPRESSION_INDEX_PREFIX,
    PARTITION_STATS,
    RECORD_INDEX,
    SECONDARY_INDEX_PREFIX,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.store.group_files import has_rows

_OfSlices = Callable[[HudiTable, str | None, IndexDefinition, int], Extract]
_BySpark = Callable[[SparkSession, HudiTable, FileListing, IndexDefinition, int], DataFrame]
_OfPartitions = Callable[
    [SparkSession, HudiTable, FileListing, IndexDefinition, int], DataFrame | None
]
_Builder = TypeVar("_Builder")

Partition = tuple[IndexDefinition, int]
"""A metadata partition with its number of file groups."""


def _of_keys(
    table: HudiTable, instant: str | None, definition: IndexDefinition, shards: int
) -> Extract:
    return key_entries(table, instant, [(definition, shards)])


#: By the prefixes of metadata partitions' names.
_OF_SLICES: dict[str, _OfSlices] = {
    BLOOM_FILTERS: bloom_filters,
    COLUMN_STATS: column_stats,
    RECORD_INDEX: _of_keys,
    SECONDARY_INDEX_PREFIX: _of_keys,
}
_BY_SPARK: dict[str, _BySpark] = {
    PARTITION_STATS: partition_stats,
    EXPRESSION_INDEX_PREFIX: expression_index,
}
_BY_SPARK_OF_FILES: dict[str, _BySpark] = {EXPRESSION_INDEX_PREFIX: expression_of_files}
_BY_SPARK_OF_PARTITIONS: dict[str, _OfPartitions] = {
    PARTITION_STATS: partition_stats,
    EXPRESSION_INDEX_PREFIX: expression_of_partitions,
}


def entries(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    definition: IndexDefinition,
    shards: int,
) -> DataFrame:
    """Return the entries of the listed slices, for `write_shards`: `shards.ENTRIES`.

    Args:
        spark: The session.
        table: The table.
        listing: Slices of the snapshot view.
        definition: The index: `name` is the metadata partition (column_stats, partition_stats,
            record_index, bloom_filters, secondary_index_*, expr_index_*).
        shards: The partition's number of file groups.

    Raises:
        HudiError: There is no such column, or its type is not supported; from Spark's jobs, when
            the DataFrame is evaluated, a slice cannot be read as a query reads it.
    """
    return _entries(spark, table, listing, definition, shards, _BY_SPARK)


def entries_of_each(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    partitions: Sequence[Partition],
) -> Iterator[tuple[Sequence[Partition], DataFrame]]:
    """Return `entries` of several metadata partitions with their numbers of file groups.

    What is made from the same columns is read once: statistics of files and of partitions, and the
    indexes of keys and values, which come as one DataFrame whose shards are counted through.

    Use each before the next one is requested.
    """
    names = [definition.name for definition, _ in partitions]
    if names == [COLUMN_STATS, PARTITION_STATS]:
        (definition, of_files), (_, of_partitions) = partitions
        shards = of_files, of_partitions
        with both_statistics(spark, table, listing, definition, shards) as frames:
            for partition, frame in zip(partitions, frames, strict=True):
                yield [partition], frame
        return
    of_keys = [partition for partition in partitions if has_rows(partition[0].name)]
    if of_keys:
        extract = key_entries(table, listing.instant, of_keys)
        yield of_keys, read_slices(spark, listing, extract, ENTRIES)
    for partition in partitions:
        if partition not in of_keys:
            yield [partition], entries(spark, table, listing, *partition)


def file_entries(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    definition: IndexDefinition,
    shards: int,
) -> DataFrame:
    """Return only the entries of the listed files, one by one; see `entries`.

    They are valid as long as the files exist, whatever happens to their partitions. (Log files have
    none in indexes of filters.)
    """
    return _entries(spark, table, listing, definition, shards, _BY_SPARK_OF_FILES)


def partition_entries(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    definition: IndexDefinition,
    shards: int,
) -> DataFrame | None:
    """Return only the entries of partitions, all of whose slices are listed; see `entries`.

    None if the index has no entries of partitions.
    """
    builder = _chosen(_BY_SPARK_OF_PARTITIONS, definition)
    return None if builder is None else builder(spark, table, listing, definition, shards)


def _entries(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    definition: IndexDefinition,
    shards: int,
    by_spark: Mapping[str, _BySpark],
) -> DataFrame:
    extract = slice_entries(table, listing.instant, definition, shards)
    if extract is not None:
        return read_slices(spark, listing, extract, ENTRIES)
    builder = _chosen(by_spark, definition)
    if builder is None:
        raise HudiError(f"{table.base_path}: there is no index {definition.name!r} to build")
    return builder(spark, table, listing, definition, shards)


def slice_entries(
    table: HudiTable, instant: str | None, definition: IndexDefinition, shards: int
) -> Extract | None:
    """Return a function that computes the entries of one slice; it may be sent to Spark's tasks.

    Its batches have the schema `shards.ENTRY_SCHEMA`. None if this kind has a DataFrame only.

    Args:
        table: The table.
        instant: The instant of the slices' listing.
        definition: The index.
        shards: The partition's number of file groups.

    Raises:
        HudiError: See `entries`.
    """
    builder = _chosen(_OF_SLICES, definition)
    return None if builder is None else builder(table, instant, definition, shards)


def _chosen(builders: Mapping[str, _Builder], definition: IndexDefinition) -> _Builder | None:
    """Return the builder for the prefix of the metadata partition's name."""
    name = definition.name
    return next((builders[prefix] for prefix in builders if name.startswith(prefix)), None)

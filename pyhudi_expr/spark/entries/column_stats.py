"""Entries of `column_stats` and `partition_stats` (RFC-27), from `file_statistics`.

They differ from Hudi's where those are wrong: a file with NaN has it as its maximum, a file whose
footer lacks statistics gets them from its values, a partition counts the rows of files without the
column as nulls, and its bounds are united in the order of bytes. Bounds are of the table's type,
whatever type a file has. A file whose type does not widen to it has no entry, nor has its
partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from pyhudi_expr.expr.nodes import PythonValue
from pyhudi_expr.spark.entries.file_statistics import DDL, SCHEMA, FileStatistics, Row, bound_kind
from pyhudi_expr.spark.jobs.shard_writer import ENTRIES, ENTRY_SCHEMA, text_entries
from pyhudi_expr.spark.jobs.slice_frames import Extract, read_slices
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.keys import column_stats_key, partition_stats_key
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.metadata_records import COLUMN_STATS, PARTITION_STATS
from pyhudi_expr.tables.mdt.records.value_types import Bound, ValueType
from pyhudi_expr.tables.slices.slice_files import FileSlice

_KINDS = ("long", "double", "bytes", "decimal")
_COUNTS = ("value_count", "null_count", "size", "uncompressed_size")
_BATCH_ROWS = 1024


def column_stats(
    table: HudiTable, instant: str | None, definition: IndexDefinition, shards: int
) -> Extract:
    """Return the entries of a slice, see `entries.slice_entries`.

    Base files without a column have no entry.
    """
    statistics = FileStatistics.of(table, instant, definition)

    def extract(slices: Iterable[FileSlice]) -> Iterator[pa.RecordBatch]:
        """Return the entries of slices."""
        for rows in _together(map(statistics.of_files, slices)):
            entries = [_file_entry(row) for row in rows if row.get("wrapper")]
            yield text_entries(entries, shards)

    return extract


def partition_stats(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    definition: IndexDefinition,
    shards: int,
) -> DataFrame:
    """Return the entries of partitions, see `entries.entries`."""
    statistics = FileStatistics.of(table, listing.instant, definition).frame(spark, listing)
    return _of_partitions(statistics, shards)


@contextmanager
def both_statistics(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    definition: IndexDefinition,
    shards: tuple[int, int],
) -> Iterator[tuple[DataFrame, DataFrame]]:
    """Return the entries of `column_stats` and `partition_stats`; the files are read once.

    `shards` are the numbers of file groups of the one and of the other.
    """
    statistics = FileStatistics.of(table, listing.instant, definition)
    extract = _with_entries(statistics, shards[0])
    kept = read_slices(spark, listing, extract, f"{DDL}, {ENTRIES}").persist()
    try:
        yield (
            kept.where("key IS NOT NULL").select(*ENTRY_SCHEMA.names),
            _of_partitions(kept, shards[1]),
        )
    finally:
        kept.unpersist()


def _with_entries(statistics: FileStatistics, shards: int) -> Extract:
    """Return rows of statistics, those of files beside their entries."""

    def extract(slices: Iterable[FileSlice]) -> Iterator[pa.RecordBatch]:
        for rows in _together(map(statistics.of_files, slices)):
            file_rows = [n for n, row in enumerate(rows) if row.get("file") and row.get("wrapper")]
            entries = text_entries([_file_entry(rows[n]) for n in file_rows], shards)
            places = {row: entry for entry, row in enumerate(file_rows)}
            beside = entries.take(pa.array([places.get(n) for n in range(len(rows))], pa.int64()))
            batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
            names = [*SCHEMA.names, *ENTRY_SCHEMA.names]
            yield pa.RecordBatch.from_arrays([*batch.columns, *beside.columns], names)

    return extract


def _together(rows_of_slices: Iterable[list[Row]]) -> Iterator[list[Row]]:
    """Return the rows of many slices at once, as small Arrow batches cost more than a footer."""
    rows = chain.from_iterable(rows_of_slices)
    while some := list(islice(rows, _BATCH_ROWS)):
        yield some


def _of_partitions(statistics: DataFrame, shards: int) -> DataFrame:
    # Spark's order is the bounds' own: of bytes, and with NaN above all other floats.
    bounds = [
        function(f"{side}_{kind}").alias(f"{side}_{kind}")
        for kind in _KINDS
        for side, function in (("low", sql.min), ("high", sql.max))
    ]
    counts = [sql.sum(count).alias(count) for count in _COUNTS]
    # All files have the column's type; those without the column have none.
    types = [sql.max(part).alias(part) for part in ("wrapper", "ordinal", "info")]
    united = (
        statistics.groupBy("partition", "column")
        .agg(sql.min("is_known").alias("is_known"), *types, *bounds, *counts)
        .where("is_known AND wrapper IS NOT NULL")
    )

    def encode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield text_entries([_partition_entry(row) for row in batch.to_pylist()], shards)

    return united.mapInArrow(encode, ENTRIES)


def _file_entry(row: Row) -> tuple[str, bytes]:
    key = column_stats_key(row["column"], row["partition"], row["file"])
    return key, payloads.statistics(COLUMN_STATS, _statistics(row, row["file"], False))


def _partition_entry(row: Row) -> tuple[str, bytes]:
    key = partition_stats_key(row["column"], row["partition"])
    return key, payloads.statistics(PARTITION_STATS, _statistics(row, row["partition"], True))


def _statistics(row: Row, described: str, is_tight: bool) -> payloads.Statistics:
    type_ = ValueType(row["wrapper"], row["ordinal"], row["info"])
    kind = bound_kind(type_)
    low, high = (_bound(row.get(f"{side}_{kind}"), kind) for side in ("low", "high"))
    return payloads.Statistics(
        described=described,
        column=row["column"],
        value_type=type_,
        bounds=None if low is None or high is None else (low, high),
        value_count=row["value_count"],
        null_count=row["null_count"],
        size=row["size"],
        uncompressed_size=row["uncompressed_size"],
        is_tight=is_tight,
    )


def _bound(value: PythonValue, kind: str) -> Bound | None:
    return int(value) if kind == "decimal" and value is not None else value

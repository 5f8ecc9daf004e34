"""Copies of the event table, to be indexed and written to; hard links share the data files."""

import os
import shutil
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from bench.tables.event_table import DAYS, FILES, ROWS_PER_FILE, ensure_written
from pyhudi_expr.index.catalog.status import index_statuses
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

NO_STATISTICS = {
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.metadata.index.partition.stats.enable": "false",
}
TOUCHED = FILES // 100
"""How many files a commit changes: a hundredth."""


def without_indexes(spark: SparkSession, target: Path) -> Path:
    """Copy the table to `target`, with a metadata table that has only the list of files."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ensure_written().path, target, copy_function=link_data)
    for status in index_statuses(HudiTable.open(str(target))):
        execute(spark, f"DROP INDEX {status.name} ON '{target}'")
    return target


def commit(spark: SparkSession, table: Path, turn: int, options: Mapping[str, str]) -> None:
    """Upsert one row in each of `TOUCHED` files of a partition.

    Each `turn`, from 0 on, has other files.
    """
    keys = [file * ROWS_PER_FILE for file in range(turn * TOUCHED, (turn + 1) * TOUCHED)]
    day = date(2024, 1, 1) + timedelta(days=turn * TOUCHED // (FILES // DAYS))
    frame = spark.read.format("hudi").load(str(table))
    own = [column for column in frame.columns if not column.startswith("_hoodie_")]
    rows = frame.where((frame.day == str(day)) & frame.id.isin(keys)).select(*own)
    _write(table, rows.withColumn("user_id", rows.user_id + 1), "upsert", options)


def commit_nothing(spark: SparkSession, table: Path, options: Mapping[str, str]) -> None:
    """Commit no rows; with the options of an index, Hudi builds that first."""
    frame = spark.read.format("hudi").load(str(table)).limit(0)
    own = [column for column in frame.columns if not column.startswith("_hoodie_")]
    _write(table, frame.select(*own), "insert", options)


def stored_bytes(table: Path, partition: str) -> int:
    """Return the bytes of an index in Hudi's metadata table."""
    metadata = MetadataTable.open(HudiTable.open(str(table)))
    assert metadata is not None
    return metadata.stored_bytes(partition)


def _write(table: Path, rows: DataFrame, operation: str, options: Mapping[str, str]) -> None:
    # Without the timeline server Hudi 1.2 fails on aggregates of partitions.
    server = {"hoodie.embed.timeline.server": "true"}
    every = {**ensure_written().spec.options(), **NO_STATISTICS, **server, **options}
    writer = rows.write.format("hudi").options(**every)
    writer.option("hoodie.datasource.write.operation", operation).mode("append").save(str(table))


def link_data(source: str, target: str) -> None:
    """Copy a file of a table; data files are linked."""
    # Writers never change a data file; they replace other files, some of them in place.
    if source.endswith(".parquet") and "/.hoodie/" not in source:
        os.link(source, target)
    else:
        shutil.copy2(source, target)

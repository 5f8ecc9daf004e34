"""Small tables with virtual keys: their rows in memory, written, and as Hudi reads them."""

from __future__ import annotations

from random import Random

from pyspark.sql import DataFrame, SparkSession

Rows = dict[str, tuple[int, str]]
"""The value and the partition by key."""

SCHEMA = "k string, v int, p string"
_PAD = 20_000
"""Bytes of a row, so that files are larger than indexes, and queries use those."""
QUICK = {
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
}


def key(number: int) -> str:
    """A key of 36 characters, like a UUID."""
    return f"{number:04}{Random(number).randbytes(16).hex()}"


def some(first: int, last: int, value: int, partitions: int = 2) -> Rows:
    """Rows by consecutive numbers, assigned to the partitions in turn."""
    return {key(n): (value, f"p{n % partitions}") for n in range(first, last)}


def frame(spark: SparkSession, rows: Rows) -> DataFrame:
    """The rows, each with a text that does not compress; one file for each partition."""
    values = [
        (record_key, value, partition, Random(record_key).randbytes(_PAD).hex())
        for record_key, (value, partition) in rows.items()
    ]
    return spark.createDataFrame(values, f"{SCHEMA}, pad string").coalesce(1)


def stored(spark: SparkSession, path: str) -> Rows:
    """The rows that Hudi reads; none is duplicated."""
    rows = spark.read.format("hudi").load(path).select("k", "v", "p").collect()
    assert len({row.k for row in rows}) == len(rows)
    return {row.k: (row.v, row.p) for row in rows}


def keys_that_hudi_reads(spark: SparkSession, path: str) -> set[str | None]:
    """With the column in the schema, as in a catalog; otherwise the column does not exist."""
    schema = f"_hoodie_record_key string, {SCHEMA}"
    found = spark.read.format("hudi").schema(schema).load(path)
    return {row[0] for row in found.select("_hoodie_record_key").distinct().collect()}

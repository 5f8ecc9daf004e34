"""Entries of `expr_index_*` of Hudi's kind `bloom_filters`.

For each base file it is a filter of a function's results for its rows, as text of Java's
``toString``. Nulls are in no filter: nothing equals them. Hudi's own writers fail on them, so an
index that these maintain must not meet any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from pyhudi_expr.arrays import AnyArray
from pyhudi_expr.errors import HudiError
from pyhudi_expr.spark.entries.batches import text_entries
from pyhudi_expr.spark.entries.function_results import function_results
from pyhudi_expr.spark.jobs.shard_writer import ENTRIES
from pyhudi_expr.tables.file_names import base_files
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import bloom_filter_key
from pyhudi_expr.tables.mdt.changes.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.bloom_filter import SIMPLE, FilterBuilder

# Spark's names of types whose texts are the same in all engines.
_SPELLED = ("string", "byte", "short", "integer", "long", "date", "boolean")
_File = tuple[str, str]


def expression_filters(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    definition: IndexDefinition,
    shards: int,
) -> DataFrame:
    """Return the entries, see `entries.entries`."""
    found = function_results(spark, table, listing.base_files_only(), definition)
    type_name = found.schema["value"].dataType.typeName()
    if type_name not in _SPELLED:
        raise HudiError(
            f"{table.base_path}: {definition.name} gives values of type {type_name}, whose texts "
            "differ between engines; use the kind column_stats"
        )
    texts = found.select("partition", "file", sql.col("value").cast("string"))
    return texts.mapInArrow(filter_maker(shards), ENTRIES)


def filter_maker(
    shards: int,
) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    """Return the step from the texts of files (partition, file, value) to entries.

    The texts of a file have to be adjacent.
    """

    def make(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the entries of batches."""
        for (partition, name), texts in _by_file(batches):
            builder = FilterBuilder(len(texts))
            builder.add(ByteStrings.from_arrow(texts.cast(pa.large_binary())))
            instant = base_files(pa.array([name]), "parquet").instant[0].as_py()
            value = payloads.bloom_filter(SIMPLE, instant, builder.text())
            yield text_entries([(bloom_filter_key(partition, name), value)], shards)

    return make


def _by_file(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[_File, AnyArray]]:
    """Return the distinct texts of each file; those of one file are in memory."""
    current: _File | None = None
    held: list[AnyArray] = []
    for batch in batches:
        start = 0
        for length, file in _runs(batch):
            if file != current and current is not None:
                yield current, _distinct(held)
                held = []
            current = file
            held.append(batch.column("value").slice(start, length).unique())
            start += length
    if current is not None:
        yield current, _distinct(held)


def _runs(batch: pa.RecordBatch) -> Iterator[tuple[int, _File]]:
    """Return how many adjacent rows belong to which file."""
    both = pc.binary_join_element_wise(batch.column("partition"), batch.column("file"), "\n")
    runs = pc.run_end_encode(both, pa.int32())
    start = 0
    for end, name in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
        partition, _, file = name.partition("\n")
        yield end - start, (partition, file)
        start = end


def _distinct(texts: list[AnyArray]) -> AnyArray:
    return pc.drop_null(pa.concat_arrays(texts).unique())

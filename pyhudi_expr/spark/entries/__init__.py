"""The entries of each kind of index, read from a table's files by Spark tasks."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.mdt.index_definitions import IndexDefinition
from pyhudi_expr.spark.entries.bloom_filters import bloom_filters
from pyhudi_expr.spark.entries.column_stats import column_stats, partition_stats
from pyhudi_expr.spark.entries.expression import expression_index
from pyhudi_expr.spark.entries.record_index import record_index
from pyhudi_expr.spark.entries.secondary_index import secondary_index
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing

_Builder = Callable[[SparkSession, HudiTable, FileListing, IndexDefinition, int], DataFrame]

#: By the beginnings of metadata partitions' names.
_BUILDERS: dict[str, _Builder] = {
    "bloom_filters": bloom_filters,
    "column_stats": column_stats,
    "partition_stats": partition_stats,
    "expr_index_": expression_index,
    "record_index": record_index,
    "secondary_index_": secondary_index,
}


def entries(
    spark: SparkSession,
    table: HudiTable,
    listing: FileListing,
    definition: IndexDefinition,
    shards: int,
) -> DataFrame:
    """What the index says of the listed slices, for `write_shards`: `shards.ENTRIES`.

    listing: of the snapshot view, or some of its slices. definition: `name` is the metadata
    partition (column_stats, partition_stats, record_index, bloom_filters, secondary_index_*,
    expr_index_*), `version` that of the index. shards: the partition's number of file groups.

    Raises:
        HudiError: no such column, or one of a type that the index cannot have; from Spark's jobs
            when the DataFrame is asked for, a slice that cannot be read as a query reads it.
    """
    for beginning, builder in _BUILDERS.items():
        if definition.name.startswith(beginning):
            return builder(spark, table, listing, definition, shards)
    raise HudiError(f"{table.base_path}: there is no index {definition.name!r} to build")

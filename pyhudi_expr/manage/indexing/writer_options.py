"""Options with which Hudi's writers keep a table's indexes.

A writer deletes what its settings do not enable: `column_stats` when it is switched off, the record
index unless it is switched on, all of them without the metadata table (measured with Hudi 1.2).
"""

from __future__ import annotations

from collections.abc import Iterable

from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import index_statuses
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_names import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    META_COLUMNS,
    PARTITION_STATS,
    RECORD_INDEX,
    SECONDARY_INDEX,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.index_definitions import index_definitions

# To measure rows in memory, Hudi attaches a debugger to its own JVM, which
# takes seconds, and sometimes never ends (apache/hudi#11879).
NO_DEBUGGER = "-Djol.skipHotspotSAAttach=true -Djol.skipDynamicAttach=true"
"""Options of a JVM that Hudi runs in."""

HUDI_SESSION = {
    "spark.driver.defaultJavaOptions": NO_DEBUGGER,
    "spark.executor.defaultJavaOptions": NO_DEBUGGER,
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
}
"""What Hudi asks of a Spark session that writes."""

_SECONDARY, _EXPRESSIONS = SECONDARY_INDEX, "expr_index"
_ENABLED = {
    COLUMN_STATS: (hudi_names.METADATA_COLUMN_STATS_ENABLE,),
    PARTITION_STATS: (hudi_names.METADATA_PARTITION_STATS_ENABLE,),
    BLOOM_FILTERS: (hudi_names.METADATA_BLOOM_FILTER_ENABLE,),
    RECORD_INDEX: (
        hudi_names.METADATA_RECORD_INDEX_ENABLE,
        hudi_names.METADATA_GLOBAL_RECORD_LEVEL_INDEX_ENABLE,
    ),
    _SECONDARY: (hudi_names.METADATA_SECONDARY_INDEX_ENABLE,),
    _EXPRESSIONS: (hudi_names.METADATA_EXPRESSION_INDEX_ENABLE,),
}
# The writer needs these for partitions and keys that a table does not store.
_KEY_SETTINGS = {
    hudi_names.RECORDKEY_FIELDS: hudi_names.WRITE_RECORDKEY_FIELD,
    hudi_names.PARTITION_FIELDS: hudi_names.WRITE_PARTITIONPATH_FIELD,
    hudi_names.KEY_GENERATOR_TYPE: hudi_names.WRITE_KEY_GENERATOR_TYPE,
    hudi_names.KEY_GENERATOR_CLASS: hudi_names.WRITE_KEY_GENERATOR_CLASS,
}
_COLUMNS = hudi_names.METADATA_COLUMN_STATS_COLUMNS
_METADATA = hudi_names.METADATA_ENABLE

# Without it the tasks of Hudi 1.2 that make `partition_stats`, or update ranges of functions,
# list files by the metadata table's reader that the driver sends them. If the driver has used
# that reader before (for a secondary index, or for the ranges), it has cached the files of the
# list, but Java's serialization drops how they are opened (`BaseFile.pathInfo` is transient;
# measured: a NullPointerException). With it the tasks ask the driver for the list.
_LISTED_BY_DRIVER = {hudi_names.EMBED_TIMELINE_SERVER: "true"}


def writer_options(table: str) -> dict[str, str]:
    """Return the options with which Hudi's writers keep each index of the table up to date.

    They are options of a DataFrame's writer or of the session. Registered indexes that were deleted
    are included.

    Args:
        table: The base path.

    Raises:
        HudiError: The table cannot be read.
    """
    opened = HudiTable.open(table)
    found = [status for status in index_statuses(opened) if status.store is Store.HUDI]
    partitions = {partition for status in found for partition in status.partitions}
    if PARTITION_STATS in opened.properties.metadata_partitions:
        partitions.add(PARTITION_STATS)
    options = {_METADATA: "true"}
    for partition in sorted(partitions):
        options.update(dict.fromkeys(_settings(partition), "true"))
    kinds = {_kind(partition) for partition in partitions}
    if _EXPRESSIONS in kinds or {PARTITION_STATS, _SECONDARY} <= kinds:
        options.update(_LISTED_BY_DRIVER)
    if COLUMN_STATS in partitions:
        definition = index_definitions(opened).get(COLUMN_STATS)
        registered_columns = next(
            (status.columns for status in found if status.kind == COLUMN_STATS), ()
        )
        columns = _without_meta_fields(
            registered_columns if definition is None else definition.fields
        )
        if columns:
            options[_COLUMNS] = ",".join(columns)
    return options


def clustering_options(table: HudiTable) -> dict[str, str]:
    """Return a clustering writer's options, which keep the table's version, keys and indexes.

    Raises:
        HudiError: The table cannot be read.
    """
    raw, has_metadata = table.properties.raw, bool(table.properties.metadata_partitions)
    keys = {name: raw[own] for own, name in _KEY_SETTINGS.items() if own in raw}
    return {
        # The pending work of other writers must not be rolled back.
        "hoodie.clean.failed.writes.policy": "LAZY",
        # Enabled by themselves, they would be built.
        hudi_names.METADATA_COLUMN_STATS_ENABLE: "false",
        hudi_names.METADATA_PARTITION_STATS_ENABLE: "false",
        **writer_options(table.base_path),
        _METADATA: str(has_metadata).lower(),
        hudi_names.WRITE_TABLE_VERSION: str(table.properties.version),
        hudi_names.WRITE_AUTO_UPGRADE: "false",
        **_LISTED_BY_DRIVER,
        **keys,
    }


def _settings(partition: str) -> Iterable[str]:
    kind = _kind(partition)
    return () if kind is None else _ENABLED[kind]


def _kind(partition: str) -> str | None:
    return next((kind for kind in _ENABLED if partition.startswith(kind)), None)


def _without_meta_fields(columns: Iterable[str]) -> list[str]:
    return [column for column in columns if column not in META_COLUMNS]

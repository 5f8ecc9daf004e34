"""Statistics of the meta columns, which Hudi's writers do not keep while keys are virtual.

A file that is written meanwhile has no entry of these columns in `column_stats`, and
`partition_stats` keep the bounds of before: once keys are stored again, readers would skip the
partitions that new keys are in.
"""

from __future__ import annotations

from pyhudi_expr.tables.hudi_names import COLUMN_STATS, PARTITION_STATS, RECORD_KEY
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.key_storage import base_files
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix, column_stats_key
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable


def key_statistics(table: HudiTable) -> tuple[str, ...]:
    """Return the metadata partitions that may have statistics of the meta columns."""
    found = table.properties.metadata_partitions & {COLUMN_STATS, PARTITION_STATS}
    return tuple(sorted(found)) if COLUMN_STATS in found else ()


def outdated_statistics(table: HudiTable) -> tuple[str, ...]:
    """Return those of `key_statistics` if a base file with rows has no entry of its keys.

    Raises:
        HudiError: The metadata table cannot be read.
    """
    partitions = key_statistics(table)
    metadata = MetadataTable.open(table) if partitions else None
    if metadata is None:
        return ()
    entries = metadata.statistics(COLUMN_STATS, [column_prefix(RECORD_KEY)])
    with_rows = (file.path for file in base_files(table, table.listing()) if file.rows)
    there = set(entries.key.to_pylist())
    return () if all(_key(path) in there for path in with_rows) else partitions


def _key(path: str) -> str:
    """Return the key of a file's entry, by its path below the base path."""
    partition, _, name = path.rpartition("/")
    return column_stats_key(RECORD_KEY, partition, name)

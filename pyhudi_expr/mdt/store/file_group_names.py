"""Names of the metadata table's file groups and files (Hudi's `MetadataPartitionType`)."""

from __future__ import annotations

_PREFIXES = {
    "files": "files",
    "column_stats": "col-stats",
    "partition_stats": "partition-stats",
    "bloom_filters": "bloom-filters",
    "record_index": "record-index",
}

STUB_TOKEN = "0-0-0"
"""The write token of the log file that a file group begins with."""


def file_id(partition: str, shard: int) -> str:
    """The id of a partition's file group; those of secondary and expression indexes are as the
    partition, with hyphens.
    """
    prefix = _PREFIXES.get(partition) or partition.replace("_", "-")
    return f"{prefix}-{shard:04d}-0"


def base_file(group: str, token: str, instant: str) -> str:
    return f"{group}_{token}_{instant}.hfile"


def log_file(group: str, token: str, instant: str, number: int = 1) -> str:
    """instant: of the delta commit; in timeline layout 1 of the slice's base file, and number
    counts its logs.
    """
    return f".{group}_{instant}.log.{number}_{token}"

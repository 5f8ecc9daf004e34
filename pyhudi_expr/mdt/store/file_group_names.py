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
    """Return the id of a partition's file group.

    The ids of secondary and expression indexes are the partition's name with hyphens.
    """
    prefix = _PREFIXES.get(partition) or partition.replace("_", "-")
    return f"{prefix}-{shard:04d}-0"


def base_file(group: str, token: str, instant: str) -> str:
    """Return the name of a base file."""
    return f"{group}_{token}_{instant}.hfile"


def log_file(group: str, token: str, instant: str, number: int = 1) -> str:
    """Return the name of a log file.

    Args:
        group: The id of the file group.
        token: The write token.
        instant: That of the delta commit; in timeline layout 1 that of the slice's base file.
        number: Counts the slice's log files in layout 1.
    """
    return f".{group}_{instant}.log.{number}_{token}"

"""Names of the metadata table's file groups and files (Hudi's `MetadataPartitionType`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pyhudi_expr.tables.storage import FileEntry

_PREFIXES = {
    "files": "files",
    "column_stats": "col-stats",
    "partition_stats": "partition-stats",
    "bloom_filters": "bloom-filters",
    "record_index": "record-index",
}

_OF_ROWS = ("record_index", "secondary_index_")

_BASE = re.compile(r"^(?P<group>[^.].*)_[^_]+_(?P<instant>\d+)\.hfile$")
_LOG = re.compile(r"^\.(?P<group>.+)_(?P<instant>\d+)\.log\.")

STUB_TOKEN = "0-0-0"
"""The write token of the log file that a file group begins with."""


def has_rows(partition: str) -> bool:
    """Return whether a partition has an entry for each row: an index of keys or of values."""
    return partition.startswith(_OF_ROWS)


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


def newest_files(
    entries: Iterable[FileEntry], completed: Mapping[str, str]
) -> list[tuple[str, int]]:
    """Return paths and sizes of the files that are probably in the newest slices of a partition.

    That is each group's newest base file, and the log files of commits that ended later. A delta
    commit may begin before the compaction and end after it.

    Args:
        entries: The partition's directory.
        completed: The completion times of the metadata table's commits, by their instants.
    """
    files = [entry for entry in entries if entry.is_file]
    bases: dict[str, tuple[str, FileEntry]] = {}
    for entry in files:
        base = _BASE.match(entry.name)
        if base is not None:
            known = bases.get(base["group"])
            if known is None or base["instant"] > known[0]:
                bases[base["group"]] = base["instant"], entry
    found = [entry for _, entry in bases.values()]
    for entry in files:
        log = _LOG.match(entry.name)
        if log is not None:
            instant, _ = bases.get(log["group"], ("", entry))
            if completed.get(log["instant"], log["instant"]) >= instant:
                found.append(entry)
    return [(entry.path, entry.size) for entry in found]

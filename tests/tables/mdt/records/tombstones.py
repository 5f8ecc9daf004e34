"""Records by which Hudi deletes entries of files. No command of ours writes them."""

from __future__ import annotations

from typing import Any

from pyhudi_expr.tables.mdt.records.metadata_records import BLOOM_FILTER
from pyhudi_expr.tables.mdt.records.payloads import encoded

_EMPTY: dict[str, Any] = {"key": "", "filesystemMetadata": None}
_COUNTS = ("valueCount", "nullCount", "totalSize", "totalUncompressedSize")


def deleted_statistics(kind: int, described: str, column: str) -> bytes:
    """The tombstone of a file's or partition's statistics."""
    content = dict.fromkeys(_COUNTS, -1) | {"fileName": described, "columnName": column}
    return encoded({**_EMPTY, "type": kind, "ColumnStatsMetadata": {**content, "isDeleted": True}})


def deleted_bloom_filter(kind: str, instant: str) -> bytes:
    """The tombstone of a file's filter."""
    content = {"type": kind, "timestamp": instant, "bloomFilter": b"", "isDeleted": True}
    return encoded({**_EMPTY, "type": BLOOM_FILTER, "BloomFilterMetadata": content})

"""Entries of `record_index`: the file group of each record key (RFC-8).

A key in several file groups has one entry, that of the group which was written last.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

import pyarrow as pa

from pyhudi_expr.mdt.changes.index_definitions import IndexDefinition
from pyhudi_expr.mdt.records import payloads
from pyhudi_expr.reading.key_columns import KeyColumns
from pyhudi_expr.reading.slice_files import FileSlice
from pyhudi_expr.reading.slice_rows import SliceReader
from pyhudi_expr.spark.entries.batches import constant_entries
from pyhudi_expr.spark.jobs.batch_runner import each_item
from pyhudi_expr.spark.jobs.slice_frames import Extract
from pyhudi_expr.table.errors import UnsupportedTable
from pyhudi_expr.table.hudi_table import HudiTable

_SECONDS = 14
_LAST_MILLISECOND = "999"


def record_index(
    table: HudiTable, instant: str | None, definition: IndexDefinition, shards: int
) -> Extract:
    """Return the entries of a slice, see `entries.slice_entries`."""
    if definition.options.get("isPartitioned", "false").lower() == "true":
        raise UnsupportedTable(f"{table.base_path}: a record index for each partition is not built")
    reader = SliceReader.of(table, instant)
    keys = KeyColumns.of(table)
    zone = timezone.utc if table.properties.timeline_zone == "UTC" else None

    def extract(one: FileSlice) -> Iterator[pa.RecordBatch]:
        """Return the entries of one slice."""
        written = instant_ms(one.base_instant, zone)
        value = payloads.location(one.partition, one.file_id, written)
        for columns in reader.columns(one, keys.columns):
            yield constant_entries(keys.keys(columns), value, shards, version=written)

    return each_item(extract)


def instant_ms(instant: str, zone: timezone | None) -> int:
    """Return an instant (yyyyMMddHHmmss[SSS]) in milliseconds since the epoch.

    `zone` is that of the timeline; None: the local one. Old instants without milliseconds count as
    the last one of their second, as in Hudi.
    """
    milliseconds = instant[_SECONDS:] or _LAST_MILLISECOND
    moment = datetime.strptime(instant[:_SECONDS], "%Y%m%d%H%M%S").replace(tzinfo=zone)
    return int(moment.timestamp()) * 1000 + int(milliseconds)

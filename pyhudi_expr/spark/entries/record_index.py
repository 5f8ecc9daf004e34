"""Entries of `record_index`: the file group of each record key (RFC-8).

A key in several file groups has one entry, that of the group which was written last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

import pyarrow as pa

from pyhudi_expr.arrays import AnyArray
from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.rows.slice_files import FileSlice
from pyhudi_expr.spark.entries.batches import constant_entries
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.changes.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.records import payloads

_SECONDS = 14
_LAST_MILLISECOND = "999"


@dataclass(frozen=True)
class RecordEntries:
    """Makes the entries of rows; sent to tasks. See `key_entries.RowEntries`.

    Attributes:
        zone: That of the timeline; None: the local one.
        shards: The index's number of shards.
    """

    zone: timezone | None
    shards: int

    @staticmethod
    def of(table: HudiTable, definition: IndexDefinition, shards: int) -> RecordEntries:
        """Prepare the entries of a table's record index. Raises HudiError."""
        if definition.options.get("isPartitioned", "false").lower() == "true":
            raise UnsupportedTable(
                f"{table.base_path}: a record index for each partition is not built"
            )
        zone = timezone.utc if table.properties.timeline_zone == "UTC" else None
        return RecordEntries(zone, shards)

    @property
    def columns(self) -> tuple[str, ...]:
        """None but those of the keys."""
        return ()

    def entries(
        self, one: FileSlice, keys: AnyArray, values: Mapping[str, AnyArray]
    ) -> pa.RecordBatch:
        """Return the entries of some rows of a slice."""
        written = instant_ms(one.base_instant, self.zone)
        value = payloads.location(one.partition, one.file_id, written)
        return constant_entries(keys, value, self.shards, version=written)


def instant_ms(instant: str, zone: timezone | None) -> int:
    """Return an instant (yyyyMMddHHmmss[SSS]) in milliseconds since the epoch.

    `zone` is that of the timeline; None: the local one. Old instants without milliseconds count as
    the last one of their second, as in Hudi.
    """
    milliseconds = instant[_SECONDS:] or _LAST_MILLISECOND
    moment = datetime.strptime(instant[:_SECONDS], "%Y%m%d%H%M%S").replace(tzinfo=zone)
    return int(moment.timestamp()) * 1000 + int(milliseconds)

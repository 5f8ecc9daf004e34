"""Merge-on-read tables with small pages, whose log files name some of the keys of base files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert
from pyhudi_expr.tables.hudi_table import HudiTable as OpenTable

ROWS, FILES = 5_000, 2
"""Rows of the base files, and these."""

_PAGED = {
    "hoodie.parquet.page.size": "4096",
    "hoodie.parquet.dictionary.enabled": "false",
    # Inserts go to log files, too.
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": str(FILES),
}
# Without a field that orders them, the last version of a record is the newest one.
_UNORDERED = {"hoodie.datasource.write.precombine.field": ""}
_PAYLOAD = "hoodie.datasource.write.payload.class"
_MODEL = "org.apache.hudi.common.model."


@dataclass(frozen=True)
class Kind:
    """A table version, how records are merged, and how log blocks hold them."""

    version: int
    options: Mapping[str, str]


KINDS: Mapping[str, Kind] = {
    "event_time_9": Kind(9, {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING"}),
    "commit_time_9": Kind(9, _UNORDERED),
    "positions_8": Kind(8, {**_UNORDERED, "hoodie.write.record.positions": "true"}),
    "parquet_blocks_9": Kind(9, {"hoodie.logfile.data.block.format": "parquet"}),
    "newest_6": Kind(6, {_PAYLOAD: f"{_MODEL}OverwriteWithLatestAvroPayload"}),
    "event_time_6": Kind(6, {_PAYLOAD: f"{_MODEL}DefaultHoodieRecordPayload"}),
    "payload_6": Kind(6, {_PAYLOAD: f"{_MODEL}PartialUpdateAvroPayload"}),
    "defaults_6": Kind(6, {_PAYLOAD: f"{_MODEL}OverwriteNonDefaultsWithLatestAvroPayload"}),
}


def rows(spark: SparkSession, ids: Sequence[int] | range, change: str, step: int) -> DataFrame:
    """Rows of ids, whose values say by which change they were written, and when."""
    frame = (
        spark.range(ids.start, ids.stop, ids.step, 1)
        if isinstance(ids, range)
        else spark.createDataFrame([(each,) for each in ids], "id long").coalesce(1)
    )
    return frame.selectExpr(
        "id",
        f"int({step}) AS v",
        f"concat('{change} ', id) AS name",
        f"if(id % 11 = 3, null, id * 1.5D + {step}) AS n",
        "cast(id AS decimal(9, 2)) AS m",
        "date_add(DATE '2000-01-01', int(id div 40)) AS day",
        "timestamp_seconds(id * 3600 + 1700000000) AS at",
        f"named_struct('a', int(id % 9), 't', concat('{change}', id)) AS st",
        "array(int(id), int(id % 7)) AS li",
        "map('k', int(id)) AS mp",
        f"array(named_struct('a', int(id), 't', '{change}')) AS deep",
    )


def write(spark: SparkSession, name: str, kind: Kind, parent: Path) -> HudiTable:
    """Write a table: updates, late ones, deletes, re-inserts, and inserts into log files."""
    spec = TableSpec(
        name,
        TableType.MOR,
        kind.version,
        ordering="v",
        stats_columns=None,
        extra={**_PAGED, **kind.options},
    )
    table = create(rows(spark, range(ROWS), "base", 5), spec, parent)
    upsert(table, rows(spark, range(5, 2_000, 97), "updated", 6))
    upsert(table, rows(spark, range(102, 1_000, 97), "late", 2))
    delete(table, rows(spark, range(7, ROWS, 331), "deleted", 7))
    upsert(table, rows(spark, range(338, 1_400, 662), "again", 8))
    upsert(table, rows(spark, range(ROWS, ROWS + 40), "inserted", 5))
    upsert(table, rows(spark, range(ROWS + 20, ROWS + 30), "twice", 9))
    return table


def undo_last_commit(table: HudiTable) -> None:
    """Make the last commit one that never completed: its log blocks are not valid."""
    last = OpenTable.open(str(table.path)).timeline.writes[-1]
    (done,) = (
        file
        for file in (table.path / ".hoodie").rglob(f"{last.requested}*.deltacommit")
        if "metadata" not in file.relative_to(table.path / ".hoodie").parts
    )
    done.unlink()
    done.with_name(f".{done.name}.crc").unlink(missing_ok=True)

"""File slices and metadata records of tables that Hudi writes now equal those that Hudi reads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from devtools.tables import HudiTable as WrittenTable
from devtools.tables import PartitionStyle, TableSpec, TableType, create, delete, upsert
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, FILES
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from tests.marks import long
from tests.tables.tables import slices

pytestmark = pytest.mark.spark


@pytest.fixture(
    scope="module",
    params=[
        (TableType.MOR, 6, ("p", "q")),
        long((TableType.MOR, 8, ("p", "q"))),
        (TableType.MOR, 9, ("p", "q")),
        (TableType.COW, 9, ()),
    ],
    ids=["mor6", "mor8", "mor9", "cow9-unpartitioned"],
)
def written(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> WrittenTable:
    """Several commits with deletes, and a compacted metadata table. MOR has a pending compaction,
    with
    writes after it.
    """
    kind, version, partitions = request.param
    spec = TableSpec(
        "t",
        kind,
        version,
        partitions=partitions,
        partition_style=PartitionStyle.PLAIN_ENCODED if version == 8 else PartitionStyle.HIVE,
        extra={"hoodie.metadata.compact.max.delta.commits": "3"},
    )
    table = create(_rows(spark, 0, 60, "a"), spec, tmp_path_factory.mktemp("written"))
    upsert(table, _rows(spark, 10, 20, "b"))
    delete(table, _rows(spark, 0, 6, "a"))
    upsert(table, _rows(spark, 60, 70, "c"))
    if kind is TableType.MOR:
        spark.sql(f"call run_compaction(op => 'schedule', path => '{table.path}')").collect()
        upsert(table, _rows(spark, 12, 14, "d"))
    return table


def test_file_slices_equal_those_of_hudi(written: WrittenTable, spark: SparkSession) -> None:
    table = HudiTable.open(str(written.path))
    found = [{**one, "logs": sorted(one["logs"])} for one in slices(table.listing())]
    assert found == _slices_of_hudi(spark, written)
    metadata = MetadataTable.open(table)
    assert metadata is not None
    assert metadata.lists_files
    listing = current_listing(metadata.table, metadata, TableView.SNAPSHOT)
    assert listing.tokens.equals(table.listing().tokens)


@pytest.mark.smoke("cow9-unpartitioned")
def test_metadata_records_equal_those_of_hudi(written: WrittenTable, spark: SparkSession) -> None:
    metadata = MetadataTable.open(HudiTable.open(str(written.path)))
    assert metadata is not None
    found = {}
    for partition in metadata.partitions & {FILES, COLUMN_STATS, "partition_stats"}:
        records = metadata.scan(partition)
        for key, payload in zip(records.keys, records.payloads, strict=True):
            found[payload["type"], key] = plain(payload)
    frame = spark.read.format("hudi").load(f"{written.path}/.hoodie/metadata")
    expected = {
        (row.type, row.key): plain(row.asDict(recursive=True))
        for row in frame.filter("type in (1, 2, 3, 6)").collect()
    }
    assert found == expected


def _rows(spark: SparkSession, start: int, end: int, tag: str) -> DataFrame:
    paths = sql.array(sql.lit("a b"), sql.lit("x/y=z"), sql.lit("é%1"))
    number = sql.col("id")
    return (
        spark.range(start, end, 1, 2)
        .withColumn("p", sql.element_at(paths, (number % 3 + 1).cast("int")))
        .withColumn("q", (number % 2).cast("int"))
        .withColumn("s", sql.concat(sql.lit(tag), number.cast("string")))
        .withColumn("d", sql.when(number % 7 == 0, sql.lit(None)).otherwise(number * 1.5))
        .withColumn("m", (number / 3).cast("decimal(20,4)"))
        .withColumn("t", sql.timestamp_seconds(number * 3600))
    )


def _slices_of_hudi(spark: SparkSession, table: WrittenTable) -> list[dict[str, Any]]:
    """Hudi's file system view over a listing of the storage; only log files for MOR tables."""
    hudi = spark._jvm.org.apache.hudi
    configuration = spark._jsc.hadoopConfiguration()
    client = (
        hudi.common.table.HoodieTableMetaClient.builder()
        .setConf(hudi.storage.hadoop.HadoopStorageConfiguration(configuration))
        .setBasePath(str(table.path))
        .build()
    )
    timeline = client.getCommitsAndCompactionTimeline().filterCompletedAndCompactionInstants()
    context = hudi.client.common.HoodieSparkEngineContext(spark._jsc)
    view_type = hudi.common.table.view.HoodieTableFileSystemView
    view = view_type.fileListingBasedFileSystemView(context, client, timeline)
    newest = timeline.lastInstant().get().requestedTime()
    found = []
    for marker in table.path.rglob(".hoodie_partition_metadata"):
        partition = marker.parent.relative_to(table.path)
        if ".hoodie" not in partition.parts:
            path = "" if partition == Path() else str(partition)
            for one in _items(view.getLatestMergedFileSlicesBeforeOrOn(path, newest)):
                base = one.getBaseFile()
                found.append(
                    {
                        "partition": path,
                        "file_id": one.getFileId(),
                        "base_instant": one.getBaseInstantTime(),
                        "base": base.get().getFileName() if base.isPresent() else "",
                        "base_size": base.get().getFileSize() if base.isPresent() else 0,
                        "logs": sorted(log.getFileName() for log in _items(one.getLogFiles())),
                    }
                )
    return sorted(found, key=lambda one: (one["partition"].encode(), one["file_id"]))


def _items(stream: Any) -> list[Any]:
    iterator = stream.iterator()
    found = []
    while iterator.hasNext():
        found.append(iterator.next())
    return found


def plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """What both decoders return alike: a key's location, sizes of files, a column's statistics."""
    if record.get("recordIndexMetadata") is not None:
        return dict(record["recordIndexMetadata"])
    stats = record["ColumnStatsMetadata"]
    if stats is None:
        files = record["filesystemMetadata"]
        return {name: (info["size"], info["isDeleted"]) for name, info in files.items()}
    names = ("fileName", "columnName", "valueCount", "nullCount", "isDeleted", "isTightBound")
    bounds = {name: _bound(stats[name]) for name in ("minValue", "maxValue")}
    return {**{name: stats[name] for name in names}, **bounds}


def _bound(wrapped: Any) -> Any:
    """The value of (name, {"value": v}), or of the only non-null member of Spark's struct."""
    if wrapped is None:
        return None
    if isinstance(wrapped, dict):
        (content,) = (member for member in wrapped.values() if member is not None)
        value = content["value"]
    else:
        value = wrapped[1]["value"]
    return bytes(value) if isinstance(value, (bytes, bytearray)) else value

"""Log blocks that Hudi compacted into others, without a new base file, are read as Hudi reads them.

Hudi's own reader orders them only with an option (`optimized.log.block.scan`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.tables import TableSpec, TableType, create, delete, upsert
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, FILES, RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.log_files import LogBlock, LogFile
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from tests.index.prune.matching_slices import assert_no_row_lost, read
from tests.tables.mdt.test_against_hudi import plain

pytestmark = pytest.mark.spark

COMPACTING = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.log.compaction.enable": "true",
    "hoodie.metadata.log.compaction.blocks.threshold": "2",
    "hoodie.metadata.compact.max.delta.commits": "20",
}
PREDICATES = ("k = 'k3'", "k = 'k21'", "k = 'k1'", "x = 3", "x > 1000", "x < 10", "k = 'k45'")


@pytest.mark.long
@pytest.mark.parametrize(
    ("type_", "version"), [(TableType.MOR, 6), (TableType.COW, 8), (TableType.MOR, 9)]
)
def test_records_equal_those_that_hudi_reads(
    spark: SparkSession, tmp_path: Path, type_: TableType, version: int
) -> None:
    spec = TableSpec("t", type_, version, ("k",), "o", ("p",), extra=COMPACTING)
    table = create(rows(spark, 0, 60, 0), spec, tmp_path)
    for number in range(1, 5):
        upsert(table, rows(spark, 7 * number, 7 * number + 9, number))
    delete(table, rows(spark, 20, 23, 9))
    upsert(table, rows(spark, 40, 50, 6))

    metadata = MetadataTable.open(HudiTable.open(str(table.path)))
    assert metadata is not None
    for partition in (FILES, COLUMN_STATS, RECORD_INDEX):
        found = list(blocks(metadata, partition))
        compacted = {block.instant for block in found if block.replaces}
        again = {instant for block in found for instant in block.replaces} & compacted
        assert again, f"{partition}: no block was compacted twice"
    assert merged(metadata) == of_hudi(spark, table.path)
    assert_no_row_lost(Pruner(), table.path, read(spark, table.path), PREDICATES)


def rows(spark: SparkSession, start: int, end: int, number: int) -> DataFrame:
    """Rows with the ids from start to end; each upsert has values of its own."""
    return spark.sql(
        f"select 'k' || id as k, cast(id + {1000 * number} as int) as x, {number} as o, "
        f"'p' || (id div 30) as p from range({start}, {end}, 1, 2)"
    )


def blocks(metadata: MetadataTable, partition: str) -> Iterator[LogBlock]:
    """All log blocks of the partition."""
    for group in metadata.groups(partition):
        for file, _ in group.logs:
            source = group.storage.open_input(file.path)
            yield from LogFile(source, file.size, file.path).blocks


def merged(metadata: MetadataTable) -> dict[tuple[int, str], object]:
    """The records of all partitions by kind and key."""
    found: dict[tuple[int, str], object] = {}
    for partition in metadata.partitions:
        records = metadata.scan(partition)
        for key, payload in zip(records.keys, records.payloads, strict=True):
            found[payload["type"], key] = plain(payload)
    return found


def of_hudi(spark: SparkSession, path: Path) -> dict[tuple[int, str], object]:
    """The same as Hudi merges them."""
    option = "hoodie.metadata.optimized.log.block.scan.enable"
    frame = spark.read.format("hudi").option(option, "true").load(f"{path}/.hoodie/metadata")
    return {(row.type, row.key): plain(row.asDict(recursive=True)) for row in frame.collect()}

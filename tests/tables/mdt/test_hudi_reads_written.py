"""Apache Hudi prunes by HFiles that our writer wrote.

If Hudi cannot read a file, it loses the index but no row. So here the statistics are wrong: only a
reader that uses them loses the row.
"""

import io
import json
from pathlib import Path

import fastavro
import pytest
from pyspark.sql import SparkSession

from devtools.tables import HudiTable, TableSpec, create, upsert
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.records.metadata_records import Payload, decode
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.file_group import all_cells

pytestmark = pytest.mark.spark

_FILES = 4
_ROWS = 40
_PARSED_SCHEMA = fastavro.parse_schema(json.loads(RECORD_SCHEMA))


@pytest.fixture
def table(spark: SparkSession, table_root: Path) -> HudiTable:
    """Ids from 0 on, ten in each file, and a metadata table that has been compacted."""
    compacted = {"hoodie.metadata.compact.max.delta.commits": "1"}
    spec = TableSpec("rewritten", stats_columns=("id",), extra=compacted)
    rows = spark.range(0, _ROWS, 1, _FILES).selectExpr("id", "id % 7 AS other")
    written = create(rows, spec, table_root)
    upsert(written, spark.range(_ROWS, _ROWS + 1).selectExpr("id", "id % 7 AS other"))
    return written


@pytest.mark.smoke
def test_hudi_uses_a_rewritten_file(spark: SparkSession, table: HudiTable) -> None:
    bases = sorted((table.path / ".hoodie/metadata/column_stats").glob("*.hfile"))
    assert bases
    rewrite(bases, shift=0)
    assert found(spark, table, "id IN (5, 25)") == [5, 25]
    rewrite(bases, shift=1_000)
    assert found(spark, table, "id IN (5, 25)") == []
    assert found(spark, table, "other >= 0") == list(range(_ROWS + 1))


def found(spark: SparkSession, table: HudiTable, predicate: str) -> list[int]:
    """The ids that a new Hudi reader returns."""
    reader = spark.read.format("hudi").option("hoodie.enable.data.skipping", "true")
    frame = reader.option("hoodie.metadata.enable", "true").load(str(table.path))
    return sorted(row.id for row in frame.where(predicate).select("id").collect())


def rewrite(paths: list[Path], shift: int) -> None:
    """Rewrites the HFiles, with every range of ids moved up by `shift`."""
    for path in paths:
        content = path.read_bytes()
        hfile = HFile(_Memory(content), len(content), path.name)
        cells = all_cells(hfile)
        records = decode(hfile.schema, cells.values, path.name)
        values = [_encoded(_moved(record, shift)) for record in records]
        with path.open("wb") as sink:
            hfile_writer.write(sink, zip(cells.keys, values, strict=True), RECORD_SCHEMA)
        # Hadoop's checksum of the old file.
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def _moved(record: Payload, shift: int) -> Payload:
    stats = record["ColumnStatsMetadata"]
    if stats["columnName"] != "id":
        return record
    moved = {
        side: (stats[side][0], {"value": stats[side][1]["value"] + shift})
        for side in ("minValue", "maxValue")
    }
    return {**record, "ColumnStatsMetadata": {**stats, **moved}}


def _encoded(record: Payload) -> bytes:
    target = io.BytesIO()
    fastavro.schemaless_writer(target, _PARSED_SCHEMA, record)
    return target.getvalue()


class _Memory:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def read_at(self, nbytes: int, offset: int) -> bytes:
        return self._content[offset : offset + nbytes]

"""Apache Hudi reads the demo's table, and prunes by the indexes that we wrote for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from devtools.tables import META_COLUMNS, HudiTable, TableSpec, upsert
from pyhudi_expr import scan
from pyhudi_expr.cli.demo_table import ONE_RIDER, write_demo_indexes, write_demo_table
from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.index.catalog.status import State, checked_statuses
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.manage.indexing.writer_options import writer_options
from pyhudi_expr.tables.hudi_table import HudiTable as OurTable

pytestmark = [pytest.mark.spark, pytest.mark.long]

_ORDERING = "hoodie.datasource.write.precombine.field"
_CONDITIONS = (
    "id = 12345",
    f"rider = '{ONE_RIDER}'",
    "city = 'Oslo' AND day = '2024-01-03'",
    "fare > 165",
)


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    path = tmp_path / "trips"
    write_demo_table(path)
    write_demo_indexes(path)
    return path


def test_hudi_returns_the_same_rows(spark: SparkSession, trips: Path) -> None:
    assert len(found(spark, trips, "true")) == 160_000
    for condition in _CONDITIONS:
        ours = sorted(scan(str(trips), condition, ["id"]).to_table()["id"].to_pylist())
        assert ours
        assert found(spark, trips, condition) == ours
        assert found(spark, trips, condition, skipping=False) == ours


@pytest.mark.parametrize("condition", _CONDITIONS)
def test_hudi_opens_no_file_that_the_indexes_exclude(
    spark: SparkSession, trips: Path, condition: str
) -> None:
    expected = found(spark, trips, condition)
    result = pruned(trips, condition)
    assert result.files_kept < result.files_total
    damage(trips, result)
    assert found(spark, trips, condition) == expected
    with pytest.raises(Py4JJavaError, match="is not a Parquet file"):
        found(spark, trips, "ts IS NOT NULL", skipping=False)


def test_hudi_maintains_the_indexes(spark: SparkSession, trips: Path) -> None:
    schema = spark.read.format("hudi").load(str(trips)).drop(*META_COLUMNS).schema
    options = {**writer_options(str(trips)), _ORDERING: ""}
    spec = TableSpec("trips", version=8, partitions=("day",), extra=options)
    table = HudiTable(spec, str(trips), schema)
    rows = "160000 AS id, timestamp'2024-01-03' AS ts, 'Oslo' AS city, 'R-new' AS rider"
    added = spark.range(1).selectExpr(
        *rows.split(", "), "cast(70 AS decimal(9, 2)) AS fare", "'2024-01-03' AS day"
    )
    upsert(table, added)
    assert found(spark, trips, "rider = 'R-new'") == [160_000]
    statuses = checked_statuses(IndexCatalog.open(OurTable.open(str(trips))))
    assert {one.name: one.state for one in statuses}["riders"] is State.ACTIVE
    assert pruned(trips, "rider = 'R-new'").files_kept == 1


def found(spark: SparkSession, path: Path, condition: str, *, skipping: bool = True) -> list[int]:
    """The ids that Hudi's own reader returns."""
    reader = spark.read.format("hudi").option("hoodie.metadata.enable", str(skipping).lower())
    frame = reader.option("hoodie.enable.data.skipping", str(skipping).lower()).load(str(path))
    return sorted(row.id for row in frame.where(condition).select("id").collect())


def pruned(path: Path, condition: str) -> PruneResult:
    request = PruneRequest(parse_predicate(condition, SPARK), semantics=here("UTC"))
    return Pruner().prune(str(path), request)


def damage(path: Path, result: PruneResult) -> None:
    """Overwrite the files that need not be read."""
    for name in result.listing.paths(~result.file_keep):
        (path / name).write_bytes(b"not a Parquet file")
        (path / name).with_name(f".{Path(name).name}.crc").unlink(missing_ok=True)

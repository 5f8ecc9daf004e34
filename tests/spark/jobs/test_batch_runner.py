"""The same steps return the same rows in Spark's tasks and in this process."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from devtools.tables import TableSpec, create, delete, upsert
from pyhudi_expr.index.catalog.status import index_status
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.spark.builds.extension_indexes import extension_refresh
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.jobs import batch_runner
from pyhudi_expr.spark.jobs.batch_runner import (
    LOCAL_BYTES,
    Batches,
    LocalRunner,
    Row,
    Runner,
    SparkRunner,
    each_item,
    runner,
)
from pyhudi_expr.tables import hudi_table
from pyhudi_expr.tables.mdt.extension_changes import EXTENSION_DIR, Extension
from pyhudi_expr.tables.mdt.records.metadata_records import Payload
from tests.tables.directory_contents import without_metadata_table

pytestmark = pytest.mark.spark

_READ = "number long, remainder long"
_SUMS = "remainder long, numbers string"
_INDEXES = (
    "secondary_index(city)",
    "column_stats(id, city)",
    "bloom_filters",
)


def multiples(row: Row) -> Iterator[pa.RecordBatch]:
    numbers = [row["number"] * factor for factor in range(1, 4)]
    yield pa.record_batch([numbers, [n % 3 for n in numbers]], names=["number", "remainder"])


def listed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The numbers of each remainder, in their order."""
    held = [batch for batch in batches if batch.num_rows]
    if held:
        rows = pa.Table.from_batches(held)
        for remainder in pc.unique(rows["remainder"]).to_pylist():
            numbers = rows.filter(pc.equal(rows["remainder"], remainder))["number"].to_pylist()
            columns = [[remainder], [" ".join(map(str, numbers))]]
            yield pa.record_batch(columns, names=["remainder", "numbers"])


def run_steps(way: Runner, items: int) -> list[Row]:
    table = pa.table({"number": pa.array(range(items), pa.int64())})
    read: Batches = way.each(table, each_item(multiples), _READ)
    ordered = read.together(2, "remainder").ordered("remainder", "number")
    return sorted(ordered.then(listed, _SUMS).rows(), key=lambda row: int(row["remainder"]))


@pytest.mark.parametrize("items", [0, 1, 100])
def test_steps_receive_the_same_rows_in_the_same_order(spark: SparkSession, items: int) -> None:
    expected = run_steps(LocalRunner(), items)
    assert len(expected) == min(items, 3)
    assert run_steps(SparkRunner(spark), items) == expected


@pytest.mark.smoke
def test_large_inputs_run_in_spark(spark: SparkSession) -> None:
    assert runner(spark, LOCAL_BYTES) == LocalRunner()
    assert runner(spark, LOCAL_BYTES + 1) == SparkRunner(spark)


@pytest.mark.long
def test_a_refresh_writes_the_same_entries_either_way(
    spark: SparkSession, table_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = spark.range(0, 80, 1, 8).selectExpr("id", "'c' || (id div 4) AS city")
    table = create(frame, TableSpec("refreshed_twice", stats_columns=None), table_root)
    for number, kind in enumerate(_INDEXES):
        statement = f"CREATE INDEX i{number} ON '{table.path}' USING {kind}"
        execute(spark, f"{statement} OPTIONS (store = 'extension', shards = '2')")
    upsert(table, spark.range(5, 120, 40).selectExpr("id", "'late' AS city"))
    delete(table, frame.where("id = 33"))
    twin = table.path.with_name("refreshed_in_spark")
    shutil.copytree(table.path, twin)

    refreshed(spark, table.path)
    monkeypatch.setattr(batch_runner, "LOCAL_BYTES", -1)
    refreshed(spark, twin)
    assert entries(twin) == entries(table.path)
    assert slices(twin).equals(slices(table.path))


@pytest.mark.long
def test_old_values_come_from_the_reverse_mapping(
    spark: SparkSession, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    """Neither the index nor the replaced files are read: they do not exist here."""
    path, later = tmp_path / "table", tmp_path / "later"
    later.mkdir()
    shutil.copytree(golden["cow_v9_txns_simple_meta"], path)
    without_metadata_table(path)
    timeline = path / ".hoodie/timeline"
    for commit in [*timeline.glob("*_*.commit"), *timeline.glob("*_*.replacecommit")]:
        if commit.name > "20260307162442":
            commit.rename(later / commit.name)
    options = "OPTIONS (store = 'extension', shards = 1)"
    execute(spark, f"CREATE INDEX i0 ON '{path}' (merchant_name) {options}")
    before = files(path)
    for commit in later.iterdir():
        commit.rename(timeline / commit.name)
    index = {file: file.read_bytes() for file in path.glob(f"{EXTENSION_DIR}/*/*.hfile")}
    assert len(index) == 2
    for file, content in index.items():
        file.write_bytes(bytes(len(content)))
    replaced = before - files(path)
    assert len(replaced) == len(before) == 3
    for name in replaced:
        (path / name).unlink()

    built = extension_refresh(spark, opened(path), "i0", BuildOptions())
    assert built is not None
    assert set(built.records) == {"record_index", "secondary_index_i0"}
    for file, content in index.items():
        file.write_bytes(content)
    status = index_status(opened(path), "i0")
    assert status is not None
    (verified,) = verify(spark, opened(path), status)
    assert verified.is_right, verified


def files(path: Path) -> set[str]:
    """The base files of the newest snapshot."""
    listing = opened(path).listing()
    return set(listing.paths(np.arange(listing.num_files)))


def refreshed(spark: SparkSession, path: Path) -> None:
    built = extension_refresh(spark, opened(path), "i0", BuildOptions())
    assert built is not None
    assert len(built.records) == len(_INDEXES) + 1  # the record index as well


def entries(path: Path) -> dict[str, dict[str, Payload]]:
    """The payloads by key, for each metadata partition."""
    records = extension(path).records
    scans = {partition: records.scan(partition) for partition in records.partitions}
    return {name: dict(zip(s.keys, s.payloads, strict=True)) for name, s in scans.items()}


def slices(path: Path) -> pa.Table:
    return extension(path).coverage.slices


def extension(path: Path) -> Extension:
    found = Extension.open(opened(path))
    assert found is not None
    return found


def opened(path: Path) -> hudi_table.HudiTable:
    return hudi_table.HudiTable.open(str(path))

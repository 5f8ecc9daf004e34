"""Clustering, pruned DataFrames and virtual keys do the same in a bucket as on a local disk."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from devtools.s3.server import S3Server
from devtools.tables import TableSpec, TableType, create, delete, upsert
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.manage.layout import Layout
from pyhudi_expr.manage.layout.selection import Size
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.spark.clustering.clustering import ClusterOptions, cluster
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.query.dataframes import prune_table, pruned
from pyhudi_expr.spark.virtual_keys import writing
from pyhudi_expr.spark.virtual_keys.key_column import load
from pyhudi_expr.spark.virtual_keys.rewriting import restore, rewrite
from pyhudi_expr.spark.virtual_keys.writing import VirtualTable
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.key_storage import key_storage
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.storage import Storage, using_storage_options
from tests.index.prune.matching_slices import assert_no_row_lost, read
from tests.marks import long
from tests.spark.virtual_keys.virtual_tables import (
    QUICK,
    frame,
    key,
    keys_that_hudi_reads,
    some,
    stored,
)
from tests.stored_files import StoredFiles

pytestmark = [pytest.mark.spark, pytest.mark.s3]

_PREDICATES = (
    "a < 5000",
    "a BETWEEN 30000 AND 50000 AND p = 'p1'",
    "id = 17",
    "v = 1",
    "a IS NULL",
)
Rows = list[tuple[object, ...]]


def numbers(spark: SparkSession) -> DataFrame:
    """Rows in no order of `a`."""
    return spark.range(0, 400, numPartitions=4).select(
        f.col("id").cast("int"),
        f.expr("if(id % 50 = 0, null, pmod(hash(id), 100000))").alias("a"),
        f.lit(0).alias("v"),
        f.concat(f.lit("p"), f.col("id") % 2).alias("p"),
    )


@pytest.fixture(scope="module", params=[TableType.MOR, long(TableType.COW)])
def local(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Path:
    """A table with updated and deleted rows, on the local disk. Read-only: copy to change."""
    root = tmp_path_factory.mktemp("local")
    table = create(numbers(spark), TableSpec("t", request.param, partitions=("p",)), root)
    upsert(table, numbers(spark).where("id < 20").withColumn("v", f.lit(1)))
    delete(table, numbers(spark).where("id IN (50, 51)"))
    return table.path


def rows(frame: DataFrame, *left_out: str) -> Rows:
    return sorted(map(tuple, frame.drop(*left_out).collect()), key=repr)


def test_rows_and_files_of_conditions(
    spark_on_s3: SparkSession, local: Path, s3_bucket: str
) -> None:
    uri = f"s3a://{s3_bucket}/t"
    StoredFiles.of_directory(local).restore(Storage.open(uri))
    every = read(spark_on_s3, uri).cache()
    dropped = 0
    for text in _PREDICATES:
        found, alike = (prune_table(spark_on_s3, path, text) for path in (uri, str(local)))
        assert rows(found.frame) == rows(alike.frame) == rows(every.where(text)) != []
        assert found.result.kept_paths() == alike.result.kept_paths()
        dropped += found.result.files_total - found.result.files_kept
    every.unpersist()
    assert dropped > 0


def test_a_layout(spark_on_s3: SparkSession, local: Path, s3_bucket: str, tmp_path: Path) -> None:
    uri, copy = f"s3a://{s3_bucket}/t", str(tmp_path / "t")
    StoredFiles.of_directory(local).restore(Storage.open(uri))
    shutil.copytree(local, copy)
    execute(spark_on_s3, f"CREATE INDEX i ON '{uri}' (a) OPTIONS (store = 'extension')")
    before = rows(read(spark_on_s3, uri), "_hoodie_file_name")
    ways = ClusterOptions(size=Size(files=8))
    done, alike = (cluster(spark_on_s3, p, Layout(("a",)), ways) for p in (uri, copy))
    assert (done.files_before, done.files_after) == (alike.files_before, alike.files_after)
    assert done.notes == ("refreshed the index i",)
    for path in (uri, copy):
        assert rows(read(spark_on_s3, path), "_hoodie_file_name") == before
    kept = assert_no_row_lost(Pruner(), uri, read(spark_on_s3, uri), _PREDICATES)
    assert kept["a < 5000"] <= 2
    assert not HudiTable.open(uri).timeline.pending
    assert cluster(spark_on_s3, uri, Layout(("a",)), ways).instant is None
    assert_no_leftovers(uri)


def test_options_of_a_call_win_over_those_around_it(
    spark_on_s3: SparkSession, s3_server: S3Server, local: Path, s3_bucket: str
) -> None:
    uri, options = f"s3a://{s3_bucket}/t", s3_server.storage_options()
    StoredFiles.of_directory(local).restore(Storage.open(uri))
    with using_storage_options({"endpoint": "http://127.0.0.1:9"}):
        layout = cluster(spark_on_s3, uri, Layout(("a",)), storage_options=options)
        found = pruned(spark_on_s3, uri, "a < 5000", storage_options=options)
    assert layout.instant is not None
    assert rows(found) == rows(read(spark_on_s3, uri).where("a < 5000")) != []


def assert_no_leftovers(uri: str) -> None:
    entries = Storage.open(uri).list(recursive=True)
    assert [
        entry.path for entry in entries if ".tmp" in entry.name or ".marker" in entry.name
    ] == []


@pytest.mark.long
@pytest.mark.parametrize("is_mor", [False, True])
def test_virtual_keys_from_the_first_row_on(
    spark_on_s3: SparkSession, s3_bucket: str, tmp_path: Path, is_mor: bool
) -> None:
    uri, alike = f"s3a://{s3_bucket}/t", str(tmp_path / "t")
    table = VirtualTable("t", ("k",), "v", ("p",), is_merge_on_read=is_mor, options=QUICK)
    left = {**some(0, 8, 1), **some(2, 3, 2), **some(8, 9, 2)}
    left = {name: row for name, row in left.items() if name not in some(3, 5, 9)}
    for path in (uri, alike):
        writing.create(frame(spark_on_s3, some(0, 8, 1)), path, table)
        changed = {**some(2, 3, 2), **some(8, 9, 2)}
        writing.write(frame(spark_on_s3, changed), path, "upsert", QUICK)
        writing.write(frame(spark_on_s3, some(3, 5, 9)), path, "delete", QUICK)
        assert stored(spark_on_s3, path) == left
        assert keys_that_hudi_reads(spark_on_s3, path) == {None}
    execute(spark_on_s3, f"CREATE INDEX i ON '{uri}' (v) OPTIONS (store = 'extension')")
    for text in ("v = 2", "v = 7", "p = 'p0' AND v < 2"):
        found, same = (prune_table(spark_on_s3, path, text).frame for path in (uri, alike))
        without = load(spark_on_s3, uri).where(text)
        columns = ("k", "v", "p", "pad", "_hoodie_record_key")
        assert rows(found.select(*columns)) == rows(same.select(*columns))
        assert rows(found.select(*columns)) == rows(without.select(*columns))


def test_stored_keys_to_virtual_ones_and_back(spark_on_s3: SparkSession, s3_bucket: str) -> None:
    uri = f"s3a://{s3_bucket}/t"
    table = VirtualTable("t", ("k",), "v", ("p",))
    options: Mapping[str, str] = {
        **table.writer_options(),
        **QUICK,
        "hoodie.populate.meta.fields": "true",
        "hoodie.datasource.write.operation": "bulk_insert",
    }
    writer = frame(spark_on_s3, some(0, 8, 1)).write.format("hudi").options(**options)
    writer.mode("append").save(uri)
    storage = Storage.open(uri)
    check = partial(keys_that_hudi_reads, spark_on_s3, uri)
    assert check() == set(some(0, 8, 1))
    enable(HudiTable.at(storage), VirtualKeySettings(), TableLock(storage))
    assert rewrite(spark_on_s3, uri, None, 1 << 30, lambda *_: None).file_groups == 2
    assert (check(), key_storage(HudiTable.open(uri)).files_with_keys) == ({None}, 0)
    assert stored(spark_on_s3, uri) == some(0, 8, 1)
    for text in ("v = 1", f"k = '{key(3)}'", "v > 1"):
        columns = ("k", "v", "p", "_hoodie_record_key")
        found = prune_table(spark_on_s3, uri, text).frame.select(*columns)
        assert rows(found) == rows(load(spark_on_s3, uri).where(text).select(*columns))
    restore(spark_on_s3, uri)
    assert check() == set(some(0, 8, 1))
    assert stored(spark_on_s3, uri) == some(0, 8, 1)
    assert_no_leftovers(uri)

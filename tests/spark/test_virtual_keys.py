"""Tables with virtual keys: written through Apache Hudi, read by Hudi, by us, and by hudi-rs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hudi import HudiTableBuilder
from pyspark.sql import SparkSession

from pyhudi_expr.frontend.sql import parse_predicate
from pyhudi_expr.index.key_switching import KeyDefinitionChanged
from pyhudi_expr.keys.definition import Generator
from pyhudi_expr.keys.generators import MissingKey
from pyhudi_expr.keys.hudi_limits import UnmergeableKeys
from pyhudi_expr.keys.stored_columns import key_storage
from pyhudi_expr.prune import Pruner, PruneRequest
from pyhudi_expr.reading.scanning import scan
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.virtual_keys.writing import VirtualTable, create, service_options, write
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from tests.spark.slice_keys import keys_of_rows
from tests.spark.virtual_tables import (
    QUICK,
    SCHEMA,
    Rows,
    frame,
    key,
    keys_that_hudi_reads,
    some,
    stored,
)

pytestmark = [pytest.mark.spark, pytest.mark.long]

Written = tuple[str, Rows]


def serviced(spark: SparkSession, path: str, procedure: str, arguments: str, **more: str) -> None:
    """Calls a table service of Hudi's with what it has to be told."""
    options = ",".join(f"{k}={value}" for k, value in {**service_options(path), **more}.items())
    spark.sql(f"CALL {procedure}(path => '{path}', {arguments}, options => '{options}')").collect()


@pytest.fixture(scope="module", params=["copy on write, 9", "merge on read, 9", "merge on read, 6"])
def written(
    spark: SparkSession, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Written:
    """A table after a bulk insert, an upsert, an insert and a delete, and its rows."""
    path = str(tmp_path_factory.mktemp("virtual") / "t")
    kind, version = request.param.split(", ")
    options = {"hoodie.write.table.version": version, "hoodie.write.auto.upgrade": "false"}
    spec = VirtualTable(
        "t",
        ("k",),
        "v",
        ("p",),
        is_merge_on_read=kind == "merge on read",
        options={**QUICK, **options},
    )
    rows = some(0, 8, 1)
    create(frame(spark, rows), path, spec)
    changed = {**some(2, 4, 2), **some(8, 10, 2)}
    write(frame(spark, changed), path, "upsert", QUICK)
    write(frame(spark, some(10, 12, 3)), path, "insert", QUICK)
    write(frame(spark, some(3, 6, 9)), path, "delete", QUICK)
    left = {**rows, **changed, **some(10, 12, 3)}
    return path, {of: row for of, row in left.items() if of not in some(3, 6, 9)}


def test_hudi_reads_the_rows_and_no_keys(spark: SparkSession, written: Written) -> None:
    path, rows = written
    assert stored(spark, path) == rows
    assert keys_that_hudi_reads(spark, path) == {None}


def test_the_keys_are_made_of_the_rows(written: Written) -> None:
    """Slices with log files are merged by them."""
    path, rows = written
    assert keys_of_rows(path) == sorted(rows)


def test_indexes_of_the_extension_prune(spark: SparkSession, written: Written) -> None:
    path, rows = written
    execute(spark, f"CREATE INDEX keys ON '{path}' USING record_index OPTIONS (store='extension')")
    execute(
        spark, f"CREATE INDEX vs ON '{path}' USING secondary_index(v) OPTIONS (store='extension')"
    )
    every = HudiTable.open(path).listing().num_slices
    for predicate, numbers in (
        (f"k = '{key(9)}'", [9]),
        (f"k = '{key(4)}'", []),
        (f"k IN ('{key(2)}', '{key(11)}')", [2, 11]),
        ("v = 3", [10, 11]),
    ):
        found = scan(path, predicate, ["k", "v", "p"])
        assert int(found.result.keep.sum()) <= len(numbers) < every, predicate
        read = {row["k"]: (row["v"], row["p"]) for row in found.to_table().to_pylist()}
        assert read == {key(n): rows[key(n)] for n in numbers}, predicate
    # The column is null, or was stored once: nothing follows from it.
    asked = PruneRequest(parse_predicate(f"_hoodie_record_key = '{key(9)}'"))
    assert Pruner().prune(path, asked).files_kept == HudiTable.open(path).listing().num_files


def test_compaction_and_clustering_keep_the_rows(spark: SparkSession, written: Written) -> None:
    path, rows = written
    if HudiTable.open(path).properties.table_type.name == "MERGE_ON_READ":
        often = {"hoodie.compact.inline.max.delta.commits": "1"}
        serviced(spark, path, "run_compaction", "op => 'scheduleandexecute'", **often)
        assert last_action(path) == "commit"
        assert stored(spark, path) == rows
    serviced(spark, path, "run_clustering", "op => 'scheduleandexecute'")
    assert last_action(path) == "replacecommit"
    assert stored(spark, path) == rows
    assert keys_that_hudi_reads(spark, path) == {None}
    assert keys_of_rows(path) == sorted(rows)
    assert key_storage(HudiTable.open(path)).files_with_keys == 0
    write(frame(spark, some(0, 1, 7)), path, "upsert", QUICK)
    assert stored(spark, path) == {**rows, **some(0, 1, 7)}
    write(frame(spark, some(0, 2, 8)), path, "insert_overwrite", QUICK)
    assert stored(spark, path) == some(0, 2, 8)


def test_hudi_rs_reads_the_same_rows(spark: SparkSession, written: Written) -> None:
    """It merges no log files of tables without meta fields."""
    path, _ = written
    if HudiTable.open(path).properties.table_type.name == "MERGE_ON_READ":
        pytest.skip("hudi-rs merges by stored keys only")
    batches = HudiTableBuilder.from_base_uri(path).build().read()
    found = {row["k"]: (row["v"], row["p"]) for batch in batches for row in batch.to_pylist()}
    assert found == stored(spark, path)


def last_action(path: str) -> str:
    last = HudiTable.open(path).timeline.last_write
    assert last is not None
    return last.action


def state(path: str) -> tuple[Any, ...]:
    table = HudiTable.open(path)
    return table.properties.raw, table.timeline


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"hoodie.recordkey.virtual.columns": "v"}, "is 'v', .* saved 'k'"),
        ({"hoodie.datasource.write.recordkey.field": "v"}, "is 'v', .* saved 'k'"),
        ({"hoodie.recordkey.virtual.concatenator": "_"}, "is '_', .* saved ','"),
        ({"hoodie.populate.meta.fields": "true"}, "is 'true', .* saved 'false'"),
        (
            {"hoodie.datasource.write.keygenerator.class": Generator.COMPLEX.class_name},
            "Complex.*saved .*Simple",
        ),
    ],
)
def test_settings_that_differ_from_the_saved_ones(
    spark: SparkSession,
    written: Written,
    options: Mapping[str, str],
    said: str,
) -> None:
    path, _ = written
    before = state(path)
    with pytest.raises(KeyDefinitionChanged, match=said):
        write(frame(spark, some(0, 1, 0)), path, "upsert", options)
    assert state(path) == before


def test_rows_without_keys_are_refused_before_anything_is_written(
    spark: SparkSession, written: Written
) -> None:
    path, _ = written
    before = state(path)
    for none in (None, ""):
        bad = spark.createDataFrame([(key(1), 1, "p1"), (none, 2, "p0")], SCHEMA)
        with pytest.raises(MissingKey, match=r"'k' is null or empty, as in .*'v': 2"):
            write(bad, path, "upsert")
    with pytest.raises(HudiError, match="'k' is missing; there are v, p, pad"):
        write(frame(spark, some(0, 1, 0)).drop("k"), path, "upsert")
    with pytest.raises(HudiError, match="BLOOM needs keys that are stored"):
        write(frame(spark, some(0, 1, 0)), path, "upsert", {"hoodie.index.type": "BLOOM"})
    index = {"hoodie.metadata.global.record.level.index.enable": "true"}
    with pytest.raises(HudiError, match=r"rows twice, lose deletes.*store extension"):
        write(frame(spark, some(0, 1, 0)), path, "upsert", index)
    assert state(path) == before


def test_a_record_index_that_hudi_built_is_not_believed(
    spark: SparkSession, tmp_path: Path
) -> None:
    """It is empty; Hudi itself finds no row by its key then."""
    path = str(tmp_path / "t")
    spec = VirtualTable("t", ("k",), "v")
    empty = {
        "hoodie.metadata.global.record.level.index.enable": "true",
        "hoodie.datasource.write.operation": "bulk_insert",
    }
    options = {**spec.writer_options(), **QUICK, **empty}
    frame(spark, some(0, 2, 1)).write.format("hudi").options(**options).save(path)
    assert "record_index" in HudiTable.open(path).properties.metadata_partitions
    found = scan(path, f"k = '{key(1)}'", ["k", "v"])
    assert found.to_table().to_pylist() == [{"k": key(1), "v": 1}]
    assert found.result.files_kept == found.result.files_total
    skipping = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
    theirs = spark.read.format("hudi").options(**skipping).load(path).where(f"k = '{key(1)}'")
    assert theirs.count() == 0


@pytest.mark.parametrize(
    ("columns", "generator", "said"),
    [
        (("d",), None, "date32.*yyyy-MM-dd"),
        (("b",), None, "bytes"),
        (("k",), Generator.COMPLEX, "one column 'k'"),
        (("k",), Generator.CUSTOM, "CustomKeyGenerator"),
    ],
)
def test_keys_that_hudi_would_not_find_again(
    spark: SparkSession, tmp_path: Path, columns: tuple[str, ...], generator: Generator, said: str
) -> None:
    rows = spark.sql("SELECT 'x' AS k, date'2024-01-01' AS d, cast('x' AS binary) AS b, 1 AS v")
    spec = VirtualTable("t", columns, "v", generator=generator)
    with pytest.raises(UnmergeableKeys, match=said):
        create(rows, str(tmp_path / "t"), spec)
    assert not (tmp_path / "t").exists()


def test_no_table_is_made_of_rows_without_keys(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.createDataFrame([("x", 1, "p0"), (None, 2, "p0")], SCHEMA)
    with pytest.raises(MissingKey, match=r"'k' is null or empty, as in .*'v': 2"):
        create(rows, str(tmp_path / "t"), VirtualTable("t", ("k",), "v", ("p",)))
    assert not (tmp_path / "t").exists()

"""Tables with virtual keys: written through Apache Hudi, read by Hudi, by us, and by hudi-rs."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hudi import HudiTableBuilder
from pyspark.sql import SparkSession

from pyhudi_expr import scan
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.virtual_keys.writing import VirtualTable, create, service_options, write
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import Generator
from pyhudi_expr.tables.keys.generators import register
from pyhudi_expr.tables.keys.key_storage import key_storage
from tests.spark.virtual_keys.slice_keys import keys_of_rows
from tests.spark.virtual_keys.virtual_tables import (
    QUICK,
    Rows,
    frame,
    key,
    keys_that_hudi_reads,
    some,
    stored,
)

pytestmark = [pytest.mark.spark, pytest.mark.long]

Written = tuple[str, Rows]


def call_table_service(
    spark: SparkSession, path: str, procedure: str, arguments: str, **more: str
) -> None:
    """Calls a table service of Hudi with the necessary options."""
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
    remaining = {**rows, **changed, **some(10, 12, 3)}
    return path, {
        record_key: row for record_key, row in remaining.items() if record_key not in some(3, 6, 9)
    }


def test_hudi_reads_the_rows_and_no_keys(spark: SparkSession, written: Written) -> None:
    path, rows = written
    assert stored(spark, path) == rows
    assert keys_that_hudi_reads(spark, path) == {None}


def test_keys_are_computed_from_rows(written: Written) -> None:
    """Slices with log files are merged by the computed keys."""
    path, rows = written
    assert keys_of_rows(path) == sorted(rows)


def test_indexes_of_the_extension_prune(spark: SparkSession, written: Written) -> None:
    path, rows = written
    listing = HudiTable.open(path).listing()
    every, has_logs = listing.num_slices, listing.has_logs
    execute(spark, f"CREATE INDEX f ON '{path}' USING bloom_filters OPTIONS (store='extension')")
    found = scan(path, f"k = '{key(9)}'", ["k"])
    assert found.to_table().to_pylist() == [{"k": key(9)}]
    assert has_logs or found.result.files_kept == 1 < every
    execute(spark, f"CREATE INDEX keys ON '{path}' USING record_index OPTIONS (store='extension')")
    execute(
        spark, f"CREATE INDEX vs ON '{path}' USING secondary_index(v) OPTIONS (store='extension')"
    )
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
    # The column is null, or was stored earlier: nothing follows from it.
    prune_request = PruneRequest(parse_predicate(f"_hoodie_record_key = '{key(9)}'"))
    assert (
        Pruner().prune(path, prune_request).files_kept == HudiTable.open(path).listing().num_files
    )


def test_statistics_of_the_empty_column_say_nothing_of_computed_keys(
    spark: SparkSession, tmp_path: Path
) -> None:
    """They say rightly that each value of the column in the file is null."""
    path, rows = str(tmp_path / "t"), some(0, 8, 1)
    create(frame(spark, rows), path, VirtualTable("t", ("k",), "v", ("p",), options=QUICK))
    execute(spark, f"CREATE INDEX s ON '{path}' USING column_stats(v)")
    execute(spark, f"CREATE INDEX f ON '{path}' USING bloom_filters OPTIONS (store='extension')")
    for wanted in rows:
        assert scan(path, f"k = '{wanted}'", ["k"]).to_table().to_pylist() == [{"k": wanted}]


def test_compaction_and_clustering_keep_the_rows(spark: SparkSession, written: Written) -> None:
    path, rows = written
    if HudiTable.open(path).properties.table_type.name == "MERGE_ON_READ":
        often = {"hoodie.compact.inline.max.delta.commits": "1"}
        call_table_service(spark, path, "run_compaction", "op => 'scheduleandexecute'", **often)
        assert last_action(path) == "commit"
        assert stored(spark, path) == rows
    call_table_service(spark, path, "run_clustering", "op => 'scheduleandexecute'")
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
    """hudi-rs merges no log files of tables without meta fields."""
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


def test_a_record_index_built_by_hudi_is_not_trusted(spark: SparkSession, tmp_path: Path) -> None:
    """It is empty; Hudi itself then finds no row by its key."""
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


class UpperCaseKeys:
    """A custom key generator."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        assert columns == ("p", "k")

    def keys(self, columns: Sequence[pa.Array]) -> pa.Array:
        return pc.utf8_upper(pc.binary_join_element_wise(*columns, "!"))


@pytest.mark.parametrize(
    ("setting", "value", "between"),
    [
        ("hoodie.recordkey.virtual.class", "python:loud", "!"),
        ("hoodie.recordkey.virtual.concatenator", "__", "__"),
    ],
)
def test_keys_in_a_format_that_hudi_does_not_have(
    spark: SparkSession, tmp_path: Path, setting: str, value: str, between: str
) -> None:
    """Hudi merges by its own format of keys; ours is in indexes, and readers look it up."""
    register("loud", UpperCaseKeys)
    path, rows = str(tmp_path / "t"), some(0, 8, 1)
    spec = VirtualTable("t", ("p", "k"), "v", ("p",), options={**QUICK, setting: value})
    create(frame(spark, rows), path, spec)
    raw = HudiTable.open(path).properties.raw
    checksum = zlib.crc32(b".t")  # as Hudi derives it from the database and the name
    assert {name: raw[name] for name in raw if "virtual" in name or "checksum" in name} == {
        "hoodie.recordkey.virtual.enabled": "true",
        "hoodie.recordkey.virtual.columns": "p,k",
        "hoodie.recordkey.virtual.concatenator": ",",
        "hoodie.recordkey.virtual.class": Generator.COMPLEX.class_name,
        "hoodie.table.checksum": str(checksum),
        setting: value,
    }
    assert (raw["hoodie.populate.meta.fields"], raw["hoodie.table.keygenerator.type"]) == (
        "false",
        "COMPLEX",
    )
    assert [file.name for file in (tmp_path / "t/.hoodie").glob("hoodie.properties*")] == [
        "hoodie.properties"
    ]

    write(frame(spark, some(6, 10, 2)), path, "upsert", QUICK)
    rows |= some(6, 10, 2)
    assert stored(spark, path) == rows
    expected_keys = [
        f"{partition}{between}{record_key}" for record_key, (_, partition) in rows.items()
    ]
    loud = value == "python:loud"
    assert keys_of_rows(path) == sorted(text.upper() if loud else text for text in expected_keys)
    execute(spark, f"CREATE INDEX keys ON '{path}' USING record_index OPTIONS (store='extension')")
    record_key, row = key(7), rows[key(7)]
    found = scan(path, f"k = '{record_key}' AND p = '{row[1]}'", ["k", "v", "p"])
    assert found.to_table().to_pylist() == [{"k": record_key, "v": row[0], "p": row[1]}]
    assert found.result.files_kept == 1 < found.result.files_total

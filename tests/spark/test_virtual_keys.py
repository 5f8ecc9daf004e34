"""Tables with virtual keys: written through Apache Hudi, read by Hudi, by us, and by hudi-rs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hudi import HudiTableBuilder
from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.frontend.sql import parse_predicate
from pyhudi_expr.index.key_switching import KeyDefinitionChanged, KeySettings, enable
from pyhudi_expr.keys.definition import META_FIELDS, Generator
from pyhudi_expr.keys.generators import MissingKey
from pyhudi_expr.keys.hudi_limits import UnmergeableKeys
from pyhudi_expr.keys.stored_columns import key_storage
from pyhudi_expr.prune import Pruner, PruneRequest
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.virtual_keys.restoring import restore
from pyhudi_expr.spark.virtual_keys.rewriting import rewrite
from pyhudi_expr.spark.virtual_keys.writing import VirtualTable, create, service_options, write
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import TableLock
from tests.spark.slice_keys import keys_of_rows

pytestmark = [pytest.mark.spark, pytest.mark.long]

Rows = dict[str, tuple[int, str]]
"""By key: the value and the partition."""

_SCHEMA = "k string, v int, p string"
_PAD = 20_000
"""Bytes of a row: an index is not asked for the sake of smaller files than its own."""
_QUICK = {
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
}


def key(number: int) -> str:
    """Of 36 characters, as a UUID is."""
    return f"{number:04}{Random(number).randbytes(16).hex()}"


def some(first: int, last: int, value: int) -> Rows:
    return {key(n): (value, f"p{n % 2}") for n in range(first, last)}


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> Callable[[Rows], DataFrame]:
    def make(rows: Rows) -> DataFrame:
        values = [
            (of, value, partition, Random(of).randbytes(_PAD).hex())
            for of, (value, partition) in rows.items()
        ]
        return spark.createDataFrame(values, f"{_SCHEMA}, pad string").coalesce(1)

    return make


def stored(spark: SparkSession, path: str) -> Rows:
    """What Hudi reads; no row has a key."""
    found = spark.read.format("hudi").load(path)
    rows = found.select("k", "v", "p").collect()
    assert len({row.k for row in rows}) == len(rows)
    return {row.k: (row.v, row.p) for row in rows}


def keys_that_hudi_reads(spark: SparkSession, path: str) -> set[str | None]:
    """Asked for the column by a schema, as a catalog has one: without, there is no such column."""
    schema = f"_hoodie_record_key string, {_SCHEMA}"
    found = spark.read.format("hudi").schema(schema).load(path)
    return {row[0] for row in found.select("_hoodie_record_key").distinct().collect()}


def serviced(spark: SparkSession, path: str, procedure: str, arguments: str, **more: str) -> None:
    """Calls a table service of Hudi's with what it has to be told."""
    options = ",".join(f"{k}={value}" for k, value in {**service_options(path), **more}.items())
    spark.sql(f"CALL {procedure}(path => '{path}', {arguments}, options => '{options}')").collect()


@pytest.fixture(scope="module", params=["copy on write", "merge on read"])
def written(
    request: pytest.FixtureRequest,
    frame: Callable[[Rows], DataFrame],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, Rows]:
    """A table after a bulk insert, an upsert, an insert and a delete, and its rows."""
    path = str(tmp_path_factory.mktemp("virtual") / "t")
    is_mor = request.param == "merge on read"
    spec = VirtualTable("t", ("k",), "v", ("p",), is_merge_on_read=is_mor, options=_QUICK)
    rows = some(0, 8, 1)
    create(frame(rows), path, spec)
    changed = {**some(2, 4, 2), **some(8, 10, 2)}
    write(frame(changed), path, "upsert", _QUICK)
    write(frame(some(10, 12, 3)), path, "insert", _QUICK)
    write(frame(some(3, 6, 9)), path, "delete", _QUICK)
    left = {**rows, **changed, **some(10, 12, 3)}
    return path, {of: row for of, row in left.items() if of not in some(3, 6, 9)}


def test_hudi_reads_the_rows_and_no_keys(spark: SparkSession, written: tuple[str, Rows]) -> None:
    path, rows = written
    assert stored(spark, path) == rows
    assert keys_that_hudi_reads(spark, path) == {None}


def test_the_keys_are_made_of_the_rows(written: tuple[str, Rows]) -> None:
    """Slices with log files are merged by them."""
    path, rows = written
    assert keys_of_rows(path) == sorted(rows)


def test_indexes_of_the_extension_prune(spark: SparkSession, written: tuple[str, Rows]) -> None:
    path, _ = written
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
        kept = Pruner().prune(path, PruneRequest(parse_predicate(predicate))).kept_paths()
        assert {file.split("/")[0] for file in kept} == {f"p{n % 2}" for n in numbers}, predicate
        slices = {file.split("/")[-1].lstrip(".")[:38] for file in kept}
        assert len(slices) <= len(numbers) < every
    # The column is null, or was stored once: nothing follows from it.
    asked = PruneRequest(parse_predicate(f"_hoodie_record_key = '{key(9)}'"))
    assert Pruner().prune(path, asked).files_kept == HudiTable.open(path).listing().num_files


def test_compaction_and_clustering_keep_the_rows(
    spark: SparkSession, frame: Callable[[Rows], DataFrame], written: tuple[str, Rows]
) -> None:
    path, rows = written
    if HudiTable.open(path).properties.table_type.name == "MERGE_ON_READ":
        often = {"hoodie.compact.inline.max.delta.commits": "1"}
        serviced(spark, path, "run_compaction", "op => 'scheduleandexecute'", **often)
        assert HudiTable.open(path).timeline.last_write.action == "commit"
        assert stored(spark, path) == rows
    serviced(spark, path, "run_clustering", "op => 'scheduleandexecute'")
    assert HudiTable.open(path).timeline.last_write.action == "replacecommit"
    assert stored(spark, path) == rows
    assert keys_that_hudi_reads(spark, path) == {None}
    assert keys_of_rows(path) == sorted(rows)
    assert key_storage(HudiTable.open(path)).files_with_keys == 0
    write(frame(some(0, 1, 7)), path, "upsert", _QUICK)
    assert stored(spark, path) == {**rows, **some(0, 1, 7)}


def test_hudi_rs_reads_the_same_rows(spark: SparkSession, written: tuple[str, Rows]) -> None:
    """It merges no log files of tables without meta fields."""
    path, _ = written
    if HudiTable.open(path).properties.table_type.name == "MERGE_ON_READ":
        pytest.skip("hudi-rs merges by stored keys only")
    batches = HudiTableBuilder.from_base_uri(path).build().read()
    found = {row["k"]: (row["v"], row["p"]) for batch in batches for row in batch.to_pylist()}
    assert found == stored(spark, path)


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
    frame: Callable[[Rows], DataFrame],
    written: tuple[str, Rows],
    options: Mapping[str, str],
    said: str,
) -> None:
    path, _ = written
    before = state(path)
    with pytest.raises(KeyDefinitionChanged, match=said):
        write(frame(some(0, 1, 0)), path, "upsert", options)
    assert state(path) == before


def test_rows_without_keys_are_refused_before_anything_is_written(
    spark: SparkSession, frame: Callable[[Rows], DataFrame], written: tuple[str, Rows]
) -> None:
    path, _ = written
    before = state(path)
    for none in (None, ""):
        bad = spark.createDataFrame([(key(1), 1, "p1"), (none, 2, "p0")], _SCHEMA)
        with pytest.raises(MissingKey, match=r"'k' is null or empty, as in .*'v': 2"):
            write(bad, path, "upsert")
    with pytest.raises(HudiError, match="'k' is missing; there are v, p, pad"):
        write(frame(some(0, 1, 0)).drop("k"), path, "upsert")
    with pytest.raises(HudiError, match="BLOOM needs keys that are stored"):
        write(frame(some(0, 1, 0)), path, "upsert", {"hoodie.index.type": "BLOOM"})
    index = {"hoodie.metadata.global.record.level.index.enable": "true"}
    with pytest.raises(HudiError, match=r"rows twice, lose deletes.*store extension"):
        write(frame(some(0, 1, 0)), path, "upsert", index)
    assert state(path) == before


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


@pytest.mark.parametrize(("version", "is_mor"), [("9", True), ("6", False)])
def test_from_stored_keys_to_virtual_ones_and_back(
    spark: SparkSession,
    frame: Callable[[Rows], DataFrame],
    tmp_path: Path,
    version: str,
    is_mor: bool,
) -> None:
    path = str(tmp_path / "t")
    spec = VirtualTable("t", ("k",), "v", ("p",), is_merge_on_read=is_mor)
    options = {
        **spec.writer_options(),
        **_QUICK,
        META_FIELDS: "true",
        "hoodie.write.table.version": version,
        "hoodie.write.auto.upgrade": "false",
    }
    writer = frame(some(0, 6, 1)).write.format("hudi").options(**options)
    writer.option("hoodie.datasource.write.operation", "bulk_insert").save(path)
    table = HudiTable.open(path)
    enable(table, KeySettings(), TableLock(table.storage))

    rows = {**some(0, 6, 1), **some(0, 1, 2), **some(6, 8, 2)}
    write(frame({**some(0, 1, 2), **some(6, 8, 2)}), path, "upsert", _QUICK)
    assert stored(spark, path) == rows
    assert keys_of_rows(path) == sorted(rows)
    before = key_storage(HudiTable.open(path))
    assert before.bytes_to_save > 0

    one = rewrite(spark, path, ["p1"], 1, lambda *_: None)
    rest = rewrite(spark, path, None, 1, lambda *_: None)
    assert one.file_groups >= 1
    assert rest.file_groups >= 1
    assert stored(spark, path) == rows
    assert keys_that_hudi_reads(spark, path) == {None}
    after = key_storage(HudiTable.open(path))
    assert (after.files_with_keys, after.bytes_to_save) == (0, 0)
    assert after.bytes_saved > 0
    assert rewrite(spark, path, None, 1, lambda *_: None).instants == ()

    restore(spark, path)
    assert stored(spark, path) == rows
    assert keys_that_hudi_reads(spark, path) == set(rows)
    assert not any("virtual" in name for name in HudiTable.open(path).properties.raw)
    upsert = frame(some(1, 2, 9)).write.format("hudi").options(**options)
    upsert.option("hoodie.datasource.write.operation", "upsert").mode("append").save(path)
    assert stored(spark, path) == {**rows, **some(1, 2, 9)}

"""Keys of dates, decimals and bytes, and tables without key columns, as Hudi 1.2 writes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr import scan
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.frontend.sql.parser import SPARK, parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.virtual_keys.writing import VirtualTable, create, write
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import Generator, KeyDefinition
from pyhudi_expr.tables.locks import TableLock
from tests.index.prune.matching_slices import read
from tests.marks import long
from tests.spark.virtual_keys.virtual_tables import QUICK

pytestmark = pytest.mark.spark

_APPEND = {"hoodie.recordkey.virtual.append.only": "true"}
_OF_ALL = ("dec", "d", "bin")
_OF_ONE = (("d",), ("dec",), ("bin",))
_NO_ROW_WRITER = {"hoodie.datasource.write.row.writer.enable": "false"}


def rows(spark: SparkSession, first: int, last: int) -> DataFrame:
    """Each number is one key of each type. Files are larger than their indexes."""
    return spark.sql(f"""
        SELECT date_add(date'1969-12-01', cast(id AS int)) AS d, id AS v,
          cast(id * 1.25 - 20 AS decimal(12, 8)) AS dec,
          cast(concat(char(id), 'é') AS binary) AS bin,
          concat_ws('', transform(sequence(1, 400), x -> md5(cast(id * 1000 + x as string)))) AS pad
        FROM range({first}, {last}, 1, 2)""")


@pytest.mark.parametrize(
    ("key", "operation"),
    [
        (_OF_ALL, "upsert"),
        *(long(key, one) for key in _OF_ONE for one in ("insert", "upsert", "bulk_insert")),
    ],
)
def test_the_keys_made_here_are_those_that_hudis_writers_store(
    spark: SparkSession, tmp_path: Path, key: tuple[str, ...], operation: str
) -> None:
    options = {
        **QUICK,
        **_NO_ROW_WRITER,
        "hoodie.table.name": "stored",
        "hoodie.datasource.write.recordkey.field": ",".join(key),
        "hoodie.datasource.write.keygenerator.class": Generator.NON_PARTITION.class_name,
        "hoodie.datasource.write.operation": operation,
    }
    path = str(tmp_path / "stored")
    rows(spark, 0, 60).write.format("hudi").options(**options).save(path)
    stored = scan(path, columns=["_hoodie_record_key", *key]).to_table()
    generator = KeyDefinition(key, Generator.NON_PARTITION).generator()
    columns = [stored[name].combine_chunks() for name in key]
    assert generator.keys(columns).to_pylist() == stored["_hoodie_record_key"].to_pylist()
    assert len(stored) == 60


@pytest.mark.parametrize("key", [_OF_ALL, *map(long, _OF_ONE)])
def test_a_table_to_which_rows_are_only_added(
    spark: SparkSession, tmp_path: Path, key: tuple[str, ...]
) -> None:
    path = str(tmp_path / "added")
    table = VirtualTable("added", key, options={**QUICK, **_APPEND})
    create(rows(spark, 0, 20), path, table)
    write(rows(spark, 20, 40), path, "insert", QUICK)
    write(rows(spark, 40, 60), path, "bulk_insert", QUICK)
    for operation in ("upsert", "delete"):
        with pytest.raises(HudiError, match=f"rows are only added .*{operation} looks for rows"):
            write(rows(spark, 0, 1), path, operation, QUICK)
    with pytest.raises(HudiError, match=r"dup\.policy looks for rows"):
        write(rows(spark, 0, 1), path, "insert", {"hoodie.datasource.insert.dup.policy": "drop"})
    assert found(spark, path, "v >= 0") == list(range(60))

    execute(spark, f"CREATE INDEX keys ON '{path}' USING record_index OPTIONS (store='extension')")
    wanted = {
        "d": "d = date'1970-01-14'",
        "dec": "dec = 35.0",
        "bin": f"bin = X'{chr(44).encode().hex()}{'é'.encode().hex()}'",
    }
    text = " AND ".join(wanted[name] for name in key)
    assert found(spark, path, text) == [44]
    result = Pruner().prune(path, PruneRequest(parse_predicate(text, SPARK)))
    assert result.files_kept == 1 < result.files_total


@pytest.mark.smoke
def test_a_table_without_key_columns_has_the_synthetic_keys_that_hudi_stores(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Of the commit, the task and a number. (`_hoodie_commit_seqno` would be no key: bulk inserts
    that are not by rows give several files the same numbers.)
    """
    path = str(tmp_path / "keyless")
    options = {
        **QUICK,
        **_NO_ROW_WRITER,
        "hoodie.table.name": "keyless",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.operation": "bulk_insert",
    }
    frame = rows(spark, 0, 40).selectExpr("*", "v div 10 AS p", "'c' || v div 5 AS city")
    frame.write.format("hudi").options(**options).save(path)
    stored = scan(path, columns=["_hoodie_record_key", "_hoodie_commit_seqno"]).to_table()
    assert distinct(stored, "_hoodie_record_key") == 40
    assert distinct(stored, "_hoodie_commit_seqno") < 40

    opened = HudiTable.open(path)
    with pytest.raises(HudiError, match="no key columns: Hudi makes synthetic keys"):
        enable(opened, VirtualKeySettings(), TableLock(opened.storage))
    execute(spark, f"CREATE INDEX cities ON '{path}' (city) OPTIONS (store='extension')")
    assert found(spark, path, "city = 'c3'") == list(range(15, 20))
    result = Pruner().prune(path, PruneRequest(parse_predicate("city = 'c3'")))
    assert result.files_kept < result.files_total


def distinct(table: pa.Table, column: str) -> int:
    return len(set(table[column].to_pylist()))


def found(spark: SparkSession, path: str, text: str) -> Sequence[int]:
    """The numbers of the matching rows: the same with pruning as Spark finds without."""
    expected = sorted(row.v for row in read(spark, path).where(text).select("v").collect())
    assert sorted(scan(path, text, ["v"], dialect=SPARK).to_table()["v"].to_pylist()) == expected
    return expected

"""Tables with virtual record keys: equal rows, and `_hoodie_record_key` is NULL.

Golden tables, written without meta fields or with keys that have been turned off, and one with log
files that we write.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import create_with_handler
from devtools.tables import META_COLUMNS
from pyhudi_expr.manage.invariants import stored_keys
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.spark.virtual_keys.writing import VirtualTable, write
from pyhudi_expr.tables import hudi_names, properties
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from tests.hive.query_results import FETCH, TEZ, Hive
from tests.hive.virtual_key_tables import KEYED, NULLS, PEOPLE, Golden, KeyedTable
from tests.spark.virtual_keys.virtual_tables import QUICK, frame, some

pytestmark = pytest.mark.hive

_INPUT_FORMAT = """
CREATE EXTERNAL TABLE {} (`_hoodie_record_key` string, id int, name string)
PARTITIONED BY (bytefield int)
ROW FORMAT SERDE 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe'
STORED AS INPUTFORMAT 'io.pyhudi.hive.HudiCopyOnWriteInputFormat'
OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat'
LOCATION '{}'
"""


@pytest.mark.parametrize(("version", "engine"), [(6, FETCH), (8, TEZ)])
def test_without_meta_fields_the_key_column_is_null(
    hive: Hive, golden: Golden, version: int, engine: str
) -> None:
    name = f"without_keys_{version}"
    path = golden[f"cow_v{version}_simplekeygen_hivestyle_no_metafields"]
    hive.run(create_with_handler(name, path))
    declared = [row[0] for row in hive.query(f"DESCRIBE {name}").rows]
    assert set(META_COLUMNS) < set(declared)
    assert hive.query_both_ways(f"SELECT id, name FROM {name} WHERE id > 0").rows == PEOPLE
    pruned = hive.query_both_ways(f"SELECT id, name FROM {name} WHERE bytefield = 20")
    assert (pruned.rows, pruned.scan.files_kept) == ([(2, "Bob")], 1)
    assert hive.query_both_ways(NULLS.format(name), engine).rows == [(None, *row) for row in PEOPLE]


def test_input_formats_show_no_keys_either(hive: Hive, golden: Golden) -> None:
    path = golden["cow_v8_simplekeygen_hivestyle_no_metafields"]
    hive.run(
        _INPUT_FORMAT.format("keyless_partitions", path),
        *(
            f"ALTER TABLE keyless_partitions ADD PARTITION (bytefield={value}) "
            f"LOCATION '{path}/byteField={value}'"
            for value in (10, 20, 30)
        ),
    )
    nulls = hive.query(NULLS.format("keyless_partitions"))
    assert nulls.rows == [(None, *row) for row in PEOPLE]


@pytest.mark.smoke("mor_v6_simplekeygen")
@pytest.mark.parametrize("archive", KEYED)
def test_stored_keys_are_hidden_while_keys_are_virtual(
    hive: Hive, golden: Golden, tmp_path: Path, archive: str
) -> None:
    table = KeyedTable.registered(hive, golden, archive, tmp_path)
    name, keyed = table.name, table.rows(hive)
    keyless = [(None, *row[1:]) for row in keyed]

    table.hide_keys(VirtualKeySettings(keep_column=True))
    assert hive.query(NULLS.format(name)).rows == keyless
    none = f"SELECT id FROM {name} WHERE `_hoodie_record_key` = '{keyed[0][0]}'"
    assert hive.query_both_ways(none).rows == []
    table.show_keys()
    assert table.rows(hive) == keyed

    table.hide_keys(VirtualKeySettings())
    for engine in (FETCH, TEZ):
        assert hive.query_both_ways(NULLS.format(name), engine).rows == keyless
    hive.query_both_ways(f"SELECT id FROM {name} WHERE `_hoodie_commit_time` IS NULL")
    assert hive.server.log().count(f"{archive} has virtual keys") == 1


def test_a_table_without_its_key_columns_is_read_with_a_warning(
    hive: Hive, golden: Golden, tmp_path: Path
) -> None:
    """The service refuses it, as the RFC has it, and so no file is dropped."""
    source = golden["cow_v8_simplekeygen_hivestyle_no_metafields"]
    path = shutil.copytree(source, tmp_path / "without_key_columns")
    hive.run(create_with_handler("without_key_columns", path))
    query = "SELECT id, name FROM without_key_columns WHERE bytefield = 20"
    assert hive.query(query).scan.outcomes == ("PRUNED",)
    keyless = {"hoodie.table.recordkey.fields": "nope"}
    properties.update(HudiTable.open(str(path)).storage, keyless)
    before = len(hive.server.log())
    found = hive.query(query)
    assert found.rows == [(2, "Bob")]
    assert found.scan.outcomes == ("LACKS_KEYS",)
    assert found.scan.files_kept == found.scan.files_considered
    warnings = [one for one in hive.server.log()[before:].splitlines() if " WARN " in one]
    assert any("the key column 'nope' is not in the schema" in one for one in warnings)


@pytest.mark.spark
@pytest.mark.parametrize("is_merge_on_read", [True, False])
def test_rows_with_and_without_stored_keys_are_merged_by_virtual_ones(
    hive: Hive, spark: SparkSession, tmp_path: Path, is_merge_on_read: bool
) -> None:
    """In one file, or in a base file and its log files."""
    name = f"merged_virtually_{is_merge_on_read}"
    path = str(tmp_path / name)
    spec = VirtualTable("t", ("k",), "v", ("p",), is_merge_on_read, options=QUICK)
    options = {**spec.writer_options(), hudi_names.POPULATE_META_FIELDS: "true"}
    frame(spark, some(0, 6, 1)).write.format("hudi").options(**options).save(path)
    table = HudiTable.open(path)
    enable(table, VirtualKeySettings(), TableLock(table.storage))
    write(frame(spark, {**some(1, 3, 2), **some(6, 8, 2)}), path, "upsert", QUICK)
    write(frame(spark, some(4, 5, 9)), path, "delete", QUICK)
    remaining = {**some(0, 4, 1), **some(5, 6, 1), **some(1, 3, 2), **some(6, 8, 2)}
    slices = stored_keys(table, HudiTable.open(path).listing())
    assert any(one.has_keys and one.lacks_keys for one in slices)

    hive.run(create_with_handler(name, Path(path)))
    rows = sorted((None, key, value, partition) for key, (value, partition) in remaining.items())
    columns = "`_hoodie_record_key`, k, v, p"
    for engine in (FETCH, TEZ):
        answer = hive.query(f"SELECT {columns} FROM {name} WHERE v > 0", engine)
        assert answer.rows == sorted(rows, key=repr)
    changed = hive.query_both_ways(f"SELECT {columns} FROM {name} WHERE v = 2 AND p = 'p1'")
    assert changed.rows == [row for row in rows if row[2:] == (2, "p1")]

"""The statements that adopt a table of Hudi's sync, and those that undo it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from pyhudi_expr.manage.hive.adoption import (
    PARQUET_SERDE,
    PARTITION_RECORD,
    RECORD,
    NotAdoptable,
    PartitionFormat,
    adoption,
    undoing,
)
from pyhudi_expr.manage.hive.metastore_table import (
    STORAGE_HANDLER,
    FileFormat,
    HiveColumn,
    MetastoreTable,
    TableName,
)

PARQUET_OUTPUT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
BASE_FILES = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
MERGED = "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat"
OF_OLD = FileFormat("com.uber.hoodie.hadoop.HoodieInputFormat", PARQUET_OUTPUT, PARQUET_SERDE)
OF_SYNC = FileFormat(BASE_FILES, PARQUET_OUTPUT, PARQUET_SERDE)
OURS = FileFormat(
    "io.pyhudi.hive.HudiCopyOnWriteInputFormat", "io.pyhudi.hive.HudiOutputFormat", PARQUET_SERDE
)
NAME = TableName("lake", "trips")
TABLE = MetastoreTable(
    columns=(HiveColumn("a", "int", "int"),),
    kind="EXTERNAL_TABLE",
    location="/lake/trips",
    handler=None,
    input_format=OF_SYNC.input,
    properties={"last_commit_time_sync": "1"},
    output_format=OF_SYNC.output,
    serde=OF_SYNC.serde,
    partition_keys=("day", "city"),
)
SET_OURS = (
    "SET FILEFORMAT INPUTFORMAT 'io.pyhudi.hive.HudiCopyOnWriteInputFormat'"
    f" OUTPUTFORMAT 'io.pyhudi.hive.HudiOutputFormat' SERDE '{PARQUET_SERDE}'"
)
SET_OF_SYNC = (
    f"SET FILEFORMAT INPUTFORMAT '{BASE_FILES}' OUTPUTFORMAT '{PARQUET_OUTPUT}'"
    f" SERDE '{PARQUET_SERDE}'"
)
RECORDED = {RECORD: json.dumps(asdict(OF_SYNC))}


def partition(day: str, format_: FileFormat = OF_SYNC) -> PartitionFormat:
    return PartitionFormat((day, "Oslo"), format_)


def with_format(table: MetastoreTable, to: FileFormat) -> MetastoreTable:
    return replace(table, input_format=to.input, output_format=to.output, serde=to.serde)


def adopted(table: MetastoreTable = TABLE, **properties: str) -> MetastoreTable:
    return with_format(
        replace(table, properties={**table.properties, **RECORDED, **properties}), OURS
    )


def test_a_table_and_all_its_partitions_get_our_input_format_in_three_statements():
    planned = adoption(NAME, TABLE, (partition("1"), partition("2")))
    assert planned.partitions == 2
    assert planned.statements == (
        f"ALTER TABLE `lake`.`trips` SET TBLPROPERTIES ('{RECORD}'='{RECORDED[RECORD]}')",
        f"ALTER TABLE `lake`.`trips` {SET_OURS}",
        f"ALTER TABLE `lake`.`trips` PARTITION (`day`, `city`) {SET_OURS}",
    )


def test_the_merged_view_gets_the_input_format_that_merges():
    table = with_format(TABLE, replace(OF_SYNC, input=MERGED))
    assert "'io.pyhudi.hive.HudiMergeOnReadInputFormat'" in adoption(NAME, table, ()).statements[1]


def test_an_adopted_table_stays_as_it_is():
    assert adoption(NAME, adopted(), (partition("1", OURS),)).statements == ()


def test_partitions_that_the_sync_has_added_since_are_adopted():
    planned = adoption(NAME, adopted(), (partition("1", OURS), partition("2")))
    assert planned.partitions == 1
    assert planned.statements == (
        f"ALTER TABLE `lake`.`trips` PARTITION (`day`, `city`) {SET_OURS}",
    )


def test_a_table_that_the_sync_has_set_back_is_adopted_again():
    table = with_format(adopted(), OF_SYNC)
    assert adoption(NAME, table, (partition("1", OURS),)).statements == (
        f"ALTER TABLE `lake`.`trips` {SET_OURS}",
    )


def test_a_partition_of_other_classes_gets_them_back():
    before = (partition("1", OF_OLD), partition("2"))
    (record, *_) = adoption(NAME, TABLE, before).statements
    text = json.dumps({"values": ["1", "Oslo"], **asdict(OF_OLD)})
    assert f"'{PARTITION_RECORD}0'='{text}'" in record

    table = adopted(**{f"{PARTITION_RECORD}0": text})
    undone = undoing(NAME, table, (partition("1", OURS), partition("2", OURS)))
    assert undone.partitions == 2
    assert undone.statements == (
        f"ALTER TABLE `lake`.`trips` PARTITION (`day`, `city`) {SET_OF_SYNC}",
        "ALTER TABLE `lake`.`trips` PARTITION (`day`='1', `city`='Oslo')"
        f" {SET_OF_SYNC.replace(BASE_FILES, OF_OLD.input)}",
        f"ALTER TABLE `lake`.`trips` {SET_OF_SYNC}",
        "ALTER TABLE `lake`.`trips` UNSET TBLPROPERTIES IF EXISTS"
        f" ('{RECORD}', '{PARTITION_RECORD}0')",
    )
    # The same again after a failure in between, and after another adoption.
    assert adoption(NAME, table, (partition("1", OURS), partition("2", OURS))).statements == ()
    half = undoing(NAME, table, (partition("1", OF_SYNC), partition("2", OF_SYNC)))
    assert half.statements == undone.statements[1:]


def test_undoing_after_a_sync_leaves_what_the_sync_has_set():
    table = with_format(adopted(), OF_SYNC)
    undone = undoing(NAME, table, (partition("1", OURS), partition("2")))
    assert undone.statements == (
        f"ALTER TABLE `lake`.`trips` PARTITION (`day`, `city`) {SET_OF_SYNC}",
        f"ALTER TABLE `lake`.`trips` UNSET TBLPROPERTIES IF EXISTS ('{RECORD}')",
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "VIRTUAL_VIEW"}, "a view"),
        ({"handler": STORAGE_HANDLER}, "storage handler io.pyhudi.hive.HudiStorageHandler reads"),
        ({"buckets": 4}, "buckets"),
        ({"input_format": "org.apache.hadoop.mapred.TextInputFormat"}, "TextInputFormat reads it"),
        ({"input_format": "org.apache.hudi.hadoop.HoodieHFileInputFormat"}, "HFileInputFormat"),
        ({"serde": "org.example.Odd"}, "org.example.Odd, not Parquet's"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_other_tables_are_refused_with_the_reason(change, reason):
    with pytest.raises(NotAdoptable, match=reason):
        adoption(NAME, replace(TABLE, **change), ())


def test_a_partition_of_unknown_classes_is_refused():
    text = replace(OF_SYNC, input="org.apache.hadoop.mapred.TextInputFormat")
    with pytest.raises(NotAdoptable, match="TextInputFormat reads it"):
        adoption(NAME, TABLE, (partition("1"), partition("2", text)))


def test_so_many_odd_partitions_that_they_cannot_be_recorded_are_refused():
    odd = tuple(partition(str(day), OF_OLD) for day in range(101))
    with pytest.raises(NotAdoptable, match=r"101 partitions .*101 by com\.uber\.hoodie"):
        adoption(NAME, TABLE, odd)


def test_what_was_set_by_hand_is_left_alone():
    table = with_format(TABLE, OURS)
    assert adoption(NAME, table, (partition("1", OURS),)).statements == ()
    with pytest.raises(NotAdoptable, match="set by hand"):
        adoption(NAME, table, (partition("1"),))
    with pytest.raises(NotAdoptable, match="not adopted"):
        undoing(NAME, table, ())

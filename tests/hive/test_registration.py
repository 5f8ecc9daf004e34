"""The statements that make Hive's table match the Hudi table."""

from dataclasses import replace

import pytest

from pyhudi_expr.manage.hive.metastore_table import (
    STORAGE_HANDLER,
    HiveColumn,
    MetastoreTable,
    TableName,
    same_place,
)
from pyhudi_expr.manage.hive.registration import (
    Registration,
    RegistrationRefused,
    former_statements,
    hive_location,
    mismatch,
    registration,
    statements,
    unmet,
    view_registrations,
)
from pyhudi_expr.tables.hudi_table import HudiTable


def column(name, type_="int", comment=""):
    return HiveColumn(name, type_, type_, comment)


A, B, C, P = column("a"), column("b", "string"), column("c"), column("p", "string")
NAME = TableName("db", "trips")
TARGET = Registration(NAME, "/warehouse/trips", (A, P, B), frozenset({"p"}))
EXISTING_TABLE = MetastoreTable(
    columns=(A, P, B),
    kind="EXTERNAL_TABLE",
    location="hdfs://cluster/warehouse/trips",
    handler=STORAGE_HANDLER,
    input_format="",
    properties={"EXTERNAL": "TRUE", "hudi.view": "read_optimized", "owner": "x"},
)


def first_words(todo):
    return [" ".join(statement.split()[:2]) for statement in todo]


def test_a_new_table_is_created_with_columns_comments_and_properties():
    target = replace(
        TARGET, columns=(column("it`s", "int", "a 'key'; \\ once"),), properties={"hudi.view": "x"}
    )
    assert statements(target, None).all == (
        "CREATE EXTERNAL TABLE `db`.`trips` (\n"
        "  `it``s` int COMMENT 'a \\'key\\'\\; \\\\ once')\n"
        "STORED BY 'io.pyhudi.hive.HudiStorageHandler'\n"
        "LOCATION '/warehouse/trips'\n"
        "TBLPROPERTIES ('hudi.view'='x')",
    )


def test_tables_that_describe_a_table_are_created_beside_it():
    target = replace(TARGET, properties={"hudi.pruning.joins": "false", "hudi.view": "x"})
    views = {str(view.name): view for view in view_registrations(target)}
    assert list(views) == [
        f"`db`.`trips__{name}`" for name in ("files", "history", "indexes", "column_ranges")
    ]
    files = views["`db`.`trips__files`"]
    (statement,) = statements(files, None).all
    assert "`path` string COMMENT 'The file, relative to the table'" in statement
    assert "`row_count` bigint COMMENT" in statement
    assert "LOCATION '/warehouse/.pyhudi-views/trips/files'" in statement
    assert "TBLPROPERTIES ('hudi.pruning.joins'='false', 'hudi.metadata.view'='files')" in statement
    assert "`column_names` array<string>" in statements(views["`db`.`trips__indexes`"], None).all[0]


def test_a_table_that_describes_a_table_gets_the_columns_of_a_later_version():
    target = view_registrations(TARGET)[0]
    older = replace(
        EXISTING_TABLE,
        columns=target.columns[:-1],
        location=target.location,
        properties=target.properties,
    )
    (statement,) = statements(target, older).all
    assert first_words([statement]) == ["ALTER TABLE"]
    assert "ADD COLUMNS (\n  `instant` string" in statement
    assert statements(target, replace(older, columns=target.columns)).all == ()


def test_an_up_to_date_table_is_not_changed():
    assert statements(TARGET, EXISTING_TABLE).all == ()


def test_partition_columns_may_stand_at_the_end():
    assert statements(TARGET, replace(EXISTING_TABLE, columns=(A, B, P))).all == ()


def test_columns_at_the_end_are_added():
    target = replace(TARGET, columns=(A, P, B, column("c", "int", "new")))
    assert statements(target, EXISTING_TABLE).all == (
        "ALTER TABLE `db`.`trips` ADD COLUMNS (\n  `c` int COMMENT 'new')",
    )


@pytest.mark.parametrize(
    "columns",
    [(A, P), (A, C, P, B), (A, P, column("b", "bigint")), (A, P, column("b", "string", "said"))],
    ids=["dropped", "in the middle", "retyped", "commented"],
)
def test_other_changes_recreate_the_table_and_keep_its_settings(columns):
    consumed = {"hoodie.trips.consume.mode": "INCREMENTAL", "hoodie.other": "x"}
    existing = replace(EXISTING_TABLE, properties={**EXISTING_TABLE.properties, **consumed})
    todo = statements(replace(TARGET, columns=columns), existing)
    # The handler has to accept the new one before the old one is dropped.
    assert first_words(todo.all) == [
        "CREATE EXTERNAL",
        "DROP TABLE",
        "DROP TABLE",
        "CREATE EXTERNAL",
    ]
    assert todo.all[1:3] == (
        "DROP TABLE `db`.`trips__registering`",
        "DROP TABLE `db`.`trips`",
    )
    assert todo.all[3].replace("trips`", "trips__registering`") == todo.all[0]
    assert todo.all[3].endswith(
        "TBLPROPERTIES ('hudi.view'='read_optimized', 'hoodie.trips.consume.mode'='INCREMENTAL')"
    )


def test_declarations_made_in_hive_are_kept():
    columns_in_hive = (A, P, column("b", "varchar(8)", "short"))
    todo = statements(
        replace(TARGET, columns=(A, C, P, B)), replace(EXISTING_TABLE, columns=columns_in_hive)
    )
    assert "`b` varchar(8) COMMENT 'short'" in todo.all[3]
    assert statements(TARGET, replace(EXISTING_TABLE, columns=columns_in_hive)).all == ()


def test_only_properties_that_differ_are_set():
    target = replace(
        TARGET, properties={"hudi.view": "read_optimized", "hudi.pruning.enabled": "x"}
    )
    assert statements(target, EXISTING_TABLE).all == (
        "ALTER TABLE `db`.`trips` SET TBLPROPERTIES ('hudi.pruning.enabled'='x')",
    )


OTHER_PLACE = replace(EXISTING_TABLE, location="/elsewhere")
NATIVE = replace(EXISTING_TABLE, handler=None, input_format="HoodieParquetInputFormat")


def test_another_table_of_the_handler_is_replaced_only_if_requested():
    with pytest.raises(RegistrationRefused, match="--replace"):
        statements(TARGET, OTHER_PLACE)
    todo = statements(TARGET, OTHER_PLACE, True)
    assert first_words(todo.all) == [
        "CREATE EXTERNAL",
        "DROP TABLE",
        "DROP TABLE",
        "CREATE EXTERNAL",
    ]


def test_a_native_table_is_replaced_only_if_requested_and_dropped_last():
    with pytest.raises(RegistrationRefused, match="--replace"):
        statements(TARGET, NATIVE)
    todo = statements(TARGET, NATIVE, True)
    assert todo.registering[0] == "ALTER TABLE `db`.`trips` RENAME TO `db`.`trips__registering`"
    assert first_words(todo.registering[1:]) == ["CREATE EXTERNAL"]
    assert todo.removing == ("DROP TABLE `db`.`trips__registering`",)


def test_a_table_is_made_what_it_was():
    assert former_statements(TARGET, None, EXISTING_TABLE) == ("DROP TABLE `db`.`trips`",)
    assert former_statements(TARGET, NATIVE, EXISTING_TABLE) == (
        "DROP TABLE `db`.`trips`",
        "ALTER TABLE `db`.`trips__registering` RENAME TO `db`.`trips`",
    )
    (created,) = former_statements(TARGET, EXISTING_TABLE, None)
    assert created.endswith(
        "LOCATION 'hdfs://cluster/warehouse/trips'\n"
        "TBLPROPERTIES ('hudi.view'='read_optimized', 'owner'='x')"
    )
    changed = {"EXTERNAL": "TRUE", "hudi.view": "snapshot", "owner": "x", "note": "y"}
    now = replace(EXISTING_TABLE, properties=changed, columns=(A, P, B, C))
    assert former_statements(TARGET, EXISTING_TABLE, now) == (
        "ALTER TABLE `db`.`trips` SET TBLPROPERTIES ('hudi.view'='read_optimized')",
        "ALTER TABLE `db`.`trips` UNSET TBLPROPERTIES ('note')",
    )


def test_what_a_registration_lacks_is_named():
    assert unmet(TARGET, EXISTING_TABLE) is None
    assert unmet(TARGET, None) == "it is missing"
    assert "reads /elsewhere" in unmet(TARGET, OTHER_PLACE)
    managed = replace(EXISTING_TABLE, kind="MANAGED_TABLE")
    assert "DROP TABLE might delete" in unmet(TARGET, managed)
    assert "lacks b" in unmet(TARGET, replace(EXISTING_TABLE, columns=(A, P)))
    asked = replace(TARGET, properties={"hudi.view": "snapshot"})
    assert unmet(asked, EXISTING_TABLE) == "hudi.view is read_optimized, not snapshot"


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "MANAGED_TABLE"},
        {"kind": "VIRTUAL_VIEW"},
        {"properties": {"external.table.purge": "TRUE"}},
    ],
    ids=["managed", "view", "purged"],
)
def test_a_table_is_never_dropped_if_that_might_delete_data(change):
    with pytest.raises(RegistrationRefused, match="another name"):
        statements(TARGET, replace(NATIVE, **change), True)


def test_a_mismatch_names_its_column():
    assert mismatch(TARGET, EXISTING_TABLE) is None
    assert mismatch(TARGET, replace(EXISTING_TABLE, columns=(A, P))) == "Hive's table lacks b"
    assert "column 3 is b bigint in Hive" in mismatch(
        TARGET, replace(EXISTING_TABLE, columns=(A, P, column("b", "bigint")))
    )
    assert "c of Hive's table is not in" in mismatch(
        TARGET, replace(EXISTING_TABLE, columns=(A, P, B, C))
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("/a/b/", "file:/a/b", True),
        ("s3://bucket/t", "s3a://bucket/t", True),
        ("s3://bucket/t", "s3a://other/t", False),
        ("hdfs://cluster/t", "/t", True),
        ("hdfs://cluster/a//t/", "hdfs://cluster/a/t", True),
        ("hdfs://cluster/t", "file:/t", False),
        ("/t", "/u", False),
    ],
)
def test_locations_are_compared_as_far_as_possible(one, other, same):
    assert same_place(one, other) is same


@pytest.mark.parametrize(
    ("uri", "location"),
    [
        ("s3://lake/trips", "s3a://lake/trips"),
        ("s3n://lake/trips", "s3a://lake/trips"),
        ("s3a://lake/trips", "s3a://lake/trips"),
        ("gs://lake/s3://trips", "gs://lake/s3://trips"),
        ("hdfs://cluster/trips", "hdfs://cluster/trips"),
        ("/warehouse/s3/trips", "/warehouse/s3/trips"),
    ],
)
def test_hive_finds_tables_of_s3_by_the_scheme_of_hadoops_client(uri, location):
    assert hive_location(uri) == location
    assert same_place(uri, location)


def test_tables_whose_files_lack_the_partition_columns_are_refused(golden, tmp_path):
    table = HudiTable.open(str(golden["cow_v9_txns_simple_meta"]))
    object.__setattr__(table, "properties", replace(table.properties, drop_partition_columns=True))
    with pytest.raises(RegistrationRefused, match="do not hold the partition columns"):
        registration(table, NAME, "/t")


def test_tables_of_other_files_than_parquet_are_refused(golden):
    table = HudiTable.open(str(golden["cow_v9_txns_simple_meta"]))
    object.__setattr__(table, "properties", replace(table.properties, base_file_format="ORC"))
    with pytest.raises(RegistrationRefused, match="base files are ORC; Hive reads Parquet"):
        registration(table, NAME, "/t")

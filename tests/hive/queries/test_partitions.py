"""Partitioned tables: every kind of path, registered in each way that Hive has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import create_native
from devtools.matrix import Matrices, Partitioning
from devtools.tables import HudiTable, TableSpec, TableType, create
from pyhudi_expr.manage.hive.doctor import EXPLAIN_HOOK
from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.expected_rows import Truths
from tests.hive.query_results import FETCH, MR, TEZ, Hive
from tests.index.prune.predicates import PARTITIONS
from tests.marks import long
from tests.spark.query.partition_path_tables import CORE, TIMES, WITHOUT_STATISTICS, Spelled

pytestmark = [pytest.mark.spark, pytest.mark.hive]

COW, MOR = TableType.COW, TableType.MOR
NONE, HIVE, PLAIN = Partitioning.NONE, Partitioning.HIVE, Partitioning.PLAIN
LEVELS, SPECIAL = Partitioning.LEVELS, Partitioning.SPECIAL

TABLES = [(COW, 9, SPECIAL), (MOR, 9, HIVE), long(COW, 8, LEVELS), long(MOR, 8, PLAIN)]
TYPES = {"p": "string", "q": "int"}

PREDICATES = (
    *PARTITIONS,
    *("id = 5005", "s >= 'updated_'", "q = 1 AND dec9 > 100", "p = 'p2' AND ts IS NOT NULL"),
    *("p <=> NULL", "NOT (p = 'p1' OR q = 2)", "p IN ('日本', 'p1', '50% off')", "p = q"),
    *(
        "upper(p) = 'P1'",
        "q + 1 = 2",
        "p IS NULL AND id < 500",
        "`_hoodie_partition_path` LIKE 'p=%'",
    ),
)


def id_of(value: object) -> str | None:
    name = value.name if isinstance(value, (TableType, Partitioning)) else None
    return name.lower() if name else None


@pytest.fixture(scope="module")
def truths(hive: Hive, spark: SparkSession) -> Truths:
    return Truths(hive, spark, PREDICATES)


@pytest.mark.parametrize(("type_", "version", "partitioning"), TABLES, ids=id_of)
def test_predicates_on_partitions_lose_no_row(
    hive: Hive,
    matrices: Matrices,
    truths: Truths,
    type_: TableType,
    version: int,
    partitioning: Partitioning,
) -> None:
    table = matrices.get(type_, version, partitioning).table
    name = hive.register(table)
    for predicate in PREDICATES:
        answer = hive.query(f"SELECT id FROM {name} WHERE {predicate}")
        found = {row[0] for row in answer.rows}
        assert found == truths.in_hive(name, predicate), predicate
        assert found == truths.in_spark(table, predicate), predicate


# Of the 32 slices: a filter on the partition columns reads no other partition.
SLICES_READ = [
    (COW, 9, SPECIAL, "p = 'a b'", range(4, 8)),
    (COW, 9, SPECIAL, "p IS NULL", range(0, 4)),
    (COW, 9, SPECIAL, "p IN ('50% off', '日本')", [*range(8, 12), *range(20, 24)]),
    (COW, 9, SPECIAL, "p = 'naïve/é' AND ti = 1", [17]),
    (COW, 9, SPECIAL, "p = 'x:y=z'", range(12, 16)),
    (COW, 9, SPECIAL, r"""p = '#?*\'"' """, range(24, 28)),
    (MOR, 9, HIVE, "q = 1", range(8, 16)),
    (MOR, 9, HIVE, "q >= 2 AND ti < 1", [16]),
    (COW, 8, LEVELS, "p = 'p1'", range(8, 16)),
    (COW, 8, LEVELS, "q = 1", [k for k in range(32) if k // 4 % 2]),
    (COW, 8, LEVELS, "p = 'p1' AND q = 1", range(12, 16)),
    (MOR, 8, PLAIN, "p > 'p2'", range(24, 32)),
    (MOR, 8, PLAIN, "p = 'p1' AND id = 5005", []),
]


@pytest.mark.parametrize(
    ("type_", "version", "partitioning", "predicate", "slices"), SLICES_READ, ids=id_of
)
def test_filters_on_partitions_read_their_files_only(
    hive: Hive,
    matrices: Matrices,
    type_: TableType,
    version: int,
    partitioning: Partitioning,
    predicate: str,
    slices: list[int],
) -> None:
    name = hive.register(matrices.get(type_, version, partitioning).table)
    answer = hive.query(f"SELECT id FROM {name} WHERE {predicate}")
    assert answer.files == (files(range(32), type_), files(slices, type_))


def files(slices: list[int] | range, type_: TableType) -> int:
    """Base files, and for merge on read a log file in every changed slice."""
    return len(slices) + (sum(k % 4 in (1, 2) for k in slices) if type_ is MOR else 0)


@pytest.mark.parametrize(
    ("type_", "version", "partitioning", "predicate"),
    [
        (MOR, 9, HIVE, "q = 1"),
        (COW, 8, LEVELS, "p = 'p1' AND q = 1"),
        (MOR, 8, PLAIN, "p = 'p1'"),
    ],
    ids=id_of,
)
def test_partitioned_by_in_ddl_defines_ordinary_columns(
    hive: Hive,
    matrices: Matrices,
    type_: TableType,
    version: int,
    partitioning: Partitioning,
    predicate: str,
) -> None:
    table = matrices.get(type_, version, partitioning).table
    keys = table.spec.partitions
    columns = ", ".join(f"`{n}` {kind}" for n, kind in table.hive_columns() if n not in keys)
    partitions = ", ".join(f"`{key}` {TYPES[key]}" for key in keys)
    declared, plain = f"by_{table.name}", hive.register(table)
    hive.run(
        f"CREATE EXTERNAL TABLE {declared} ({columns}) PARTITIONED BY ({partitions})"
        f" STORED BY 'io.pyhudi.hive.HudiStorageHandler' LOCATION '{table.path}'"
    )
    for where in (predicate, f"{predicate} AND i < 8000", "ti = -4"):
        for engine in (FETCH, TEZ) if where == predicate else (FETCH,):
            query = f"SELECT id, p, q, s, ts, arr, st FROM {{}} WHERE {where}"
            answer = hive.query_both_ways(query.format(declared), engine)
            other = hive.query(query.format(plain), engine)
            assert answer.rows
            assert (answer.rows, answer.files) == (other.rows, other.files)


NATIVE = [(MOR, 9, HIVE), long(COW, 8, LEVELS), long(MOR, 8, PLAIN), long(COW, 9, NONE)]
OURS = {
    COW: "io.pyhudi.hive.HudiCopyOnWriteInputFormat",
    MOR: "io.pyhudi.hive.HudiMergeOnReadInputFormat",
}


def set_our_input_format(hive: Hive, table: HudiTable, name: str) -> None:
    """Partitions have their own storage descriptions; naming the columns alters all of them."""
    keys = ", ".join(table.spec.partitions)
    for part in ("", f"PARTITION ({keys})") if keys else ("",):
        hive.run(
            f"ALTER TABLE {name} {part} SET FILEFORMAT INPUTFORMAT '{OURS[table.spec.type]}'"
            " OUTPUTFORMAT 'io.pyhudi.hive.HudiOutputFormat'"
            " SERDE 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe'"
        )


@pytest.mark.parametrize(("type_", "version", "partitioning"), NATIVE, ids=id_of)
def test_our_input_format_prunes_a_native_table_as_well(
    hive: Hive, matrices: Matrices, type_: TableType, version: int, partitioning: Partitioning
) -> None:
    table = matrices.get(type_, version, partitioning).table
    native, handled = f"native_{table.name}", hive.register(table)
    hive.run(*create_native(table, native))
    set_our_input_format(hive, table, native)

    for where, engine in (
        ("id = 5005", FETCH),
        ("s >= 'updated_'", FETCH),
        ("ti BETWEEN 3 AND 4", TEZ),
        ("st.a = -1", MR),
    ):
        query = f"SELECT id, p, q, s, ts, st FROM {{}} WHERE {where}"
        answer = hive.query_both_ways(query.format(native), engine)
        other = hive.query(query.format(handled))
        assert (answer.rows, answer.files) == (other.rows, other.files), where

    # Hive itself excludes partitions that the metastore knows by their values.
    for key in table.spec.partitions:
        value = {"p": "'p1'", "q": "1"}[key]
        query = f"SELECT id, p, q FROM {{}} WHERE {key} = {value} AND ti < 0 AND ti > -5"
        answer = hive.query_both_ways(query.format(native))
        other = hive.query(query.format(handled))
        assert answer.rows == other.rows
        assert answer.scan.files_kept == other.scan.files_kept
        assert answer.scan.files_considered < other.scan.files_considered

    # Without old versions of files in the same directories, and without log files.
    counted = hive.query(f"SELECT count(*) FROM {native}", MR)
    assert counted.rows == [(32 * 24 - 16,)]


#: With these, Hive refuses statements before it plans them, even those without a row to write.
NO_INSERTS = {"hive.insert.into.external.tables": "false"}
WITH_HOOK = {"hive.semantic.analyzer.hook": EXPLAIN_HOOK}


@pytest.mark.smoke("tez")
@pytest.mark.parametrize("engine", [MR, TEZ])
def test_a_native_table_with_our_input_format_is_read_only(
    hive: Hive, spark: SparkSession, table_root: Path, engine: str
) -> None:
    spec = TableSpec(f"kept_from_{engine}", partitions=("q",))
    table = create(spark.range(0, 8, 1, 1).selectExpr("id", "int(id % 2) AS q"), spec, table_root)
    hive.run(*create_native(table, spec.name))
    set_our_input_format(hive, table, spec.name)
    columns = ", ".join(f"`{column}`" for column, _ in table.hive_columns() if column != "q")
    rows = f"PARTITION (q=0) SELECT {columns} FROM {spec.name} WHERE id"
    before = everything_in(table)
    for write in (f"INSERT INTO {spec.name} {rows}", f"INSERT OVERWRITE TABLE {spec.name} {rows}"):
        with pytest.raises(QueryError):
            hive.query(f"{write} < 5", engine)
        for condition in ("< 5", "< -5"):
            with pytest.raises(QueryError, match="external table is not allowed"):
                hive.query(f"{write} {condition}", engine, settings=NO_INSERTS)
            with pytest.raises(QueryError, match=f"{spec.name}: Hudi tables are read-only") as no:
                hive.query(f"{write} {condition}", engine, settings=WITH_HOOK)
            assert "\tat " not in no.value.reason
    file = next(one for one in before if one.parent.name == "q=0" and one.suffix == ".parquet")
    load = f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE {spec.name} PARTITION (q=0)"
    with pytest.raises(QueryError, match=f"{spec.name}: Hudi tables are read-only"):
        hive.query(load, engine, settings=WITH_HOOK)
    assert everything_in(table) == before


def everything_in(table: HudiTable) -> list[Path]:
    return sorted(file for file in table.path.rglob("*") if file.is_file())


@pytest.mark.parametrize("spelled", CORE[:2], ids=lambda table: table.name)
def test_values_formatted_differently_in_paths_are_read_from_files(
    hive: Hive, spark: SparkSession, table_root: Path, spelled: Spelled
) -> None:
    name = hive.register(replace(spelled, name=f"{spelled.name}_hive").write(spark, table_root))
    rows = ", ".join(f"({id_}, {value})" for id_, value in enumerate(spelled.values))
    for where in ("p = ''", "p IS NULL", "p IS NOT NULL", "p = 'a%20b'", "p = 'b'", "p <> 'a=b'"):
        answer = hive.query_both_ways(f"SELECT id FROM {name} WHERE {where}")
        expected = spark.sql(f"SELECT id FROM VALUES {rows} AS t(id, p) WHERE {where}").collect()
        assert {row[0] for row in answer.rows} == {row[0] for row in expected}, where


@pytest.mark.smoke("hours")
@pytest.mark.parametrize("spelled", TIMES[:3], ids=lambda table: table.name)
def test_times_are_found_by_the_paths_that_are_formatted_from_them(
    hive: Hive, spark: SparkSession, table_root: Path, spelled: Spelled
) -> None:
    named = replace(spelled, name=f"{spelled.name}_hive")
    table = replace(named, options={**spelled.options, **WITHOUT_STATISTICS})
    name = hive.register(table.write(spark, table_root))
    for at, value in enumerate(spelled.values[:-1]):
        answer = hive.query_both_ways(f"SELECT id FROM {name} WHERE p = {value}")
        assert [row[0] for row in answer.rows] == [at]
        total, kept = answer.files
        assert kept < total
    answer = hive.query_both_ways(f"SELECT id FROM {name} WHERE p IS NULL OR p < 0")
    assert {row[0] for row in answer.rows} == {4, 5}

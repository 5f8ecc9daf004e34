"""`min`, `max` and `count` are answered without reading a file, if the index knows the answer."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import create_with_handler
from devtools.hiveserver import HiveServer
from devtools.matrix import Matrices, Partitioning
from devtools.tables import TableSpec, TableType, create, delete, upsert
from tests.hive.query_results import MR, TEZ, Answer, Hive
from tests.marks import long

pytestmark = [pytest.mark.spark, pytest.mark.hive]

#: All types whose statistics are exact values; `n` has nulls, and files with only nulls.
ANSWERED_COLUMNS = ("id", "b", "ti", "si", "i", "l", "dec9", "dec38", "dt", "n")
#: NaN is not among a file's bounds, texts may be truncated, New York sets its clocks back.
READ = ("f", "s", "ts", "d", "u", "none")
ROW_BY_ROW = {"hive.vectorized.execution.enabled": "false"}

both_engines = pytest.mark.parametrize("engine", [MR, TEZ])
both_ways = pytest.mark.parametrize("settings", [{}, ROW_BY_ROW], ids=["vectorised", "row by row"])


def ends_of(*columns: str) -> str:
    return ", ".join(f"min(`{column}`), max(`{column}`)" for column in columns)


def is_answered(answer: Answer) -> bool:
    considered, kept = answer.files
    assert ("ANSWERED" in answer.scan.outcomes) == (kept == 0), answer
    return kept == 0 < considered


@pytest.fixture(scope="module")
def table(hive: Hive, matrices: Matrices) -> str:
    return hive.register(matrices.get(TableType.COW).table)


@both_engines
@both_ways
def test_min_and_max_of_columns_read_no_file(
    hive: Hive, table: str, engine: str, settings: dict[str, str]
) -> None:
    answer = hive.query_both_ways(
        f"SELECT {ends_of(*ANSWERED_COLUMNS)} FROM {table}", engine, settings
    )
    assert is_answered(answer)
    assert answer.files == (32, 0)
    assert None not in answer.rows[0]


@pytest.mark.smoke("vectorised-mr")
@both_engines
@both_ways
def test_counts_together_with_min_and_max_read_no_file(
    hive: Hive, table: str, engine: str, settings: dict[str, str]
) -> None:
    counts = "count(*), count(1), count(n), count(id), count(b)"
    answer = hive.query_both_ways(
        f"SELECT {counts}, {ends_of(*ANSWERED_COLUMNS)} FROM {table}", engine, settings
    )
    assert is_answered(answer)
    assert answer.files == (32, 0)
    rows, by_constant, with_n, with_id, with_b = answer.rows[0][:5]
    assert rows == by_constant == with_id > with_b > with_n > 0


@pytest.mark.parametrize("counts", ["count(n)", "count(n), min(i)", "count(id), max(n)"])
def test_values_of_a_column_are_counted_from_the_index(hive: Hive, table: str, counts: str) -> None:
    assert is_answered(hive.query_both_ways(f"SELECT {counts} FROM {table}", TEZ))


@pytest.fixture(scope="module")
def long_table(hive: Hive, spark: SparkSession, table_root: Path) -> str:
    """With more rows than a batch: `v` and `w` have nulls, `one` a single value."""
    rows = spark.range(0, 5_000, 1, 4).selectExpr(
        "id",
        "if(id % 7 = 0, NULL, cast(id AS int)) AS v",
        "if(id < 3000, NULL, date_add(date'2024-01-01', cast(id AS int))) AS w",
        "if(id = 77, cast(id AS int), NULL) AS one",
        "cast(NULL AS int) AS none",
    )
    return hive.register(create(rows, TableSpec("longer"), table_root))


@both_engines
@both_ways
def test_batches_are_counted_with_their_nulls(
    hive: Hive, long_table: str, engine: str, settings: dict[str, str]
) -> None:
    counts = "count(*), count(v), count(w), count(one), count(id)"
    query = f"SELECT {counts}, {ends_of('id', 'v', 'w', 'one')} FROM {long_table}"
    answer = hive.query_both_ways(query, engine, settings)
    assert is_answered(answer)
    assert answer.rows[0][:5] == (5_000, 4_285, 2_000, 1, 5_000)


def test_columns_with_unreliable_null_counts_are_read(
    hive: Hive, table: str, long_table: str
) -> None:
    for column in ("s", "f", "none", "bin", "st"):
        query = f"SELECT count(`{column}`), min(i) FROM {table}"
        assert not is_answered(hive.query_both_ways(query, TEZ))
    answer = hive.query_both_ways(f"SELECT count(`none`), count(*), min(id) FROM {long_table}", TEZ)
    assert not is_answered(answer)
    assert answer.rows == [(0, 5_000, 0)]


@pytest.mark.smoke("SELECT count(DISTINCT i")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(DISTINCT b), max(i) FROM {t}",
        long("SELECT count(DISTINCT b), count(*) FROM {t}"),
        "SELECT count(DISTINCT i, n), max(i) FROM {t}",
        "SELECT count(*), max(i), sum(ti) FROM {t}",
        long("SELECT count(*), max(i), avg(ti) FROM {t}"),
        "SELECT b, count(*), max(i) FROM {t} GROUP BY b",
        "SELECT count(*), max(i) FROM {t} WHERE ti < 5",
        "SELECT count(*), max(i) FROM {t} WHERE n IS NULL",
        long("SELECT count(CASE WHEN ti < 5 THEN 1 END), max(i) FROM {t}"),
        long("SELECT count(i + n), max(i) FROM {t}"),
        "SELECT count(*), max(i) FROM (SELECT i FROM {t} LIMIT 1000000) x",
        long("SELECT count(*), max(b) FROM (SELECT DISTINCT b FROM {t}) x"),
        "SELECT count(*), max(x) FROM {t} LATERAL VIEW explode(arr) e AS x",
        "SELECT count(*), max(i) FROM {t} TABLESAMPLE(BUCKET 1 OUT OF 4 ON id)",
        "SELECT count(*), max(i) FROM {t} TABLESAMPLE(2 ROWS)",
        "SELECT count(*), max(a.i) FROM {t} a JOIN {t} b ON a.b = b.b",
    ],
)
def test_counts_of_other_rows_are_read(hive: Hive, table: str, query: str) -> None:
    assert not is_answered(hive.query_both_ways(query.format(t=table), TEZ))


@pytest.mark.smoke("tez-SELECT id")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT max(i), count(*), 'a' FROM {t} UNION ALL SELECT sum(i), 1, 'b' FROM {t}",
        "SELECT id FROM {t} WHERE i + 1 > (SELECT count(*) + max(i) - min(i) FROM {t})",
        long("SELECT count(*), max(i), (SELECT count(*) FROM {t} WHERE ti < 3) FROM {t}"),
    ],
)
@both_engines
def test_counts_of_a_table_that_is_read_for_other_things_too(
    hive: Hive, table: str, query: str, engine: str
) -> None:
    hive.query_both_ways(query.format(t=table), engine)


@pytest.mark.parametrize("rows", [0, 1, 2])
@both_ways
def test_small_tables_are_counted(
    hive: Hive, spark: SparkSession, table_root: Path, rows: int, settings: dict[str, str]
) -> None:
    written = spark.range(0, rows, 1, 1).selectExpr("id", "cast(id + 5 AS int) AS v")
    name = hive.register(create(written, TableSpec(f"small_{rows}"), table_root))
    query = f"SELECT count(*), count(v), {ends_of('v')} FROM {name}"
    answer = hive.query_both_ways(query, TEZ, settings)
    ends = (5, 4 + rows) if rows else (None, None)
    assert answer.rows == [(rows, rows, *ends)]
    assert answer.files == (min(rows, 1), 0)


def test_a_file_without_rows_has_no_min_and_max(
    hive: Hive, spark: SparkSession, table_root: Path
) -> None:
    rows = spark.range(0, 3, 1, 1).selectExpr("id", "cast(id AS int) AS v")
    table = create(rows, TableSpec("emptied"), table_root)
    delete(table, rows)
    query = f"SELECT count(*), count(v), {ends_of('v')} FROM {hive.register(table)}"
    assert hive.query_both_ways(query, TEZ).rows == [(0, 0, None, None)]


def test_virtual_keys_are_counted(hive: Hive, spark: SparkSession, table_root: Path) -> None:
    rows = spark.range(0, 40, 1, 2).selectExpr("id", "if(id < 9, NULL, cast(id AS int)) AS v")
    spec = TableSpec("keyless", extra={"hoodie.populate.meta.fields": "false"})
    name = hive.register(create(rows, spec, table_root))
    answer = hive.query_both_ways(f"SELECT count(*), count(v), {ends_of('v')} FROM {name}", TEZ)
    assert is_answered(answer)
    assert answer.rows == [(40, 31, 9, 39)]
    keys = f"SELECT count(`_hoodie_record_key`), count(*), max(id) FROM {name}"
    assert hive.query_both_ways(keys, TEZ).rows == [(0, 40, 39)]


def test_replaced_file_groups_are_not_counted(hive: Hive, golden: Mapping[str, Path]) -> None:
    hive.run(create_with_handler("replaced", golden["cow_v9_txns_simple_meta"]))
    answer = hive.query_both_ways(f"SELECT count(*), {ends_of('txn_date')} FROM replaced", TEZ)
    assert is_answered(answer)
    assert answer.rows[0][0] == 12


@pytest.mark.parametrize("column", [*READ[:3], *map(long, READ[3:])])
def test_columns_with_inexact_bounds_are_read(hive: Hive, table: str, column: str) -> None:
    assert not is_answered(hive.query_both_ways(f"SELECT {ends_of('i', column)} FROM {table}", TEZ))


@pytest.mark.smoke("SELECT max(i")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT max(i) - min(i) FROM {t}",
        "SELECT max(l) AS last FROM {t} HAVING max(l) > 0",
        "SELECT m FROM (SELECT max(dt) AS m FROM {t}) x WHERE m > DATE'1970-01-01'",
    ],
)
def test_expressions_of_min_and_max_read_no_file(hive: Hive, table: str, query: str) -> None:
    assert is_answered(hive.query_both_ways(query.format(t=table), TEZ))


#: Queries that read a table more than once: one job, or one scan, may serve several of them.
AGAIN = (
    "SELECT id FROM {t} WHERE id IN (SELECT max(id) FROM {t})",
    "SELECT max(i), 'a' FROM {t} UNION ALL SELECT sum(i), 'b' FROM {t}",
    "SELECT max(i), 'a' FROM {t} UNION ALL SELECT min(i), 'b' FROM {t} WHERE ti < 3",
    "SELECT max(a.i) FROM {t} a JOIN {t} b ON a.id = b.id AND b.ti < 5",
)


@both_engines
@pytest.mark.parametrize("query", AGAIN)
def test_a_table_that_is_read_for_other_things_too_is_read(
    hive: Hive, table: str, query: str, engine: str
) -> None:
    hive.query_both_ways(query.format(t=table), engine)


@pytest.mark.smoke("SELECT max(i) FROM (")
@pytest.mark.parametrize(
    "query",
    [
        long("SELECT max(i), sum(i) FROM {t}"),
        "SELECT b, max(i) FROM {t} GROUP BY b",
        long("SELECT max(i) FROM {t} WHERE ti < 5"),
        long("SELECT max(DISTINCT i) FROM {t}"),
        "SELECT max(i + 1) FROM {t}",
        long("SELECT max(st.a) FROM {t}"),
        "SELECT max(i) FROM (SELECT i FROM {t} LIMIT 1000000) x",
        long("SELECT max(i) FROM (SELECT DISTINCT i FROM {t}) x"),
        long("SELECT max(x) FROM {t} LATERAL VIEW explode(arr) e AS x"),
        "SELECT max(i) FROM {t} TABLESAMPLE(BUCKET 1 OUT OF 4 ON id)",
        "SELECT max(i) FROM {t} TABLESAMPLE(2 ROWS)",
    ],
)
def test_other_queries_read_all_files(hive: Hive, table: str, query: str) -> None:
    hive.query_both_ways(query.format(t=table), TEZ)


@pytest.mark.long
def test_min_and_max_of_text_partitions_read_no_file(hive: Hive, matrices: Matrices) -> None:
    levels = hive.register(matrices.get(TableType.COW, partitioning=Partitioning.LEVELS).table)
    for counts in ("", "count(*), count(p), count(q), count(n), "):
        query = f"SELECT {counts}{ends_of('p', 'q', 'dt')} FROM {levels}"
        assert is_answered(hive.query_both_ways(query, TEZ))


def test_wall_clocks_are_the_same_in_every_zone(
    hive: Hive, spark: SparkSession, table_root: Path
) -> None:
    """Including a night in which New York sets its clocks back."""
    step = (
        "timestamp_ntz'2024-11-03 00:30:00.000001' + make_interval(0, 0, 0, 0, 0, cast(id AS int))"
    )
    rows = spark.range(0, 400, 1, 4).selectExpr("id", f"{step} AS wall")
    name = hive.register(create(rows, TableSpec("walls"), table_root))
    answer = hive.query_both_ways(f"SELECT {ends_of('wall')} FROM {name}", TEZ)
    assert is_answered(answer)
    first = dt.datetime(2024, 11, 3, 0, 30, 0, 1)
    assert answer.rows == [(first, first + dt.timedelta(minutes=399))]


def test_slices_with_log_files_are_read(hive: Hive, matrices: Matrices) -> None:
    name = hive.register(matrices.get(TableType.MOR).table)
    options = {"hudi.view": "read_optimized"}
    for counts in ("", "count(*), count(n), "):
        query = f"SELECT {counts}{ends_of('id', 'dt')} FROM {name}"
        assert not is_answered(hive.query_both_ways(query, TEZ))
        assert is_answered(hive.query_both_ways(query, TEZ, options))


@pytest.mark.parametrize(
    "setting",
    [
        {"hive.compute.query.using.stats": "false"},
        {"hudi.pruning.service.addresses": "127.0.0.1:1"},
    ],
    ids=["statistics off", "no service"],
)
def test_files_are_read_if_disabled_or_without_a_service(
    hive: Hive, table: str, setting: dict[str, str]
) -> None:
    query = f"SELECT {ends_of('i')} FROM {table}"
    answer = hive.query(query, TEZ, settings=setting)
    assert not is_answered(answer)
    assert answer.rows == hive.query(query, TEZ).rows


def test_a_new_commit_is_visible_at_once(hive: Hive, spark: SparkSession, table_root: Path) -> None:
    rows = spark.range(0, 40, 1, 4).selectExpr("id", "cast(id AS int) AS v")
    table = create(rows, TableSpec("growing"), table_root)
    name = hive.register(table)
    queries = (
        f"SELECT {ends_of('v')} FROM {name}",
        f"SELECT {ends_of('v')}, count(*), count(v) FROM {name}",
    )

    def answers() -> list[tuple[object, ...]]:
        found = [hive.query_both_ways(query, TEZ) for query in queries]
        assert all(map(is_answered, found))
        return [answer.rows[0] for answer in found]

    assert answers() == [(0, 39), (0, 39, 40, 40)]
    changed = spark.range(38, 42, 1, 1).selectExpr(
        "id", "if(id = 38, NULL, cast(7 - id AS int)) AS v"
    )
    upsert(table, changed)
    assert answers() == [(-34, 37), (-34, 37, 42, 41)]
    delete(table, changed.where("id > 39"))
    assert answers() == [(-32, 37), (-32, 37, 40, 39)]


def test_a_jobs_summary_reports_answers_from_statistics(
    hive: Hive, hive_server: HiveServer, table: str
) -> None:
    logged = len(hive_server.log())
    settings = {"hive.tez.exec.print.summary": "true"}
    hive.query(f"SELECT {ends_of('i')} FROM {table}", TEZ, settings=settings)
    counted = ("FILES_CONSIDERED: 32", "FILES_KEPT: 0", "SCANS_ANSWERED: 1")
    summary = hive_server.log_until(counted, logged)
    assert [text for text in counted if text not in summary] == []

"""`min` and `max` without reading a file, where the index knows the values."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.hiveserver import HiveServer
from devtools.matrix import Matrices, Partitioning
from devtools.tables import TableSpec, TableType, create, upsert
from tests.hive.asking import MR, TEZ, Answer, Hive
from tests.marks import long

pytestmark = [pytest.mark.spark, pytest.mark.hive]

#: Of every type whose statistics are values; `n` has nulls, and files of nulls alone.
ANSWERED = ("id", "b", "ti", "si", "i", "l", "dec9", "dec38", "dt", "n")
#: NaN has no place among a file's ends, texts may be cut there, New York sets its clocks back.
READ = ("f", "s", "ts", "d", "u", "none")
ROW_BY_ROW = {"hive.vectorized.execution.enabled": "false"}


def ends_of(*columns: str) -> str:
    return ", ".join(f"min(`{column}`), max(`{column}`)" for column in columns)


def is_answered(answer: Answer) -> bool:
    considered, kept = answer.files
    assert ("ANSWERED" in answer.scan.outcomes) == (kept == 0), answer
    return kept == 0 < considered


@pytest.fixture(scope="module")
def table(hive: Hive, matrices: Matrices) -> str:
    return hive.register(matrices.get(TableType.COW).table)


@pytest.mark.parametrize("settings", [{}, ROW_BY_ROW], ids=["vectorised", "row by row"])
@pytest.mark.parametrize("engine", [MR, TEZ])
def test_no_file_is_read_for_ends_of_columns(
    hive: Hive, table: str, engine: str, settings: dict[str, str]
) -> None:
    answer = hive.ask_both(f"SELECT {ends_of(*ANSWERED)} FROM {table}", engine, settings)
    assert is_answered(answer)
    assert answer.files == (32, 0)
    assert None not in answer.rows[0]


@pytest.mark.parametrize("column", [*READ[:3], *map(long, READ[3:])])
def test_ends_that_may_be_no_values_are_read(hive: Hive, table: str, column: str) -> None:
    assert not is_answered(hive.ask_both(f"SELECT {ends_of('i', column)} FROM {table}", TEZ))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT max(i) - min(i) FROM {t}",
        "SELECT max(l) AS last FROM {t} HAVING max(l) > 0",
        "SELECT m FROM (SELECT max(dt) AS m FROM {t}) x WHERE m > DATE'1970-01-01'",
    ],
)
def test_what_is_made_of_ends_needs_no_file(hive: Hive, table: str, query: str) -> None:
    assert is_answered(hive.ask_both(query.format(t=table), TEZ))


#: Queries that read a table more than once: one job, or one scan, may serve several of them.
AGAIN = (
    "SELECT id FROM {t} WHERE id IN (SELECT max(id) FROM {t})",
    "SELECT max(i), 'a' FROM {t} UNION ALL SELECT sum(i), 'b' FROM {t}",
    "SELECT max(i), 'a' FROM {t} UNION ALL SELECT min(i), 'b' FROM {t} WHERE ti < 3",
    "SELECT max(a.i) FROM {t} a JOIN {t} b ON a.id = b.id AND b.ti < 5",
)


@pytest.mark.parametrize("engine", [MR, TEZ])
@pytest.mark.parametrize("query", AGAIN)
def test_a_table_that_is_read_for_other_things_too_is_read(
    hive: Hive, table: str, query: str, engine: str
) -> None:
    hive.ask_both(query.format(t=table), engine)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT max(i), count(*) FROM {t}",
        long("SELECT max(i), sum(i) FROM {t}"),
        "SELECT b, max(i) FROM {t} GROUP BY b",
        long("SELECT max(i) FROM {t} WHERE ti < 5"),
        long("SELECT max(DISTINCT i) FROM {t}"),
        "SELECT max(i + 1) FROM {t}",
        long("SELECT max(st.a) FROM {t}"),
        long("SELECT count(i) FROM {t}"),
        "SELECT max(i) FROM (SELECT i FROM {t} LIMIT 1000) x",
        long("SELECT max(i) FROM (SELECT DISTINCT i FROM {t}) x"),
        long("SELECT max(x) FROM {t} LATERAL VIEW explode(arr) e AS x"),
        "SELECT max(i) FROM {t} TABLESAMPLE(BUCKET 1 OUT OF 4 ON id)",
        "SELECT max(i) FROM {t} TABLESAMPLE(2 ROWS)",
    ],
)
def test_other_queries_have_the_rows_of_all_files(hive: Hive, table: str, query: str) -> None:
    hive.ask_both(query.format(t=table), TEZ)


def test_the_ends_of_partitions_are_known_of_texts_too(hive: Hive, matrices: Matrices) -> None:
    levels = hive.register(matrices.get(TableType.COW, partitioning=Partitioning.LEVELS).table)
    assert is_answered(hive.ask_both(f"SELECT {ends_of('p', 'q', 'dt')} FROM {levels}", TEZ))


def test_wall_clocks_are_the_same_in_every_zone(
    hive: Hive, spark: SparkSession, table_root: Path
) -> None:
    """In a night, too, in which New York sets its clocks back."""
    step = (
        "timestamp_ntz'2024-11-03 00:30:00.000001' + make_interval(0, 0, 0, 0, 0, cast(id AS int))"
    )
    rows = spark.range(0, 400, 1, 4).selectExpr("id", f"{step} AS wall")
    name = hive.register(create(rows, TableSpec("walls"), table_root))
    answer = hive.ask_both(f"SELECT {ends_of('wall')} FROM {name}", TEZ)
    assert is_answered(answer)
    first = dt.datetime(2024, 11, 3, 0, 30, 0, 1)
    assert answer.rows == [(first, first + dt.timedelta(minutes=399))]


def test_slices_with_log_files_are_read(hive: Hive, matrices: Matrices) -> None:
    name = hive.register(matrices.get(TableType.MOR).table)
    query = f"SELECT {ends_of('id', 'dt')} FROM {name}"
    assert not is_answered(hive.ask_both(query, TEZ))
    of_base_files = {"hudi.view": "read_optimized"}
    assert is_answered(hive.ask_both(query, TEZ, of_base_files))


@pytest.mark.parametrize(
    "setting",
    [
        {"hive.compute.query.using.stats": "false"},
        {"hudi.pruning.service.addresses": "127.0.0.1:1"},
    ],
    ids=["statistics off", "no service"],
)
def test_without_leave_or_a_service_files_are_read(
    hive: Hive, table: str, setting: dict[str, str]
) -> None:
    query = f"SELECT {ends_of('i')} FROM {table}"
    answer = hive.ask(query, TEZ, settings=setting)
    assert not is_answered(answer)
    assert answer.rows == hive.ask(query, TEZ).rows


def test_a_commit_is_answered_for_at_once(
    hive: Hive, spark: SparkSession, table_root: Path
) -> None:
    rows = spark.range(0, 40, 1, 4).selectExpr("id", "cast(id AS int) AS v")
    table = create(rows, TableSpec("growing"), table_root)
    query = f"SELECT {ends_of('v')} FROM {hive.register(table)}"
    assert hive.ask_both(query, TEZ).rows == [(0, 39)]
    upsert(table, spark.range(38, 42, 1, 1).selectExpr("id", "cast(7 - id AS int) AS v"))
    answer = hive.ask_both(query, TEZ)
    assert answer.rows == [(-34, 37)]
    assert is_answered(answer)


def test_a_jobs_summary_tells_that_statistics_answered(
    hive: Hive, hive_server: HiveServer, table: str
) -> None:
    logged = len(hive_server.log())
    settings = {"hive.tez.exec.print.summary": "true"}
    hive.ask(f"SELECT {ends_of('i')} FROM {table}", TEZ, settings=settings)
    summary = hive_server.log()[logged:]
    for counted in ("FILES_CONSIDERED: 32", "FILES_KEPT: 0", "SCANS_ANSWERED: 1"):
        assert counted in summary

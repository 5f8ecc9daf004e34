"""Values of the two readers: Hive's own for slices without log files, Hudi's for the others."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import SparkSession

from devtools.ddl import create_with_handler
from devtools.matrix import Matrices
from devtools.tables import HudiTable, TableSpec, TableType, create, upsert
from tests.hive.expected_rows import ZONE, Truths
from tests.hive.query_results import FETCH, MR, TEZ, Hive, Rows

pytestmark = [pytest.mark.spark, pytest.mark.hive]

TYPES = pytest.mark.parametrize("type_", TableType, ids=lambda type_: type_.name.lower())

PLAIN = ("id", "b", "ti", "i", "l", "dec9", "dec38", "s", "u", "dt", "n", "none", "p", "q")


@TYPES
def test_every_value_is_shown_as_it_was_written(
    hive: Hive, matrices: Matrices, type_: TableType
) -> None:
    matrix = matrices.get(type_)
    rows = hive.query(
        f"SELECT {', '.join(f'`{name}`' for name in PLAIN)}, ts, hex(bin), arr, m, st.a, st.b,"
        f" st.c.d, st.c.e, f, d FROM {hive.register(matrix.table)}"
    ).rows
    by_id = {row[0]: row for row in rows}
    assert len(by_id) == len(rows) == len(matrix.rows)
    for expected_row in matrix.rows:
        row = by_id[expected_row["id"]]
        assert row[: len(PLAIN)] == tuple(as_pyhive_shows(expected_row[name]) for name in PLAIN)
        time, binary, array, map_, *fields, f, d = row[len(PLAIN) :]
        assert time == wall_clock(expected_row["ts"])
        assert binary == (
            None if expected_row["bin"] is None else expected_row["bin"].hex().upper()
        )
        assert (None if array is None else json.loads(array)) == expected_row["arr"]
        assert json.loads(map_) == expected_row["m"]
        st = expected_row["st"] or {"a": None, "b": None, "c": {"d": None, "e": None}}
        assert fields == [st["a"], st["b"], st["c"]["d"], as_pyhive_shows(st["c"]["e"])]
        assert [repr(f), repr(d)] == [repr(expected_row["f"]), repr(expected_row["d"])]


def as_pyhive_shows(value: object) -> object:
    """The value as PyHive returns it: a date is a text."""
    return value.isoformat() if isinstance(value, dt.date) else value


def wall_clock(time: dt.datetime) -> dt.datetime:
    return time.astimezone(ZoneInfo(ZONE)).replace(tzinfo=None)


DEEP = (
    "id",
    "if(id % 5 = 0, null, array(named_struct('x', cast(id as int), 'y', 'é' || id),"
    " named_struct('x', null, 'y', ''))) AS items",
    "if(id % 7 = 0, null, map('a', array(1, cast(id as int)), 'b', null)) AS groups",
    "if(id % 6 = 0, null, named_struct('left', named_struct('names', array('😀', ''),"
    " 'at', timestamp'2021-07-01 00:00:00.000001' + make_interval(0, 0, 0, 0, cast(id as int))),"
    " 'right', map('z', cast(id / 8 as decimal(20,3))))) AS tree",
    "array(timestamp'1960-01-01 12:00:00') AS times",
    "map('d', date_add(date'1500-03-01', cast(id as int))) AS days",
    "timestamp_ntz'2021-03-14 02:30:00' AS wall",
    "date_add(date'1500-03-01', cast(id as int)) AS ancient",
    "cast(id div 10 AS int) AS k",
)


@pytest.fixture(scope="module")
def deep(hive: Hive, spark: SparkSession, table_root: Path) -> dict[TableType, str]:
    """Nested types: four files, two of which have logs to merge in merge on read."""
    names = {}
    for type_ in TableType:
        # Hudi's row writer fails for maps of dates.
        extra = {"hoodie.datasource.write.row.writer.enable": "false"}
        spec = TableSpec(f"deep_{type_.name.lower()}", type_, extra=extra)
        table = create(spark.range(0, 40, 1, 4).selectExpr(*DEEP), spec, table_root)
        upsert(table, spark.range(5, 15, 1, 1).selectExpr(*DEEP))
        names[type_] = hive.register(table)
    return names


@pytest.mark.parametrize("engine", [FETCH, TEZ, MR])
def test_nested_types_are_the_same_from_both_readers(
    hive: Hive, deep: dict[TableType, str], engine: str
) -> None:
    query = (
        "SELECT id, items, groups, tree, times, days, wall, ancient FROM {} WHERE k BETWEEN 1 AND 2"
    )
    answers = {
        type_: hive.query_both_ways(query.format(name), engine) for type_, name in deep.items()
    }
    rows = answers[TableType.COW].rows
    assert len(rows) == 20
    assert answers[TableType.MOR].rows == rows
    by_id = {row[0]: row for row in rows}
    assert json.loads(by_id[11][1]) == [{"x": 11, "y": "é11"}, {"x": None, "y": ""}]
    assert json.loads(by_id[11][2]) == {"a": [1, 11], "b": None}
    tree = json.loads(by_id[11][3])
    assert tree["left"] == {"names": ["😀", ""], "at": "2021-07-01 07:00:00.000001"}
    assert tree["right"] == {"z": 1.375}
    assert by_id[12][3] is None
    assert json.loads(by_id[11][4]) == ["1960-01-01 07:00:00"]
    assert json.loads(by_id[11][5]) == {"d": "1500-03-12"}
    assert by_id[11][7] == "1500-03-12"
    assert by_id[11][6] == dt.datetime(2021, 3, 14, 2, 30)


@pytest.mark.parametrize("engine", [FETCH, TEZ])
def test_days_before_the_gregorian_calendar(
    hive: Hive, deep: dict[TableType, str], engine: str
) -> None:
    for name in deep.values():
        for day in (3, 11, 22, 38):
            date = dt.date(1500, 3, 1) + dt.timedelta(days=day)
            query = f"SELECT id FROM {name} WHERE ancient = DATE '{date}'"
            assert hive.query_both_ways(query, engine).rows == [(day,)]


CLOCK_CHANGES = {"spring": dt.datetime(2021, 3, 14, 7), "autumn": dt.datetime(2021, 11, 7, 6)}
"""When New York's clocks change, in UTC."""


@pytest.fixture(scope="module")
def clocks(hive: Hive, spark: SparkSession, table_root: Path) -> dict[TableType, HudiTable]:
    """Every quarter of an hour around both changes, one file for each hour."""
    start = {name: change - dt.timedelta(hours=5) for name, change in CLOCK_CHANGES.items()}
    rows = [
        (
            1000 * year + 4 * hour + quarter,
            start_of_year + dt.timedelta(hours=hour, minutes=15 * quarter),
        )
        for year, start_of_year in enumerate(start.values())
        for hour in range(10)
        for quarter in range(4)
    ]
    values = [
        (key, time.replace(tzinfo=dt.timezone.utc), time, f"h{key // 4:04d}") for key, time in rows
    ]
    tables = {}
    schema = "id long, ts timestamp, wall timestamp_ntz, h string"
    for type_ in TableType:
        frame = spark.createDataFrame(spark.sparkContext.parallelize(values, 20), schema)
        spec = TableSpec(f"clocks_{type_.name.lower()}", type_, stats_columns=("id", "ts", "wall"))
        tables[type_] = create(frame, spec, table_root)
        # The same rows again, so that merge on read has logs in half of the slices.
        again = spark.createDataFrame([row for row in values if row[0] // 4 % 2], schema)
        upsert(tables[type_], again.coalesce(1))
        hive.register(tables[type_])
    return tables


_HOURS = [
    f"{column} {op} TIMESTAMP '{day} {time}'"
    for day in ("2021-03-14", "2021-11-07")
    for time in ("00:45:00", "01:00:00", "01:45:00", "02:00:00", "02:30:00", "03:00:00")
    for column, op in (("ts", "="), ("ts", "<"), ("ts", ">="), ("wall", "="), ("wall", "<="))
]
CLOCK_PREDICATES = (
    *_HOURS,
    "ts BETWEEN TIMESTAMP '2021-11-07 01:15:00' AND TIMESTAMP '2021-11-07 01:30:00'",
    "ts IN (TIMESTAMP '2021-11-07 01:15:00', TIMESTAMP '2021-03-14 03:15:00')",
    "NOT (ts > TIMESTAMP '2021-03-14 01:59:59.999999')",
    "CAST(ts AS date) = DATE '2021-03-14'",
    "hour(ts) = 1",
    "ts = wall",
)


@TYPES
def test_wall_clocks_around_daylight_saving_changes(
    hive: Hive, spark: SparkSession, clocks: dict[TableType, HudiTable], type_: TableType
) -> None:
    name = clocks[type_].name
    truths = Truths(hive, spark, CLOCK_PREDICATES)
    read = {}
    for predicate in CLOCK_PREDICATES:
        answer = hive.query(f"SELECT id FROM {name} WHERE {predicate}")
        assert {row[0] for row in answer.rows} == truths.in_hive(name, predicate), predicate
        read[predicate] = answer.scan.files_kept / answer.scan.files_considered
    # An ambiguous hour: the rows of both instants.
    assert len(truths.in_hive(name, "ts = TIMESTAMP '2021-11-07 01:45:00'")) == 2
    assert not truths.in_hive(name, "ts = TIMESTAMP '2021-03-14 02:30:00'")
    assert 0 < read["ts = TIMESTAMP '2021-11-07 01:45:00'"] < 0.3
    assert read["ts < TIMESTAMP '2021-03-14 01:00:00'"] < 0.5
    assert read["wall = TIMESTAMP '2021-03-14 02:30:00'"] < 0.2


@pytest.mark.smoke("cow")
@TYPES
def test_both_readers_show_the_same_wall_clock(
    hive: Hive, clocks: dict[TableType, HudiTable], type_: TableType
) -> None:
    for engine in (FETCH, TEZ):
        rows = hive.query(f"SELECT id, ts, wall FROM {clocks[type_].name}", engine).rows
        assert len(rows) == 80
        for _, time, wall in rows:
            assert time == wall_clock(wall.replace(tzinfo=dt.timezone.utc))


def grown(
    spark: SparkSession, parent: Path, type_: TableType, name: str
) -> tuple[HudiTable, Callable[[], None]]:
    """A table of three files, and a function that adds columns and a fourth file."""
    schema = "id long, x int, s string"
    first = [(10 * k + r, 10 * k + r, f"s{k}") for k in range(3) for r in range(3)]
    frame = spark.createDataFrame(spark.sparkContext.parallelize(first, 3), schema)
    table = create(frame, TableSpec(name, type_), parent)

    def grow() -> None:
        values: list[tuple[Any, ...]] = [(1, 1, "new", 100, (7, "in")), (30, 30, "s3", 300, None)]
        wider = schema + ", y int, st struct<a:int,b:string>"
        upsert(table, spark.createDataFrame(values, wider).coalesce(1))

    return table, grow


@TYPES
def test_a_column_that_was_added_later(
    hive: Hive, spark: SparkSession, table_root: Path, type_: TableType
) -> None:
    name = f"grown_{type_.name.lower()}"
    table, grow = grown(spark, table_root, type_, name)
    hive.register(table)
    grow()
    # The table as it was registered: only the older columns.
    assert hive.query_both_ways(f"SELECT id, s FROM {name} WHERE x = 30").rows == [(30, "s3")]
    assert len(hive.query(f"SELECT * FROM {name}").rows) == 10

    wider = f"wider_{type_.name.lower()}"
    hive.run(
        create_with_handler(wider, table.path),
        f"ALTER TABLE {name} ADD COLUMNS (y int, st struct<a:int,b:string>)",
    )
    expected: dict[str, set[int]] = {
        "y IS NULL": {0, 2, 10, 11, 12, 20, 21, 22},
        "y IS NOT NULL": {1, 30},
        "y = 300": {30},
        "y < 200": {1},
        "y <=> NULL AND x < 3": {0, 2},
        "NOT (y > 150)": {1},
        "st.a = 7": {1},
        "st.a IS NULL AND x >= 22": {22, 30},
        "coalesce(y, 5) = 5 AND x = 10": {10},
        "x IN (1, 30) AND s <> 'new'": {30},
    }
    for registered in (name, wider):
        for predicate, ids in expected.items():
            for engine in (FETCH, TEZ) if registered == wider and "y" in predicate else (FETCH,):
                answer = hive.query(f"SELECT id FROM {registered} WHERE {predicate}", engine)
                assert {row[0] for row in answer.rows} == ids, (predicate, engine)
    rows: Rows = hive.query(f"SELECT id, y, st.b FROM {wider} WHERE x IN (1, 2, 30)", TEZ).rows
    assert rows == [(1, 100, "in"), (2, None, None), (30, 300, None)]


@TYPES
def test_a_type_that_was_widened(
    hive: Hive, spark: SparkSession, table_root: Path, type_: TableType
) -> None:
    name = f"widened_{type_.name.lower()}"
    narrow = [(10 * k, 10 * k, k / 4) for k in range(4)]
    frame = spark.createDataFrame(
        spark.sparkContext.parallelize(narrow, 4), "id long, x int, f float"
    )
    table = create(frame, TableSpec(name, type_), table_root)
    wide = [(10, 10_000_000_000, 1e300), (40, -10_000_000_000, 0.1)]
    upsert(table, spark.createDataFrame(wide, "id long, x long, f double").coalesce(1))
    hive.register(table)
    expected = {
        "x > 5": {10, 20, 30},
        "x = 10000000000": {10},
        "x = 20": {20},
        "x < 0": {40},
        "f = 0.75": {30},
        "f > 1e100": {10},
        "f = 0.1": {40},
        "f < 0.3": {0, 40},
    }
    for engine in (FETCH, TEZ):
        for predicate, ids in expected.items():
            if engine == FETCH or predicate in ("x > 5", "f < 0.3"):
                answer = hive.query_both_ways(
                    f"SELECT id, x, f FROM {name} WHERE {predicate}", engine
                )
                assert {row[0] for row in answer.rows} == ids, predicate

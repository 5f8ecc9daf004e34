"""Joins by keys of every type (Tez): no row is lost, and files are pruned if the types allow it.

Each file of the table has three rows. The keys include special values: NULL, NaN, both zeros, texts
that end in spaces, an ambiguous hour.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as t

from devtools.ddl import create_with_handler
from devtools.tables import HudiTable, TableSpec, create
from tests.hive.query_results import TEZ, Answer, Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.long]

FILES = 8
KEYS = (10, 11, 12, 20, 21, 50, 51)
"""The ids of the other side's rows, which are in three files."""

SCHEMA = t.StructType(
    [
        t.StructField("id", t.IntegerType()),
        t.StructField("i", t.IntegerType()),
        t.StructField("l", t.LongType()),
        t.StructField("n", t.IntegerType()),
        t.StructField("amount", t.DecimalType(9, 2)),
        t.StructField("d", t.DoubleType()),
        t.StructField("f", t.FloatType()),
        t.StructField("s", t.StringType()),
        t.StructField("v", t.StringType()),
        t.StructField("c", t.StringType()),
        t.StructField("dt", t.DateType()),
        t.StructField("ts", t.TimestampType()),
        t.StructField("b", t.BooleanType()),
    ]
)
_RARE: dict[int, dict[str, Any]] = {
    0: {"d": 0.0, "f": 0.0, "i": -(2**31), "l": -(2**63)},
    1: {"ts": dt.datetime(2024, 11, 3, 5, 30, tzinfo=dt.timezone.utc)},
    10: {"d": -0.0, "f": -0.0, "s": "", "v": "", "c": ""},
    11: {"d": math.nan, "f": math.nan, "s": "key 11 ", "v": "v11 ", "c": "c11 "},
    20: {"d": math.inf, "f": -math.inf, "s": "é'\\\u2028", "v": "😀"},
    21: {"i": 2**31 - 1, "l": 2**63 - 1},
    30: {"s": "key 11", "v": "v11", "c": "c11", "d": math.nan, "f": math.nan},
    51: {"ts": dt.datetime(2024, 11, 3, 6, 30, tzinfo=dt.timezone.utc)},
}


def row(k: int, r: int) -> dict[str, Any]:
    key = 10 * k + r
    created_tables = {
        "id": key,
        "i": 100 * k + r,
        "l": 10**10 * k + r,
        "n": None if r == 2 else 100 * k + r,
        "amount": Decimal(100 * k) + r + Decimal("0.25"),
        "d": k + r / 4,
        "f": 100 * k + r / 10,
        "s": None if r == 2 else f"key {k}{r}",
        "v": None if r == 2 else f"v{k}{r}",
        "c": None if r == 2 else f"c{k}{r}",
        "dt": dt.date(2024, 1 + k, 1 + r),
        "ts": dt.datetime(2023, 1 + k, 1 + r, 12, 34, 56, 789_012, tzinfo=dt.timezone.utc),
        "b": None if r == 2 else k % 2 == r,
    }
    return {**created_tables, **_RARE.get(key, {})}


DECLARED = {"v": "varchar(8)", "c": "char(8)"}
_OTHER = {
    "k_i": "i",
    "k_n": "n",
    "k_small": "CAST(i AS smallint)",
    "k_big": "CAST(i AS bigint)",
    "k_l": "l",
    "k_dec": "amount",
    "k_dec4": "CAST(amount AS decimal(12,4))",
    "k_dec0": "CAST(i AS decimal(10,0))",
    "k_d": "d",
    "k_f": "f",
    "k_s": "s",
    "k_s20": "CAST(s AS varchar(20))",
    "k_c12": "CAST(s AS char(12))",
    "k_v": "v",
    "k_v8": "CAST(v AS varchar(8))",
    "k_v20": "CAST(v AS varchar(20))",
    "k_c": "c",
    "k_c8": "CAST(c AS char(8))",
    "k_c20": "CAST(c AS char(20))",
    "k_dt": "dt",
    "k_ts": "ts",
    "k_b": "b",
}


@pytest.fixture(scope="module")
def tables(
    hive: Hive, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """`key_fact` is a Hudi table, `key_typed` the same with other types; `plain_...` are native
    Hive tables with their rows. `key_other` has the keys.
    """
    table = write(spark, tmp_path_factory.mktemp("join_keys"))
    columns = ", ".join(
        f"`{name}` {DECLARED.get(name, kind)}" for name, kind in table.hive_columns()
    )
    other = ", ".join(f"{expression} AS {name}" for name, expression in _OTHER.items())
    # CASE gives a NULL its type.
    nothing = ", ".join(f"CASE WHEN id < 0 THEN {each} END" for each in _OTHER.values())
    ids = ", ".join(map(str, KEYS))
    hive.run(
        create_with_handler("key_fact", table.path),
        f"CREATE EXTERNAL TABLE key_typed ({columns})"
        f" STORED BY 'io.pyhudi.hive.HudiStorageHandler' LOCATION '{table.path}'",
        *(
            f"CREATE TABLE plain_{name} STORED AS PARQUET AS SELECT * FROM {name}"
            for name in ("key_fact", "key_typed")
        ),
        "CREATE TABLE key_other STORED AS PARQUET AS"
        f" SELECT id AS k_id, {other} FROM plain_key_fact WHERE id IN ({ids})"
        f" UNION ALL SELECT -1, {nothing} FROM plain_key_fact WHERE id = 0",
    )
    yield
    for name in ("key_other", "plain_key_fact", "plain_key_typed", "key_fact", "key_typed"):
        hive.run(f"DROP TABLE {name}")


def write(spark: SparkSession, parent: Path) -> HudiTable:
    rows = [row(k, r) for k in range(FILES) for r in range(3)]
    values = [tuple(each[name] for name in SCHEMA.names) for each in rows]
    frame = spark.createDataFrame(spark.sparkContext.parallelize(values, FILES), SCHEMA)
    return create(frame, TableSpec("join_keys", stats_columns=tuple(SCHEMA.names)), parent)


# The condition, and how many of the eight files it reads; None: all. Where Hive casts the keys,
# they may be NULL: it then collects the least value in its place, which a file more may hold.
CONDITIONS = [
    ("key_fact", "i = k_i", 3),
    ("key_fact", "i <=> k_i", None),
    ("key_fact", "i = k_small", 4),
    ("key_fact", "i = k_big", None),
    ("key_fact", "i = k_dec0", None),
    ("key_fact", "l = k_l", 3),
    ("key_fact", "n = k_n", 3),
    ("key_fact", "n <=> k_n", None),
    ("key_fact", "amount = k_dec", None),
    ("key_fact", "amount <=> k_dec", None),
    ("key_fact", "amount = k_dec4", None),
    ("key_fact", "amount = k_i + 0.25", None),
    ("key_fact", "d = k_d", None),
    ("key_fact", "d <=> k_d", None),
    ("key_fact", "d = k_f", None),
    ("key_fact", "f = k_f", None),
    ("key_fact", "f = k_d", None),
    ("key_fact", "s = k_s", 4),
    ("key_fact", "s <=> k_s", None),
    ("key_fact", "s = k_s20", 4),
    ("key_fact", "s = k_c12", 4),
    ("key_typed", "v = k_v8", None),
    ("key_typed", "v <=> k_v8", None),
    ("key_typed", "v = k_v20", None),
    ("key_typed", "v = k_v", None),
    ("key_typed", "v = k_c20", None),
    ("key_typed", "c <=> k_c8", None),
    ("key_typed", "c = k_v20", None),
    ("key_fact", "dt = k_dt", 3),
    ("key_fact", "ts = k_ts", 4),
    ("key_fact", "ts <=> k_ts", None),
    ("key_fact", "b = k_b", None),
    ("key_fact", "i = k_i AND amount = k_dec", 3),
    ("key_fact", "d = k_d AND s = k_s", 4),
]

# Without zeros: Hive's Bloom filter of the keys distinguishes 0.0 and -0.0.
_AGAIN = (
    "i = k_i",
    "i = k_big",
    "n = k_n",
    "amount <=> k_dec",
    "s <=> k_s",
    "v = k_v8",
    "v = k_v",
    "c <=> k_c8",
    "c = k_v20",
    "ts = k_ts",
    "i = k_i AND amount = k_dec",
)
OTHER_PLANS = [one for one in CONDITIONS if one[1] in _AGAIN]

UNRESTRICTED = {"hudi.pruning.joins": "false"}
SHUFFLED = {"hive.auto.convert.join": "false"}
# Hive creates filters by minimum and maximum key and by a Bloom filter only for large tables, and
# for external ones only with a setting.
SEMIJOINS = {
    **SHUFFLED,
    "hive.disable.unsafe.external.table.operations": "false",
    "hive.tez.bigtable.minsize.semijoin.reduction": "1",
    "hive.tez.dynamic.semijoin.reduction.threshold": "-1000000",
}


def query_both_ways(hive: Hive, query: str, fact: str, settings: Mapping[str, str]) -> Answer:
    """Runs the query, and checks its rows against those of the native table, and of every file."""
    plain = hive.query(query.format(f"plain_{fact}"), TEZ, settings=settings)
    answer = hive.query(query.format(fact), TEZ, settings=settings)
    unrestricted = hive.query(query.format(fact), TEZ, settings={**settings, **UNRESTRICTED})
    # As text, because NaN does not equal itself.
    assert repr(answer.rows) == repr(unrestricted.rows), query
    assert repr(unrestricted.rows) == repr(plain.rows), query
    return answer


@pytest.mark.parametrize(("fact", "condition", "read"), CONDITIONS)
def test_joins_by_keys_of_each_type_find_their_rows(
    hive: Hive, tables: None, fact: str, condition: str, read: int | None
) -> None:
    query = f"SELECT f.id, k.k_id FROM {{}} f JOIN key_other k ON {condition}"
    answer = query_both_ways(hive, query, fact, {})
    assert answer.rows
    assert answer.files == (FILES, FILES if read is None else read)


@pytest.mark.parametrize("settings", [SHUFFLED, SEMIJOINS], ids=["shuffled", "semijoins"])
@pytest.mark.parametrize(("fact", "condition", "read"), OTHER_PLANS)
def test_other_plans_find_the_same_rows(
    hive: Hive,
    tables: None,
    fact: str,
    condition: str,
    read: int | None,
    settings: Mapping[str, str],
) -> None:
    query = f"SELECT f.id, k.k_id FROM {{}} f JOIN key_other k ON {condition}"
    answer = query_both_ways(hive, query, fact, settings)
    assert answer.rows
    assert answer.files == (FILES, FILES if read is None else read)


# The query, and how many of the eight files it reads.
OUTER = [
    ("SELECT k.k_id, f.id FROM key_other k LEFT JOIN {} f ON f.amount = k.k_dec", FILES),
    ("SELECT k.k_id, f.id FROM {} f FULL JOIN key_other k ON f.d = k.k_d", FILES),
    (
        "SELECT f.id FROM {} f WHERE f.n NOT IN (SELECT k_n FROM key_other WHERE k_n IS NOT NULL)",
        FILES,
    ),
    ("SELECT f.id FROM {} f LEFT JOIN key_other k ON f.v = k.k_v20 WHERE k.k_id IS NULL", FILES),
    # One of the keys is NULL, and Hive collects another value in its place.
    ("SELECT k.k_id, f.id FROM key_other k LEFT JOIN {} f ON f.n = k.k_n", 3),
    ("SELECT k.k_id, f.id FROM key_other k LEFT JOIN {} f ON f.i = k.k_i", 4),
    ("SELECT k.k_id, f.id FROM key_other k LEFT JOIN {} f ON f.l = k.k_l", 4),
    ("SELECT k.k_id, f.id FROM key_other k LEFT JOIN {} f ON f.s = k.k_s", 4),
    ("SELECT k.k_id, f.id FROM key_other k LEFT JOIN {} f ON f.dt = k.k_dt", 3),
    ("SELECT k.k_id, f.id FROM key_other k LEFT JOIN {} f ON f.ts = k.k_ts", 4),
]


@pytest.mark.parametrize(("query", "read"), OUTER)
def test_rows_without_a_partner_are_kept(hive: Hive, tables: None, query: str, read: int) -> None:
    answer = query_both_ways(hive, query, "key_typed", {})
    assert answer.rows
    assert answer.files == (FILES, read)


# The keys, NULL among them, come from a join before: one that computes them, and one of each kind.
JOINED = [
    "SELECT CASE WHEN a.k_id > 20 THEN a.k_n END AS k FROM key_other a"
    " JOIN key_other b ON a.k_id = b.k_id",
    "SELECT b.k_n AS k FROM key_other a LEFT JOIN key_other b ON a.k_id = b.k_id + 10",
    "SELECT b.k_n AS k FROM key_other a FULL JOIN key_other b ON a.k_id = b.k_id + 10",
    "SELECT k_n AS k FROM key_other WHERE k_id IN (SELECT max(k_id) FROM key_other) OR k_id < 0",
]


@pytest.mark.parametrize("settings", [{}, SHUFFLED, SEMIJOINS], ids=["-", "shuffled", "semijoins"])
@pytest.mark.parametrize("keys", JOINED)
def test_keys_that_pass_through_a_join_restrict_a_scan(
    hive: Hive, tables: None, keys: str, settings: Mapping[str, str]
) -> None:
    for joined in (
        f"SELECT f.id, f.n FROM {{}} f JOIN ({keys}) k ON f.n = k.k",
        f"SELECT k.k, f.id FROM ({keys}) k LEFT JOIN {{}} f ON f.n = k.k",
        f"SELECT f.id FROM {{}} f WHERE f.n IN (SELECT k FROM ({keys}) k)",
    ):
        answer = query_both_ways(hive, joined, "key_fact", settings)
        assert answer.rows
        assert answer.scan.files_kept < FILES == answer.scan.files_considered, joined


@pytest.mark.parametrize("settings", [{}, SHUFFLED], ids=["-", "shuffled"])
@pytest.mark.parametrize("keys", JOINED)
def test_null_that_equals_null_restricts_nothing(
    hive: Hive, tables: None, keys: str, settings: Mapping[str, str]
) -> None:
    joined = f"SELECT f.id, k.k FROM {{}} f JOIN ({keys}) k ON f.n <=> k.k"
    answer = query_both_ways(hive, joined, "key_fact", settings)
    assert any(row[1] is None for row in answer.rows)
    assert answer.files == (FILES, FILES)

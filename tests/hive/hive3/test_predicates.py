"""Hive 3.1 reads the same rows of the same files: its own HiveServer2, fetch task, MapReduce."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from devtools.matrix import FILES
from tests.hive.hive3.matrix_tables import BY_ROWS, COW, MOR, VECTORISED, Table
from tests.hive.query_results import FETCH, MR, Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.long]


def test_the_server_is_hive_3_1(hive: Hive) -> None:
    assert hive.query("SELECT version()").rows[0][0].startswith("3.1.3 ")


# In Hive's SQL, in DuckDB's if that differs, and how many of the 32 files of the copy-on-write
# table are read. Updates widened the ranges of eight files in many columns, and NaN hides those of
# four.
PREDICATES: list[tuple[str, str | None, int]] = [
    ("b = false", None, 24),
    ("b IS NULL AND i > 0", None, 7),
    ("ti < -15", None, 1),
    ("si BETWEEN 1480 AND 1500", None, 1),
    ("i IN (1, 7, 1005, 22007)", None, 9),
    ("i NOT BETWEEN 1000 AND 25000", None, 14),
    ("i <=> 1005", "i IS NOT DISTINCT FROM 1005", 3),
    ("i + 1 = 3006", None, 3),
    ("NOT (i >= 0)", None, 5),
    ("l < -3000000000", None, 12),
    # Hive 3.1 converts the constant to decimal, and compares floats with decimals in two ways.
    ("f = CAST(16.25 AS float)", None, 32),
    ("CAST(f AS double) BETWEEN 16.0 AND 17.0", None, 14),
    ("d BETWEEN 16.0 AND 17.0", None, 13),
    ("d = 0.0", None, 12),
    ("d < 0", None, 8),
    ("dec9 BETWEEN 2501.25 AND 2603.25", None, 8),
    ("dec9 IN (-5.25, 805.25, 805.26)", None, 4),
    ("dec38 > 1522000000000000000000000.0123456789", None, 16),
    ("s >= 'updated_'", None, 8),
    ("s LIKE 'name_017%'", None, 8),
    ("u = 'é006à3'", None, 1),
    ("u LIKE '😀%'", None, 6),
    ("u = ''", None, 5),
    ("dt BETWEEN DATE '1971-01-01' AND DATE '1971-02-01'", None, 4),
    ("dt < DATE '1970-01-01'", None, 1),
    ("NOT (dt BETWEEN DATE '1970-01-01' AND DATE '1973-01-01')", None, 12),
    ("ts >= '1973-04-01 00:00:00'", "ts >= TIMESTAMP '1973-04-01 00:00:00'", 10),
    ("ts = '1970-01-28 20:04:05.456791'", "ts = TIMESTAMP '1970-01-28 20:04:05.456791'", 1),
    ("bin = unhex('0305FA')", r"bin = '\x03\x05\xFA'::BLOB", 1),
    ("st.a = -1", None, 8),
    ("st.b LIKE 'inner_01%'", None, 16),
    ("st.c.e = DATE '1970-01-05'", None, 1),
    ("arr[0] = 3 AND i < 0", "arr[1] = 3 AND i < 0", 5),
    ("m['k'] = 30", None, 32),
    ("n IS NOT NULL", None, 27),
    ("n <=> 14", "n IS NOT DISTINCT FROM 14", 6),
    ("`none` IS NOT NULL", '"none" IS NOT NULL', 0),
    ("p = 'p0' OR i > 26000", None, 15),
    ("NOT (q IN (0, 1, 2))", None, 8),
    ("NOT (i < -4000 OR i > 25000) AND d < 6", None, 15),
    ("CASE WHEN i > 3 THEN s ELSE u END = ''", None, 1),
]


@pytest.mark.parametrize(
    ("predicate", "truth", "read"), PREDICATES, ids=[case[0] for case in PREDICATES]
)
def test_a_predicate_returns_the_right_rows_with_and_without_pruning(
    hive: Hive, table: Table, predicate: str, truth: str | None, read: int
) -> None:
    expected_ids = table.known.ids(truth or predicate)
    answer = hive.query_both_ways(f"SELECT id FROM {table.name} WHERE {predicate}")
    assert sorted(row[0] for row in answer.rows) == expected_ids
    assert answer.scan.files_kept >= len({key // 1000 for key in expected_ids})
    if table.written.spec.type is COW:
        assert answer.files == (FILES, read)
    else:
        assert answer.scan.files_considered > FILES


@pytest.mark.parametrize("settings", [VECTORISED, BY_ROWS], ids=["vectorised", "by rows"])
@pytest.mark.parametrize("predicate", [case[0] for case in PREDICATES[4::7]])
def test_mapreduce_returns_the_rows_from_the_same_files(
    hive: Hive, table: Table, predicate: str, settings: Mapping[str, str]
) -> None:
    query = f"SELECT id FROM {table.name} WHERE {predicate}"
    answer = hive.query(query, MR, settings=settings)
    expected = hive.query(query, FETCH)
    assert (answer.rows, answer.files) == (expected.rows, expected.files)
    assert answer.scan.files_kept < answer.scan.files_considered


def test_every_column_is_the_same_for_every_reader(hive: Hive, table: Table) -> None:
    query = f"SELECT * FROM {table.name}"
    expected = hive.query(query, FETCH).rows
    for settings in (VECTORISED, BY_ROWS):
        # As text, because NaN does not equal itself.
        assert repr(hive.query(query, MR, settings=settings).rows) == repr(expected)


def test_values_equal_the_written_ones(hive: Hive, table: Table) -> None:
    plain = "id, b, ti, si, i, l, dec9, dec38, s, u, ts, n"
    found = hive.query(f"SELECT {plain} FROM {table.name}").rows
    assert found == sorted(table.known.query(f"SELECT {plain} FROM t"), key=repr)


def test_without_a_service_every_file_is_read(hive: Hive, table: Table) -> None:
    query = f"SELECT id FROM {table.name} WHERE i > 25000"
    without_service = hive.query(query, settings={"hudi.pruning.service.addresses": "127.0.0.1:1"})
    assert without_service.rows == hive.query(query).rows
    assert without_service.scan.outcomes == ("UNREACHABLE",)
    assert without_service.scan.files_kept == without_service.scan.files_considered >= FILES


@pytest.mark.parametrize("settings", [VECTORISED, BY_ROWS], ids=["vectorised", "by rows"])
def test_min_and_max_in_the_index_read_no_file(
    hive: Hive, table: Table, settings: Mapping[str, str]
) -> None:
    ends = "min(i), max(i), min(dec9), max(dec9), max(n), min(l)"
    answer = hive.query_both_ways(f"SELECT {ends} FROM {table.name}", MR, settings)
    assert answer.rows == table.known.query(f"SELECT {ends} FROM t")
    is_merged = table.written.spec.type is MOR
    assert answer.scan.outcomes == ("NO_FILTER" if is_merged else "ANSWERED",)
    assert (answer.scan.files_kept > 0) == is_merged


@pytest.mark.parametrize("settings", [VECTORISED, BY_ROWS], ids=["vectorised", "by rows"])
@pytest.mark.parametrize("aggregates", ["count(*)", "count(n), count(1), min(i), max(dec9)"])
def test_counts_come_from_the_index_and_not_from_analyze(
    hive: Hive, table: Table, aggregates: str, settings: Mapping[str, str]
) -> None:
    hive.run(f"ANALYZE TABLE {table.name} COMPUTE STATISTICS")
    counted = hive.query_both_ways(f"SELECT {aggregates} FROM {table.name}", MR, settings)
    assert counted.rows == table.known.query(f"SELECT {aggregates} FROM t")
    is_merged = table.written.spec.type is MOR
    assert counted.scan.outcomes == ("NO_FILTER" if is_merged else "ANSWERED",)
    assert (counted.scan.files_kept > 0) == is_merged

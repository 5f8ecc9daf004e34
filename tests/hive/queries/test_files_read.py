"""Exactly which files a query reads, for tables with known rows.

The matrix table has 32 base files. In most columns, file `k` has a range of its own. In every file
`k` with `k % 4 = 1` two rows were updated to distant values, in every one with `k % 4 = 2` two were
deleted: merge on read has a log file in each of these.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.matrix import Matrices
from devtools.tables import HudiTable, TableSpec, TableType, create
from tests.hive.expected_rows import for_hive
from tests.hive.query_results import FETCH, MR, TEZ, Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive]

ALL = frozenset(range(32))
UPDATED = frozenset(range(1, 32, 4))
DELETED = frozenset(range(2, 32, 4))

READ = {
    # of columns that no update changed
    "id = 5005": {5},
    "id IN (0, 31023, 99999)": {0, 31},
    "id BETWEEN 3020 AND 5000": {3, 4, 5},
    "id < 0": set(),
    "ti = 0": {16},
    "ti BETWEEN 10 AND 12": {26, 27, 28},
    "ti <> 0": ALL - {16},
    "si = -1600": {0},
    "si IN (-1600, 0, 1500)": {0, 16, 31},
    "dec38 < -150000000000000000000000000": {0, 1},
    "dec38 BETWEEN -1 AND 1": {16},
    "u = 'é006à3'": {6},
    "u = ''": {2, 8, 14, 20, 26},
    "u LIKE '日本%'": {4, 10, 16, 22, 28},
    "u LIKE 'xxxxxxxxxx%'": {3, 9, 15, 21, 27},
    "b = false": ALL - set(range(0, 32, 4)),
    "NOT b": ALL - set(range(0, 32, 4)),
    "b IS NULL": set(range(3, 32, 4)),
    "bin = X'0305FA'": {3},
    "bin > X'1E'": {30, 31},
    "bin >= X'80'": set(),
    "n IS NOT NULL": ALL - set(range(0, 32, 5)) | UPDATED,
    "none IS NULL": ALL,
    "none IS NOT NULL": set(),
    "none = 1": set(),
    "p = 'p1'": set(range(8, 16)),
    "q IN (0, 3)": {*range(8), *range(24, 32)},
    # updates widen the range of their files, up or down
    "i <= -5000": {0},
    "i > 25000": {30, 31} | UPDATED,
    "i >= -5000 AND i < -4000": {0},
    "dec9 < -600": {6, 7},
    "dec9 = 9999999.99": UPDATED,
    "s < 'name_000_05'": {0},
    "s > 'name_031'": {31} | UPDATED,
    "s >= 'updated_'": UPDATED,
    "dt < DATE '1970-01-01'": {0},
    "dt >= DATE '2026-01-01'": {17, 21, 25, 29} | {13},
    "ts < TIMESTAMP '1970-01-01 00:00:00'": {0},
    "ts >= TIMESTAMP '2020-01-01 00:00:00'": UPDATED,
    "st.a < -4990": {0},
    "st.a = -1": UPDATED,
    "st.c.e = DATE '1970-01-05'": {0},
    "n < 0": UPDATED,
    # combined predicates
    "ti = 0 OR id = 5005": {16, 5},
    "ti = 0 AND id = 5005": set(),
    "id < 3000 AND NOT (ti = -15)": {0, 2},
    "p = 'p1' AND s >= 'updated_'": {9, 13},
    "ti = 0 OR length(s) = 5": ALL,
    "ti = 0 AND length(s) = 5": {16},
}

# "All null" is not trusted for a log file: its writer may not have had the column.
READ_FOR_THEIR_LOGS = {"none": UPDATED}


def number_of_files(table: HudiTable, slices: frozenset[int]) -> int:
    """Base and log files of these slices."""
    logs = len(slices & (UPDATED | DELETED)) if table.spec.type is TableType.MOR else 0
    return len(slices) + logs


@pytest.mark.smoke(
    "id = 5005-cow",
    "u LIKE 'xxxxxxxxxx%'-cow",
    "n IS NOT NULL-cow",
    "dt < DATE '1970-01-01'-cow",
)
@pytest.mark.parametrize("type_", TableType, ids=lambda type_: type_.name.lower())
@pytest.mark.parametrize("predicate", READ)
def test_each_predicate_reads_exactly_its_files(
    hive: Hive, matrices: Matrices, type_: TableType, predicate: str
) -> None:
    table = matrices.get(type_).table
    answer = hive.query(f"SELECT id FROM {hive.register(table)} WHERE {for_hive(predicate)}")
    slices = frozenset(READ[predicate])
    if type_ is TableType.MOR:
        slices |= READ_FOR_THEIR_LOGS.get(predicate.split()[0], frozenset())
    expected = number_of_files(table, slices)
    assert answer.files == (number_of_files(table, ALL), expected)
    assert answer.scan.bytes_kept <= answer.scan.bytes_considered
    assert (answer.scan.bytes_kept == 0) == (expected == 0)


@pytest.mark.parametrize("engine", [MR, TEZ])
def test_a_query_without_a_file_to_read(hive: Hive, matrices: Matrices, engine: str) -> None:
    for type_ in TableType:
        name = hive.register(matrices.get(type_).table)
        answer = hive.query(f"SELECT count(*), sum(i) FROM {name} WHERE ti = 99", engine)
        assert answer.rows == [(0, None)]
        assert answer.scan.files_kept == 0


def test_a_query_without_a_filter_reads_everything(hive: Hive, matrices: Matrices) -> None:
    name = hive.register(matrices.get(TableType.COW).table)
    answer = hive.query(f"SELECT id FROM {name}")
    assert answer.files == (32, 32)
    assert answer.scan.outcomes == ("NO_FILTER",)


def test_without_pruning_everything_is_read(hive: Hive, matrices: Matrices) -> None:
    name = hive.register(matrices.get(TableType.COW).table)
    answer = hive.query(f"SELECT id FROM {name} WHERE ti = 0", pruning=False)
    assert answer.files == (32, 32)
    assert answer.scan.outcomes == ("DISABLED",)


def test_reported_bytes_equal_those_of_the_files(hive: Hive, matrices: Matrices) -> None:
    table = matrices.get(TableType.COW).table
    scan = hive.query(f"SELECT id FROM {hive.register(table)} WHERE id = 5005").scan
    sizes = {(table.path / file).stat().st_size for file in table.data_files()}
    assert scan.bytes_kept in sizes
    assert scan.bytes_kept < scan.bytes_considered < sum(sizes)


def test_buckets_are_found_by_the_properties_of_the_table(
    hive: Hive, spark: SparkSession, table_root: Path
) -> None:
    extra = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "8"}
    spec = TableSpec("of_buckets", partitions=("p",), extra=extra, stats_columns=("x",))
    frame = spark.sql("select cast(id as int) as id, id as x, 'a' as p from range(500)")
    name = hive.register(create(frame, spec, table_root))
    query = f"SELECT x FROM {name} WHERE id = 77"
    assert hive.query(query).files == (8, 8)
    assert hive.query(query, settings=extra).files == (8, 1)
    stated = ", ".join(f"'{key}' = '{text}'" for key, text in extra.items())
    hive.run(f"ALTER TABLE {name} SET TBLPROPERTIES ({stated})")
    for engine in (FETCH, MR, TEZ):
        answer = hive.query(query, engine)
        assert (answer.rows, answer.files) == ([(77,)], (8, 1)), engine

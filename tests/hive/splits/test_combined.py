"""Small splits that share a task: the rows are those of one task for each file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devtools.ddl import create_native
from devtools.matrix import Matrices, Partitioning
from devtools.tables import HudiTable, TableType
from tests.hive.query_results import MR, TEZ, Hive

pytestmark = pytest.mark.hive

APART = {"hive.input.format": "org.apache.hadoop.hive.ql.io.HiveInputFormat"}
PAIRS = {"mapreduce.input.fileinputformat.split.maxsize": "40000"}
IN_SERVER = {"hive.compute.splits.in.am": "false"}
BY_ROW = {"hive.vectorized.execution.enabled": "false"}
ROWS = "SELECT id, b, d, dec38, u, ts, st, arr, n FROM {} WHERE id % 5 <> 2"
FORMAT = "io.pyhudi.hive.HudiMergeOnReadInputFormat"


@pytest.fixture(scope="module")
def table(matrices: Matrices) -> HudiTable:
    """A table with log files, in four partitions."""
    return matrices.get(TableType.MOR, 9, Partitioning.HIVE).table


@pytest.fixture(scope="module")
def adopted(hive: Hive, table: HudiTable) -> Iterator[str]:
    """The same table with partitions of the metastore."""
    hive.run(*create_native(table, "apart", FORMAT))
    yield "apart"
    hive.run("DROP TABLE apart")


@pytest.mark.parametrize("more", [{}, BY_ROW], ids=["batches", "rows"])
def test_rows_of_combined_splits(hive: Hive, table: HudiTable, more: dict[str, str]) -> None:
    query = ROWS.format(hive.register(table))
    expected = hive.query(query, MR, settings={**APART, **more}).rows
    assert len(expected) > 500
    for engine, settings in ((MR, {}), (MR, PAIRS), (TEZ, IN_SERVER)):
        assert repr(hive.query(query, engine, settings={**settings, **more}).rows) == repr(expected)


@pytest.mark.smoke
def test_partitions_of_the_metastore_keep_their_values(hive: Hive, adopted: str) -> None:
    query = f"SELECT id, q, n FROM {adopted} WHERE id % 5 <> 2"
    expected = hive.query(query, MR, settings=APART).rows
    assert {row[1] for row in expected} == {0, 1, 2, 3}
    assert hive.query(query, MR).rows == expected
    assert hive.query(query, TEZ, settings=IN_SERVER).rows == expected


@pytest.mark.parametrize(("engine", "settings"), [(MR, {}), (TEZ, IN_SERVER)], ids=[MR, TEZ])
def test_each_row_names_its_own_file(
    hive: Hive, adopted: str, engine: str, settings: dict[str, str]
) -> None:
    query = (
        "SELECT INPUT__FILE__NAME, min(`_hoodie_file_name`), max(`_hoodie_file_name`)"
        f" FROM {adopted} WHERE `_hoodie_file_name` LIKE '%.parquet' GROUP BY INPUT__FILE__NAME"
    )
    rows = hive.query(query, engine, settings=settings).rows
    assert len(rows) > 16
    assert all(first == last for _, first, last in rows)

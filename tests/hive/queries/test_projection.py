"""Queries read only the columns that they need: the data of the other columns is destroyed.

`count(*)`, which needs none, is not tested: Hive's Parquet reader then reads all.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.tables import HudiTable, TableSpec, TableType, create, upsert
from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.query_results import FETCH, MR, TEZ, Hive, Rows

pytestmark = [pytest.mark.spark, pytest.mark.hive]

ROWS = 3_000
CHANGED = 20
"""The rows in the log file, if the table has one: those with the lowest ids."""
VECTORISED = {"hive.vectorized.execution.enabled": "true"}
ROW_BY_ROW = {"hive.vectorized.execution.enabled": "false"}

ENGINES = [
    pytest.param(FETCH, ROW_BY_ROW, id="fetch"),
    pytest.param(MR, VECTORISED, id="MapReduce, vectorised"),
    pytest.param(MR, ROW_BY_ROW, id="MapReduce, row by row", marks=pytest.mark.long),
    pytest.param(TEZ, VECTORISED, id="Tez, vectorised"),
    pytest.param(TEZ, ROW_BY_ROW, id="Tez, row by row", marks=pytest.mark.long),
]


def written(spark: SparkSession, root: Path, type: TableType) -> HudiTable:
    """A table of one base file, in which `name` and `place.town` are unreadable."""
    table = create(rows(spark, ROWS, 2), TableSpec(f"broken_{type.name.lower()}", type), root)
    (file,) = (table.path / path for path in table.data_files())
    if type is TableType.MOR:
        upsert(table, rows(spark, CHANGED, 5))
    for column in ("name", "place.town"):
        destroy_column(file, column)
    return table


def rows(spark: SparkSession, count: int, factor: int) -> DataFrame:
    return spark.range(0, count, 1, 1).selectExpr(
        "id",
        f"{factor} * id AS v",
        "concat('name ', id) AS name",
        "named_struct('zip', id % 90, 'town', concat('town ', id)) AS place",
    )


def destroy_column(file: Path, column: str) -> None:
    """Overwrites the pages of a column; the footer and the other columns are not changed."""
    groups = pq.read_metadata(file)
    with file.open("r+b") as stream:
        for group in range(groups.num_row_groups):
            chunks = (groups.row_group(group).column(i) for i in range(groups.num_columns))
            (chunk,) = (one for one in chunks if one.path_in_schema == column)
            starts = (chunk.dictionary_page_offset, chunk.data_page_offset)
            stream.seek(min(start for start in starts if start is not None))
            stream.write(b"\xff" * chunk.total_compressed_size)
    # Hadoop's checksums would detect the broken bytes when adjacent bytes are read.
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


@pytest.fixture(scope="module")
def plain(hive: Hive, spark: SparkSession, table_root: Path) -> str:
    return hive.register(written(spark, table_root, TableType.COW))


@pytest.fixture(scope="module")
def merged(hive: Hive, spark: SparkSession, table_root: Path) -> str:
    return hive.register(written(spark, table_root, TableType.MOR))


def expected(changed: int) -> Rows:
    """`id` and `v` of the matching rows: all but the first ten."""
    every = ((n, (5 if n < changed else 2) * n) for n in range(10, ROWS))
    return sorted(every, key=repr)


@pytest.mark.smoke("fetch")
@pytest.mark.parametrize(("engine", "settings"), ENGINES)
def test_plain_files_are_read_without_the_other_columns(
    hive: Hive, plain: str, engine: str, settings: dict[str, str]
) -> None:
    query = f"SELECT id, v FROM {plain} WHERE id >= 10"
    assert hive.query_both_ways(query, engine, settings).rows == expected(0)


@pytest.mark.parametrize(("engine", "settings"), ENGINES)
def test_slices_are_merged_without_the_other_columns(
    hive: Hive, merged: str, engine: str, settings: dict[str, str]
) -> None:
    query = f"SELECT id, v FROM {merged} WHERE id >= 10"
    assert hive.query_both_ways(query, engine, settings).rows == expected(CHANGED)


@pytest.mark.smoke("tez")
@pytest.mark.parametrize("engine", [FETCH, MR, TEZ])
def test_a_field_of_a_struct_is_read_without_the_others(
    hive: Hive, plain: str, engine: str
) -> None:
    """Row by row: Hive's vectorised reader knows only whole columns."""
    query = f"SELECT id, place.zip FROM {plain} WHERE id >= 10"
    expected = sorted(((n, n % 90) for n in range(10, ROWS)), key=repr)
    assert hive.query_both_ways(query, engine, ROW_BY_ROW).rows == expected


@pytest.mark.parametrize("columns", ["id, name", "place.town"])
@pytest.mark.parametrize("table", ["plain", "merged"])
@pytest.mark.parametrize(("engine", "settings"), ENGINES[:3])
def test_the_destroyed_columns_cannot_be_read(
    hive: Hive,
    request: pytest.FixtureRequest,
    table: str,
    engine: str,
    settings: dict[str, str],
    columns: str,
) -> None:
    """Not with Tez: after a failed task its session is unusable."""
    name = request.getfixturevalue(table)
    with pytest.raises(QueryError):
        hive.query(f"SELECT {columns} FROM {name} WHERE id >= 10", engine, settings=settings)

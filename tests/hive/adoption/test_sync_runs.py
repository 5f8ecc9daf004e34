"""Runs of Hudi's sync before a table is adopted, while it is, and after that is undone.

Hudi 1.2.0 sets its own input format again at every run, of the table and of new partitions.
Partitions that are adopted stay so.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from devtools.tables import HudiTable, TableSpec, create, upsert
from tests.hive.adoption.adopt_command import (
    HUDI_BASE_FILES,
    OUR_BASE_FILES,
    Adopt,
    rows_by_hudi,
    state,
)
from tests.hive.adoption.hudi_sync import HudiSync
from tests.hive.adoption.metastore_state import input_formats
from tests.hive.query_results import Hive

pytestmark = [pytest.mark.spark, pytest.mark.hive]

NAME = "lake.visits"
#: Without these the tool leaves input formats alone.
NO_DATA_SOURCE = {"hoodie.datasource.hive_sync.sync_as_datasource": "false"}


def visits(spark: SparkSession, first: int, last: int, days: str) -> DataFrame:
    return spark.range(first, last, 1, 1).selectExpr(
        "id", "concat('name_', id) AS s", f"concat('d', {days}) AS day"
    )


def with_rating(frame: DataFrame) -> DataFrame:
    return frame.selectExpr("id", "s", "nullif(int(id * 10), 0) AS rating", "day")


@pytest.fixture
def table(spark: SparkSession, table_root: Path) -> HudiTable:
    return create(
        visits(spark, 0, 8, "id div 4"), TableSpec("visits", partitions=("day",)), table_root
    )


@pytest.mark.long
def test_new_partitions_and_columns_arrive_and_adopting_again_prunes_them(
    hive: Hive,
    spark: SparkSession,
    table: HudiTable,
    hudi_sync: HudiSync,
    lake: str,
    adopt: Adopt,
) -> None:
    hudi_sync.run(table, lake)
    ours, theirs = OUR_BASE_FILES, HUDI_BASE_FILES
    assert input_formats(state(hive, NAME)) == {"": theirs, "day=d0": theirs, "day=d1": theirs}
    adopt(NAME)
    assert input_formats(state(hive, NAME)) == {"": ours, "day=d0": ours, "day=d1": ours}

    upsert(table, with_rating(visits(spark, 6, 12, "id div 4")))
    everything = hive.query_both_ways(f"SELECT id, s, day FROM {NAME}").rows
    assert [row[0] for row in everything] == list(range(8)), "Hive does not know the partition yet"
    hudi_sync.run(table, lake)
    after_sync = state(hive, NAME)
    assert input_formats(after_sync) == {
        "": theirs,
        "day=d0": ours,
        "day=d1": ours,
        "day=d2": theirs,
    }
    by_both = rows_by_hudi(hive, f"SELECT id, rating, day FROM {NAME}")
    assert sorted(row[0] for row in by_both) == list(range(12))

    (adopted,) = adopt(NAME)
    assert (adopted["outcome"], adopted["partitions"]) == ("changed", 1)
    query = f"SELECT id, rating, day FROM {NAME}"
    assert hive.query_both_ways(query).rows == by_both
    answer = hive.query_both_ways(f"{query} WHERE s = 'name_9'")
    assert answer.rows == [(9, 90, "d2")]
    assert answer.files == (3, 1)

    # Without a word about Spark the tool leaves the input format, and new partitions get it.
    upsert(table, with_rating(visits(spark, 12, 14, "3")))
    hudi_sync.run(table, lake, NO_DATA_SOURCE)
    assert set(input_formats(state(hive, NAME)).values()) == {ours}
    assert hive.query_both_ways(f"{query} WHERE id = 13").files == (4, 1)

    adopt(NAME, "--undo")
    undone = state(hive, NAME)
    assert set(input_formats(undone).values()) == {theirs}
    for part in ("day=d0", "day=d1", "day=d2"):
        assert undone[part]["sd"]["serdeInfo"] == after_sync[part]["sd"]["serdeInfo"]
    hudi_sync.run(table, lake)
    # Hudi's reader fails on a column that a file lacks, such as the rating.
    assert sorted(row[0] for row in rows_by_hudi(hive, f"SELECT id FROM {NAME}")) == [*range(14)]

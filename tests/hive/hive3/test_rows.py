"""Hive 3.1 skips rows inside of files, too: those that its Parquet reader reads, and Hudi's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.hive.query_results import FETCH, MR, Hive
from tests.hive.rows.checked_merges import EVERY, MergedTables, merged_tables
from tests.hive.rows.checked_merges import PREDICATES as MERGED_PREDICATES
from tests.hive.rows.checked_queries import PREDICATES, check, tables_of_pages
from tests.hive.rows.merged_tables import ROWS

pytestmark = [pytest.mark.hive, pytest.mark.long]

#: Without instants, which Hudi reads.
_COLUMNS = "id, i, l, f, d, b, s, word, x, m, w, day"


@pytest.fixture(scope="module")
def paged(hive: Hive, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hive]:
    own = {"hive.execution.engine": "mr"}
    with tables_of_pages(hive.server, tmp_path_factory.mktemp("rows-3"), own) as running:
        yield running


@pytest.mark.parametrize("name", ["paged_v1", "paged_v2", "unpaged"])
def test_rows_are_equal_and_fewer_are_read(paged: Hive, name: str) -> None:
    for predicate in PREDICATES[::2]:
        query = f"SELECT {_COLUMNS}, st, li, mp FROM {name} WHERE {predicate}"
        answer = check(paged, query, FETCH)
        assert answer.rows
        assert answer.scan.rows_selected < answer.scan.rows_of_files_in_part


@pytest.mark.parametrize(
    ("name", "vectorised"),
    # Hive 3.1 cannot read the empty dictionaries of pyarrow (columns of NULLs) in batches.
    [("paged_v2", "true"), ("paged_v1", "false")],
)
def test_mapreduce_reads_equal_rows(paged: Hive, name: str, vectorised: str) -> None:
    settings = {"hive.vectorized.execution.enabled": vectorised}
    for predicate in PREDICATES[1:4]:
        query = f"SELECT {_COLUMNS} FROM {name} WHERE {predicate}"
        assert check(paged, query, MR, **settings).rows


def test_rows_with_instants_are_equal(paged: Hive) -> None:
    selected, considered = 0, 0
    for name, predicate in zip(("paged_v1", "paged_v2", "unpaged") * 3, PREDICATES, strict=False):
        query = f"SELECT {_COLUMNS}, at, st, li, mp, deep FROM {name} WHERE {predicate}"
        answer = check(paged, query, FETCH)
        assert answer.rows
        # Of a file without pages whole row groups are kept: all of them, perhaps.
        selected += answer.scan.rows_selected
        considered += answer.scan.rows_of_files_in_part
    assert selected < considered / 2


@pytest.fixture(scope="module")
def merged(
    hive: Hive, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MergedTables]:
    directory = tmp_path_factory.mktemp("merged-3")
    own = {"hive.execution.engine": "mr"}
    with merged_tables(hive.server, spark, directory, own) as running:
        yield running


@pytest.mark.spark
@pytest.mark.parametrize("name", ["event_time_9", "positions_8", "payload_6"])
def test_rows_are_those_of_hudis_merge(merged: MergedTables, name: str) -> None:
    table = merged.get(name).name
    selected, considered = 0, 0
    for engine, predicates in ((FETCH, MERGED_PREDICATES), (MR, MERGED_PREDICATES[1:4])):
        for predicate in predicates:
            query = f"SELECT {EVERY} FROM {table} WHERE {predicate}"
            answer = merged.check(query, engine)
            selected += answer.scan.rows_selected
            considered += answer.scan.rows_of_files_in_part
    assert considered > 3 * ROWS
    assert selected < considered / 3

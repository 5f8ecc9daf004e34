"""Hive 3.1 skips rows inside of files, too: those that its own Parquet reader reads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hive.query_results import FETCH, MR, Hive
from tests.hive.rows.checked_queries import PREDICATES, check, tables_of_pages

pytestmark = [pytest.mark.hive, pytest.mark.long]

#: Without instants: tables that have some are read by Hudi if a query reads these.
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

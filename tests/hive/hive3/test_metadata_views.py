"""Tables that describe Hudi tables in Hive 3.1: the rows of the Python API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow.compute as pc
import pytest

import pyhudi_expr as ph
from devtools.runtime import free_port
from pyhudi_expr.manage.hive.session import QueryError
from tests.hive.described_tables import VIEWS, Described, described_tables
from tests.hive.query_results import FETCH, MR, Hive

pytestmark = [pytest.mark.hive, pytest.mark.long]

COW, MOR = "cow_v9_txns_simple_meta", "mor_v6_metadata_pending_compaction"


@pytest.fixture(scope="module")
def described(hive: Hive, golden: Mapping[str, Path]) -> Iterator[Mapping[str, Described]]:
    with described_tables(hive, golden, (COW, MOR)) as tables:
        yield tables


@pytest.mark.parametrize("engine", [FETCH, MR])
@pytest.mark.parametrize("archive", [COW, MOR])
def test_rows_are_those_of_the_python_api(
    hive: Hive, described: Mapping[str, Described], archive: str, engine: str
) -> None:
    table = described[archive]
    for view in VIEWS:
        columns, rows = table.rows(view)
        selected = f"SELECT {', '.join(columns)} FROM {table.name}__{view}"
        assert hive.query(selected, engine).rows == rows, view


@pytest.mark.parametrize("engine", [FETCH, MR])
def test_filters_are_applied_by_the_service(
    hive: Hive, described: Mapping[str, Described], engine: str
) -> None:
    table = described[COW]
    query = f"SELECT path, bytes FROM {table.name}__files WHERE partition_path = 'region=us'"
    unpruned, pruned = hive.query(query, engine, pruning=False), hive.query(query, engine)
    assert pruned.rows == unpruned.rows
    assert (unpruned.scan.rows_sent, pruned.scan.rows_sent) == (5, 2)


@pytest.mark.parametrize("join", ["true", "false"], ids=["map", "shuffle"])
def test_a_view_is_joined_with_its_table(
    hive: Hive, described: Mapping[str, Described], join: str
) -> None:
    table = described[COW]
    answer = hive.query(
        "SELECT f.file_name, max(f.row_count), count(*)"
        f" FROM {table.name} t JOIN {table.name}__files f ON t.`_hoodie_file_name` = f.file_name"
        " WHERE f.partition_path <> 'region=eu' GROUP BY f.file_name",
        MR,
        settings={"hive.auto.convert.join": join},
    )
    files = ph.table(table.path).files().filter(pc.field("partition") != "region=eu")
    assert [row[0] for row in answer.rows] == sorted(Path(p.as_py()).name for p in files["path"])
    assert all(stored == counted for _, stored, counted in answer.rows)


def test_without_a_service_or_in_another_state_there_is_an_error(
    hive: Hive, described: Mapping[str, Described]
) -> None:
    query = f"SELECT * FROM {described[COW].name}__history"
    nowhere = {"hudi.pruning.service.addresses": f"127.0.0.1:{free_port()}"}
    with pytest.raises(QueryError, match="gives no rows"):
        hive.query(query, settings=nowhere)
    with pytest.raises(QueryError, match="describes the newest state only"):
        hive.query(query, settings={"hudi.as.of": "2027-01-01"})
    with pytest.raises(QueryError, match="read-only in Hive"):
        hive.query(f"INSERT INTO {described[COW].name}__history {query}", MR)

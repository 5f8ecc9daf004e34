"""Rows that describe tables, over a real socket: those of the Python API, less what a filter
excludes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import pyhudi_expr as ph
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.nodes import ALWAYS
from pyhudi_expr.index.description import VIEWS
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import MetadataRequest, MetadataResponse, PruneStatus
from pyhudi_expr.service.handler import PruningHandler, RefusingHandler
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.settings import ServiceSettings

TABLES = (
    "cow_v9_txns_simple_meta",
    "cow_v9_txns_nonpart_nometa",
    "cow_v9_timebasedkeygen_nonhivestyle",
    "mor_v6_metadata_pending_compaction",
    "mor_v9_txns_simple_meta",
)
FILTERS = {
    "files": (
        "kind = 'base' AND bytes > 436700",
        "partition_path LIKE 'region=%' AND log_files = 0",
        "row_count IS NULL OR row_count > 3",
        "NOT (instant < '2026' OR kind = 'log')",
        "length(file_id) > 10 AND bytes % 2 = 0",
    ),
    "history": (
        "action IN ('clean', 'deltacommit')",
        "requested_at > TIMESTAMP '2026-03-07 16:24:45' AND state = 'completed'",
        "completed_at IS NULL",
    ),
    "indexes": ("kind = 'column_stats'", "state <> 'active' OR bytes > 100000"),
    "column_ranges": (
        "column_name = 'amount' AND min_value IS NOT NULL",
        "column_name IN ('region', 'id') OR null_count > 0",
        "max_value < 'b' AND column_type = 'string'",
    ),
}


@pytest.fixture(scope="module", params=TABLES)
def table(request: pytest.FixtureRequest, golden: Mapping[str, Path]) -> Path:
    return golden[request.param]


def rows_of(response: MetadataResponse) -> list[dict[str, Any]]:
    """The rows of a response, as the handler reads them."""
    assert response.status == PruneStatus.OK, response.message
    columns = {}
    for sent in response.columns:
        values: list[Any] = sent.texts or sent.integers or sent.textLists or []
        if sent.type == "timestamp":
            values = pa.array(values, pa.timestamp("ms")).to_pylist()
        nulls = set(sent.nulls)
        columns[sent.name] = [None if i in nulls else v for i, v in enumerate(values)]
        assert len(columns[sent.name]) == response.rowsSent
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def by_path(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["path"], row.get("column_name")))


def test_files_are_those_of_the_python_api_with_the_rows_of_their_footers(
    client: PruningClient, table: Path
) -> None:
    rows = rows_of(client.metadata(str(table), "files"))
    expected = ph.table(table).files().rename_columns({"partition": "partition_path"})
    shared = [{name: row[name] for name in expected.column_names} for row in rows]
    assert by_path(shared) == by_path(expected.to_pylist())
    logs = expected.filter(pc.field("kind") == "log")["file_id"].to_pylist()
    for row in rows:
        assert row["file_name"] == Path(row["path"]).name
        assert row["log_files"] == logs.count(row["file_id"])
        if row["row_count"] is not None:
            assert row["row_count"] == pq.ParquetFile(table / row["path"]).metadata.num_rows
    has_metadata = "nometa" not in table.parent.name
    counted = [row["row_count"] is not None for row in rows if row["kind"] == "base"]
    assert all(counted) if has_metadata else not any(counted)


def test_history_is_that_of_the_python_api(client: PruningClient, table: Path) -> None:
    history = ph.table(table).history()
    for name in ("requested_at", "completed_at"):
        if history[name].type.tz:
            times = pc.local_timestamp(history[name])
            history = history.set_column(history.column_names.index(name), name, times)
    rows = rows_of(client.metadata(str(table), "history"))
    assert rows == history.to_pylist()


def test_indexes_are_those_of_the_python_api(client: PruningClient, table: Path) -> None:
    expected = ph.table(table).indexes().rename_columns({"columns": "column_names"})
    assert rows_of(client.metadata(str(table), "indexes")) == expected.to_pylist()


def test_column_ranges_are_those_of_the_python_api(client: PruningClient, table: Path) -> None:
    expected = (
        ph.table(table)
        .column_ranges()
        .rename_columns(
            {
                "partition": "partition_path",
                "column": "column_name",
                "type": "column_type",
                "min": "min_value",
                "max": "max_value",
                "nulls": "null_count",
                "rows": "row_count",
            }
        )
    )
    rows = rows_of(client.metadata(str(table), "column_ranges"))
    shared = [{name: row[name] for name in expected.column_names} for row in rows]
    assert by_path(shared) == by_path(expected.to_pylist())
    assert len(rows) % len(ph.table(table).files()) == 0


def test_the_ranges_of_base_files_are_those_of_their_rows(golden: Mapping[str, Path]) -> None:
    base = golden["cow_v9_txns_simple_meta"]
    table = ph.table(base)
    found = table.column_ranges(["AMOUNT", "txn_date", "region", "is_international", "txn_id"])
    assert found.num_rows == 5 * len(table.files())
    for row in found.to_pylist():
        column = pq.read_table(base / row["path"], partitioning=None)[row["column"]]
        ends = pc.min_max(column.cast(pa.int8()) if row["type"] == "boolean" else column)
        expected = [ends["min"], ends["max"]]
        if row["type"] == "boolean":
            expected = [one.cast(pa.bool_()) for one in expected]
        assert [row["min"], row["max"]] == [str(one.cast(pa.string())) for one in expected], row
        assert (row["nulls"], row["rows"]) == (column.null_count, len(column))


def test_a_range_of_a_column_that_is_not_there_is_an_error(golden: Mapping[str, Path]) -> None:
    with pytest.raises(ph.UnknownColumn, match=r"no column amuont.*is it amount"):
        ph.table(golden["cow_v9_txns_simple_meta"]).column_ranges(["amuont"])


@pytest.mark.parametrize(
    ("view", "where"), [(view, where) for view, wheres in FILTERS.items() for where in wheres]
)
def test_a_filter_keeps_every_row_that_matches(
    client: PruningClient, table: Path, view: str, where: str
) -> None:
    everything = rows_of(client.metadata(str(table), view))
    sent = client.metadata(str(table), view, parse_predicate(where))
    rows = rows_of(sent)
    assert sent.rowsSent == len(rows) <= sent.rowsConsidered <= len(everything)
    schema = VIEWS[view].schema
    expected, kept = (pa.Table.from_pylist(each, schema) for each in (everything, rows))
    named = {"expected": expected, "kept": kept}
    for name, relation in named.items():
        duckdb.register(name, relation)
    matching = duckdb.sql(f"SELECT * FROM expected WHERE {where}").fetchall()
    assert duckdb.sql(f"SELECT * FROM kept WHERE {where}").fetchall() == matching


def test_a_filter_sends_only_the_rows_that_match(
    client: PruningClient, golden: Mapping[str, Path]
) -> None:
    table = str(golden["cow_v9_txns_simple_meta"])
    for view, where in (
        ("files", "partition_path = 'region=us'"),
        ("history", "action = 'clean'"),
        ("indexes", "kind = 'column_stats'"),
        ("column_ranges", "column_name = 'amount' AND min_value IS NOT NULL"),
    ):
        everything = client.metadata(table, view).rowsSent
        sent = client.metadata(table, view, parse_predicate(where))
        assert 0 <= sent.rowsSent < everything, view
        assert sent.rowsSent == len(rows_of(sent))
    of_one_column = client.metadata(table, "column_ranges", parse_predicate("column_name = 'fee'"))
    assert of_one_column.rowsConsidered == 0


def test_only_the_requested_columns_have_values(
    client: PruningClient, golden: Mapping[str, Path]
) -> None:
    table = str(golden["cow_v9_txns_simple_meta"])
    sent = client.metadata(table, "files", columns=["bytes"])
    assert [column.name for column in sent.columns] == VIEWS["files"].schema.names
    assert [column.name for column in sent.columns if column.nulls is not None] == ["bytes"]
    assert all(column.comment for column in sent.columns)


def test_without_an_answer_there_is_an_error_that_says_why(
    client: PruningClient, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    table = str(golden["cow_v9_txns_simple_meta"])
    for response, status, message in (
        (client.metadata(table, "filez"), PruneStatus.BAD_REQUEST, "no metadata view 'filez'"),
        (client.metadata(str(tmp_path), "files"), PruneStatus.FAILED, str(tmp_path)),
    ):
        assert response.status == status
        assert message in response.message
        assert response.columns is None


def test_rows_that_are_too_large_are_refused(golden: Mapping[str, Path]) -> None:
    small = PruningHandler(Pruner(), ServiceSettings(max_answer_bytes=1 << 10))
    response = small.metadata(metadata_request(golden["cow_v9_txns_simple_meta"]))
    assert response.status == PruneStatus.FAILED
    assert "max_answer_bytes" in response.message


def test_a_busy_service_gives_no_rows(golden: Mapping[str, Path]) -> None:
    busy = RefusingHandler("busy", "the service is busy", Metrics())
    response = busy.metadata(metadata_request(golden["cow_v9_txns_simple_meta"]))
    assert (response.status, response.message) == (PruneStatus.FAILED, "the service is busy")


def metadata_request(table: Path) -> MetadataRequest:
    return MetadataRequest(PROTOCOL_VERSION, "q", str(table), "column_ranges", encode(ALWAYS))

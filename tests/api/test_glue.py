"""Tables by their names in AWS Glue, as a server of its API answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import pyhudi_expr as ph
from devtools.glue import GlueServer
from pyhudi_expr.cli.main import main
from pyhudi_expr.errors import HudiError, TableNotFound, UnsupportedTable

pytestmark = pytest.mark.slow

_HUDI = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
_MERGED = "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat"
_COW, _MOR = "cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta"
_MANY = 130
"""More tables than an answer has."""


def described(name: str, location: Path, reader: str, **serde: str) -> Mapping[str, Any]:
    """A table as Hudi's sync writes it (`AWSGlueCatalogSyncClient`)."""
    return {
        "Name": name,
        "TableType": "EXTERNAL_TABLE",
        "Parameters": {"EXTERNAL": "TRUE", "spark.sql.sources.provider": "hudi"},
        "StorageDescriptor": {
            "Location": location.as_uri(),
            "InputFormat": reader,
            "SerdeInfo": {"Parameters": serde},
        },
    }


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, golden: Mapping[str, Path]
) -> Iterator[GlueServer]:
    plain = {**described("plain", golden[_COW], "org.apache.hadoop.mapred.TextInputFormat")}
    plain["Parameters"] = {}
    with GlueServer(tmp_path_factory.mktemp("glue")) as server:
        client = server.client()
        client.create_database(DatabaseInput={"Name": "sales"})
        client.create_database(DatabaseInput={"Name": "many"})
        for table in (
            described("trips", golden[_COW], _HUDI),
            described("txns", golden[_MOR], _MERGED),
            described("txns_ro", golden[_MOR], _HUDI, **{"hoodie.query.as.ro.table": "true"}),
            plain,
            {"Name": "view", "TableType": "VIRTUAL_VIEW"},
        ):
            client.create_table(DatabaseName="sales", TableInput=table)
        for number in range(_MANY):
            table = described(f"t{number:03}", golden[_COW], _HUDI)
            client.create_table(DatabaseName="many", TableInput=table)
        yield server


@pytest.fixture(autouse=True)
def _environment(server: GlueServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)


def test_a_table_is_the_one_at_its_location(
    server: GlueServer, golden: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, table in (("sales.trips", _COW), ("sales.txns", _MOR)):
        found = ph.load_table(name, metastore=server.address)
        assert found.scan().to_arrow() == ph.table(golden[table]).scan().to_arrow()
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    assert ph.load_table("sales.trips", metastore="glue").uri == golden[_COW].as_uri()


def test_the_hudi_tables_of_a_database(server: GlueServer) -> None:
    names = ph.list_tables("sales", metastore=server.address)
    assert names == ["sales.trips", "sales.txns", "sales.txns_ro"]
    assert len(ph.list_tables("many", metastore=server.address)) == _MANY
    assert ph.list_tables("elsewhere", metastore=server.address) == []


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("sales.txns_ro", UnsupportedTable, "read-optimized view of .*view='read_optimized'"),
        ("sales.plain", UnsupportedTable, "is no Hudi table: .*TextInputFormat"),
        ("sales.view", UnsupportedTable, "is no Hudi table: a view"),
        ("sales.nothing", TableNotFound, "glue://eu-north-1 has no sales.nothing"),
        ("elsewhere.trips", TableNotFound, "has no elsewhere.trips"),
    ],
)
def test_what_is_no_table_is_an_error_that_says_why(
    server: GlueServer, name: str, error: type[HudiError], said: str
) -> None:
    with pytest.raises(error, match=said):
        ph.load_table(name, metastore=server.address)


def test_a_region_and_an_answer_are_needed(
    server: GlueServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(HudiError, match=r"glue: .*specify a region.*check AWS's region"):
        ph.load_table("sales.trips", metastore="glue")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(HudiError, match=r"GetTables fails: .*credentials"):
        ph.list_tables("sales", metastore=server.address)


def test_commands_take_names(
    server: GlueServer,
    golden: Mapping[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PYHUDI_METASTORE", server.address)
    shown = []
    for table in ("sales.trips", str(golden[_COW])):
        assert main(["prune", table, "txn_id = 1", "--count"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert shown[0]

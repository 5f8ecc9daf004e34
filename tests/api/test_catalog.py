"""Tables by their names, in a real Hive metastore."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

import pyhudi_expr as ph
from devtools.metastore import MetastoreServer
from pyhudi_expr.api.catalog import table_uri
from pyhudi_expr.cli.main import cli, main
from pyhudi_expr.cli.options import COMPLETION_VARIABLE
from pyhudi_expr.errors import HudiError, InvalidValue, TableNotFound, UnsupportedTable
from tests.api.metastore_tables import create_table

pytestmark = pytest.mark.slow

_HUDI = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
_MERGED = "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat"
_OURS = {"storage_handler": "io.pyhudi.hive.HudiStorageHandler"}
_COW, _MOR = "cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta"


@pytest.fixture(scope="module")
def metastore(
    tmp_path_factory: pytest.TempPathFactory, golden: Mapping[str, Path]
) -> Iterator[str]:
    """A metastore with tables as Hudi's sync, Spark and the handler register them."""
    nowhere = tmp_path_factory.mktemp("nowhere") / "gone"
    with MetastoreServer(tmp_path_factory.mktemp("metastore")) as server:
        for name, table, reader, properties in (
            ("trips", _COW, _HUDI, {"spark.sql.sources.provider": "hudi"}),
            ("txns", _MOR, _MERGED, {"hoodie.index.type": "BUCKET"}),
            ("txns_ro", _MOR, _HUDI, {}),
            ("txns_view", _MOR, None, {"hoodie.query.as.ro.table": "true", **_OURS}),
            ("trips__files", _COW, None, {"hudi.metadata.view": "files", **_OURS}),
            ("plain", _COW, "org.apache.hadoop.mapred.TextInputFormat", {}),
            ("gone", "nowhere", _HUDI, {}),
        ):
            location = golden.get(table, nowhere)
            create_table(server.uris, f"default.{name}", location, reader, properties)
        nowhere.rmdir()  # which the metastore has made
        yield server.uris


def test_a_table_is_the_one_at_its_location(metastore: str, golden: Mapping[str, Path]) -> None:
    for name, table in (("default.trips", _COW), ("default.txns", _MOR)):
        found = ph.load_table(name, metastore=metastore)
        assert found.scan().to_arrow() == ph.table(golden[table]).scan().to_arrow()


def test_the_hudi_tables_of_a_database(metastore: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHUDI_METASTORE", f"thrift://127.0.0.1:1,{metastore}")
    names = ["gone", "trips", "txns", "txns_ro", "txns_view"]
    assert ph.list_tables("default") == [f"default.{name}" for name in names]
    assert ph.list_tables("elsewhere") == []


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("default.txns_ro", UnsupportedTable, "read-optimized view of .*view='read_optimized'"),
        ("default.txns_view", UnsupportedTable, "read-optimized view"),
        ("default.trips__files", UnsupportedTable, "name the table itself"),
        ("default.plain", UnsupportedTable, "is no Hudi table: .*TextInputFormat"),
        ("default.gone", TableNotFound, "/gone"),
        ("default.nothing", TableNotFound, "has no default.nothing"),
        ("elsewhere.trips", TableNotFound, "has no elsewhere.trips"),
        ("trips", InvalidValue, r"expected database\.table"),
    ],
)
def test_what_is_no_table_is_an_error_that_says_why(
    metastore: str, name: str, error: type[HudiError], said: str
) -> None:
    with pytest.raises(error, match=said):
        ph.load_table(name, metastore=metastore)
    with pytest.raises(error, match=said):
        table_uri(name, metastore)


def test_a_location_is_that_of_the_table(metastore: str) -> None:
    for name in ("default.trips", "default.txns"):
        assert table_uri(name, metastore) == ph.load_table(name, metastore=metastore).uri


def test_a_metastore_must_be_named_and_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYHUDI_METASTORE", raising=False)
    with pytest.raises(InvalidValue, match="PYHUDI_METASTORE"):
        ph.load_table("default.trips")
    with pytest.raises(HudiError, match=r"no Hive metastore can be reached: .*127\.0\.0\.1:1"):
        ph.list_tables("default", metastore="thrift://127.0.0.1:1")


def test_shells_complete_names_and_columns(metastore: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = ShellComplete(cli, {}, "pyhudi", COMPLETION_VARIABLE)

    def completed(*words: str) -> list[str]:
        return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]

    monkeypatch.setattr("pyhudi_expr.cli.options._PATIENCE", 60.0)
    monkeypatch.delenv("PYHUDI_METASTORE", raising=False)
    assert completed("prune", "default.tr") == ["default.tr"]  # as a path
    monkeypatch.setenv("PYHUDI_METASTORE", metastore)
    assert completed("prune", "default.tr") == ["default.trips"]
    assert completed("index", "list", "default.txns_") == ["default.txns_ro", "default.txns_view"]
    assert completed("scan", "default.trips", "--columns", "merch") == ["merchant_name"]


def test_commands_take_names(
    metastore: str,
    golden: Mapping[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PYHUDI_METASTORE", metastore)
    shown = []
    for table in ("default.trips", str(golden[_COW])):
        assert main(["prune", table, "txn_id = 1", "--count"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert shown[0]

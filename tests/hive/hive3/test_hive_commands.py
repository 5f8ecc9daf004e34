"""`pyhudi hive ...` with a HiveServer2 of Hive 3.1."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyhive import hive as pyhive

from devtools.hive_versions import HIVE_3
from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
from pyhudi_expr.cli.main import main
from tests.hive.hive3.matrix_tables import COW, MOR, Table, Tables
from tests.hive.query_results import Hive
from tests.hive.virtual_key_tables import Golden

pytestmark = [pytest.mark.spark, pytest.mark.hive, pytest.mark.long]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(hive: Hive, capsys: pytest.CaptureFixture[str]) -> Run:
    """`pyhudi hive` with this HiveServer2: exit code, standard output, standard error."""
    options = ["--hs2", f"127.0.0.1:{hive.server.port}", "--auth", "NOSASL", "--json"]

    def run(command: str, *arguments: object) -> tuple[int, str, str]:
        code = main(["hive", command, *options, *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_a_table_is_registered_and_its_changes_are_followed(
    run: Run, hive: Hive, table: Table
) -> None:
    name = f"followed_{table.name}"
    arguments = (table.written.path, "--name", name, "--property", "hudi.view=snapshot")
    code, out, err = run("register", *arguments)
    assert code == 0, err
    created = json.loads(out)
    assert [text.split()[0] for text in created["statements"]] == ["CREATE"]
    described = [row[:2] for row in hive.query(f"DESCRIBE {name}").rows]
    assert described == sorted((each["name"], each["type"]) for each in created["columns"])
    answer = hive.query_both_ways(f"SELECT id FROM {name} WHERE i > 25000")
    assert sorted(row[0] for row in answer.rows) == table.known.ids("i > 25000")
    assert answer.scan.files_kept < answer.scan.files_considered

    assert json.loads(run("register", *arguments)[1])["statements"] == []
    changed = (*arguments[:3], "--property", "hudi.view=read_optimized")
    statements = json.loads(run("register", *changed)[1])["statements"]
    assert [text.split()[:2] for text in statements] == [["ALTER", "TABLE"]]


def test_columns_added_in_hudi_are_added_in_hive(
    run: Run, hive: Hive, tables: Tables, tmp_path: Path
) -> None:
    path = shutil.copytree(tables(COW).written.path, tmp_path / "gained")
    assert run("register", path, "--name", "gained")[0] == 0
    hive.run("DROP TABLE gained", f"CREATE EXTERNAL TABLE gained (a int) LOCATION '{path}'")
    code, _, err = run("register", path, "--name", "gained")
    assert (code, "--replace" in err) == (1, True)
    code, out, err = run("register", path, "--name", "gained", "--replace")
    assert code == 0, err
    assert [text.split()[0] for text in json.loads(out)["statements"]] == [
        "ALTER",
        "CREATE",
        "DROP",
    ]
    assert (path / ".hoodie" / "hoodie.properties").is_file()
    assert hive.query("SELECT id FROM gained WHERE id = 5005").rows == [(5005,)]


def findings(out: str) -> dict[str, dict[str, str]]:
    return {found["link"]: found for found in json.loads(out)["findings"]}


def test_the_doctor_checks_each_link(
    run: Run, hive: Hive, tables: Tables, pruning_service: ServiceProcess
) -> None:
    table = tables(MOR)
    path, name = table.written.path, table.name
    here = ("--set", f"hudi.pruning.service.addresses={pruning_service.address}")
    code, out, err = run("doctor", path, "--name", name, *here)
    found = findings(out)
    assert code == 0, err
    assert found.pop("probe")["verdict"] == "skipped"
    assert {each["verdict"] for each in found.values()} == {"ok"}
    assert found["HiveServer2"]["message"].startswith("3.1.3 ")
    assert "pyhudi-hive3-handler.jar" in found["handler"]["message"]

    nobody = ("--set", "hudi.pruning.service.addresses=127.0.0.1:9")
    code, out, _ = run("doctor", path, "--name", name, *nobody)
    assert (code, findings(out)["service, from HiveServer2"]["verdict"]) == (1, "failed")

    code, out, _ = run("doctor", path, "--name", "stranger", *here)
    assert (code, findings(out)["registration"]["verdict"]) == (1, "failed")


class OverHttp(HiveServer):
    """A HiveServer2 with HTTP transport only."""

    def connect(self, user: str = "pyhudi") -> pyhive.Connection:
        """Connects as PyHive does, over HTTP."""
        return pyhive.connect("127.0.0.1", self.port, scheme="http", auth="NONE", username=user)


def test_tables_are_registered_over_http(
    golden: Golden,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = {
        "hive.server2.authentication": "NONE",
        "hive.server2.transport.mode": "http",
        "hive.server2.thrift.http.port": "${hive.server2.thrift.port}",
    }
    register = ["hive", "register", str(golden["cow_v9_txns_simple_meta"]), "--name", "by_http"]
    monkeypatch.setenv("PYHUDI_HS2_USER", "somebody")
    with OverHttp(tmp_path / "server", settings=settings, line=HIVE_3) as server:
        monkeypatch.setenv("PYHUDI_HS2", f"127.0.0.1:{server.port}")
        assert main([*register, "--transport", "http"]) == 0, capsys.readouterr().err
        assert main([*register, "--transport", "http"]) == 0
        assert "it is up to date" in capsys.readouterr().err
        assert main([*register, "--timeout", "5"]) == 1
        assert f"HiveServer2 at 127.0.0.1:{server.port}" in capsys.readouterr().err

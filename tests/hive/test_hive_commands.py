"""`pyhudi hive ...` with a real HiveServer2; the tables are Hudi's, of tests/data/golden."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive

from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
from pyhudi_expr.cli.main import main
from pyhudi_expr.manage.hive import HiveAddress
from pyhudi_expr.manage.hive.session import ConnectionFailed, open_session
from tests.cli.terminals import at_a_terminal

pytestmark = pytest.mark.hive

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(hive_server: HiveServer, capsys: pytest.CaptureFixture[str]) -> Run:
    """`pyhudi hive` with the session's HiveServer2: exit code, standard output, standard error."""
    options = ["--hs2", f"127.0.0.1:{hive_server.port}", "--auth", "NOSASL"]

    def run(command: str, *arguments: object) -> tuple[int, str, str]:
        code = main(["hive", command, *options, *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def report(run: Run, command: str, *arguments: object) -> dict[str, Any]:
    code, out, err = run(command, *arguments, "--json")
    assert code == 0, err
    parsed: dict[str, Any] = json.loads(out)
    return parsed


def test_a_table_is_registered_updated_and_then_unchanged(
    run: Run, golden: Mapping[str, Path], hive_server: HiveServer
) -> None:
    path = golden["mor_v9_txns_simple_meta"]
    arguments = (path, "--name", "followed", "--property", "hudi.view=snapshot")

    planned = report(run, "register", *arguments, "--dry-run")
    with hive_server.session() as session:
        assert not session.run("SHOW TABLES LIKE 'followed'")
    created = report(run, "register", *arguments)
    assert created["statements"] == planned["statements"]
    assert [text.split()[0] for text in created["statements"]] == ["CREATE"]
    with hive_server.session() as session:
        rows = session.run("SELECT txn_id, region FROM followed WHERE amount > 100")
        assert rows
        described = session.run("DESCRIBE followed")
    columns = [(column["name"], column["type"]) for column in created["columns"]]
    assert [row[:2] for row in described] == columns

    assert report(run, "register", *arguments)["statements"] == []
    changed = report(run, "register", path, "--name", "followed", "--property", "hudi.view=x")
    assert [text.split()[:2] for text in changed["statements"]] == [["ALTER", "TABLE"]]


def test_the_tables_that_describe_a_table_are_registered_beside_it(
    run: Run, golden: Mapping[str, Path]
) -> None:
    arguments = (golden["cow_v9_txns_simple_meta"], "--name", "beside", "--metadata", "--dry-run")
    planned = report(run, "register", *arguments)
    assert planned["table"] == "default.beside"
    names = [view["table"].removeprefix("default.beside__") for view in planned["metadata"]]
    assert names == ["files", "history", "indexes", "column_ranges"]
    for view in planned["metadata"]:
        assert [text.split()[0] for text in view["statements"]] == ["CREATE"]
        assert all(column["comment"] for column in view["columns"])
    code, out, _ = run("register", *arguments)
    assert code == 0
    assert out.count("STORED BY") == 5


def tables(server: HiveServer, prefix: str) -> list[str]:
    with server.session() as session:
        return [row[0] for row in session.run("SHOW TABLES") if row[0].startswith(prefix)]


def test_a_table_is_not_registered_without_the_tables_that_describe_it(
    run: Run, golden: Mapping[str, Path], hive_server: HiveServer
) -> None:
    path = golden["cow_v9_txns_simple_meta"]
    unreachable = "hudi.pruning.service.addresses=127.0.0.1:1"
    code, _, err = run(
        *("register", path, "--name", "halfway", "--metadata", "--property", unreachable)
    )
    assert code == 1
    assert "nothing was registered, Hive's tables are as before" in err
    assert tables(hive_server, "halfway") == []


def test_the_doctor_names_a_command_that_registers_beside_a_table_that_is_not_replaced(
    run: Run, golden: Mapping[str, Path], hive_server: HiveServer
) -> None:
    path = golden["cow_v9_txns_simple_meta"]
    with hive_server.session() as session:
        session.run("CREATE TABLE owned_by_hive (a int) STORED AS PARQUET")
    code, out, _ = run("doctor", path, "--name", "owned_by_hive", "--json")
    assert code == 1
    found = {one["link"]: one for one in json.loads(out)["findings"]}
    command = shlex.split(found["registration"]["remedy"])
    assert command[:3] == ["pyhudi", "hive", "register"]
    assert run("register", *command[3:])[0] == 0


def test_the_doctor_says_what_a_metastore_without_our_classes_may_do(
    run: Run, golden: Mapping[str, Path]
) -> None:
    path, setting = golden["cow_v9_txns_simple_meta"], "hive.metastore.pre.event.listeners"
    _, out, _ = run("doctor", path, "--name", "unguarded", "--set", f"{setting}=none", "--json")
    found = {one["link"]: one for one in json.loads(out)["findings"]}["metastore"]
    assert found["verdict"] == "warning"
    assert "DROP DATABASE deletes" in found["message"]
    assert f"{setting}=io.pyhudi.hive.metastore.HudiTableGuard" in found["remedy"]
    _, out, _ = run("doctor", path, "--name", "unguarded", "--json")
    assert verdicts(out)["metastore"] == "ok"


def test_a_last_column_removed_in_hive_is_added_again(
    run: Run, golden: Mapping[str, Path], hive_server: HiveServer
) -> None:
    path = golden["cow_v9_txns_simple_meta"]
    with hive_server.session() as session:
        # As before a column was added: registered without our handler's check.
        session.run(f"CREATE EXTERNAL TABLE behind (`a` int) LOCATION '{path}'")
    code, _, err = run("register", path, "--name", "behind")
    assert (code, "--replace" in err) == (1, True)
    with pytest.MonkeyPatch.context() as patch:
        screen = at_a_terminal(patch, "n\n")
        assert run("register", path, "--name", "behind", "--replace")[0] == 1
    assert "Hive's table `default`.`behind` is dropped and created again" in screen.getvalue()
    assert screen.getvalue().endswith("pyhudi: nothing was changed\n")
    assert tables(hive_server, "behind") == ["behind"]
    replaced = report(run, "register", path, "--name", "behind", "--replace")
    assert [text.split()[0] for text in replaced["statements"]] == ["ALTER", "CREATE", "DROP"]
    assert tables(hive_server, "behind") == ["behind"]
    assert (path / ".hoodie" / "hoodie.properties").is_file()
    with hive_server.session() as session:
        assert session.run("SELECT txn_id FROM behind WHERE region = 'us'")


def test_without_hiveserver2_a_dry_run_shows_the_new_table(
    golden: Mapping[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(golden["cow_v9_txns_simple_meta"])
    assert main(["hive", "register", path, "--hs2", "127.0.0.1:9", "--dry-run"]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("CREATE EXTERNAL TABLE `default`.`v9_txns_cow_simple_meta` (")
    assert "no server listens at 127.0.0.1:9" in output.err
    assert main(["hive", "register", path, "--hs2", "127.0.0.1:9"]) == 1
    assert "start HiveServer2" in capsys.readouterr().err


def verdicts(out: str) -> dict[str, str]:
    return {found["link"]: found["verdict"] for found in json.loads(out)["findings"]}


@pytest.mark.smoke
def test_the_doctor_accepts_a_pruned_table_and_names_each_broken_link(
    run: Run, golden: Mapping[str, Path], pruning_service: ServiceProcess
) -> None:
    path = golden["mor_v9_txns_simple_meta"]
    addresses = f"hudi.pruning.service.addresses={pruning_service.address}"
    report(run, "register", path, "--name", "patient", "--property", "hudi.view=snapshot")
    code, out, err = run("doctor", path, "--name", "patient", "--set", addresses, "--json")
    assert (code, set(verdicts(out).values())) == (0, {"ok"}), out + err
    probe = next(found for found in json.loads(out)["findings"] if found["link"] == "probe")
    assert "PRUNED, reads 1 of 5 files" in probe["message"]

    nobody = "hudi.pruning.service.addresses=127.0.0.1:9"
    code, out, err = run("doctor", path, "--name", "patient", "--set", nobody, "--json")
    broken = {link for link, verdict in verdicts(out).items() if verdict == "failed"}
    assert (code, broken) == (1, {"service, from HiveServer2", "probe"})
    assert "service, from HiveServer2" in err

    # A table's owner does not choose the HiveServer2's service.
    report(run, "register", path, "--name", "patient", "--property", nobody)
    code, out, err = run("doctor", path, "--name", "patient", "--set", addresses, "--json")
    assert (code, verdicts(out)["settings"]) == (0, "warning"), err

    code, out, _ = run("doctor", path, "--name", "stranger", "--json")
    assert (code, verdicts(out)["registration"]) == (1, "failed")


def test_without_hiveserver2_the_doctor_reports_that_and_checks_the_indexes(
    golden: Mapping[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(golden["mor_v9_txns_simple_meta"])
    assert main(["hive", "doctor", path, "--hs2", "127.0.0.1:9"]) == 1
    output = capsys.readouterr().out
    assert "failed   HiveServer2: no server listens at 127.0.0.1:9" in output
    assert "fix:  start HiveServer2" in output
    assert "ok       indexes: column_stats active" in output


def test_a_different_authentication_of_the_server_is_reported(
    golden: Mapping[str, Path], hive_server: HiveServer, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"127.0.0.1:{hive_server.port}"
    path = str(golden["cow_v9_txns_simple_meta"])
    assert main(["hive", "register", path, "--hs2", address, "--auth", "NONE"]) == 1
    output = capsys.readouterr().err
    assert f"HiveServer2 at {address} gives no session with auth NONE" in output
    assert "compare hive.server2.authentication" in output


def test_a_statement_times_out(hive_server: HiveServer) -> None:
    address = HiveAddress(port=hive_server.port, auth="NOSASL", statement_timeout=0.5)
    sleep = "SELECT java_method('java.lang.Thread', 'sleep', CAST(5000 AS bigint))"
    with pytest.raises(ConnectionFailed) as given_up, open_session(address) as session:
        session.run(sleep)
    message = str(given_up.value)
    assert f"HiveServer2 at {address} has not answered for 0.5 s: {sleep}" in message
    assert "--statement-timeout" in message


class ByPassword(HiveServer):
    """A HiveServer2 that requires SASL."""

    def connect(self, user: str = "pyhudi") -> hive.Connection:
        """Connects as PyHive does."""
        return hive.connect("127.0.0.1", self.port, auth="NONE", username=user)


@pytest.mark.long
def test_tables_are_registered_by_sasl(
    golden: Mapping[str, Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    register = ["hive", "register", str(golden["cow_v9_txns_simple_meta"]), "--name", "by_sasl"]
    monkeypatch.setenv("PYHUDI_HS2_USER", "somebody")
    settings = {"hive.server2.authentication": "NONE"}
    with ByPassword(tmp_path / "server", settings=settings) as server:
        monkeypatch.setenv("PYHUDI_HS2", f"127.0.0.1:{server.port}")
        assert main(register) == 0, capsys.readouterr().err
        assert main(register) == 0
        assert "it is up to date" in capsys.readouterr().err
        assert main([*register, "--auth", "NOSASL", "--timeout", "5"]) == 1
        assert f"HiveServer2 at 127.0.0.1:{server.port}" in capsys.readouterr().err


def test_a_table_is_unregistered_by_a_plan(
    run: Run, golden: Mapping[str, Path], hive_server: HiveServer
) -> None:
    code, _, err = run("register", golden["mor_v9_txns_simple_meta"], "--name", "gone")
    assert code == 0, err
    planned = report(run, "unregister", "gone", "--dry-run")
    assert [change["what"] for change in planned["changes"]] == ["`default`.`gone`"]
    assert tables(hive_server, "gone") == ["gone"]
    assert report(run, "unregister", "gone")["dropped"] == ["`default`.`gone`"]
    assert tables(hive_server, "gone") == []
    code, _, err = run("unregister", "gone")
    assert (code, "Hive has no table `default`.`gone`" in err) == (1, True)

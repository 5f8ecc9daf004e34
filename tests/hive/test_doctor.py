"""The doctor's findings for each broken link; those about indexes need no HiveServer2."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
from pyhudi_expr.cli.main import main
from pyhudi_expr.index.catalog.registry import RegisteredIndex, Registry, Store
from pyhudi_expr.manage.hive import HiveAddress
from pyhudi_expr.manage.hive.doctor import _inside
from pyhudi_expr.manage.hive.guards import Verdict
from pyhudi_expr.manage.hive.metastore_table import TableName
from pyhudi_expr.manage.hive.registration import hive_location, registration
from pyhudi_expr.manage.hive.session import HiveSession, QueryError
from pyhudi_expr.tables.hudi_table import HudiTable


def indexes(capsys: pytest.CaptureFixture[str], path: Path) -> dict[str, str]:
    """The finding about the indexes."""
    assert main(["hive", "doctor", str(path), "--hs2", "127.0.0.1:9", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    (found,) = [one for one in findings if one["link"] == "indexes"]
    return {name: str(value) for name, value in found.items()}


def test_the_doctor_suggests_an_index_for_a_table_without_any(
    golden: Mapping[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = golden["cow_v9_txns_nonpart_nometa"]
    found = indexes(capsys, path)
    assert (found["verdict"], found["message"]) == ("warning", "none: only partition values prune")
    create = f"pyhudi index create {path} NAME --using column_stats"
    assert found["remedy"].startswith(create)


def test_suggested_commands_quote_paths_with_spaces(
    golden: Mapping[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = shutil.copytree(golden["cow_v9_txns_nonpart_nometa"], tmp_path / "my trips")
    assert str(path) in shlex.split(indexes(capsys, path)["remedy"])


def test_the_doctor_reports_a_deleted_index_and_how_to_rebuild_it(
    golden: Mapping[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table")
    assert indexes(capsys, path)["verdict"] == "ok"
    shops = RegisteredIndex(
        "shops", "secondary_index", ("s",), {}, Store.HUDI, ("secondary_index_shops",), created=""
    )
    Registry().with_index(shops).write(HudiTable.open(str(path)).storage)
    found = indexes(capsys, path)
    assert found["verdict"] == "warning"
    assert "shops dropped" in found["message"]
    assert "record_index active" in found["message"]
    assert found["remedy"].startswith("shops: deleted by ")
    assert "refresh it" in found["remedy"]


def test_the_doctor_names_a_database_that_hive_does_not_have(golden: Mapping[str, Path]) -> None:
    """Hive's answers as HiveServer2 4.0 gives them."""
    gone = "FAILED: SemanticException [Error 10072]: Database does not exist: nosuch"

    class Session(HiveSession):
        def __init__(self) -> None:
            self.is_lost = False

        def run(self, statement: str) -> list[tuple[Any, ...]]:
            raise QueryError(gone if statement.startswith("SHOW TABLES") else "no such class")

    table = HudiTable.open(str(golden["cow_v9_txns_simple_meta"]))
    target = registration(table, TableName("nosuch", "trips"), hive_location(table.base_path), {})
    found = list(_inside(HiveAddress(), Session(), table, target, {}, None, is_old=False))
    (missing,) = [one for one in found if one.link == "registration"]
    assert missing.verdict is Verdict.BROKEN
    assert missing.message == "Hive has no database `nosuch`"
    assert missing.remedy.startswith("CREATE DATABASE `nosuch`, or")
    assert [one.link for one in found] == ["handler", "registration", "probe"]


@pytest.mark.smoke
@pytest.mark.hive
def test_the_doctor_reports_other_problems_and_their_fixes(
    golden: Mapping[str, Path],
    capsys: pytest.CaptureFixture[str],
    hive_server: HiveServer,
    pruning_service: ServiceProcess,
    tmp_path: Path,
) -> None:
    path = shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "table")
    server = ("--hs2", f"127.0.0.1:{hive_server.port}", "--auth", "NOSASL")
    here = ("--set", f"hudi.pruning.service.addresses={pruning_service.address}")
    assert main(["hive", "register", str(path), "--name", "ailing", *server]) == 0

    for engine in ("tez", "mr"):
        capsys.readouterr()
        given = (str(path), "--json", *server, *here, "--name", "ailing", "--engine", engine)
        assert main(["hive", "doctor", *given]) == 0
        findings = json.loads(capsys.readouterr().out)["findings"]
        found = {one["link"]: one for one in findings}
        assert found[f"time zone, by {engine}"]["verdict"] == "ok"
        last = found[f"splits, by {engine}"]
        assert last["verdict"] == "ok"
        assert last["message"].startswith("PRUNED, reads ")

    def wrong(*arguments: str) -> dict[str, tuple[str, str, str]]:
        capsys.readouterr()
        code = main(["hive", "doctor", str(path), "--json", *server, *here, *arguments])
        output = capsys.readouterr()
        findings = json.loads(output.out)["findings"]
        assert code == any(one["verdict"] == "failed" for one in findings), output.err
        return {
            one["link"]: (one["verdict"], one["message"], one["remedy"])
            for one in findings
            if one["verdict"] not in ("ok", "skipped")
        }

    assert wrong("--name", "ailing") == {}
    off = wrong("--name", "ailing", "--set", "hudi.pruning.enabled=false")
    assert {link: verdict for link, (verdict, _, _) in off.items()} == {
        "settings": "failed",
        "probe": "failed",
    }
    assert "SET hudi.pruning.enabled=true" in off["settings"][2]
    assert "DISABLED" in off["probe"][1]
    mistyped = wrong("--name", "ailing", "--set", "hudi.pruning.timeout.ms=soon")
    assert mistyped["settings"][0] == "warning"
    assert "not a number of milliseconds" in mistyped["settings"][2]

    elsewhere = wrong("--name", "ailing", "--location", "/elsewhere")
    assert elsewhere["registration"][0] == "failed"
    assert f"reads file:{path}" in elsewhere["registration"][1].replace("file://", "file:")
    with hive_server.session() as session:
        session.run(f"CREATE EXTERNAL TABLE native (`txn_id` string) LOCATION '{path}'")
    native = wrong("--name", "native")
    assert native["registration"][0] == "failed"
    assert native["registration"][2].endswith("--name default.native --replace")

    # The table has other columns now.
    shutil.rmtree(path)
    shutil.copytree(golden["cow_v8_complexkeygen_hivestyle"], path)
    changed = wrong("--name", "ailing")
    assert changed["columns"][0] == "failed"
    assert "in the Hudi table" in changed["columns"][1]
    assert changed["columns"][2].startswith(f"pyhudi hive register {path} --name default.ailing")

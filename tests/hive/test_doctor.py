"""What the doctor says of a table's indexes; no HiveServer2 listens."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.cli.main import main
from pyhudi_expr.index.registry import RegisteredIndex, Registry, Store
from pyhudi_expr.table.hudi_table import HudiTable


def indexes(capsys: pytest.CaptureFixture[str], path: Path) -> dict[str, str]:
    """The finding about them."""
    assert main(["hive", "doctor", str(path), "--hs2", "127.0.0.1:9", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    (found,) = [one for one in findings if one["link"] == "indexes"]
    return {name: str(value) for name, value in found.items()}


def test_a_table_without_indexes_is_told_how_to_get_one(
    golden: Mapping[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = golden["cow_v9_txns_nonpart_nometa"]
    found = indexes(capsys, path)
    assert (found["verdict"], found["told"]) == ("warning", "none: only partition values prune")
    assert found["mend"].startswith(f"pyhudi index create NAME --table {path} --using column_stats")


def test_an_index_that_is_gone_is_told_with_its_way_back(
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
    assert "shops dropped" in found["told"]
    assert "record_index active" in found["told"]
    assert found["mend"].startswith("shops: deleted by ")
    assert "refresh it" in found["mend"]

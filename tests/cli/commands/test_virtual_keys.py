"""`pyhudi virtual-keys` on tables of the golden data; what needs Spark: `tests/spark`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pyhudi_expr.cli.main import main


@pytest.fixture
def table(golden: Mapping[str, Path], tmp_path: Path) -> str:
    return str(shutil.copytree(golden["cow_v8_complexkeygen_hivestyle"], tmp_path / "t"))


def answered(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["virtual-keys", *arguments, "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["virtual-keys", *arguments]) == 1
    return capsys.readouterr().err


def test_a_report_before_and_after(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = answered(capsys, "report", table)
    assert not before["enabled"]
    assert before["bytes_saved"] == 0
    assert before["bytes_to_save"] > 0
    saved = answered(capsys, "enable", table)["settings"]
    assert saved["hoodie.populate.meta.fields"] == "false"
    assert answered(capsys, "report", table) == {**before, "enabled": True}


def test_writers_may_go_on_keeping_the_column(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = answered(capsys, "enable", table, "--keep-column")["settings"]
    assert saved["hoodie.populate.meta.fields"] == "true"
    saved = answered(capsys, "enable", table)["settings"]
    assert saved["hoodie.populate.meta.fields"] == "false"


def test_another_definition_is_refused(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    answered(capsys, "enable", table)
    said = refused(capsys, "enable", table, "--columns", "id")
    assert "'id'" in said
    assert "'id,name'" in said
    assert "cannot be changed" in said


def test_a_report_for_people(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["virtual-keys", "report", table]) == 0
    said = capsys.readouterr().out
    assert "base files: 3" in said
    assert "to save: 0.000 MB in 3 files" in said

"""`pyhudi virtual-keys` on golden tables. `tests/spark` has the subcommands that need Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pyhudi_expr.cli.main import main
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.manage.test_stored_keys import mix_keys


@pytest.fixture
def table(golden: Mapping[str, Path], tmp_path: Path) -> str:
    return str(shutil.copytree(golden["cow_v8_complexkeygen_hivestyle"], tmp_path / "t"))


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["virtual-keys", *arguments, "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["virtual-keys", *arguments]) == 1
    return capsys.readouterr().err


def test_a_report_before_and_after(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = json_of(capsys, "report", table)
    assert not before["enabled"]
    assert before["bytes_saved"] == 0
    assert before["bytes_to_save"] > 0
    saved = json_of(capsys, "enable", table)["settings"]
    assert saved["hoodie.populate.meta.fields"] == "false"
    assert json_of(capsys, "report", table) == {**before, "enabled": True}


def test_rows_of_both_kinds_in_one_file_are_counted(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = json_of(capsys, "report", table)
    json_of(capsys, "enable", table)
    mix_keys(HudiTable.open(table))
    found = json_of(capsys, "report", table)
    lacking = found["rows"] - found["rows_with_keys"]
    assert 0 < lacking < found["rows"] - before["rows"]
    assert found["stored"] == "some"
    assert found["files_with_keys"] == found["files"] == 3
    assert main(["virtual-keys", "report", table]) == 0
    counted = f"{found['rows_with_keys']} of {found['rows']} rows, in 3 of 3 base files"
    assert f"stored keys: some: {counted}" in capsys.readouterr().out


def test_writers_may_keep_storing_the_column(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = json_of(capsys, "enable", table, "--keep-column")["settings"]
    assert saved["hoodie.populate.meta.fields"] == "true"
    saved = json_of(capsys, "enable", table)["settings"]
    assert saved["hoodie.populate.meta.fields"] == "false"


def test_another_definition_is_refused(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    json_of(capsys, "enable", table)
    output = refused(capsys, "enable", table, "--columns", "id")
    assert "'id'" in output
    assert "'id,name'" in output
    assert "cannot be changed" in output


def test_a_report_for_people(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["virtual-keys", "report", table]) == 0
    output = capsys.readouterr().out
    assert "base files: 3" in output
    assert "to save: 0.01 MB in 3 files" in output

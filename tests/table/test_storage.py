"""How the place of a table is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyhudi_expr.table.storage import Storage


@pytest.mark.parametrize("form", ["{}", "/{}", "{}/", "file:{}", "file://{}", "FILE:{}"])
def test_absolute_paths(form: str, tmp_path: Path) -> None:
    assert Storage.open(form.format(tmp_path)).root == str(tmp_path)


@pytest.mark.parametrize("name", ["warehouse/t", "./warehouse/t", "warehouse/t/"])
def test_other_paths_begin_at_the_working_directory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "warehouse" / "t").mkdir(parents=True)
    (tmp_path / "warehouse" / "t" / "f").write_bytes(b"x")
    assert Storage.open(name).read("f") == b"x"

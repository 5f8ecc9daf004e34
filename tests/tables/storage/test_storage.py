"""Paths and URIs of tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage import Storage


@pytest.mark.parametrize("form", ["{}", "/{}", "{}/", "file:{}", "file://{}", "FILE:{}"])
def test_absolute_paths_and_uris_name_one_root(form: str, tmp_path: Path) -> None:
    assert Storage.open(form.format(tmp_path)).root == str(tmp_path)


@pytest.mark.parametrize("name", ["warehouse/t", "./warehouse/t", "warehouse/t/"])
def test_other_paths_are_relative_to_the_working_directory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "warehouse" / "t").mkdir(parents=True)
    (tmp_path / "warehouse" / "t" / "f").write_bytes(b"x")
    assert Storage.open(name).read("f") == b"x"


@pytest.mark.parametrize("uri", ["webhdfs://host/t", "webhdfs:/t", "swebhdfs://host:x/t"])
def test_webhdfs_needs_the_port(uri: str) -> None:
    with pytest.raises(HudiError, match=rf"{uri}: name the NameNode's host and HTTP port"):
        Storage.open(uri)


def test_a_server_that_does_not_answer_raises_an_error(tmp_path: Path) -> None:
    storage = Storage.open("webhdfs://127.0.0.1:1/t")
    with pytest.raises(HudiError, match=r"webhdfs://127\.0\.0\.1:1/t"):
        storage.read("f")

"""Copies of golden tables, which tests may change."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.tables.mdt.changes.index_builds import TABLES


@pytest.fixture(params=TABLES)
def path(request: pytest.FixtureRequest, golden: Mapping[str, Path], tmp_path: Path) -> str:
    shutil.copytree(golden[request.param], tmp_path / "table")
    return str(tmp_path / "table")

"""A healthy table, and copies of it for one fault each."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.manage.audit.faults import healthy
from tests.manage.audit.living_table import LivingTable


@pytest.fixture(scope="session")
def without_fault(tmp_path_factory: pytest.TempPathFactory) -> LivingTable:
    """Read only."""
    return healthy(tmp_path_factory.mktemp("healthy") / "table")


@pytest.fixture
def table(without_fault: LivingTable, tmp_path: Path) -> LivingTable:
    """A copy, for one fault."""
    shutil.copytree(without_fault.path, tmp_path / "table")
    groups = {name: replace(one, rows=dict(one.rows)) for name, one in without_fault.groups.items()}
    return replace(without_fault, path=tmp_path / "table", groups=groups)

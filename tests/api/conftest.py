"""Tables of the API's tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pyhudi_expr.cli.demo_indexes import write_demo_indexes
from pyhudi_expr.cli.demo_table import write_demo_table


@pytest.fixture(scope="session")
def trips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's table: 80 files, 160,000 rows of ten days. Read-only: copy to change."""
    path = tmp_path_factory.mktemp("api") / "trips"
    write_demo_table(path)
    return path


@pytest.fixture(scope="session")
def indexed_trips(trips: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same table with the demo's indexes. Read-only."""
    path = shutil.copytree(trips, tmp_path_factory.mktemp("indexed") / "trips")
    write_demo_indexes(path)
    return path

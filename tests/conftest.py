"""Fixtures that several rooms share."""

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import settings

# A slow machine is no failure: pytest's own time-out is the limit. `make test` tries the same cases
# each time, so that a change is judged by what it changes; `make fuzz` looks for new ones.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("random" if "PYHUDI_EXAMPLES" in os.environ else "repeatable")

GOLDEN_DATA = Path(__file__).parent / "data" / "golden"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What pytest-xdist's workers share out: files, but everything with Hive as one.

    A HiveServer2 is started once then, and a file's tables are written once.
    """
    for item in items:
        group = "hive" if item.get_closest_marker("hive") else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The base path of each golden table by its archive's name. Read only: tests copy to change."""
    tables = {}
    for archive in sorted(GOLDEN_DATA.glob("*.zip")):
        target = tmp_path_factory.mktemp("golden") / archive.stem
        with zipfile.ZipFile(archive) as content:
            content.extractall(target)
        tables[archive.stem] = next(d for d in target.iterdir() if (d / ".hoodie").is_dir())
    return tables

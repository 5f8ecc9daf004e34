"""Fixtures that several rooms share."""

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# A slow machine is no failure: pytest's own time-out is the limit. `make test` tries the same cases
# each time, so that a change is judged by what it changes; `make fuzz` looks for new ones.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("random" if "PYHUDI_EXAMPLES" in os.environ else "repeatable")

_WITH_HIVE = frozenset({"tests/devtools/test_hiveserver.py"})

GOLDEN_DATA = Path(__file__).parent / "data" / "golden"


class ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """What pytest-xdist's workers share out: files, but everything with Hive as one.

    A HiveServer2 is started once then, and a file's tables are written once.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        with_hive = file.startswith("tests/hive/") or file in _WITH_HIVE
        return "hive" if with_hive else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Called where tests run in several processes."""
    return ByFile(config, log)


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

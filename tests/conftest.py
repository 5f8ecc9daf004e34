"""Fixtures that several rooms share."""

import os
import shutil
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from devtools.runtime import java
from pyhudi_expr.cli.demo_table import write_demo_indexes, write_demo_table
from tests.example_counts import examples
from tests.truth.zones import Zones, zones_of

# A slow machine is no failure: only pytest's own time-out applies. `make test` runs the same cases
# each time, so that a result depends on the change only; `make fuzz` runs new ones.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=examples(100))
settings.register_profile("random", deadline=None, max_examples=examples(100))
settings.load_profile("repeatable")

_ENGINES = frozenset({"spark", "hive"})
_WITH_HIVE = frozenset({"tests/devtools/test_hiveserver.py"})
_HIVE_VALUES = frozenset(
    f"tests/hive/queries/test_{name}.py"
    for name in ("predicates", "partitions", "types", "min_max", "query_shapes", "service_faults")
)
"""These take about half of the time of all tests with Hive."""

GOLDEN_DATA = Path(__file__).parent / "data" / "golden"
FLINK_DATA = Path(__file__).parent / "data" / "flink"


class ByFile(LoadScopeScheduling):
    """Distributes test files to pytest-xdist's workers, but all tests with Hive as one or two
    scopes.

    So only one HiveServer2 is started (two with three or more processes), and the tables of a file
    are written once.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        if not (file.startswith("tests/hive/") or file in _WITH_HIVE):
            return file
        return "hive, values" if file in _HIVE_VALUES and self.numnodes > 2 else "hive"


def _in_make_test(item: pytest.Item) -> bool:
    """Whether `make test` runs a case: of tests with Spark or Hive, what is marked `smoke`.

    `smoke` alone means all cases of a test, `smoke("a", "b")` those with one of these texts in
    their ids.
    """
    if not _ENGINES & {mark.name for mark in item.iter_markers()}:
        return True
    smoke = item.get_closest_marker("smoke")
    if smoke is None:
        return False
    case = getattr(item, "callspec", None)
    return not smoke.args or (case is not None and any(text in case.id for text in smoke.args))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs the slowest tests first, so that no process is left with them at the end."""
    for item in items:
        if not _in_make_test(item):
            item.add_marker(pytest.mark.further)
    items.sort(
        key=lambda item: (not item.get_closest_marker("hive"), not item.get_closest_marker("spark"))
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    """Called if tests run in several processes. None: pytest-xdist chooses by `--dist`."""
    if config.option.dist != "loadfile":
        return None
    config.option.loadscopereorder = False
    return ByFile(config, log)


@pytest.fixture(scope="module")
def user_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache directory of the user for the tests of one module."""
    with pytest.MonkeyPatch.context() as here:
        directory = tmp_path_factory.mktemp("cache")
        here.setenv("XDG_CACHE_HOME", str(directory))
        yield directory


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The base path of each golden table, by the name of its archive. Read-only: copy to change."""
    tables = {}
    for archive in sorted(GOLDEN_DATA.glob("*.zip")):
        target = tmp_path_factory.mktemp("golden") / archive.stem
        with zipfile.ZipFile(archive) as content:
            content.extractall(target)
        tables[archive.stem] = next(d for d in target.iterdir() if (d / ".hoodie").is_dir())
    return tables


@pytest.fixture
def chromium() -> Iterator[Any]:
    """Debian's Chromium, through Playwright.

    One for each test: Playwright keeps an event loop running in the thread of the tests, and no
    other test of the process could call `asyncio.run` until it is stopped.
    """
    program = shutil.which("chromium")
    if program is None:
        message = "Chromium is not installed: apt-get install chromium"
        if os.environ.get("PYHUDI_NEED_BROWSER") == "1":
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def flink(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The base path of each table that Flink wrote, by name (see its README). Read-only."""
    target = tmp_path_factory.mktemp("flink")
    with tarfile.open(FLINK_DATA / "tables.tar.xz") as content:
        # Some releases of Python 3.10 and 3.11 have no filters.
        options = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        content.extractall(target, **options)
    return {path.name: path for path in sorted(target.iterdir()) if path.is_dir()}


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


@pytest.fixture(scope="session")
def zones() -> Zones:
    """The zones of the engines' JVM."""
    return zones_of(java())

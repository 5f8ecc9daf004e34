"""Index jobs, layouts and pruned reads by each version of PySpark 4, compared with those by 3.5.

There is no Hudi bundle for Spark 4.1 and later, so this is what needs none.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from devtools.runtime import SPARK_JAR, java
from tests.packaging.installing import PYTHON, run

pytestmark = pytest.mark.long

Results: TypeAlias = dict[str, Any]

_JOBS = Path(__file__).with_name("index_jobs.py")
_VERSIONS = ("3.5", "4.0", "4.1", "4.2", "4.3")


def jobs(python: Path, golden: Path, home: Path) -> Results:
    """The results of the jobs with this interpreter's Spark, on tables of its own."""
    home.mkdir()
    table = shutil.copytree(golden, home / "table")
    given = {"JAVA_HOME": str(java().resolve().parents[1]), "PYSPARK_PYTHON": str(python)}
    output = run(python, _JOBS, table, home / "trips", SPARK_JAR, cwd=home, given=given)
    found: Results = json.loads(output.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def table(golden: Mapping[str, Path]) -> Path:
    return golden["cow_v9_txns_nonpart_nometa"]


@pytest.fixture(scope="module")
def of_spark_3_5(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    return jobs(PYTHON, table, tmp_path_factory.mktemp("old") / "home")


@pytest.fixture(scope="module", params=_VERSIONS)
def found(
    request: pytest.FixtureRequest,
    wheel: Path,
    table: Path,
    of_spark_3_5: Results,
    tmp_path_factory: pytest.TempPathFactory,
) -> Results:
    """The results by the newest patch of a version of PySpark, in an environment of its own."""
    version: str = request.param
    if version == "3.5":
        return of_spark_3_5
    home = tmp_path_factory.mktemp("new")
    run(sys.executable, "-m", "venv", "env", cwd=home)
    python = home / "env" / "bin" / "python"
    extra = f"{wheel}[spark4,cli]"
    run(python, "-m", "pip", "install", "--quiet", extra, f"pyspark~={version}.0", cwd=home)
    found = jobs(python, table, home / "tables")
    assert found["spark"].startswith(f"{version}.")
    return found


def test_indexes_have_the_entries_of_spark_3_5(found: Results, of_spark_3_5: Results) -> None:
    assert found["entries"] == of_spark_3_5["entries"]
    assert found["kept"] == of_spark_3_5["kept"]
    assert len(found["verified"]) == len(found["entries"])
    assert all(found["verified"])


def test_a_refresh_covers_a_new_commit(found: Results) -> None:
    assert found["refreshed"] == ["lagging", "active", 11]


def test_a_layout_puts_the_same_rows_in_each_file(found: Results, of_spark_3_5: Results) -> None:
    assert found["laid out"] == of_spark_3_5["laid out"]
    assert len(set(found["laid out"])) == 4


def test_pruned_reads_have_the_rows_of_a_full_read(found: Results, of_spark_3_5: Results) -> None:
    """`index_jobs` compares the rows; these are their numbers, and those of the files."""
    assert found["reads"] == of_spark_3_5["reads"]
    for rows, kept, total in found["reads"].values():
        assert rows > 0
        assert 0 < kept < total


def test_filters_of_plans_are_those_of_spark_3_5(found: Results, of_spark_3_5: Results) -> None:
    assert found["filters"] == of_spark_3_5["filters"]


def test_arrow_types_are_those_of_spark_3_5(found: Results, of_spark_3_5: Results) -> None:
    assert found["arrow types"] == of_spark_3_5["arrow types"]
    assert found["arrow types"]["timestamp"] == "timestamp[us, tz=UTC]"


def test_the_extension_is_refused_by_other_versions(found: Results) -> None:
    """Where it is in a session nevertheless, the jobs of this module run with it."""
    if found["spark"].startswith("3.5."):
        assert not found["refusal"]
    else:
        assert f"is for Spark 3.5, and this is PySpark {found['spark']}" in found["refusal"]

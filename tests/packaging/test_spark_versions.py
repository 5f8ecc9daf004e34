"""Index jobs and layouts under Spark 4, compared with Spark 3.5 on the same tables."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from devtools.runtime import java
from tests.packaging.installing import PYTHON, run

pytestmark = pytest.mark.long

_JOBS = Path(__file__).with_name("index_jobs.py")


def jobs(python: Path, golden: Path, home: Path) -> dict:
    """The results of the jobs with this interpreter's Spark, on tables of its own."""
    home.mkdir()
    table = shutil.copytree(golden, home / "table")
    given = {"JAVA_HOME": str(java().resolve().parents[1]), "PYSPARK_PYTHON": str(python)}
    output = run(python, _JOBS, table, home / "trips", cwd=home, given=given)
    return json.loads(output.splitlines()[-1])


def test_index_jobs_and_layouts_run_under_spark_4(wheel, golden, tmp_path):
    run(sys.executable, "-m", "venv", "env", cwd=tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[spark4,cli]", cwd=tmp_path)
    table = golden["cow_v9_txns_nonpart_nometa"]
    new = jobs(python, table, tmp_path / "four")
    old = jobs(PYTHON, table, tmp_path / "three")
    assert new.pop("spark").startswith("4.0.")
    assert old.pop("spark").startswith("3.5.")
    assert new == old
    assert all(new["verified"])
    assert new["refreshed"][:2] == ["lagging", "active"]
    assert new["refreshed"][2] == 11
    assert len(set(new["laid out"])) == 4

"""Executors whose Python has nothing installed get this package by an archive."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tarfile
import venv
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path

import pyarrow as pa
import pytest

import pyhudi_expr as ph
from devtools.spark import own_home
from pyhudi_expr.cli.demo_table import write_demo_table
from pyhudi_expr.installation import version
from pyhudi_expr.spark.jobs.executor_archive import SHIP, executor_archive, shipping_settings
from tests.docs.documents import ROOT

_MASTER = "local-cluster[2,1,1024]"
#: The command line of this checkout, without a variable that executors would inherit.
_PYHUDI = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pyhudi_expr.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("master", [None, "local", "local[*]", "local[4]", "local[2,3]"])
def test_nothing_is_shipped_to_the_own_process(master: str | None) -> None:
    assert shipping_settings(master, {}) == {}


@pytest.mark.parametrize(
    "settings",
    [
        {SHIP: "false"},
        {"spark.pyspark.python": "/opt/python"},
        {"spark.archives": "env.tar.gz"},
        {"spark.submit.pyFiles": "a.zip"},
    ],
)
def test_nothing_is_shipped_to_prepared_executors(settings: dict[str, str]) -> None:
    assert shipping_settings("yarn", settings) == {}


@pytest.mark.long
def test_the_archive_is_built_once_for_each_version(user_cache: Path) -> None:
    settings = {SHIP: "true", "spark.archives": "own.zip", "spark.executorEnv.PYTHONPATH": "own"}
    shipped = shipping_settings("spark://host:7077", settings)
    archive = executor_archive()
    assert shipped == {
        "spark.archives": f"own.zip,{archive.as_uri()}#pyhudi-packages",
        "spark.executorEnv.PYTHONPATH": "own:pyhudi-packages",
    }
    built = archive.stat().st_mtime_ns
    assert executor_archive().stat().st_mtime_ns == built
    assert [file.name for file in (user_cache / "pyhudi" / "executors").iterdir()] == [archive.name]
    with tarfile.open(archive) as content:
        names = content.getnames()
    assert len(names) == len(set(names))
    of_tasks = ("pyhudi_expr", "pyarrow", "obstore")
    of_the_service = ("click", "pydantic_settings", "structlog", "thrift")
    for name in (*of_tasks, *of_the_service):
        assert f"{name}/__init__.py" in names
    assert f"pyhudi_expr-{version()}.dist-info/METADATA" in names
    assert not any(name.startswith("pyspark/") or "/tests/" in name for name in names)


@pytest.mark.long
def test_compiled_modules_fit_the_sources_in_the_archive(user_cache: Path) -> None:
    """Python takes a compiled module if it names the time and size of its source."""
    compiled = Path(cache_from_source(pa.__file__))
    with tarfile.open(executor_archive()) as content:
        if not compiled.is_file():
            pytest.skip("pyarrow was installed without compiled modules")
        source = content.getmember("pyarrow/__init__.py")
        shipped = content.extractfile(f"pyarrow/__pycache__/{compiled.name}")
        assert shipped is not None
        header = shipped.read(16)
    assert header[:4] == MAGIC_NUMBER
    assert struct.unpack("<III", header[4:]) == (0, int(source.mtime), source.size)


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("is_shipped", [True, False])
def test_executors_with_a_bare_python(user_cache: Path, tmp_path: Path, is_shipped: bool) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    python = tmp_path / "bare" / "bin" / "python"
    missing = subprocess.run([python, "-c", "import pyarrow"], capture_output=True, text=True)
    assert "No module named 'pyarrow'" in missing.stderr
    write_demo_table(tmp_path / "trips")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": sys.executable}
    environment["SPARK_HOME"] = own_home(tmp_path / "spark")
    command = ["index", "create", str(tmp_path / "trips"), "ranges"]
    command += ["--using", "column_stats", "--columns", "id,fare", "--master", _MASTER]
    if not is_shipped:
        command += ["--conf", f"{SHIP}=false"]
    done = subprocess.run(
        [sys.executable, "-c", _PYHUDI, *command],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    if is_shipped:
        assert done.returncode == 0, done.stderr
        assert ph.table(tmp_path / "trips").prune("id = 77123").files_kept == 1
    else:
        assert done.returncode == 1
        assert "workers lacks the module" in done.stderr
        assert "spark.pyhudi.ship=true" in done.stderr

"""Sessions that have the extension by `configure`, and the service that they start."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest
from pyspark.sql import SparkSession

from devtools.matrix import FILES, Matrices
from devtools.runtime import ROOT, free_port, hudi_bundle, is_listening
from devtools.spark import session_settings
from devtools.tables import TableType
from pyhudi_expr.errors import HudiError
from pyhudi_expr.spark import configure, session
from tests.service.running_server import GatedHandler, running_server
from tests.spark.extension.scans import load, plan_text
from tests.spark.extension.test_states import OtherVersion

pytestmark = pytest.mark.spark

_ROWS = """
import sys
from pyspark.sql import SparkSession
from pyhudi_expr.spark import configure

builder = SparkSession.builder.master("local[1]").config("spark.jars", sys.argv[1])
builder = builder.config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
builder = builder.config("spark.driver.host", "127.0.0.1")
builder = builder.config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
spark = configure(builder).getOrCreate()
rows = spark.read.format("hudi").load(sys.argv[2]).where("i = -4995")
"""
_PROGRAM = f"""{_ROWS}
rows.explain()
print("rows:", rows.count())
"""
_STATEMENTS = f"""{_ROWS}
index = f"i ON '{{sys.argv[2]}}' USING bloom_filters(s) OPTIONS (store = 'extension')"
print("built:", [row.index_name for row in spark.sql(f"CREATE INDEX {{index}}").collect()])
"""
_UNANSWERED = f"""{_ROWS}
for address in sys.argv[3:]:
    spark.conf.set("spark.pyhudi.service", address)
    for _ in range(3):
        print("rows:", rows.where("s > ''").count())
"""


def run_program(
    text: str, home: Path, table: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program with Hudi's bundle, a table, and further arguments."""
    program = home / "program.py"
    program.write_text(text)
    command = [sys.executable, str(program), str(hudi_bundle()), str(table), *arguments]
    inherited = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**inherited, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=280,
    )


@pytest.fixture
def copy(matrices: Matrices, tmp_path: Path) -> Path:
    """A table that a test may change."""
    return shutil.copytree(matrices.get(TableType.COW).table.path, tmp_path / "table")


def test_configure_adds_to_what_the_builder_has() -> None:
    builder = (
        SparkSession.Builder()
        .config("spark.sql.extensions", "a.B, c.D")
        .config("spark.jars", "/x.jar")
    )
    configure(configure(builder))
    options = builder._options
    hudi = "org.apache.spark.sql.hudi.HoodieSparkSessionExtension"
    assert options["spark.sql.extensions"] == f"a.B,c.D,{hudi},{session.EXTENSION}"
    assert options["spark.jars"] == f"/x.jar,{session.extension_jar()}"
    assert options["spark.pyhudi.python"] == sys.executable
    chosen = SparkSession.Builder().config("spark.pyhudi.python", "/usr/bin/python3")
    assert configure(chosen)._options["spark.pyhudi.python"] == "/usr/bin/python3"


def test_a_missing_jar_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_JAR", "no.jar")
    with pytest.raises(HudiError, match="make spark-jar"):
        configure(SparkSession.Builder())
    packages = "a:b:1, io.pyhudi:pyhudi-spark-extension:1.0"
    resolved = configure(SparkSession.Builder().config("spark.jars.packages", packages))
    assert "spark.jars" not in resolved._options


@pytest.mark.smoke
def test_a_session_starts_a_service_of_its_own(spark: SparkSession, matrices: Matrices) -> None:
    settings = {
        "spark.pyhudi.pruning": "true",
        "spark.pyhudi.python": sys.executable,
        "spark.pyhudi.timeout.ms": "30000",
    }
    with session_settings(spark, settings):
        frame = load(spark, matrices.get(TableType.COW).table.path).where("i = -4995")
        assert f"reads 1 of {FILES} files" in plan_text(frame)
        assert frame.count() == 1


@pytest.mark.long
def test_the_service_ends_with_the_application(matrices: Matrices, tmp_path: Path) -> None:
    done = run_program(_PROGRAM, tmp_path, matrices.get(TableType.COW).table.path)
    assert f"reads 1 of {FILES} files" in done.stdout, done.stderr
    assert "rows: 1" in done.stdout


@pytest.mark.long
def test_the_log_has_one_warning_for_each_cause(matrices: Matrices, tmp_path: Path) -> None:
    """No service, one that is too slow, and one of another version."""
    gated = GatedHandler()
    with running_server(gated) as slow, running_server(OtherVersion()) as other:
        addresses = [f"127.0.0.1:{port}" for port in (free_port(), slow.port, other.port)]
        done = run_program(
            _UNANSWERED, tmp_path, matrices.get(TableType.COW).table.path, *addresses
        )
        gated.gate.set()
    assert done.stdout.count("rows: 1") == 3 * len(addresses), done.stderr
    warnings = [line for line in done.stderr.splitlines() if "every file is read" in line]
    assert len(warnings) == len(addresses), done.stderr
    for outcome, line in zip(("UNREACHABLE", "TIMED_OUT", "OTHER_VERSION"), warnings, strict=True):
        assert outcome in line


@pytest.mark.long
def test_the_jar_comes_by_its_coordinates(matrices: Matrices, tmp_path: Path) -> None:
    """A Maven repository has the jar and the model that is in it."""
    named = "META-INF/maven/io.pyhudi/pyhudi-spark-extension"
    with ZipFile(session.extension_jar()) as jar:
        model = jar.read(f"{named}/pom.xml")
        properties = jar.read(f"{named}/pom.properties").decode()
    version = re.findall(r"^version=(.*)$", properties, re.MULTILINE)[0].strip()
    artifact = f"pyhudi-spark-extension-{version}"
    home = tmp_path / "repository" / "io" / "pyhudi" / "pyhudi-spark-extension" / version
    home.mkdir(parents=True)
    (home / f"{artifact}.pom").write_bytes(model)
    shutil.copy(session.extension_jar(), home / f"{artifact}.jar")
    settings = {
        "spark.jars.packages": f"io.pyhudi:pyhudi-spark-extension:{version}",
        "spark.jars.repositories": (tmp_path / "repository").as_uri(),
        "spark.jars.ivy": str(tmp_path / "ivy"),
    }
    program = _PROGRAM.replace("configure(builder)", f"configure(builder.config(map={settings}))")
    done = run_program(program, tmp_path, matrices.get(TableType.COW).table.path)
    assert f"reads 1 of {FILES} files" in done.stdout, done.stderr
    assert "rows: 1" in done.stdout
    assert [path.name for path in (tmp_path / "ivy" / "jars").iterdir()] == [
        f"io.pyhudi_{artifact}.jar"
    ]


@pytest.mark.long
def test_tasks_of_statements_run_the_same_python(copy: Path, tmp_path: Path) -> None:
    """On one machine; the `python3` of the path is another one, as without an activated one."""
    venv.create(tmp_path / "bare", symlinks=True)
    path = f"{tmp_path / 'bare' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = run_program(_STATEMENTS, tmp_path, copy, PATH=path)
    assert "built: ['i'" in done.stdout, done.stderr


def test_a_companion_ends_with_its_parent(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef0123456789abcdef")
    command = [sys.executable, "-m", "pyhudi_expr.service.running.companion", str(token)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as companion:
        assert companion.stdin is not None
        assert companion.stdout is not None
        port = int(companion.stdout.readline())
        assert is_listening(port)
        companion.stdin.close()
        assert companion.wait(20) == 0
    end = time.monotonic() + 20
    while is_listening(port):
        assert time.monotonic() < end

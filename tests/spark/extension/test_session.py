"""Sessions that have the extension by `configure`, and the service that they start."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.matrix import FILES, Matrices
from devtools.runtime import ROOT, free_port, hudi_bundle, is_listening
from devtools.spark import session_settings
from devtools.tables import TableType
from pyhudi_expr.spark import configure, session
from pyhudi_expr.table.errors import HudiError
from tests.spark.extension.scans import load, plan_text

pytestmark = pytest.mark.spark

_PROGRAM = """
import re, sys
from pyspark.sql import SparkSession
from pyhudi_expr.spark import configure

builder = SparkSession.builder.master("local[1]").config("spark.jars", sys.argv[1])
builder = builder.config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
builder = builder.config("spark.driver.host", "127.0.0.1")
builder = builder.config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
spark = configure(builder).getOrCreate()
rows = spark.read.format("hudi").load(sys.argv[2]).where("i = -4995")
rows.explain()
print("rows:", rows.count())
"""


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
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    path = matrices.get(TableType.COW).table.path
    command = [sys.executable, str(program), str(hudi_bundle()), str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert f"reads 1 of {FILES} files" in done.stdout, done.stderr
    assert "rows: 1" in done.stdout


@pytest.mark.long
def test_the_log_has_one_warning_for_each_cause(matrices: Matrices, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    unreachable = f'spark.conf.set("spark.pyhudi.service", "127.0.0.1:{free_port()}")'
    program.write_text(
        _PROGRAM.replace("rows =", f"{unreachable}\nrows =") + "rows.collect()\n" * 3
    )
    path = matrices.get(TableType.COW).table.path
    command = [sys.executable, str(program), str(hudi_bundle()), str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert "rows: 1" in done.stdout, done.stderr
    warnings = [line for line in done.stderr.splitlines() if "every file is read" in line]
    assert len(warnings) == 1, done.stderr
    assert "UNREACHABLE" in warnings[0]


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

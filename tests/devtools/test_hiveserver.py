"""HiveServer2 from Maven jars reads Hudi tables on every engine, with Hudi's input formats."""

import os
import re
import signal
import subprocess
import sys
import zipfile

import pytest
from pyhive import hive as pyhive

from devtools.ddl import create_native
from devtools.hiveserver import ENGINES, HUDI_INPUT_FORMAT_SETTINGS, HiveServer
from devtools.matrix import Matrices, Matrix, Partitioning
from devtools.tables import TableType
from tests.docs.documents import ROOT, Runner, pieces

pytestmark = [pytest.mark.spark, pytest.mark.hive]


@pytest.fixture(scope="module")
def matrix(matrices: Matrices) -> Matrix:
    return matrices.get(TableType.COW, 8, Partitioning.LEVELS)


@pytest.fixture(scope="module")
def native_table(hive_server: HiveServer, matrix: Matrix) -> str:
    with hive_server.session() as session:
        for statement in create_native(matrix.table, "native_matrix"):
            session.run(statement)
    return "native_matrix"


@pytest.mark.smoke("fetch")
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_reads_the_rows(
    hive_server: HiveServer, matrix: Matrix, native_table: str, engine: str
) -> None:
    settings = {**HUDI_INPUT_FORMAT_SETTINGS, **ENGINES[engine]}
    with hive_server.session(settings) as session:
        rows = session.run(f"SELECT id, s FROM {native_table} WHERE i >= 0")
        count = session.run(f"SELECT count(*) FROM {native_table}")
    expected = [(row["id"], row["s"]) for row in matrix.rows if row["i"] >= 0]
    assert sorted(rows) == expected
    assert count == [(len(matrix.rows),)]


def test_the_log_is_quiet(hive_server: HiveServer, native_table: str) -> None:
    with hive_server.session() as session:
        log_start = len(hive_server.log())
        session.run("SELECT 1")
    assert hive_server.log()[log_start:] == ""


def test_the_parsers_classes_are_in_one_jar(hive_server: HiveServer) -> None:
    """With an older version of them in another jar, EXCEPT depends on the order of the jars."""
    holders = [
        jar.name
        for jar in hive_server.line.lib.glob("*.jar")
        if "org/antlr/runtime/Parser.class" in zipfile.ZipFile(jar).namelist()
    ]
    assert len(holders) == 1
    assert holders[0].startswith("hive-exec-")


@pytest.mark.long
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_hiveserver2_is_started_manually_as_documented(ending: signal.Signals) -> None:
    (piece,) = pieces(Runner.SERVER)
    started = subprocess.Popen(
        [sys.executable, *piece.words[1:]],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
        # As in a terminal; background jobs ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert started.stdout is not None
        found = re.fullmatch(
            r"HiveServer2 listens on 127\.0\.0\.1:(\d+); its log is in (.+)\n",
            started.stdout.readline(),
        )
        assert found is not None
        with pyhive.connect("127.0.0.1", int(found[1]), auth="NOSASL") as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT 1")
            assert cursor.fetchall() == [(1,)]
        started.send_signal(ending)
        started.communicate(timeout=120)
        assert not os.path.exists(found[2])
    finally:
        started.kill()
        started.communicate()

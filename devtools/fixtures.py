"""Pytest fixtures of servers and tables; `conftest.py` in the root registers them.

Each starts at its first use and stops at the end of the session.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.hive_versions import HIVE_4_LINES
from devtools.hiveserver import GUARDED, HiveServer
from devtools.matrix import Matrices
from devtools.runtime import SPARK_JAR
from devtools.s3.hadoop import spark_s3a_jars
from devtools.service import ServiceProcess
from devtools.spark import SHORT_QUERIES, spark_session
from pyhudi_expr.manage.indexing.writer_options import HUDI_SESSION
from pyhudi_expr.spark.session import EXTENSION


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that chooses the version of Hive."""
    parser.addoption("--hive", choices=HIVE_4_LINES, default="4.0", help="the version of Hive")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A Spark session with Hudi, in UTC; with S3A if that has been fetched.

    It has our extension, too, if that has been built. Its parts are off unless a test turns them
    on: Hudi alone prunes, parses and deletes indexes.
    """
    jars, settings = [*spark_s3a_jars()], dict(SHORT_QUERIES)
    if SPARK_JAR.is_file():
        extensions = f"{HUDI_SESSION['spark.sql.extensions']},{EXTENSION}"
        parts = ("pruning", "statements", "indexes.keep")
        settings |= {"spark.sql.extensions": extensions}
        settings |= {f"spark.pyhudi.{part}": "false" for part in parts}
        jars.append(SPARK_JAR)
    with spark_session("tests", jars=jars, settings=settings) as session:
        yield session


@pytest.fixture(scope="session")
def hive_server(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HiveServer]:
    """A HiveServer2 of the chosen version with the storage handler.

    Restart it after a failed Tez task.

    Its time zone is New York, so that tests see code that confuses instants with wall-clock
    times, or ignores changes of the clock.
    """
    line = HIVE_4_LINES[pytestconfig.getoption("--hive")]
    run_dir = tmp_path_factory.mktemp("hive")
    with HiveServer(run_dir, zone="America/New_York", line=line, settings=GUARDED) as server:
        yield server


@pytest.fixture(scope="session")
def pruning_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A pruning service."""
    with ServiceProcess(tmp_path_factory.mktemp("service")) as server:
        yield server


@pytest.fixture(scope="session")
def table_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for the session's tables."""
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="session")
def shared_root(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A directory that all test processes of this run share."""
    own = tmp_path_factory.getbasetemp()
    return own if worker_id == "master" else own.parent


@pytest.fixture(scope="session")
def matrices(spark: SparkSession, shared_root: Path) -> Matrices:
    """The matrix tables of all test processes, each written at its first use. Read only."""
    return Matrices(spark, shared_root / "matrices")

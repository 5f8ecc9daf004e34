"""Fixtures for tables that Hudi's sync has registered."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession

from devtools.runtime import HIVE_LIB
from pyhudi_expr.cli.main import main
from tests.hive.adoption.adopt_command import Adopt
from tests.hive.adoption.hudi_sync import HudiSync, metastore_uri
from tests.hive.query_results import Hive


@pytest.fixture(scope="session")
def hudi_sync(
    hive: Hive, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> HudiSync:
    """Hudi's sync tool, which writes to the metastore of the session's HiveServer2."""
    uri = metastore_uri(hive.server, HIVE_LIB, tmp_path_factory.mktemp("metastore-port"))
    return HudiSync(spark, hive.server, uri, "jdbc")


@pytest.fixture(scope="session")
def lake(hive: Hive) -> str:
    """A database."""
    hive.run("CREATE DATABASE lake")
    return "lake"


@pytest.fixture
def adopt(hive: Hive, capsys: pytest.CaptureFixture[str]) -> Adopt:
    """`pyhudi hive adopt` with the session's HiveServer2."""
    options = ["--hs2", f"127.0.0.1:{hive.server.port}", "--auth", "NOSASL", "--json"]

    def adopt(*arguments: str, code: int = 0) -> list[Mapping[str, Any]]:
        capsys.readouterr()
        found = main(["hive", "adopt", *arguments, *options])
        captured = capsys.readouterr()
        assert found == code, captured.err
        tables: list[Mapping[str, Any]] = json.loads(captured.out)["tables"]
        return tables

    return adopt

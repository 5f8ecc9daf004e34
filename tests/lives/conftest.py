"""Lives in the session of the other tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.runtime import SPARK_JAR
from tests.lives.living import Place
from tests.lives.sessions import Sessions, shared_sessions


@pytest.fixture(scope="module")
def sessions(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    if not SPARK_JAR.is_file():
        pytest.fail(f"{SPARK_JAR} is missing: make spark-jar")
    with shared_sessions(tmp_path_factory.mktemp("service"), spark) as shared:
        yield shared


@pytest.fixture
def place(sessions: Sessions, tmp_path: Path) -> Place:
    return Place(tmp_path, sessions)

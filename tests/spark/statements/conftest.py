"""The shared session with our statements turned on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from pyspark.sql import SparkSession

from devtools.runtime import SPARK_JAR
from devtools.spark import session_settings

OURS: Mapping[str, str] = {"spark.pyhudi.statements": "true", "spark.pyhudi.indexes.keep": "true"}


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, in a database of its own."""
    if not SPARK_JAR.is_file():
        pytest.fail(f"{SPARK_JAR} is missing: make spark-jar")
    with session_settings(spark, OURS):
        spark.sql("CREATE DATABASE IF NOT EXISTS stated")
        spark.sql("USE stated")
        yield spark
        spark.sql("USE default")
        spark.sql("DROP DATABASE stated CASCADE")

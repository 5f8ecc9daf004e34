"""The shared session with pruning by our extension turned on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from pyspark.sql import SparkSession

from devtools.runtime import SPARK_JAR
from devtools.service import ServiceProcess
from devtools.spark import session_settings

UNPRUNED: Mapping[str, str] = {"spark.pyhudi.pruning": "false"}
"""Settings with which only Hudi skips."""


def pruned_by(address: str) -> dict[str, str]:
    """Settings with which a service prunes."""
    return {
        "spark.pyhudi.pruning": "true",
        "spark.pyhudi.service": address,
        "spark.pyhudi.timeout.ms": "30000",
    }


@pytest.fixture
def extended(spark: SparkSession, pruning_service: ServiceProcess) -> Iterator[SparkSession]:
    """The session with pruning by the shared service."""
    if not SPARK_JAR.is_file():
        pytest.fail(f"{SPARK_JAR} is missing: make spark-jar")
    with session_settings(spark, pruned_by(pruning_service.address)):
        yield spark

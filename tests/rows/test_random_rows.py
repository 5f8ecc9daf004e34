"""Random tables give the same rows by Hudi's Spark reader and by `scan`, however they are asked.

`make rows` has more of them. A failure names its seed: `make rows SEED=s CASES=n` has it as its
first states.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.rows.reads import Tally, read_state
from tests.rows.states import ANY_VALUES

pytestmark = pytest.mark.spark

_SECONDS = 30
_STATES = 3
_OF_HADOOP = "spark.hadoop."


@pytest.fixture
def any_values(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that writes and reads each value."""
    session = spark.newSession()
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in ANY_VALUES.items():
        if name.startswith(_OF_HADOOP):
            hadoop.set(name.removeprefix(_OF_HADOOP), value)
        else:
            session.conf.set(name, value)
    yield session
    for name in ANY_VALUES:
        hadoop.unset(name.removeprefix(_OF_HADOOP))


@pytest.mark.smoke
def test_scan_returns_the_rows_of_spark(any_values: SparkSession, tmp_path: Path) -> None:
    """Some states with a new seed, as far as they get in the time."""
    seed, ends_at = secrets.randbelow(10**9), time.monotonic() + _SECONDS
    tally = Tally.empty()
    for number in range(_STATES):
        if number and time.monotonic() > ends_at:
            break
        read_state(any_values, tmp_path, seed, number, tally)
    assert tally.reads
    assert not tally.different, f"SEED={seed}: {tally.different}"

"""Cleaning up after failed Spark jobs."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from pyhudi_expr.cli.demo_table import write_demo_table
from pyhudi_expr.errors import HudiError
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.jobs.job_errors import await_running_tasks, translate_spark_errors

pytestmark = pytest.mark.spark

_GROUP = "spark.jobGroup.id"


def test_an_error_is_raised_after_all_tasks_have_ended(spark: SparkSession, tmp_path: Path) -> None:
    """One task fails as soon as the other holds a lock, which it keeps for a second."""
    started, held = tmp_path / "started", tmp_path / "held"

    def work(number: int) -> int:
        if number == 0:
            while not started.exists():
                time.sleep(0.01)
            raise ValueError("this one fails")
        with held.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            started.touch()
            time.sleep(1)
        return number

    def run() -> None:
        spark.sparkContext.parallelize(range(2), 2).map(work).collect()

    with pytest.raises(Py4JError, match="this one fails"), await_running_tasks(spark.sparkContext):
        run()
    with held.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize("group", [None, "theirs"])
def test_the_sessions_own_job_group_is_kept(spark: SparkSession, group: str | None) -> None:
    context = spark.sparkContext
    context.setLocalProperty(_GROUP, group)
    try:
        with await_running_tasks(context):
            assert (context.getLocalProperty(_GROUP) == group) == (group is not None)
            assert spark.range(10).count() == 10
        assert context.getLocalProperty(_GROUP) == group
    finally:
        context.setLocalProperty(_GROUP, None)


def test_an_error_of_a_task_is_reported_in_one_line(spark: SparkSession) -> None:
    def fail(_numbers: Iterator[int]) -> Iterator[int]:
        raise HudiError("t: a file is damaged")

    with pytest.raises(HudiError, match=r"^t: a file is damaged$"), translate_spark_errors():
        spark.sparkContext.parallelize([1], 1).mapPartitions(fail).collect()
    with (
        pytest.raises(HudiError, match=r"^the Spark job failed: [^\n]+$"),
        translate_spark_errors(),
    ):
        spark.sql("SELECT * FROM no_such_table").collect()


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that has nothing installed."""
    place = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    return str(place / "bin" / "python")


@pytest.mark.smoke
def test_a_module_that_workers_lack_is_named(
    spark: SparkSession, tmp_path: Path, bare_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver has the package, and the Python that Spark starts for its tasks has not."""
    table = tmp_path / "trips"
    write_demo_table(table)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", bare_python)
    expected = r"workers lacks the module (pyarrow|numpy|pyhudi_expr): set spark\.pyspark\.python"
    with pytest.raises(HudiError, match=expected):
        execute(spark, f"CREATE INDEX names ON '{table}' USING bloom_filters")


def test_the_last_line_of_a_tasks_traceback_is_reported(spark: SparkSession) -> None:
    def fail(_numbers: Iterator[int]) -> Iterator[int]:
        raise ValueError("this one fails")

    expected = r"^the Spark job failed: ValueError: this one fails$"
    with pytest.raises(HudiError, match=expected), translate_spark_errors():
        spark.sparkContext.parallelize([1], 1).mapPartitions(fail).collect()

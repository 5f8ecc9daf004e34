"""Cleaning up after failed Spark jobs."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from pyhudi_expr.spark.jobs.job_errors import await_running_tasks, translate_spark_errors
from pyhudi_expr.table.errors import HudiError

pytestmark = pytest.mark.spark

_GROUP = "spark.jobGroup.id"


def test_an_error_is_raised_after_all_tasks_have_ended(spark: SparkSession, tmp_path: Path) -> None:
    """One task fails as soon as the other holds a lock, which it keeps for a second."""
    started, held = tmp_path / "begun", tmp_path / "held"

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

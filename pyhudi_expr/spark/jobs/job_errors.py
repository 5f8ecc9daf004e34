"""Failing Spark jobs: one clear error with the task's message, and no task that goes on writing."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.status import StatusTracker

from pyhudi_expr.table.errors import HudiError

# The last line of a task's traceback, where the error is one of this package.
_OWN_ERRORS = re.compile(r"^pyhudi_expr\.(?:\w+\.)+\w+: (.+)$", re.MULTILINE)
_LONGEST = 300
_GROUP = "spark.jobGroup.id"
_PATIENCE, _PAUSE = 60.0, 0.02  # seconds


@contextmanager
def translate_spark_errors() -> Iterator[None]:
    """Raise HudiError instead of Spark's exceptions."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise HudiError(_cause(str(error))) from error


@contextmanager
def await_running_tasks(context: SparkContext) -> Iterator[None]:
    """If the block fails, wait until no task of its jobs is running before the error goes on.

    Spark reports a failed job while other tasks of it are still writing: files written after the
    rollback would stay.
    """
    before = context.getLocalProperty(_GROUP)
    group = before or f"pyhudi-{uuid.uuid4()}"
    tracker = context.statusTracker()
    known = set(tracker.getJobIdsForGroup(group))
    context.setLocalProperty(_GROUP, group)
    try:
        yield
    except BaseException:
        give_up = time.monotonic() + _PATIENCE
        while _at_work(tracker, set(tracker.getJobIdsForGroup(group)) - known):
            if time.monotonic() > give_up:
                break
            time.sleep(_PAUSE)
        raise
    finally:
        context.setLocalProperty(_GROUP, before)  # type: ignore[arg-type] # None: as it was


def _at_work(tracker: StatusTracker, jobs: set[int]) -> bool:
    """Return whether tasks of jobs are running; started tasks are known before their job ends."""
    for found in map(tracker.getJobInfo, jobs):
        stages = [] if found is None else map(tracker.getStageInfo, found.stageIds)
        if found is not None and found.status == "RUNNING":
            return True
        if any(stage is not None and stage.numActiveTasks for stage in stages):
            return True
    return False


def _cause(text: str) -> str:
    ours = _OWN_ERRORS.findall(text)
    if ours:
        return str(ours[-1])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    reason = (causes or lines or ["there is no message"])[-1 if causes else 0]
    return f"the Spark job failed: {reason[:_LONGEST]}"

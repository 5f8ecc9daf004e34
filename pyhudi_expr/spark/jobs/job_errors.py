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

from pyhudi_expr.errors import HudiError

# The last line of a task's traceback, where the error is one of this package.
_OWN_ERRORS = re.compile(r"^pyhudi_expr\.(?:\w+\.)+\w+: (.+)$", re.MULTILINE)
_MISSING_MODULE = re.compile(r"No module named '?([\w.]+)'?")
#: The last line of a traceback of Python.
_RAISED = re.compile(r"^\s*((?:\w+\.)*\w*(?:Error|Exception)(?:: .+)?)$", re.MULTILINE)
_TRACEBACK = "Traceback (most recent call last)"
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


def missing_module(text: str) -> str | None:
    """Return what to do about a module that Spark's workers lack, by an error's text; else None."""
    missing = _MISSING_MODULE.search(text)
    if missing is None:
        return None
    return (
        f"the Python of Spark's workers lacks the module {missing[1]}: set spark.pyspark.python,"
        " or the variable PYSPARK_PYTHON, to a Python in which this package is installed, on each"
        " host with executors; or have it shipped, as pyhudi --master does with"
        " spark.pyhudi.ship=true"
    )


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
    lacking = missing_module(text)
    if lacking:
        return lacking
    raised = _RAISED.findall(text.rpartition(_TRACEBACK)[2]) if _TRACEBACK in text else []
    if raised:
        return f"the Spark job failed: {raised[-1][:_LONGEST]}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    reason = (causes or lines or ["there is no message"])[-1 if causes else 0]
    return f"the Spark job failed: {reason[:_LONGEST]}"

"""Failing Spark jobs: one clear error, and no task that goes on writing; calls into the JVM."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.status import StatusTracker

from pyhudi_expr.errors import HudiError

#: An object of the JVM, of py4j: its methods are looked up when they are called.
JavaObject: TypeAlias = Any


class NoSuchMemberError(Exception):
    """A class has no field or method of the name."""


def jvm(spark: SparkSession) -> JavaObject:
    """Return the JVM's packages."""
    return spark._jvm


def to_list(stream: JavaObject) -> list[Any]:
    """Return the elements of a Java stream or collection.

    An iteration in Python ends by a Java exception, for which PySpark makes dozens of calls.
    """
    return list(stream.toArray())


def private_field(target: JavaObject, name: str) -> JavaObject:
    """Return the value of a field that is not public."""
    return _declared(target, "getDeclaredFields", name).get(target)


def call_private(
    spark: SparkSession, target: JavaObject, name: str, arguments: Sequence[Any]
) -> JavaObject:
    """Call a method that is not public."""
    method = _declared(target, "getDeclaredMethods", name)
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(gateway.jvm.java.lang.Object, len(arguments))
    for index, argument in enumerate(arguments):
        array[index] = argument
    return method.invoke(target, array)


def _declared(target: JavaObject, members: str, name: str) -> JavaObject:
    """Return a member of the object's class, or of the nearest superclass that has it."""
    at = target.getClass()
    while at is not None:
        for member in getattr(at, members)():
            if member.getName() == name and not member.isSynthetic():
                member.setAccessible(True)
                return member
        at = at.getSuperclass()
    raise NoSuchMemberError(name)


def causes(error: JavaObject) -> str:
    """Return the first lines of a Java exception's message and its causes', outermost first."""
    messages: list[str] = []
    while error is not None:
        if error.getMessage():
            messages.append(str(error.getMessage()).strip().partition("\n")[0])
        error = error.getCause()
    return "; ".join(dict.fromkeys(messages))


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

"""Spark sessions for commands, and their options."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from shutil import which
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from pyhudi_expr.cli.options import Command
from pyhudi_expr.cli.progress import job_progress, progress_while
from pyhudi_expr.errors import HudiError
from pyhudi_expr.installation import require_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OUTPUTS = (1, 2)
"""The descriptors of standard output and standard error."""
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set where spark-submit has started this process: the master and Python are then its own."""
_ONE_BAR = {"spark.ui.showConsoleProgress": "false"}
"""Spark's own is shown where there is no terminal, too."""


def with_spark(command: Command) -> Command:
    """Add the options of a command that runs Spark jobs."""
    for option in (
        click.option("--master", help="Spark's master; by default local[*], or spark-submit's."),
        click.option(
            "--conf",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="A setting of the Spark session; repeatable.",
        ),
    ):
        command = option(command)
    return command


@contextmanager
def spark_session(
    purpose: str,
    master: str | None,
    settings: Sequence[str],
    defaults: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """Start a Spark session for a `with` block, with a bar of its jobs' progress.

    Args:
        purpose: The text of the bar.
        master: Spark's master. None: that of spark-submit, of the variable MASTER or of
            spark-defaults.conf; Spark's own default is local[*].
        settings: KEY=VALUE texts, which override the defaults.
        defaults: Default settings.

    To executors on a cluster this package is shipped, see `executor_archive`; spark-submit has
    options of its own for that.

    What the JVM says while it starts is not shown, unless it fails to.

    Raises:
        HudiError: pyspark is missing, or Spark does not start.
        OSError: What is shipped to executors cannot be written.
    """
    with require_extra("spark"):
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession

        from pyhudi_expr.spark.jobs.executor_archive import shipping_settings
    builder: Any = SparkSession.builder.appName(f"pyhudi: {purpose}").config(
        "spark.ui.enabled", "false"
    )
    if master:
        builder = builder.master(master)
    given = {**_ONE_BAR, **(defaults or {}), **key_values(settings)}
    shipped: Mapping[str, str] = {}
    if _SUBMITTED not in os.environ:
        shipped = shipping_settings(master, given)
        os.environ.setdefault("PYSPARK_PYTHON", _python_of_workers(bool(shipped)))
    for key, value in {**given, **shipped}.items():
        builder = builder.config(key, value)
    try:
        with progress_while("starting Spark", _console_of_its_own()), output_on_failure():
            spark: SparkSession = builder.getOrCreate()
    except PySparkRuntimeError as error:
        raise HudiError(f"Spark did not start: {error}") from error
    spark.sparkContext.setLogLevel("ERROR")
    try:
        with job_progress(spark.sparkContext, purpose):
            yield spark
    finally:
        spark.stop()


def _python_of_workers(is_shipped: bool) -> str:
    """Return the Python that runs tasks if none is named.

    Other machines hardly have the driver's environment; what is shipped needs the same minor
    version only.
    """
    named = "python{}.{}".format(*sys.version_info)
    return named if is_shipped and which(named) else sys.executable


@contextmanager
def output_on_failure() -> Iterator[None]:
    """Hide what this process and its children write, and show it on standard error on failure.

    The JVM inherits the descriptors: it writes to a file that is gone, as long as it lives. What
    fails in Spark's jobs is an exception in this process.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept = [os.dup(descriptor) for descriptor in _OUTPUTS]
    with TemporaryFile() as hidden:
        try:
            for descriptor in _OUTPUTS:
                os.dup2(hidden.fileno(), descriptor)
            yield
        except BaseException:
            hidden.seek(0)
            os.write(kept[-1], hidden.read())
            raise
        finally:
            for descriptor, old in zip(_OUTPUTS, kept, strict=True):
                os.dup2(old, descriptor)
                os.close(old)


def _console_of_its_own() -> Console:
    """Return a console on standard error that stays there when the descriptor is replaced."""
    return Console(file=os.fdopen(os.dup(_OUTPUTS[-1]), "w"))


def key_values(texts: Sequence[str]) -> dict[str, str]:
    """Parse KEY=VALUE texts. Raises click.UsageError."""
    wrong = [text for text in texts if "=" not in text]
    if wrong:
        raise click.UsageError(f"{wrong[0]!r} is not of the form KEY=VALUE")
    return dict(text.partition("=")[::2] for text in texts)

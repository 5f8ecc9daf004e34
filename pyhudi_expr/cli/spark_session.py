"""Spark sessions for commands, and their options."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from pyhudi_expr.cli.progress import job_progress, progress_while
from pyhudi_expr.table.optional_dependencies import require_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Command = Callable[..., None]
_ONE_BAR = {"spark.ui.showConsoleProgress": "false"}
"""Spark's own is shown where there is no terminal, too."""


def with_spark(command: _Command) -> _Command:
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
        master: Spark's master.
        settings: KEY=VALUE texts, which override the defaults.
        defaults: Default settings.

    Raises:
        HudiError: pyspark is missing.
    """
    with require_extra("spark"):
        from pyspark.sql import SparkSession
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder.appName(f"pyhudi: {purpose}").config(
        "spark.ui.enabled", "false"
    )
    builder = builder.master(master or os.environ.get("MASTER") or "local[*]")
    for key, value in {**_ONE_BAR, **(defaults or {}), **key_values(settings)}.items():
        builder = builder.config(key, value)
    with progress_while("starting Spark"), stdout_as_stderr():
        spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        with job_progress(spark.sparkContext, purpose):
            yield spark
    finally:
        spark.stop()


@contextmanager
def stdout_as_stderr() -> Iterator[None]:
    """Redirect standard output while Spark's JVM starts: a command prints its result only."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def key_values(texts: Sequence[str]) -> dict[str, str]:
    """Parse KEY=VALUE texts. Raises click.UsageError."""
    wrong = [text for text in texts if "=" not in text]
    if wrong:
        raise click.UsageError(f"{wrong[0]!r} is not of the form KEY=VALUE")
    return dict(text.partition("=")[::2] for text in texts)

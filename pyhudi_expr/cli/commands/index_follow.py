"""`pyhudi index follow`: the extension's indexes are refreshed after commits.

A step that fails is reported once and tried again: a server may be restarting, or a writer have the
table's lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial

import click

from pyhudi_expr.cli import reports
from pyhudi_expr.cli.commands.index_building import (
    building,
    located,
    report_built,
    with_writing,
)
from pyhudi_expr.cli.options import AS_JSON, TABLE, OptionValue, examples
from pyhudi_expr.cli.reports import print_plan
from pyhudi_expr.cli.spark_session import with_spark
from pyhudi_expr.cli.terminal import DRY_RUN, echo
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus, State, index_statuses
from pyhudi_expr.manage.building import IndexBuilding
from pyhudi_expr.manage.following import CommitCalls, repeat
from pyhudi_expr.manage.indexing.build_options import BuildResult
from pyhudi_expr.manage.indexing.statements import RefreshIndex
from pyhudi_expr.manage.operations import plan_record, run
from pyhudi_expr.tables.hudi_table import HudiTable

SECONDS = click.FloatRange(min=0, min_open=True)


def listened(callback: str | None) -> tuple[str, int] | None:
    """Return the host and the port of the option `--callback`. Raises click.UsageError."""
    if callback is None:
        return None
    host, _, port = callback.rpartition(":")
    if not host or not port.isdecimal():
        raise click.UsageError(f"--callback {callback} is not of the form HOST:PORT")
    return host.strip("[]"), int(port)


def repeat_until_interrupted(
    step: Callable[[], None], every: float, listened: tuple[str, int] | None
) -> None:
    """Repeat a step until Ctrl-C.

    Args:
        step: What to do.
        every: Seconds between two steps.
        listened: Host and port for the commit callbacks of Hudi's writers; None: none.
    """
    reported = _Reported(step)
    try:
        if listened is None:
            repeat(reported.step, time.sleep, every)
            return
        with CommitCalls(*listened) as calls:
            echo(f"commit callbacks: http://{listened[0]}:{calls.port}", err=True)
            repeat(reported.step, calls.wait, every)
    except KeyboardInterrupt:
        echo("stopped", err=True)


class _Reported:
    """A step whose failures are printed, each once."""

    def __init__(self, step: Callable[[], None]) -> None:
        self._step = step
        self._last = ""

    def step(self) -> None:
        try:
            self._step()
            self._last = ""
        except (HudiError, OSError) as error:
            text = " ".join(str(error).split())
            if text != self._last:
                echo(f"not done, tried again: {text}", err=True)
            self._last = text


_ALL_CURRENT = "the extension's indexes are up to date"


@click.command(
    short_help="Refresh the extension's indexes after each commit, until Ctrl-C.",
    epilog=examples(
        ("pyhudi index follow trips --callback 0.0.0.0:9101", "at once after each commit"),
        ("pyhudi index follow trips --once", "for a scheduler"),
        ("pyhudi index follow trips --dry-run", "what lags"),
    ),
)
@TABLE
@click.option("--once", "is_once", is_flag=True, help="Refresh what lags, and end.")
@click.option(
    "--every",
    type=SECONDS,
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look for commits.",
)
@click.option(
    "--callback",
    metavar="HOST:PORT",
    help="Listen for Hudi's commit callbacks, and refresh at once after each.",
)
@DRY_RUN
@with_spark
@with_writing
@AS_JSON
def follow(
    table: str,
    is_once: bool,
    every: float,
    callback: str | None,
    dry_run: bool,
    as_json: bool,
    **settings: OptionValue,
) -> None:
    """Refresh the indexes of TABLE that are in the extension, whenever they lag behind its writers.

    TABLE is a base path or URI, or database.table in the metastore of the Spark session. Spark
    starts with the first refresh. A refresh that fails is reported and tried again; with --once the
    exit code is 1.
    """
    if (is_once or dry_run) and callback is not None:
        given = "--once" if is_once else "--dry-run"
        raise click.UsageError(f"{given} does not wait for callbacks: leave --callback out")
    if as_json and not (is_once or dry_run):
        raise click.UsageError("--json needs --once: following goes on, and prints lines")
    address = listened(callback)
    path = located(table, settings)
    if dry_run:
        _print_plans(path, as_json, settings)
        return
    if is_once:
        done = _refreshed(path, settings)
        if as_json:
            echo(reports.as_json({"built": [asdict(built) for built in done]}))
            return
        for built in done:
            report_built(built, False, "")
        if not done:
            echo(_ALL_CURRENT)
        return
    _of_extension(path)
    repeat_until_interrupted(partial(_step, path, settings), every, address)


def _step(path: str, settings: Mapping[str, OptionValue]) -> None:
    for built in _refreshed(path, settings):
        report_built(built, False, "")


def _refreshed(path: str, settings: Mapping[str, OptionValue]) -> list[BuildResult]:
    """Refresh the indexes that are not current; a refresh of one brings up most of the others.

    Raises:
        HudiError: The table has no index in the extension, or a refresh failed.
    """
    found = [run(one) for one in _lagging(path, settings)]
    return [built for built in found if built is not None]


def _print_plans(path: str, as_json: bool, settings: Mapping[str, OptionValue]) -> None:
    """Print the plan for each index that lags; the refresh of one brings up most of the others."""
    plans = []
    for operation in _lagging(path, settings):
        plan = operation.plan()
        operation.check(plan)
        plans.append(plan)
    if as_json:
        echo(reports.as_json({"plans": [{"index": p.name, **plan_record(p)} for p in plans]}))
        return
    for plan in plans:
        echo(f"would refresh {plan.name}, which is {plan.state}")
        print_plan(plan, False)
    if not plans:
        echo(_ALL_CURRENT)


def _lagging(path: str, settings: Mapping[str, OptionValue]) -> Iterator[IndexBuilding]:
    """Yield the refresh of each index that is not current. Raises HudiError."""
    for one in _of_extension(path):
        if one.state is not State.ACTIVE:
            request = RefreshIndex(one.name, path)
            yield building(request, f"refreshing {one.name}", settings)


def _of_extension(path: str) -> list[IndexStatus]:
    """Return the indexes of the extension. Raises HudiError if there is none."""
    found = [one for one in index_statuses(HudiTable.open(path)) if one.store is Store.EXTENSION]
    if not found:
        raise HudiError(
            f"{path}: the table has no index in the extension, and Hudi's writers maintain all"
            " others; pyhudi index create ... --store extension makes one"
        )
    return found

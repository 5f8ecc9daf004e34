"""`pyhudi snapshot`: publish what a table's metadata says, for all services."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from pyhudi_expr.api.display import size_text
from pyhudi_expr.cli import reports
from pyhudi_expr.cli.options import (
    AS_JSON,
    TABLE,
    OptionValue,
    columns_option,
    examples,
    table_location,
)
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.reports import print_plan
from pyhudi_expr.cli.spark_session import spark_session, with_spark
from pyhudi_expr.cli.terminal import DRY_RUN, echo
from pyhudi_expr.manage.operations import carry_out
from pyhudi_expr.manage.publishing import BoundsReader, SnapshotPublication


@click.command(
    short_help="Publish a large table's snapshot for all services.",
    epilog=examples(
        ("pyhudi snapshot trips --columns ts,fare --to s3://lake/snapshots", "in this process"),
        ("pyhudi snapshot trips --columns ts --to s3://lake/snapshots --spark", "in Spark's tasks"),
    ),
)
@TABLE
@columns_option(required=True, help="The columns that queries filter by.")
@click.option(
    "--to", "uri", required=True, metavar="URI", help="The services' setting `shared_snapshots`."
)
@click.option(
    "--spark",
    "in_spark",
    is_flag=True,
    help="Read the index in Spark's tasks, for tables too large for one process.",
)
@DRY_RUN
@with_spark
@AS_JSON
def snapshot(
    table: str,
    columns: tuple[str, ...],
    uri: str,
    in_spark: bool,
    dry_run: bool,
    as_json: bool,
    **settings: OptionValue,
) -> None:
    """Publish the list of TABLE's files, and the bounds of COLUMNS, for all services.

    A service with the setting `shared_snapshots` maps them instead of reading the table's index. A
    snapshot is of one state of the table; after commits a service goes on from the newest one.
    """
    with (
        _bounds_reader(in_spark, settings) as reader,
        TemporaryDirectory(prefix="pyhudi-snapshots-") as workplace,
    ):
        operation = SnapshotPublication(
            table_location(table), columns, uri, Path(workplace), reader
        )
        plan = operation.plan()
        operation.check(plan)
        published = None if dry_run else carry_out(operation, plan)
    if published is None:
        print_plan(plan, as_json)
    elif as_json:
        echo(reports.as_json(asdict(published)))
    else:
        echo(
            f"published {published.snapshots} snapshots, {size_text(published.bytes)}, of"
            f" {published.files:,} files at {published.instant}"
        )


@contextmanager
def _bounds_reader(
    in_spark: bool, settings: dict[str, OptionValue]
) -> Iterator[BoundsReader | None]:
    """Return what reads the bounds in Spark's tasks; None: this process does."""
    if not in_spark:
        with progress_while("reading the index"):
            yield None
        return
    with spark_session("reading the index", settings["master"], settings["settings"]) as spark:
        from pyhudi_expr.spark.jobs.batch_runner import SparkRunner
        from pyhudi_expr.spark.query.sharded_bounds import keep_bounds

        runner = SparkRunner(spark)
        yield lambda *given: keep_bounds(runner, *given)

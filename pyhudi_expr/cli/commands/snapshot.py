"""`pyhudi snapshot`: publish what a table's metadata says, for all services."""

from __future__ import annotations

from dataclasses import asdict

import click

from pyhudi_expr.api.sizes import size_text
from pyhudi_expr.cli import reports
from pyhudi_expr.cli.options import AS_JSON, OptionValue, examples
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.publishing import Published, publish
from pyhudi_expr.cli.spark_session import spark_session, with_spark
from pyhudi_expr.cli.table_location import complete_directories, table_location
from pyhudi_expr.cli.terminal import echo


@click.command(
    short_help="Publish a large table's snapshot for all services.",
    epilog=examples(
        ("pyhudi snapshot trips --columns ts,fare --to s3://lake/snapshots", "in this process"),
        ("pyhudi snapshot trips --columns ts --to s3://lake/snapshots --spark", "in Spark's tasks"),
    ),
)
@click.argument("table", shell_complete=complete_directories)
@click.option(
    "--columns", required=True, metavar="NAME,...", help="The columns that queries filter by."
)
@click.option(
    "--to", "uri", required=True, metavar="URI", help="The services' setting `shared_snapshots`."
)
@click.option(
    "--spark",
    "in_spark",
    is_flag=True,
    help="Read the index in Spark's tasks, for tables too large for one process.",
)
@with_spark
@AS_JSON
def snapshot(
    table: str, columns: str, uri: str, in_spark: bool, as_json: bool, **settings: OptionValue
) -> None:
    """Publish the list of TABLE's files, and the bounds of COLUMNS, for all services.

    A service with the setting `shared_snapshots` maps them instead of reading the table's index. A
    snapshot is of one state of the table; after commits a service goes on from the newest one.
    """
    path = table_location(table)
    names = [name.strip() for name in columns.split(",") if name.strip()]
    if in_spark:
        published = _in_spark(path, names, uri, settings)
    else:
        with progress_while("reading the index"):
            published = publish(path, names, uri, None)
    if as_json:
        echo(reports.as_json(asdict(published)))
    else:
        echo(
            f"published {published.snapshots} snapshots, {size_text(published.bytes)}, of"
            f" {published.files:,} files at {published.instant}"
        )


def _in_spark(path: str, names: list[str], uri: str, settings: dict[str, OptionValue]) -> Published:
    with spark_session("reading the index", settings["master"], settings["settings"]) as spark:
        from pyhudi_expr.spark.jobs.batch_runner import SparkRunner
        from pyhudi_expr.spark.query.sharded_bounds import keep_bounds

        runner = SparkRunner(spark)
        return publish(path, names, uri, lambda *given: keep_bounds(runner, *given))

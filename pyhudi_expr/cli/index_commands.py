"""`pyhudi index ...`: the statements of `spark.statements` as commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from pyhudi_expr.cli import reports
from pyhudi_expr.cli.locations import location
from pyhudi_expr.index.status import IndexStatus, statuses
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.locks import TableLock
from pyhudi_expr.table.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pyhudi_expr.spark.building import BuildOptions, Built

_Command = Callable[..., None]
_KINDS = ("column_stats", "record_index", "secondary_index", "bloom_filters", "expression")


@click.group()
def index() -> None:
    """Build, list, refresh, check and drop the indexes of a table.

    Building needs the extra `spark` (pip install 'pyhudi-expr[spark]'), and no Hudi jar.
    """


def _table(command: _Command) -> _Command:
    return click.option(
        "--table", required=True, metavar="TABLE", help="The table's base path or URI."
    )(command)


def _json(command: _Command) -> _Command:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


def _writing(command: _Command) -> _Command:
    """Options of the commands that change a table."""
    for option in (
        click.option(
            "--lock-dir",
            "lock_dirs",
            multiple=True,
            metavar="DIR",
            help="Where the table's writers keep their lock file, from the base path "
            "(hoodie.write.lock.filesystem.path); by default both places that Hudi uses.",
        ),
        click.option(
            "--lock-wait", default=60.0, show_default=True, help="Seconds to wait for the lock."
        ),
        click.option(
            "--wait",
            default=600.0,
            show_default=True,
            help="Seconds to wait for writers that had begun before.",
        ),
    ):
        command = option(command)
    return command


def _with_spark(command: _Command) -> _Command:
    """Options of the commands that run Spark jobs."""
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


@index.command("create")
@click.argument("name")
@_table
@click.option("--using", "kind", type=click.Choice(_KINDS), default="secondary_index")
@click.option("--columns", default="", help="The columns, with commas in between.")
@click.option(
    "--store",
    type=click.Choice(["hudi", "extension"]),
    default="hudi",
    show_default=True,
    help="Hudi's own metadata table, or one beside it that Hudi does not touch.",
)
@click.option("--shards", type=int, help="File groups of the index; by default by its size.")
@click.option(
    "--option",
    "extra",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the index, expr=hour for an expression index, say; repeatable.",
)
@click.option("--if-not-exists", is_flag=True, help="Do nothing if the index exists.")
@_writing
@_with_spark
@_json
def create(
    name: str,
    table: str,
    kind: str,
    columns: str,
    store: str,
    shards: int | None,
    extra: tuple[str, ...],
    if_not_exists: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Build the index NAME of a table, and have it kept from then on."""
    indexes, statements = _spark_modules()
    options = {**_pairs(extra), "store": store}
    if shards is not None:
        options["shards"] = str(shards)
    names = tuple(column.strip() for column in columns.split(",") if column.strip())
    request = statements.CreateIndex(name, location(table), kind, names, options, if_not_exists)
    with _session(settings) as spark:
        built = indexes.create_index(spark, request, _build_options(settings))
    _report_built(built, as_json, f"the index {name} exists")


@index.command()
@click.argument("name")
@_table
@_writing
@_with_spark
@_json
def refresh(name: str, table: str, as_json: bool, **settings: Any) -> None:
    """Bring the index NAME up to the table's newest commit."""
    indexes, statements = _spark_modules()
    request = statements.RefreshIndex(name, location(table))
    with _session(settings) as spark:
        built = indexes.refresh_index(spark, request, _build_options(settings))
    _report_built(built, as_json, f"the index {name} is up to date")


@index.command()
@click.argument("name")
@_table
@click.option("--if-exists", is_flag=True, help="Do nothing if there is no such index.")
@_writing
@_json
def drop(name: str, table: str, if_exists: bool, as_json: bool, **settings: Any) -> None:
    """Remove the index NAME from a table."""
    indexes, statements = _spark_modules()
    request = statements.DropIndex(name, location(table), if_exists)
    indexes.drop_index(request, _build_options(settings))
    if as_json:
        click.echo(reports.as_json({"dropped": name}))
    else:
        click.echo(f"dropped {name}")


@index.command()
@click.argument("name")
@_table
@_with_spark
@_json
def verify(name: str, table: str, as_json: bool, **settings: Any) -> None:
    """Compare the entries of the index NAME with the table's files; exit code 1 if they differ."""
    _spark_modules()
    from pyhudi_expr.spark import verifying

    opened = HudiTable.open(location(table))
    status = next((s for s in statuses(opened) if name in (s.name, *s.partitions)), None)
    if status is None:
        raise HudiError(f"{table}: there is no index {name!r}")
    with _session(settings) as spark:
        found = verifying.verify(spark, opened, status)
    if as_json:
        click.echo(reports.as_json({"name": status.name, "partitions": [asdict(f) for f in found]}))
    else:
        for one in found:
            counts = f"{one.missing} missing, {one.superfluous} superfluous, {one.different} differ"
            click.echo(f"{one.partition}: {one.checked:,} entries, {counts}")
            for example in one.examples:
                click.echo(f"  {example}")
    if not all(one.is_right for one in found):
        sys.exit(1)


@index.command("list")
@_table
@_json
def list_indexes(table: str, as_json: bool) -> None:
    """Print a table's indexes: what they are over, where they are, and how fresh."""
    found = statuses(HudiTable.open(location(table)))
    if as_json:
        click.echo(reports.as_json({"indexes": [_status(one) for one in found]}))
        return
    shown = Table()
    for header in ("name", "kind", "columns", "store", "state", "covers", "note"):
        shown.add_column(header, overflow="fold")
    for one in found:
        columns = ", ".join(one.columns)
        row = (one.name, one.kind, columns, one.store.value, one.state.value, one.covers or "-")
        shown.add_row(*row, one.note)
    Console(soft_wrap=True).print(shown)


def _status(status: IndexStatus) -> reports.Report:
    return {**asdict(status), "store": status.store.value, "state": status.state.value}


def _report_built(built: Built | None, as_json: bool, nothing_done: str) -> None:
    if built is None:
        click.echo(reports.as_json({"built": None}) if as_json else nothing_done)
        return
    if as_json:
        click.echo(reports.as_json({"built": asdict(built)}))
        return
    for note in built.notes:
        click.echo(f"note: {note}")
    for partition, records in built.records.items():
        size = built.bytes[partition] / 1e6
        click.echo(f"{partition}: {records:,} entries, {size:.1f} MB, as of {built.instant}")


def _spark_modules() -> tuple[Any, Any]:
    try:
        from pyhudi_expr.spark import indexes, statements
    except ModuleNotFoundError as error:
        raise HudiError(
            f"{error.name} is missing; install the extra: pip install 'pyhudi-expr[spark]'"
        ) from error
    return indexes, statements


@contextmanager
def _session(settings: dict[str, Any]) -> Iterator[SparkSession]:
    """A Spark session that ends with the command."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("pyhudi index")
    builder = builder.config("spark.ui.enabled", "false")
    master = settings["master"] or os.environ.get("MASTER") or "local[*]"
    builder = builder.master(master)
    for key, value in _pairs(settings["settings"]).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def _build_options(settings: dict[str, Any]) -> BuildOptions:
    from pyhudi_expr.spark.building import BuildOptions

    directories = tuple(settings["lock_dirs"])

    def lock(storage: Storage) -> TableLock:
        if directories:
            return TableLock(storage, directories, wait=settings["lock_wait"])
        return TableLock(storage, wait=settings["lock_wait"])

    return BuildOptions(lock, settings["wait"])


def _pairs(texts: tuple[str, ...]) -> dict[str, str]:
    pairs = dict(text.partition("=")[::2] for text in texts)
    wrong = [text for text in texts if "=" not in text]
    if wrong:
        raise click.UsageError(f"{wrong[0]!r} is not of the form KEY=VALUE")
    return pairs

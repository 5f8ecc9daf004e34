"""`pyhudi index ...`: the statements of `indexing.statements` as commands."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click
from rich.table import Table

from pyhudi_expr.cli import reports
from pyhudi_expr.cli.commands.index_building import (
    build_options,
    building,
    located,
    report_built,
    with_writing,
)
from pyhudi_expr.cli.commands.index_follow import follow
from pyhudi_expr.cli.inspection import print_stats
from pyhudi_expr.cli.options import (
    AS_JSON,
    TABLE,
    Commands,
    OptionValue,
    columns_option,
    complete_indexes,
    examples,
)
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.reports import print_plan
from pyhudi_expr.cli.spark_session import key_values, spark_session, with_spark
from pyhudi_expr.cli.terminal import DRY_RUN, YES, confirm, echo, is_asked
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import reading_catalog
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import checked_statuses, index_status, no_such_index
from pyhudi_expr.manage.building import IndexBuilding
from pyhudi_expr.manage.certifying import READER, Certified, IndexCertification
from pyhudi_expr.manage.dropping import IndexDrop
from pyhudi_expr.manage.indexing.index_plan import KINDS
from pyhudi_expr.manage.indexing.statements import CreateIndex, DropIndex, RefreshIndex
from pyhudi_expr.manage.operations import carry_out, plan_record, run
from pyhudi_expr.tables.hudi_names import SECONDARY_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.storage import Storage


@click.group(cls=Commands)
def index() -> None:
    """Build, list, refresh, check and drop the indexes of a table.

    Building, refreshing and checking need the extra `spark` (pip install 'pyhudi-expr[cli,spark]'),
    and no Hudi jar. TABLE is a base path or URI, or database.table: its name in the metastore that
    the Spark session uses (--conf spark.hadoop.hive.metastore.uris=...).
    """


@index.command(
    "create",
    epilog=examples(
        (
            "pyhudi index create trips ranges --using column_stats --columns ts,fare",
            "",
        ),
        (
            "pyhudi index create trips riders --using secondary_index --columns rider",
            "",
        ),
    ),
)
@TABLE
@click.argument("name")
@click.option(
    "--using",
    "kind",
    type=click.Choice(KINDS),
    default=SECONDARY_INDEX,
    show_default=True,
    help="column_stats for ranges, secondary_index for equality of a column, or of several"
    " together, record_index for keys, bloom_filters for equality at less cost, expression for"
    " functions (--option expr=...).",
)
@columns_option(
    default="",
    help="The columns; record_index needs none, column_stats takes the first 32.",
)
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
@DRY_RUN
@with_spark
@with_writing
@AS_JSON
def create(
    table: str,
    name: str,
    kind: str,
    columns: tuple[str, ...],
    store: str,
    shards: int | None,
    extra: tuple[str, ...],
    if_not_exists: bool,
    dry_run: bool,
    as_json: bool,
    **settings: OptionValue,
) -> None:
    """Build the index NAME of TABLE, and register it."""
    options = {**key_values(extra), "store": store}
    if shards is not None:
        options["shards"] = str(shards)
    request = CreateIndex(name, located(table, settings), kind, columns, options, if_not_exists)
    operation = building(request, f"building {name}", settings)
    _build(operation, dry_run, as_json, f"the index {name} exists")


@index.command(
    epilog=examples(
        ("pyhudi index refresh trips riders", "after commits, or on a schedule"),
    )
)
@TABLE
@click.argument("name", shell_complete=complete_indexes)
@DRY_RUN
@with_spark
@with_writing
@AS_JSON
def refresh(table: str, name: str, dry_run: bool, as_json: bool, **settings: OptionValue) -> None:
    """Bring the index NAME up to the newest commit of TABLE."""
    request = RefreshIndex(name, located(table, settings))
    operation = building(request, f"refreshing {name}", settings)
    _build(operation, dry_run, as_json, f"the index {name} is up to date")


def _build(operation: IndexBuilding, dry_run: bool, as_json: bool, nothing_done: str) -> None:
    """Build an index by a plan, or in a dry run only print that plan."""
    with progress_while("reading the table"):
        plan = operation.plan()
    if dry_run:
        print_plan(plan, as_json)
    else:
        report_built(carry_out(operation, plan), as_json, nothing_done)


@index.command(
    epilog=examples(("pyhudi index drop trips riders --if-exists", "")),
)
@TABLE
@click.argument("name", shell_complete=complete_indexes)
@click.option("--if-exists", is_flag=True, help="Do nothing if there is no such index.")
@DRY_RUN
@YES
@with_spark
@with_writing
@AS_JSON
def drop(
    table: str,
    name: str,
    if_exists: bool,
    dry_run: bool,
    is_confirmed: bool,
    as_json: bool,
    **settings: OptionValue,
) -> None:
    """Remove the index NAME from TABLE."""
    request = DropIndex(name, located(table, settings), if_exists)
    with progress_while("reading the table"):
        operation = IndexDrop(request, build_options(settings))
        plan = operation.plan()
        operation.check(plan)
    gone = ", ".join(plan.partitions) or "nothing"
    if dry_run:
        record = {"would_drop": name, "metadata_partitions": plan.partitions}
        text = f"would drop {name}: {gone}"
        echo(reports.as_json({**record, **plan_record(plan)}) if as_json else text)
        return
    if is_asked(is_confirmed):
        confirm(f"The index {name} of {request.table} is removed: {gone}.")
    with progress_while(f"dropping {name}"):
        notes = carry_out(operation, plan)
    if as_json:
        echo(reports.as_json({"dropped": name, "notes": notes}))
    else:
        echo("\n".join([f"dropped {name}", *notes]))


@index.command(
    epilog=examples(
        ("pyhudi index verify trips riders", ""),
        ("pyhudi index verify trips riders --certify", "for look-ups"),
        ("pyhudi index verify trips riders --certify --spark", "by all cores"),
    )
)
@TABLE
@click.argument("name", shell_complete=complete_indexes)
@click.option(
    "--certify",
    is_flag=True,
    help="Instead, read all entries of the index once, in this process, and write what queries "
    "need to look single keys and values up in it.",
)
@click.option(
    "--spark",
    "in_spark",
    is_flag=True,
    help="Certify in Spark's tasks: for hundreds of millions of entries, on several machines.",
)
@with_spark
@AS_JSON
def verify(
    table: str,
    name: str,
    certify: bool,
    in_spark: bool,
    as_json: bool,
    **settings: OptionValue,
) -> None:
    """Compare the entries of the index NAME with the files of TABLE; exit code 1 if they differ."""
    if in_spark and not certify:
        raise click.UsageError("--spark needs --certify; without it Spark compares in any case")
    path = located(table, settings)
    with progress_while("reading the table"):
        opened = HudiTable.open(path)
        status = index_status(opened, name)
    if status is None:
        raise HudiError(no_such_index(opened, name))
    if certify:
        certified = (
            _certified_in_spark(path, name, status.store, settings)
            if in_spark
            else _certified_here(path, name)
        )
        _report_certified(name, certified, as_json)
        return
    with spark_session(f"checking {name}", settings["master"], settings["settings"]) as spark:
        from pyhudi_expr.spark.builds import verification
        from pyhudi_expr.spark.jobs import job_errors

        with job_errors.translate_spark_errors():
            found = verification.verify(spark, opened, status)
    if as_json:
        echo(reports.as_json({"name": status.name, "partitions": [asdict(f) for f in found]}))
    else:
        for one in found:
            counts = f"{one.missing} missing, {one.superfluous} superfluous, {one.different} differ"
            echo(f"{one.partition}: {one.checked:,} entries, {counts}")
            for example in one.examples:
                echo(f"  {example}")
    if not all(one.is_right for one in found):
        sys.exit(1)


@index.command(
    "list",
    epilog=examples(
        ("pyhudi index list trips", ""),
        ("pyhudi index list trips --json | jq '.indexes[].state'", ""),
    ),
)
@TABLE
@with_spark
@AS_JSON
def list_indexes(table: str, as_json: bool, **settings: OptionValue) -> None:
    """Print the indexes of TABLE: their columns, where they are stored, and how fresh they are."""
    path = located(table, settings)
    with progress_while("reading the table"), reading_catalog(Storage.open(path)) as catalog:
        found = checked_statuses(catalog)
    if as_json:
        echo(reports.as_json({"indexes": [reports.index_report(one) for one in found]}))
        return
    shown = Table()
    for header in ("name", "kind", "columns", "store", "state", "covers", "note"):
        shown.add_column(header, overflow="fold", no_wrap=header == "name")
    for one in found:
        columns = ", ".join(one.columns)
        row = (one.name, one.kind, columns, one.store.value, one.state.value, one.covers or "-")
        shown.add_row(*row, one.note)
    reports.print_table(shown)


@index.command(
    epilog=examples(
        ("pyhudi index stats trips", "all"),
        ("pyhudi index stats trips riders", "one"),
    )
)
@TABLE
@click.argument("name", required=False, shell_complete=complete_indexes)
@with_spark
@AS_JSON
def stats(table: str, name: str | None, as_json: bool, **settings: OptionValue) -> None:
    """Print the size of the index NAME of TABLE, or of each index: entries, shards, bytes, logs."""
    print_stats(located(table, settings), name, as_json)


index.add_command(follow)


def _certified_here(table: str, name: str) -> Certified:
    """Read all entries of an index in this process, and write its certificates.

    Raises:
        HudiError: There is no such index, or it is not one of keys or values.
    """
    with progress_while(f"reading all entries of {name}"):
        return run(IndexCertification(table, name, READER))


def _certified_in_spark(
    table: str, name: str, store: Store, settings: Mapping[str, Any]
) -> Certified:
    """Read all entries of an index in Spark's tasks, and write its certificates.

    Raises:
        HudiError: As for `_certified_here`; or the index has changed meanwhile.
    """
    with spark_session(f"certifying {name}", settings["master"], settings["settings"]) as spark:
        from pyhudi_expr.spark.builds.certifying import reader
        from pyhudi_expr.spark.jobs.job_errors import translate_spark_errors

        with translate_spark_errors():
            return run(IndexCertification(table, name, reader(spark, table, store)))


def _report_certified(name: str, found: Certified, as_json: bool) -> None:
    """Print what the entries of an index say."""
    if as_json:
        echo(reports.as_json({"name": name, "certified": found}))
        return
    for partition, (entries, doubtful) in found.items():
        doubts = f", {doubtful} file groups with keys in doubt" if doubtful else ""
        echo(f"{partition}: certified {entries:,} entries{doubts}")

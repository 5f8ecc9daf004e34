"""Commands about a table's files: what the table is, which files can match, and why."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyhudi_expr.cli import reports
from pyhudi_expr.cli.options import (
    AS_HTML,
    AS_JSON,
    TABLE,
    Command,
    OptionValue,
    examples,
    table_location,
)
from pyhudi_expr.cli.predicate_options import (
    AS_OF,
    BUCKETS,
    DIALECT,
    FOOTERS,
    PREDICATE,
    READER,
    SINCE,
    VIEW,
    ZONE,
    asked_table,
    warnings_as_hints,
)
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.tables.listing import TableView

if TYPE_CHECKING:
    from pyhudi_expr.api.plan import Plan
    from pyhudi_expr.tables.properties import StatedBuckets


def _question(command: Command) -> Command:
    """Add the arguments and options of a command that prunes."""
    for option in reversed(
        (
            TABLE,
            PREDICATE,
            AS_JSON,
            DIALECT,
            READER,
            VIEW,
            AS_OF,
            SINCE,
            ZONE,
            FOOTERS,
            BUCKETS,
        )
    ):
        command = option(command)
    return command


@click.command(
    short_help="The files that a predicate leaves to read.",
    epilog=examples(
        ('pyhudi prune /warehouse/trips "fare > 100"', "the files, one on a line"),
        ('pyhudi prune /warehouse/trips "fare > 100" --count', "how many, and how large"),
        ('pyhudi prune s3://lake/trips "fare > 100" --as-of 20240101', ""),
    ),
)
@_question
@click.option("--count", "only_counts", is_flag=True, help="Print how many files, and no list.")
def prune(
    table: str, predicate: str, as_json: bool, only_counts: bool, **question: OptionValue
) -> None:
    """Print the files of TABLE that can hold a row for which PREDICATE is true.

    The files go to standard output, one on a line; the counts and notes go to standard error.
    """
    result = _pruned(table, predicate, **question).result
    if as_json:
        report = reports.count_report if only_counts else reports.prune_report
        echo(reports.as_json(report(table_location(table), predicate, result)))
        return
    if only_counts:
        echo(reports.summary(result))
        return
    echo(reports.summary(result), err=True)
    for path in result.kept_paths():
        echo(path)


@click.command(
    short_help="What each part of a predicate excludes, and why not more.",
    epilog=examples(
        ("pyhudi explain /warehouse/trips \"fare > 100 AND city = 'Oslo'\"", ""),
        (
            'pyhudi explain /warehouse/trips "fare > 100" --html why.html',
            "as a page, with the files drawn",
        ),
    ),
)
@_question
@AS_HTML
@click.option(
    "--rows",
    "evaluates_rows",
    is_flag=True,
    help="Which row groups, pages and rows of the files can match, too; reads their footers.",
)
@click.option("--verbose", "-v", is_flag=True, help="Rows, times, and what each index lacks, too.")
def explain(
    table: str,
    predicate: str,
    as_json: bool,
    html: Path | None,
    evaluates_rows: bool,
    verbose: bool,
    **question: OptionValue,
) -> None:
    """Print which files of TABLE each part of PREDICATE skips by itself, and by which index."""
    plan = _pruned(table, predicate, **question)
    result, explained = plan.result, plan.explain()
    rows = plan.kept_rows() if evaluates_rows else None
    if html is not None:
        explained.to_html(html, rows)
    if as_json:
        report = reports.explain_report(plan.uri, predicate, result, explained.tree)
        evaluated = {} if rows is None else {"rows": rows.counts()}
        echo(reports.as_json({**report, **evaluated}))
        return
    echo(reports.summary(result))
    if rows is not None:
        echo(f"can match: {rows}")
    # Imported on use, as what other commands of this module need: that takes a part of their time.
    from pyhudi_expr.cli.inspection import print_details, print_explanation
    from pyhudi_expr.index.explanation import remarks

    show = print_details if verbose else print_explanation
    show(predicate, explained.tree)
    for remark in remarks(result.files_kept, result.unasked, explained.tree):
        echo(remark)
    if verbose:
        echo(reports.index_timings(result))


@click.command(
    short_help="What a table is: versions, timeline, files, indexes.",
    epilog=examples(
        ("pyhudi inspect /warehouse/trips", ""),
        ("pyhudi inspect /warehouse/trips --json | jq .indexes", ""),
    ),
)
@TABLE
@AS_JSON
def inspect(table: str, as_json: bool) -> None:
    """Print what TABLE is: properties, timeline, partitions, files, schema and indexes."""
    from pyhudi_expr.cli.inspection import as_text, inspect_table

    with progress_while("reading the table"):
        report = inspect_table(table_location(table))
    echo(reports.as_json(report) if as_json else as_text(report))


def _pruned(
    table: str,
    predicate: str,
    dialect: str,
    reader: str | None,
    view: TableView,
    as_of: str | datetime | None,
    since: str | datetime | None,
    zone: str,
    footers: bool,
    buckets: StatedBuckets | None,
) -> Plan:
    with progress_while("pruning files"), warnings_as_hints():
        return asked_table(table_location(table), footers, buckets=buckets).prune(
            predicate,
            as_of=as_of,
            since=since,
            view=view,
            dialect=dialect,
            zone=zone,
            reader=reader,
        )

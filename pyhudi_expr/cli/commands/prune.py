"""Commands about a table's files: what the table is, which files can match, and why."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import click

from pyhudi_expr.api.arguments import reader_of
from pyhudi_expr.cli import reports
from pyhudi_expr.cli.html_page import AS_HTML, write_page
from pyhudi_expr.cli.options import AS_JSON, OptionValue, examples
from pyhudi_expr.cli.predicate_options import (
    AS_OF,
    DIALECT,
    FOOTERS,
    PREDICATE,
    SINCE,
    VIEW,
    ZONE,
    checked_snapshot,
    prune_options,
    timeline_instant,
)
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.table_location import complete_directories, table_location
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.expr.frontend.sql.parser import DIALECTS, parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.opening import NO_STATISTICS
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.tables.listing import TableView

_HINT = (
    "hint: --footers prunes files by their own footers; `pyhudi index create` builds column_stats"
)

_Command = Callable[..., None]


def _question(command: _Command) -> _Command:
    """Add the arguments and options of a command that prunes."""
    for option in reversed(
        (
            click.argument("table", shell_complete=complete_directories),
            PREDICATE,
            AS_JSON,
            DIALECT,
            VIEW,
            AS_OF,
            SINCE,
            ZONE,
            FOOTERS,
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
    _, result = _pruned(table, predicate, **question)
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
    snapshot, result = _pruned(table, predicate, **question)
    path = table_location(table)
    explanation = result.explain(snapshot.row_counts())
    rows = None
    if evaluates_rows:
        from pyhudi_expr.index.kept_rows import OF_ANY_SIZE, RowEvaluator, without_merged_slices

        rows = RowEvaluator(OF_ANY_SIZE).rows(without_merged_slices(result), snapshot.table)
    if html is not None:
        from pyhudi_expr.api.pages.explanation import explain_page

        instants = snapshot.table.timeline.instants
        write_page(html, explain_page(path, predicate, result, explanation, instants, rows))
    if as_json:
        report = reports.explain_report(path, predicate, result, explanation)
        evaluated = {} if rows is None else {"rows": rows.counts()}
        echo(reports.as_json({**report, **evaluated}))
        return
    echo(reports.summary(result))
    if rows is not None:
        echo(f"can match: {rows}")
    # Imported on use, as what other commands of this module need: that takes a part of their time.
    from pyhudi_expr.cli.explanation_view import print_details, print_explanation
    from pyhudi_expr.index.explanation import remarks

    show = print_details if verbose else print_explanation
    show(predicate, explanation)
    for remark in remarks(result.files_kept, result.unasked, explanation):
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
@click.argument("table", shell_complete=complete_directories)
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
    view: TableView,
    as_of: str | datetime | None,
    since: str | datetime | None,
    zone: str,
    footers: bool,
) -> tuple[TableSnapshot, PruneResult]:
    parsed = parse_predicate(predicate, DIALECTS[dialect])
    begin, end = (timeline_instant(one, table_location(table), zone) for one in (since, as_of))
    request = PruneRequest(
        parsed, view, here(zone, DIALECTS[dialect].engine), end, begin, reader_of(dialect)
    )
    options = prune_options(footers)
    with progress_while("pruning files"):
        pruner = Pruner(options)
        snapshot = checked_snapshot(pruner, table_location(table), request)
        result = pruner.prune_snapshot(snapshot, request)
    if NO_STATISTICS in result.notes:
        echo(_HINT, err=True)
    return snapshot, result

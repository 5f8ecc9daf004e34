"""`pyhudi advise`: recommend indexes for a table's queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from pyhudi_expr.api.display import size_text
from pyhudi_expr.cli import reports
from pyhudi_expr.cli.options import AS_JSON, TABLE, examples, table_location
from pyhudi_expr.cli.predicate_options import DIALECT
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.index.lookups.expression_index import IDENTITY
from pyhudi_expr.manage.advice.estimates import Candidate
from pyhudi_expr.manage.advice.query_history import (
    history_files,
    merge_queries,
    read_hive_history,
    read_queries,
    read_query_log,
)
from pyhudi_expr.manage.advice.ranking import Advice, RankedIndex
from pyhudi_expr.manage.advice.ranking import advise as advice_for


@click.command(
    short_help="Which indexes a table's queries would benefit from.",
    epilog=examples(
        ("pyhudi advise /warehouse/trips --queries queries.sql --name trips", ""),
    ),
)
@TABLE
@click.option(
    "--queries",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="A file with queries, or their conditions alone, and semicolons in between.",
)
@click.option(
    "--query-log",
    "query_logs",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="A file that a service has kept (its setting query_log).",
)
@click.option(
    "--hive-history",
    "histories",
    type=click.Path(path_type=Path, exists=True),
    multiple=True,
    help="A file, or the directory, of Hive's session history (hive.querylog.location).",
)
@DIALECT
@click.option("--name", help="The table's name in the queries: those on others are passed over.")
@click.option(
    "--growth",
    type=click.FloatRange(min=1.0),
    default=1.0,
    show_default=True,
    help="How many times as large the table will be, for the storage.",
)
@AS_JSON
def advise(
    table: str,
    queries: tuple[Path, ...],
    query_logs: tuple[Path, ...],
    histories: tuple[Path, ...],
    dialect: str,
    name: str | None,
    growth: float,
    as_json: bool,
) -> None:
    """Print which indexes of TABLE would save its queries most, and what they cost.

    Queries come from files of SQL, from a service's query log, or from Hive's session history. A
    repeated query counts as often. Footers and a sample of the rows are read; nothing is changed.
    """
    if not (queries or query_logs or histories):
        raise click.UsageError(
            "name the source of queries: --queries, --query-log or --hive-history"
        )
    with progress_while("ranking indexes"):
        read = merge_queries(
            [
                *(read_queries(file.read_text(), dialect, name) for file in queries),
                *(read_query_log(file.read_text(), table_location(table)) for file in query_logs),
                *(
                    read_hive_history(file.read_text(), name)
                    for path in histories
                    for file in history_files(path)
                ),
            ]
        )
        found = advice_for(table_location(table), read.queries, growth)
    if as_json:
        report = {**asdict(found), "notes": [*read.notes, *found.notes]}
        echo(reports.as_json(report))
        return
    _print_advice(found)
    for note in (*read.notes, *found.notes):
        echo(f"note: {note}", err=True)


def _print_advice(found: Advice) -> None:
    now, then = found.today, found.planned
    echo(
        f"{found.queries} queries read {now.files:.1f} files, {size_text(now.bytes)} on average;"
        f" with all of these {then.files:.1f} files, {size_text(then.bytes)}"
    )
    if found.recommendations:
        _show(found.recommendations)
    else:
        echo("no index would save a hundredth of it")
    for each in found.recommendations:
        echo(each.statement)
    if found.passed_over:
        echo("\nconsidered, but not recommended:")
        _show(found.passed_over)


def _show(ranked: Sequence[RankedIndex]) -> None:
    shown = Table("index")
    for heading in (
        *("files\nless", "size\nless", "size\nstored", "size\nof a first\nlook-up", "build,\ns"),
        *("bytes\na row\nwritten", "bytes\na file\nwritten"),
    ):
        shown.add_column(heading, justify="right")
    for each in ranked:
        costs = each.costs
        index = _candidate_name(each.candidate)
        sizes = map(size_text, (each.bytes, costs.storage, costs.first_bytes))
        written = f"{costs.bytes_of_row:.1f}", f"{costs.bytes_of_file:.0f}"
        build = f"{costs.build_seconds:.1f}"
        shown.add_row(index, f"{each.files:.1f}", *sizes, build, *written)
    reports.print_table(shown)


def _candidate_name(candidate: Candidate) -> str:
    columns = ", ".join(candidate.columns)
    of = columns if candidate.function == IDENTITY else f"{candidate.function}({columns})"
    return f"{candidate.kind} {of}"

"""The commands, and the one place where errors become a line and an exit code.

Exit codes: 0 done, 1 the table or the predicate cannot be read, 2 the command line is wrong,
130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from pyhudi_expr.cli import reports
from pyhudi_expr.cli.hive_commands import hive
from pyhudi_expr.cli.html_option import AS_HTML, write_page
from pyhudi_expr.cli.index_commands import index
from pyhudi_expr.cli.inspection import inspect_table
from pyhudi_expr.cli.layout_commands import layout
from pyhudi_expr.cli.locations import location
from pyhudi_expr.cli.options import AS_JSON
from pyhudi_expr.cli.scanning import scan
from pyhudi_expr.cli.service_commands import serve
from pyhudi_expr.cli.virtual_key_commands import virtual_keys
from pyhudi_expr.frontend.sql import DIALECTS, PredicateSyntaxError, parse_predicate
from pyhudi_expr.prune import PruneOptions, Pruner, PruneRequest, PruneResult
from pyhudi_expr.service.handler import version
from pyhudi_expr.service.roots import RootError
from pyhudi_expr.service.settings import SettingsError
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import TableView

_FAILED = 1
_INTERRUPTED = 130
#: The command line has time to read every footer that a predicate needs.
_FOOTER_WAIT_SECONDS = 600.0
_VIEWS = {"snapshot": TableView.SNAPSHOT, "read-optimized": TableView.READ_OPTIMIZED}

_Command = Callable[..., None]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version(), prog_name="pyhudi")
@click.option("--debug", is_flag=True, help="Show where in the program an error comes from.")
def cli(debug: bool) -> None:
    """Prune the files of Apache Hudi tables by their metadata."""


def _question(command: _Command) -> _Command:
    """The arguments and options of a command that prunes."""
    for option in reversed(
        (
            click.argument("table"),
            click.argument("predicate"),
            AS_JSON,
            click.option(
                "--dialect",
                type=click.Choice(list(DIALECTS)),
                default="hive",
                show_default=True,
                help="The SQL that PREDICATE is written in.",
            ),
            click.option(
                "--view",
                type=click.Choice(list(_VIEWS)),
                default="snapshot",
                show_default=True,
                help="Base and log files, or base files only.",
            ),
            click.option("--as-of", metavar="INSTANT", help="Time travel: as of this instant."),
            click.option(
                "--since", metavar="INSTANT", help="Only rows that were written after this instant."
            ),
            click.option(
                "--zone", help="IANA zone in which the query reads instants as wall clocks."
            ),
            click.option(
                "--footers", is_flag=True, help="Read Parquet footers where statistics lack."
            ),
        )
    ):
        command = option(command)
    return command


@cli.command()
@_question
def prune(table: str, predicate: str, as_json: bool, **question: Any) -> None:
    """Print the files of TABLE that can hold a row for which PREDICATE is true.

    The files go to standard output, one on a line; what was found out about them to standard
    error.
    """
    result = _result(table, predicate, **question)
    if as_json:
        click.echo(reports.as_json(reports.prune_report(table, predicate, result)))
        return
    click.echo(reports.summary(result), err=True)
    for path in result.kept_paths():
        click.echo(path)


@cli.command()
@_question
@AS_HTML
def explain(table: str, predicate: str, as_json: bool, html: Path | None, **question: Any) -> None:
    """Print what each part of PREDICATE excludes of TABLE, and by which index."""
    result = _result(table, predicate, **question)
    if html is not None:
        from pyhudi_expr.pages.explanation import explain_page

        instants = HudiTable.open(location(table)).timeline.instants
        write_page(html, explain_page(location(table), predicate, result, instants))
    if as_json:
        click.echo(reports.as_json(reports.explain_report(table, predicate, result)))
        return
    click.echo(reports.summary(result))
    click.echo(reports.asked(result))
    click.echo(result.explanation.text())


@cli.command()
@click.argument("table")
@AS_JSON
def inspect(table: str, as_json: bool) -> None:
    """Print what TABLE is: properties, timeline, partitions, files, schema and indexes."""
    report = inspect_table(location(table))
    click.echo(reports.as_json(report) if as_json else reports.as_text(report))


cli.add_command(hive)
cli.add_command(index)
cli.add_command(layout)
cli.add_command(serve)
cli.add_command(scan)
cli.add_command(virtual_keys)


def _result(
    table: str,
    predicate: str,
    dialect: str,
    view: str,
    as_of: str | None,
    since: str | None,
    zone: str | None,
    footers: bool,
) -> PruneResult:
    asked = parse_predicate(predicate, DIALECTS[dialect])
    request = PruneRequest(asked, _VIEWS[view], zone, as_of, since)
    options = PruneOptions(footers=footers, footer_wait=_FOOTER_WAIT_SECONDS)
    return Pruner(options).prune(location(table), request)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    atexit.register(gc.freeze)  # a last search for garbage would take a tenth of a second
    try:
        cli.main(given, prog_name="pyhudi", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except Exception as error:
        if "--debug" in given:
            traceback.print_exc()
        click.echo(f"pyhudi: {_line(error)}", err=True)
        return _FAILED
    return 0


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, PredicateSyntaxError):
        return f"the predicate cannot be read: {text}"
    if isinstance(error, HudiError | RootError | SettingsError | OSError):
        return text
    return f"unexpected {type(error).__name__}: {text} (--debug shows where)"


if __name__ == "__main__":
    sys.exit(main())

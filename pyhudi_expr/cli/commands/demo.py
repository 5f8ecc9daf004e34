"""`pyhudi demo` and `pyhudi bench`: show what pruning does, on a demo table or any other one."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from time import perf_counter

import click
from rich.table import Table

from pyhudi_expr.cli import reports
from pyhudi_expr.cli.demo_table import write_demo_table
from pyhudi_expr.cli.options import AS_JSON, examples
from pyhudi_expr.cli.predicate_options import DIALECT, VIEW, ZONE, reader_of
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.table_location import complete_directories, table_location
from pyhudi_expr.frontend.sql.parser import DIALECTS, parse_predicate
from pyhudi_expr.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.table.listing import TableView

_FOOTERS = PruneOptions(footers=True, footer_wait=600.0)
_QUERIES = (
    "id = 12345",
    "city = 'Oslo' AND day = '2024-01-03'",
    "ts BETWEEN timestamp '2024-01-05 08:00:00' AND timestamp '2024-01-05 09:00:00'",
    "fare > 165",
    "city LIKE 'Z%' OR fare < 1",
    "fare * 2 < 10 OR hour(ts) IS NULL",
)


@click.command(
    short_help="A small table to try all of this on.",
    epilog=examples(
        ("pyhudi demo", "in a new directory of the system's for temporary files"),
        ("pyhudi demo ./trips", "in this one"),
    ),
)
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@AS_JSON
def demo(directory: Path | None, as_json: bool) -> None:
    """Write a small Hudi table and show which of its files six queries have to read.

    The table (copy on write, 80 files, 160,000 rows) stays, for the other commands. Only this
    package is needed. The demo with Hive and Spark is `make demo` in a checkout.
    """
    path = directory or Path(mkdtemp(prefix="pyhudi-")) / "trips"
    with progress_while("writing the table"):
        write_demo_table(path)
    pruner = Pruner(_FOOTERS)
    found = []
    for text in _QUERIES:
        request = PruneRequest(parse_predicate(text), zone="UTC")
        result = pruner.prune(str(path), request)
        found.append((text, result.files_kept, result.files_total, result.bytes_kept))
    if as_json:
        names = ("predicate", "files_kept", "files_total", "bytes_kept")
        queries = [dict(zip(names, each, strict=True)) for each in found]
        click.echo(reports.as_json({"table": str(path), "queries": queries}))
        return
    output = _predicates_table("files", "read", "MB read")
    for text, kept, total, size in found:
        output.add_row(text, f"{total}", f"{kept}", f"{size / 1e6:.2f}")
    reports.print_table(output)
    click.echo(f"The table is in {path}. Go on with, say:")
    for command in ("inspect", "explain", "scan"):
        predicate = "" if command == "inspect" else ' "fare > 165"'
        footers = " --footers" if command == "explain" else ""
        click.echo(f"  pyhudi {command} {path}{predicate}{footers}")


@click.command(
    short_help="How fast a table is pruned, and what that spares.",
    epilog=examples(
        ('pyhudi bench /warehouse/trips "fare > 100" "city = \'Oslo\'"', "two queries' times"),
    ),
)
@click.argument("table", shell_complete=complete_directories)
@click.argument("predicates", nargs=-1, required=True)
@click.option(
    "--times",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How often to repeat each one with a warm cache.",
)
@click.option("--footers", is_flag=True, help="Read Parquet footers where statistics lack.")
@DIALECT
@VIEW
@ZONE
@AS_JSON
def bench(
    table: str,
    predicates: tuple[str, ...],
    times: int,
    footers: bool,
    dialect: str,
    view: TableView,
    zone: str | None,
    as_json: bool,
) -> None:
    """Measure how long it takes to prune TABLE by each of PREDICATES, and what that saves.

    The first request reads the table's metadata; later ones use the cache, as in a service. The
    project's own benchmarks, with Spark and Hive, are `make bench` in a checkout.
    """
    options = PruneOptions(footers=footers, footer_wait=_FOOTERS.footer_wait)
    reader = reader_of(dialect)
    requests = [
        (
            text,
            PruneRequest(parse_predicate(text, DIALECTS[dialect]), view, zone, reader=reader),
        )
        for text in predicates
    ]
    measured = [_measured(options, table_location(table), *each, times) for each in requests]
    if as_json:
        click.echo(
            reports.as_json(
                {"table": table_location(table), "times": times, "predicates": measured}
            )
        )
        return
    times_of = ("first, ms", "then, ms (median)")
    output = _predicates_table("files", "read", "MB", "MB read", *times_of)
    for one in measured:
        sizes = (f"{one[name] / 1e6:.1f}" for name in ("bytes_total", "bytes_kept"))
        spent = (f"{one[name]:.1f}" for name in ("first_millis", "median_millis"))
        files = (f"{one['files_total']}", f"{one['files_kept']}")
        output.add_row(one["predicate"], *files, *sizes, *spent)
    reports.print_table(output)


def _predicates_table(*headings: str) -> Table:
    """Return a table of predicates, not truncated on a narrow terminal, and numbers."""
    output = Table()
    output.add_column("WHERE", overflow="fold")
    for heading in headings:
        output.add_column(heading, justify="right", overflow="fold")
    return output


def _measured(
    options: PruneOptions, path: str, text: str, request: PruneRequest, times: int
) -> reports.Report:
    pruner = Pruner(options)
    spent = []
    with progress_while(f"running the query {times + 1} times"):
        for _ in range(times + 1):
            started = perf_counter()
            result = pruner.prune(path, request)
            kept, size = result.files_kept, result.bytes_kept
            spent.append(1000 * (perf_counter() - started))
    return {
        "predicate": text,
        "files_total": result.files_total,
        "files_kept": kept,
        "bytes_total": result.bytes_total,
        "bytes_kept": size,
        "first_millis": spent[0],
        "median_millis": median(spent[1:]),
        "most_millis": max(spent[1:]),
    }

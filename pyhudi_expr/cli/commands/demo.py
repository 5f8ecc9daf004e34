"""`pyhudi demo` and `pyhudi bench`: show what pruning does, on a demo table or any other one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from time import perf_counter

import click
from rich import box
from rich.table import Table

from pyhudi_expr.api.display import share_text, size_text
from pyhudi_expr.api.plan import Explanation, Plan
from pyhudi_expr.cli import reports
from pyhudi_expr.cli.demo_table import ONE_RIDER, write_demo_indexes, write_demo_table
from pyhudi_expr.cli.inspection import print_explanation
from pyhudi_expr.cli.options import AS_JSON, TABLE, examples, table_location
from pyhudi_expr.cli.predicate_options import (
    DIALECT,
    FOOTERS,
    VIEW,
    ZONE,
    asked_table,
    warnings_as_hints,
)
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.tables.listing import TableView

_QUERIES = (
    "id = 12345",
    f"rider = '{ONE_RIDER}'",
    "city = 'Oslo' AND day = '2024-01-03'",
    "ts BETWEEN timestamp '2024-01-05 08:00:00' AND timestamp '2024-01-05 09:00:00'",
    "fare > 165",
    "city LIKE 'Z%' OR fare < 1",
    "fare * 2 < 10 OR hour(ts) IS NULL",
)
_EXPLAINED = "fare > 100 AND ts < '2024-01-05'"
_READ, _SKIPPED = "■", "·"


@click.command(
    short_help="A small table to try all of this on.",
    epilog=examples(
        ("pyhudi demo", "in a new temporary directory"),
        ("pyhudi demo ./trips", "in this one"),
        ("pyhudi demo ./trips --notebook", "with a notebook for Jupyter beside it"),
    ),
)
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@click.option("--notebook", "with_notebook", is_flag=True, help="Write a notebook about it, too.")
@AS_JSON
def demo(directory: Path | None, with_notebook: bool, as_json: bool) -> None:
    """Write a small Hudi table with indexes, and show which of its files some queries read.

    The table (copy on write, 80 files, 160,000 rows, with column_stats and a secondary index) stays
    for the other commands; beside it a page for the browser is written. Only this package is
    needed. The demo with Hive and Spark is `make demo` in a checkout.
    """
    path = directory or Path(mkdtemp(prefix="pyhudi-")) / "trips"
    with progress_while("writing the table"):
        write_demo_table(path)
        write_demo_indexes(path)
    written = asked_table(table_location(str(path)), footers=False)
    notebook = _notebook(path) if with_notebook else None
    found = [(text, written.prune(text)) for text in _QUERIES]
    if as_json:
        queries = [
            {
                "predicate": text,
                "files_kept": plan.files_kept,
                "files_total": plan.files_total,
                "bytes_kept": plan.bytes_kept,
            }
            for text, plan in found
        ]
        echo(reports.as_json({"table": str(path), "queries": queries}))
        return
    any_plan = found[0][1]
    echo(
        f"A Hudi table of {any_plan.files_total} files, {size_text(any_plan.bytes_total)}, with "
        f"column_stats and an index of riders:\n  {path}\n"
    )
    _print_queries(found)
    explained = written.explain(_EXPLAINED)
    _print_why(explained, path)
    page = _drawn(explained, path)
    echo(f"  as a page for the browser: {page}")
    if notebook:
        echo(f"\nAs a notebook: jupyter lab {shlex.quote(str(notebook))}")
    _print_next(path)


def _print_queries(found: Sequence[tuple[str, Plan]]) -> None:
    output = _predicates_table("files read", "size read")
    widest = max(len(name) for _, plan in found for name in plan.skipped_by)
    output.add_column("skipped by", overflow="fold", min_width=widest)
    for text, plan in found:
        size = share_text(plan.bytes_kept, plan.bytes_total)
        by = ", ".join(plan.skipped_by)
        output.add_row(text, f"{plan.files_kept} of {plan.files_total}", size, by)
    reports.print_table(output)


def _print_why(explained: Explanation, path: Path) -> None:
    echo(f"\nWhy:  pyhudi explain {path} {_typed(_EXPLAINED)}")
    echo(reports.summary(explained.plan.result))
    print_explanation(_EXPLAINED, explained.tree)


def _drawn(explained: Explanation, path: Path) -> Path:
    """Draw which files a query reads: for the terminal, and as a page whose path is returned."""
    page = path.with_name(f"{path.name}-explained.html")
    explained.to_html(page)
    echo(f"\nPicture: a row for each day, a file for each city; {_READ} is read")
    result, listing = explained.plan.result, explained.plan.result.listing
    for number, partition in enumerate(listing.partitions.to_pylist()):
        marks = (
            _READ if kept else _SKIPPED for kept in result.keep[listing.slice_partition == number]
        )
        echo(f"  {partition}  {' '.join(marks)}")
    return page


def _notebook(path: Path) -> Path:
    """Write the notebook about the demo's table beside it, and return its path."""
    written = json.loads(files("pyhudi_expr.cli").joinpath("demo.ipynb").read_text("utf-8"))
    for cell in written["cells"]:
        cell["source"] = [
            line.replace('ph.table("trips")', f"ph.table({str(path.resolve())!r})")
            for line in cell["source"]
        ]
    notebook = path.with_name(f"{path.name}.ipynb")
    notebook.write_text(json.dumps(written, indent=1), "utf-8")
    return notebook


def _print_next(path: Path) -> None:
    typed = shlex.quote(str(path))
    echo("\nNext:")
    for command, text, purpose in (
        ("inspect", "", "what the table is"),
        ("explain", _EXPLAINED, "what each part of a condition skips"),
        ("scan", f"rider = '{ONE_RIDER}'", "the rows"),
        ("bench", "fare > 165", "how long it takes to prune"),
    ):
        echo(f"  pyhudi {command} {typed}{' ' if text else ''}{_typed(text)}  # {purpose}")
    echo(f"  pyhudi index stats {typed}  # how large the indexes are")


def _typed(text: str) -> str:
    return f'"{text}"' if text else ""


@click.command(
    short_help="How fast a table is pruned, and what that spares.",
    epilog=examples(
        ('pyhudi bench /warehouse/trips "fare > 100" "city = \'Oslo\'"', "two queries' times"),
    ),
)
@TABLE
@click.argument("predicates", nargs=-1, required=True)
@click.option(
    "--times",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How often to repeat each one with a warm cache.",
)
@FOOTERS
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
    zone: str,
    as_json: bool,
) -> None:
    """Measure how long it takes to prune TABLE by each of PREDICATES, and what that saves.

    The first request reads the table's metadata; later ones use the cache, as in a service. The
    project's own benchmarks, with Spark and Hive, are `make bench` in a checkout.
    """
    path = table_location(table)

    def timed(text: str) -> reports.Report:
        started = perf_counter()
        asked = asked_table(path, footers)
        spent = []
        for _ in range(times + 1):
            plan = asked.prune(text, view=view, dialect=dialect, zone=zone)
            kept, size = plan.files_kept, plan.bytes_kept
            now = perf_counter()
            spent.append(1000 * (now - started))
            started = now
        return {
            "predicate": text,
            "files_total": plan.files_total,
            "files_kept": kept,
            "bytes_total": plan.bytes_total,
            "bytes_kept": size,
            "first_millis": spent[0],
            "median_millis": median(spent[1:]),
            "most_millis": max(spent[1:]),
        }

    with progress_while(f"running each query {times + 1} times"), warnings_as_hints():
        measured = [timed(text) for text in predicates]
    if as_json:
        echo(reports.as_json({"table": path, "times": times, "predicates": measured}))
        return
    times_of = ("first, ms", "then, ms (median)")
    output = _predicates_table("files read", "size read", *times_of)
    for one in measured:
        spent = (f"{one[name]:.1f}" for name in ("first_millis", "median_millis"))
        files = f"{one['files_kept']:,} of {one['files_total']:,}"
        size = share_text(one["bytes_kept"], one["bytes_total"])
        output.add_row(one["predicate"], files, size, *spent)
    reports.print_table(output)


def _predicates_table(*headings: str) -> Table:
    """Return a table of predicates, not truncated on a narrow terminal, and numbers."""
    output = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    output.add_column("WHERE", overflow="fold")
    for heading in headings:
        output.add_column(heading, justify="right", overflow="fold")
    return output

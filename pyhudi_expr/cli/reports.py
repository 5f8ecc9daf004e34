"""The output of commands, as plain data for JSON and as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from pyhudi_expr.api.display import share_text
from pyhudi_expr.cli import reports
from pyhudi_expr.cli.terminal import Printable, echo, printable
from pyhudi_expr.manage.operations import Plan, plan_record

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from pyhudi_expr.index.catalog.status import IndexStatus
    from pyhudi_expr.index.explanation import Explanation
    from pyhudi_expr.index.prune import PruneResult


Report = dict[str, Any]
_FILE_WIDTH = 240
_ENDLESS = 100_000
_TOO_WIDE = 2
"""How many times the terminal's width a table may want before its rows are no longer distinct."""


def prune_report(table: str, predicate: str, result: PruneResult) -> Report:
    """Return the files of a table to read, with the counts."""
    return {**count_report(table, predicate, result), "kept": result.kept_paths()}


def explain_report(
    table: str, predicate: str, result: PruneResult, explanation: Explanation
) -> Report:
    """Return what each part of the predicate excludes, with the counts."""
    counts = count_report(table, predicate, result)
    indexes = [{"index": of.name, "seconds": of.seconds} for of in result.evidence]
    unasked = [{"index": of.name, "reason": of.reason} for of in result.unasked]
    tree = explanation.as_dict()
    return {**counts, "indexes": indexes, "not_asked": unasked, "explanation": tree}


def index_timings(result: PruneResult) -> str:
    """Return a line with the indexes that were used, and the time of each, reading included."""
    times = ", ".join(f"{of.name} {1000 * of.seconds:.1f} ms" for of in result.evidence)
    return f"indexes used: {times}"


def summary(result: PruneResult) -> str:
    """Return some lines about a result: how much is read, at which instant, and the notes."""
    kept, total = result.files_kept, result.files_total
    skipped = f" ({(total - kept) / total:.1%} skipped)" if total else ""
    size = share_text(result.bytes_kept, result.bytes_total)
    notes = "".join(f"\nnote: {note}" for note in result.notes)
    return f"reads {kept:,} of {total:,} files{skipped}, {size}, as of {result.instant}{notes}"


def index_report(status: IndexStatus) -> Report:
    """Return an index's columns, location and freshness."""
    return {**asdict(status), "store": status.store.value, "state": status.state.value}


def print_table(table: Table, instead: Callable[[], Iterable[Text]] | None = None) -> None:
    """Print a table as wide as the terminal or, to a file, as its rows need.

    Args:
        table: The table.
        instead: Lines to print if the terminal is far too narrow; by default lines
            "heading: cell" for each row.
    """
    # Imported on use, as in the functions below: most reports have no table.
    from rich.console import Console

    console = Console(markup=False)  # predicates and names may have brackets
    if not console.is_terminal:
        console.width = _FILE_WIDTH
    elif instead is not None and _is_wider(console, table):
        console.print(*map(Printable, instead()), sep="\n", soft_wrap=True, highlight=False)
        return
    elif _is_too_wide(console, table):
        console.print(printable("\n".join(_records(table))), soft_wrap=True, highlight=False)
        return
    console.print(Printable(table) if console.is_terminal else table)


def _is_wider(console: Console, table: Table) -> bool:
    """Return whether a cell would be wrapped."""
    from rich.measure import Measurement

    endless = console.options.update_width(_ENDLESS)
    return Measurement.get(console, endless, table).maximum > console.width


def _is_too_wide(console: Console, table: Table) -> bool:
    """Return whether words would be truncated, or rows not distinguishable."""
    from rich.measure import Measurement

    endless = console.options.update_width(_ENDLESS)
    needed = Measurement.get(console, endless, table)
    return needed.minimum > console.width or needed.maximum > _TOO_WIDE * console.width


def _records(table: Table) -> Iterator[str]:
    if table.title:
        yield str(table.title)
    headings = [str(column.header).replace("\n", " ") for column in table.columns]
    for row in zip(*(column.cells for column in table.columns), strict=True):
        cells = [f"{heading}: {cell}" for heading, cell in zip(headings, row, strict=True) if cell]
        yield "\n  ".join(cells)


def as_json(report: Report) -> str:
    """Return JSON with two spaces of indentation."""
    return json.dumps(report, indent=2, ensure_ascii=False)


def as_text(report: Report) -> str:
    """Return a report as indented lines "name: value"."""
    return "\n".join(_lines(report, ""))


def count_report(table: str, predicate: str, result: PruneResult) -> Report:
    """Return the number and the size of the files of a table to read."""
    listing = result.listing
    kept_partitions = np.unique(listing.slice_partition[result.keep])
    return {
        "table": table,
        "predicate": predicate,
        "instant": result.instant,
        "view": listing.view.name.lower(),
        "files_total": result.files_total,
        "files_kept": result.files_kept,
        "bytes_total": result.bytes_total,
        "bytes_kept": result.bytes_kept,
        "partitions_total": len(listing.partitions),
        "partitions_kept": len(kept_partitions),
        "notes": list(result.notes),
    }


def _lines(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, below in value.items():
        if isinstance(below, Mapping):
            yield f"{indent}{_one_line(name)}:"
            yield from _lines(below, indent + "  ")
        elif isinstance(below, list):
            yield f"{indent}{_one_line(name)}: {_one_line(', '.join(map(str, below))) or '-'}"
        else:
            yield f"{indent}{_one_line(name)}: {'-' if below is None else _one_line(below)}"


def _one_line(text: object) -> str:
    return printable(str(text)).replace("\n", "\\n")


def print_plan(plan: Plan, as_json: bool) -> None:
    """Print what an operation would do."""
    if as_json:
        echo(reports.as_json(plan_record(plan)))
        return
    for change in plan.changes:
        value = f" to {change.value}" if change.value else ""
        echo(f"would {change.action.value} {change.what}{value}")
    if not plan.changes:
        echo("would change nothing")

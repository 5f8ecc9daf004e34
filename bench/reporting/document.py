"""Write the figures of `results.json` into documents: charts into one, tables into another."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from bench.reporting import charts
from bench.reporting.results import Entry

_DOCS = Path(__file__).parents[2] / "docs"
FILE, TABLES = _DOCS / "benchmarks.md", _DOCS / "benchmark-figures.md"
_BEGIN = "<!-- figures: written by bench/reporting/document.py -->"
_END = "<!-- end of the figures -->"
_COMPARING = frozenset({"query-path"})
"""Benchmarks that measure the same of each of their cases."""
_HELD = {True: "yes", False: "**no**", None: ""}


def written(document: str, shown: str) -> str:
    """Return the document with a text in its place. Raises ValueError if it has none."""
    before, _, rest = document.partition(_BEGIN)
    _, mark, after = rest.partition(_END)
    if not mark:
        raise ValueError(f"the document has no place for the figures: {_BEGIN}")
    return f"{before}{_BEGIN}\n{shown}\n{_END}{after}"


def pictures(kept: Sequence[Entry]) -> str:
    """Return the charts that can be drawn of the entries."""
    drawn = charts.drawable(kept)
    return "\n".join(f"\n![{each.title}](pictures/{each.file.name})" for each in drawn)


def figures(kept: Sequence[Entry]) -> str:
    """Return a chapter with a table for each benchmark."""
    parts = []
    for command, group in groupby(kept, key=lambda entry: str(entry["command"])):
        name = command.partition("BENCH=")[2]
        table = (_across if name in _COMPARING else _down)(list(group))
        parts.append(f"\n## `{command}`\n\n{table}")
    return "\n".join(parts)


def _down(entries: Sequence[Entry]) -> str:
    rows = [
        f"| {_shown(entry)} | {_number(entry['value'])} | {entry['unit']}"
        f" | {entry['bar'] or ''} | {_HELD[entry['holds']]} |"
        for entry in entries
    ]
    return "\n".join(["| measured | value | unit | bar | holds |\n|---|--:|---|---|---|", *rows])


def _across(entries: Sequence[Entry]) -> str:
    """Return a row for each case ("case, what"), after the figures of the machine."""
    cells: dict[str, dict[str, str]] = {}
    machine = []
    for entry in entries:
        case, _, what = _shown(entry).partition(", ")
        if what:
            cells.setdefault(case, {})[f"{what}, {entry['unit']}"] = _number(entry["value"])
        else:
            machine.append(entry)
    heads = list(dict.fromkeys(head for row in cells.values() for head in row))
    lines = [f"|  | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}"]
    for case, row in cells.items():
        lines.append(f"| {case} | {' | '.join(row.get(head, '') for head in heads)} |")
    return "\n".join([_down(machine), "", *lines])


def _shown(entry: Entry) -> str:
    """Return the name without that of the benchmark, which the command shows."""
    return str(entry["name"]).partition(": ")[2].replace("|", "\\|")


def _number(value: float) -> str:
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,}"

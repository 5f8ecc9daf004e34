"""Write the figures of `results.json` into `docs/benchmarks.md`: charts, and tables behind them."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from bench.reporting import charts
from bench.reporting.results import Entry

FILE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
_BEGIN = "<!-- figures: written by bench/reporting/document.py -->"
_END = "<!-- end of the figures -->"
_COMPARING = frozenset({"query-path"})
"""Benchmarks that measure the same of each of their cases."""
_HELD = {True: "yes", False: "**no**", None: ""}


def written(document: str, kept: Sequence[Entry]) -> str:
    """Return the document with the entries in their place. Raises ValueError if it has none."""
    before, _, rest = document.partition(_BEGIN)
    _, mark, after = rest.partition(_END)
    if not mark:
        raise ValueError(f"{FILE} has no place for the figures")
    return f"{before}{_BEGIN}\n{figures(kept)}\n{_END}{after}"


def figures(kept: Sequence[Entry]) -> str:
    """Return a chapter for each benchmark: its chart, if there is one, and its table."""
    drawn = {chart.benchmark: chart for chart in charts.drawable(kept)}
    parts = []
    for command, group in groupby(kept, key=lambda entry: str(entry["command"])):
        entries, name = list(group), command.partition("BENCH=")[2]
        table = (_across if name in _COMPARING else _down)(entries)
        parts.append(f"\n## `{command}`\n")
        if name in drawn:
            parts.append(f"![{drawn[name].title}](pictures/{drawn[name].file.name})\n")
        parts.append(f'<details markdown="1">\n<summary>The figures</summary>\n\n{table}\n')
        parts.append("</details>")
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

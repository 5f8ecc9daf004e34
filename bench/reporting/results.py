"""`results.json`: the latest figures of every benchmark, as an array of objects."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from bench.reporting.measuring import Measurement

FILE = Path(__file__).parents[1] / "results.json"

Entry = dict[str, Any]
_HELD = {True: "[green]yes", False: "[bold red]NO", None: ""}


def entries(
    benchmark: str, measurements: Sequence[Measurement], command: str = "make bench BENCH={}"
) -> list[Entry]:
    """Return the measurements of one benchmark as entries; `command` measures them again."""
    return [
        {
            "name": measurement.name,
            "value": float(f"{measurement.value:.4g}"),
            "unit": measurement.unit,
            "bar": measurement.bar,
            "holds": measurement.holds,
            "command": command.format(benchmark),
        }
        for measurement in measurements
    ]


def updated(known: Sequence[Entry], measured: Mapping[str, Sequence[Entry]]) -> list[Entry]:
    """Return `known` with all entries of the measured benchmarks replaced, in their places."""
    remaining = dict(measured)
    result: list[Entry] = []
    for entry in known:
        benchmark = entry["command"].removeprefix("make ").removeprefix("bench BENCH=")
        if benchmark in measured:
            result.extend(remaining.pop(benchmark, ()))
        else:
            result.append(entry)
    for fresh in remaining.values():
        result.extend(fresh)
    return result


def load(file: Path = FILE) -> list[Entry]:
    """Return the stored entries, [] before the first run."""
    found: list[Entry] = json.loads(file.read_text()) if file.is_file() else []
    return found


def save(kept: Sequence[Entry], file: Path = FILE) -> None:
    """Write the entries, one on a line."""
    lines = ",\n".join(f"  {json.dumps(entry, ensure_ascii=False)}" for entry in kept)
    file.write_text(f"[\n{lines}\n]\n")


def table(kept: Sequence[Entry]) -> Table:
    """Return the entries as a table for the terminal."""
    shown = Table("measured", title="Benchmarks", title_justify="left")
    shown.add_column("value", justify="right")
    shown.add_column("unit")
    shown.add_column("bar")
    shown.add_column("holds")
    for entry in kept:
        shown.add_row(
            entry["name"],
            f"{entry['value']:,}",
            entry["unit"],
            entry["bar"] or "",
            _HELD[entry["holds"]],
        )
    return shown

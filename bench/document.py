"""The figures of `results.json` in `docs/benchmarks.md`."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from bench.results import Entry

FILE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
_BEGIN = "<!-- figures: written by bench/document.py -->"
_END = "<!-- end of the figures -->"
_HELD = {True: "yes", False: "**no**", None: ""}


def written(document: str, kept: Sequence[Entry]) -> str:
    """The document with the entries in their place. Raises ValueError if it has none."""
    before, _, rest = document.partition(_BEGIN)
    _, mark, after = rest.partition(_END)
    if not mark:
        raise ValueError(f"{FILE} has no place for the figures")
    return f"{before}{_BEGIN}\n{figures(kept)}\n{_END}{after}"


def figures(kept: Sequence[Entry]) -> str:
    """A table for each benchmark, under its command."""
    parts = []
    for command, entries in groupby(kept, key=lambda entry: str(entry["command"])):
        rows = [
            f"| {_shown(entry)} | {_number(entry['value'])} | {entry['unit']}"
            f" | {entry['bar'] or ''} | {_HELD[entry['holds']]} |"
            for entry in entries
        ]
        head = "| measured | value | unit | bar | holds |\n|---|--:|---|---|---|"
        parts.append("\n".join([f"\n`{command}`\n", head, *rows]))
    return "\n".join(parts)


def _shown(entry: Entry) -> str:
    """The name without its benchmark's, which the command tells."""
    return str(entry["name"]).partition(": ")[2].replace("|", "\\|")


def _number(value: float) -> str:
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,}"

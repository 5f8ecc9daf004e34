"""What each part of a predicate excludes, as a table in a user's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from pyhudi_expr.api.sizes import size_text
from pyhudi_expr.cli import reports
from pyhudi_expr.index.explanation import Explanation
from pyhudi_expr.table.hudi_names import RECORD_KEY

_INDENT = "  "
_UNKNOWN = "UNKNOWN ("
_NEGATIONS = {"=": "<>", "IS NULL": "IS NOT NULL", "IN": "NOT IN", "LIKE": "NOT LIKE"}
_NEGATABLE = re.compile(r"([\w.]+) (=|IS NULL|IN|LIKE)(.*)", re.DOTALL)


@dataclass(frozen=True)
class _Line:
    """A part of the predicate, with its place in the tree."""

    text: str
    node: Explanation
    depth: int

    @property
    def label(self) -> str:
        return _INDENT * self.depth + self.text

    @property
    def by(self) -> str:
        """Which indexes exclude files, or why none does."""
        found = sorted(
            (answer for answer in self.node.answers if answer.files), key=lambda one: -one.files
        )
        if not self.node.excluded or not found:
            return self.node.reason or ""
        return ", ".join(f"{answer.index} ({answer.files:,})" for answer in found)


def print_explanation(predicate: str, explanation: Explanation) -> None:
    """Print a line for each part of the predicate, as the user wrote it."""
    lines = list(_lines(predicate, explanation))
    output = _table("by")
    for line in lines:
        output.add_row(*_cells(line), line.by)
    reports.print_table(output, instead=lambda: _narrow(lines))


def print_details(predicate: str, explanation: Explanation) -> None:
    """Print rows and times as well, and what each index lacks."""
    output = _table("rows", "ms", "by")
    for line in _lines(predicate, explanation):
        rows = line.node.excluded_rows
        of_rows = "" if rows is None else f"{rows:,}"
        output.add_row(*_cells(line), of_rows, f"{1000 * line.node.seconds:.1f}", line.by)
        lacking = () if line.node.children else line.node.answers
        for answer in lacking:
            if answer.reason:
                label = Text(_INDENT * (line.depth + 1) + answer.index, "dim")
                output.add_row(label, "", "", "", "", Text(answer.reason, "dim"))
    reports.print_table(output)


def _narrow(lines: Sequence[_Line]) -> Iterator[Text]:
    """Return each part with what it skips below, for terminals that are narrower than the table."""
    for line in lines:
        yield Text(line.label)
        files, size = _cells(line)[1:]
        text = Text.assemble(_INDENT * (line.depth + 2), "skips ", files, " files")
        text.append(f", {size}" if size else "")
        yield text.append(f": {line.by}" if line.by else "")


def _table(*headings: str) -> Table:
    output = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    output.add_column("part of the condition", overflow="fold")
    for heading in ("files skipped", "size", *headings):
        is_text = heading == "by"
        output.add_column(heading, justify="left" if is_text else "right", overflow="fold")
    return output


def _cells(line: _Line) -> tuple[Text, Text, str]:
    node = line.node
    files = Text(f"{node.excluded:,} of {node.files:,}", "green" if node.excluded else "yellow")
    return Text(line.label), files, size_text(node.excluded_bytes) if node.excluded else ""


def _lines(predicate: str, explanation: Explanation) -> Iterator[_Line]:
    """Return the lines; what was derived for record keys is left out unless the user wrote it."""
    yield _Line(" ".join(predicate.split()), explanation, 0)
    below = [*_below(explanation, 1, RECORD_KEY in predicate)]
    if len(below) > 1:
        yield from below


def _below(node: Explanation, depth: int, with_keys: bool) -> Iterator[_Line]:
    for child in node.children:
        if not with_keys and child.predicate.startswith(RECORD_KEY):
            continue
        yield _Line(_text(child), child, depth)
        yield from _below(child, depth + 1, with_keys)


def _text(node: Explanation) -> str:
    text = _without_reasons(node.predicate)
    if not node.negated:
        return text
    return f"NOT ({text})" if node.children else _negated(text)


def _negated(condition: str) -> str:
    """Return `a <> 1` for `a = 1`, and so on, as people write it."""
    found = _NEGATABLE.fullmatch(condition)
    if found is None:
        return f"NOT {condition}"
    column, operator, rest = found.groups()
    return f"{column} {_NEGATIONS[operator]}{rest}"


def _without_reasons(text: str) -> str:
    """Replace parts that are not evaluated; their lines have the reasons."""
    start = text.find(_UNKNOWN)
    if start < 0:
        return text
    end, depth = start + len(_UNKNOWN), 1
    while depth and end < len(text):
        depth += (text[end] == "(") - (text[end] == ")")
        end += 1
    return f"{text[:start]}(not evaluated){_without_reasons(text[end:])}"

"""What each part of a predicate excludes, as a table in a user's words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from pyhudi_expr.api.explanation_lines import ExplanationLine, explanation_lines
from pyhudi_expr.cli import reports
from pyhudi_expr.index.explanation import Explanation

_INDENT = "  "


def print_explanation(predicate: str, explanation: Explanation) -> None:
    """Print a line for each part of the predicate, as the user wrote it."""
    lines = list(explanation_lines(predicate, explanation))
    output = _table("by")
    for line in lines:
        output.add_row(*_cells(line), line.by)
    reports.print_table(output, instead=lambda: _narrow(lines))


def print_details(predicate: str, explanation: Explanation) -> None:
    """Print rows and times as well, and what each index lacks."""
    output = _table("rows", "ms", "by")
    for line in explanation_lines(predicate, explanation):
        rows = line.node.excluded_rows
        of_rows = "" if rows is None else f"{rows:,}"
        output.add_row(*_cells(line), of_rows, f"{1000 * line.node.seconds:.1f}", line.by)
        lacking = () if line.node.children else line.node.answers
        for answer in lacking:
            if answer.reason:
                label = Text(_INDENT * (line.depth + 1) + answer.index, "dim")
                output.add_row(label, "", "", "", "", Text(answer.reason, "dim"))
    reports.print_table(output)


def _narrow(lines: Sequence[ExplanationLine]) -> Iterator[Text]:
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


def _cells(line: ExplanationLine) -> tuple[Text, Text, str]:
    return (
        Text(line.label),
        Text(line.files, "green" if line.node.excluded else "yellow"),
        line.size,
    )

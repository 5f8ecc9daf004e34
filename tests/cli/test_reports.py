"""Tables on terminals, in pipes and on narrow screens."""

import io

import pytest
from rich.console import Console
from rich.table import Table

from pyhudi_expr.cli import reports


def render(monkeypatch: pytest.MonkeyPatch, rows: list[tuple[str, str]], width: int) -> list[str]:
    """The output on a terminal of that width; 0: in a file."""
    screen = io.StringIO()
    settings = {"file": screen, "force_terminal": bool(width), "width": width or None}
    monkeypatch.setattr("rich.console.Console", lambda **own: Console(**settings, **own))
    table = Table("name", "columns")
    for row in rows:
        table.add_row(*row)
    reports.print_table(table)
    return screen.getvalue().splitlines()


def test_wide_rows_are_printed_as_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = ", ".join(f"column_{number}" for number in range(32))
    rows = [("ranges", columns), ("keys", "")]
    lines = render(monkeypatch, rows, 60)
    assert lines == ["name: ranges", f"  columns: {columns}", "name: keys"]
    assert any("ranges" in line and columns[:200] in line for line in render(monkeypatch, rows, 0))


def test_rows_that_fit_are_printed_as_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = render(monkeypatch, [("ranges", "ts, fare")], 60)
    assert any("│ ranges │ ts, fare │" in line for line in lines)


def test_brackets_are_printed_literally(monkeypatch: pytest.MonkeyPatch) -> None:
    assert any("[bold]x" in line for line in render(monkeypatch, [("a", "[bold]x")], 0))


def test_words_are_never_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("ranges_of_every_column", "a_column_with_a_long_name")]
    lines = render(monkeypatch, rows, 40)
    assert lines == ["name: ranges_of_every_column", "  columns: a_column_with_a_long_name"]

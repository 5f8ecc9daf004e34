"""Names and values of tables do not control the terminal that shows them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pyhudi_expr.cli import reports
from pyhudi_expr.cli.main import main
from pyhudi_expr.cli.terminal import Printable, echo
from tests.cli.terminals import Terminal, at_a_terminal, to_terminal

#: Clears the screen, sets its title, goes to the line's beginning, ends the line, reverses text.
HOSTILE = "\x1b[2Ja\x1b]0;title\x07\rb\x9b2J\u202ec"


def controls(text: str) -> list[str]:
    return re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)


@pytest.fixture
def hostile_table(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    """A table whose name, properties and partition are hostile."""
    table = tmp_path / f"t{HOSTILE}"
    shutil.copytree(golden["cow_v9_txns_simple_meta"], table)
    shutil.rmtree(table / ".hoodie/metadata")  # It would list the partitions.
    (table / "region=us").rename(table / f"region=us{HOSTILE}")
    properties = table / ".hoodie/hoodie.properties"
    text = properties.read_text()
    named = re.sub("hoodie.table.name=.*", r"hoodie.table.name=x\\u001b[2J\\u009b", text)
    properties.write_text(named)
    return table


@pytest.mark.parametrize("command", [["inspect"], ["prune", "amount > 1"]])
def test_a_hostile_table_does_not_control_the_terminal(
    command: list[str], hostile_table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = at_a_terminal(monkeypatch, "")
    screen = to_terminal(monkeypatch)
    name, *rest = command
    main([name, str(hostile_table), *rest])
    assert "u001b[2J" in screen.getvalue() + errors.getvalue()
    assert not controls(screen.getvalue())


def test_an_error_does_not_control_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = at_a_terminal(monkeypatch, "")
    assert main(["inspect", f"{tmp_path}/none{HOSTILE}"]) == 1
    assert not controls(errors.getvalue())
    assert "u001b[2J" in errors.getvalue()


def test_a_report_of_several_lines_has_none_of_a_name() -> None:
    text = reports.as_text({"files": {f"a\nforged: {HOSTILE}": f"b\nline: {HOSTILE}"}})
    assert len(text.splitlines()) == 2
    assert not controls(text)


def test_a_pipe_gets_names_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    echo("a\rb\x9b2J\u202ec")
    assert capsys.readouterr().out == "a\rb\x9b2J\u202ec\n"


def test_what_is_shown_of_json_is_the_same_value(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = to_terminal(monkeypatch)
    echo(reports.as_json({"name": HOSTILE}))
    assert not controls(screen.getvalue())
    assert json.loads(screen.getvalue()) == {"name": HOSTILE}


def test_cells_of_a_table_keep_their_styles_only() -> None:
    screen = Terminal()
    table = Table("name")
    table.add_row(Text(HOSTILE, style="bold red"))
    Console(file=screen, force_terminal=True, width=100).print(Printable(table))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())
    assert not controls(shown)
    assert "u001b[2J" in shown
    assert "\x1b[1;31m" in screen.getvalue()

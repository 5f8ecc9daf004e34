"""How users name tables."""

from __future__ import annotations

import re
from pathlib import Path

import click
from click.shell_completion import CompletionItem

_NAME = re.compile(r"\w+\.\w+")


def table_location(table: str) -> str:
    """Return a URI or an absolute path; relative paths are resolved."""
    return table if ":" in table.split("/")[0] else str(Path(table).absolute())


def is_table_name(table: str) -> bool:
    """Return whether it is `database.table`, and not an existing path."""
    return bool(_NAME.fullmatch(table)) and not Path(table).exists()


def complete_directories(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete a table's path in shells."""
    return [CompletionItem(incomplete, type="dir")]

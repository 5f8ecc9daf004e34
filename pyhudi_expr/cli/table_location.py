"""How people name tables."""

from __future__ import annotations

import re
from pathlib import Path

import click
from click.shell_completion import CompletionItem

_NAME = re.compile(r"\w+\.\w+")


def table_location(table: str) -> str:
    """A URI or an absolute path; people also write paths from where they are."""
    return table if ":" in table.split("/")[0] else str(Path(table).absolute())


def is_table_name(table: str) -> bool:
    """Whether it is `database.table`, and no path from here."""
    return bool(_NAME.fullmatch(table)) and not Path(table).exists()


def complete_directories(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Lets shells complete a table's path."""
    return [CompletionItem(incomplete, type="dir")]

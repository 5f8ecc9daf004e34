"""Print texts that come from tables, and ask before something is removed or rewritten."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
from pyhudi_expr.errors import HudiError

#: All control characters but tab and newline, and those that change the direction of text.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""Return a text with control characters as `\uXXXX`, as JSON writes them."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def echo(text: object = "", *, err: bool = False) -> None:
    """Print a line; to a file or a pipe exactly, to a terminal with visible control characters."""
    stream = sys.stderr if err else sys.stdout
    click.echo(printable(str(text)) if stream.isatty() else text, err=err)


@dataclass(frozen=True)
class Printable:
    """Something to print by rich, whose texts do not control the terminal.

    Attributes:
        renderable: The thing. Its styles are not texts, so they stay.
    """

    renderable: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Return its segments."""
        for segment in console.render(self.renderable, options):
            yield segment._replace(text=printable(segment.text))


DRY_RUN = click.option(
    "--dry-run", is_flag=True, help="Print what would be done, and change nothing."
)
"""The parameter `dry_run`."""

YES = click.option("--yes", "-y", "is_confirmed", is_flag=True, help="Do not ask on a terminal.")
"""The parameter `is_confirmed`."""


def is_asked(is_confirmed: bool) -> bool:
    """Return whether a person is there to be asked, and has not agreed yet."""
    return not is_confirmed and sys.stdin.isatty() and sys.stderr.isatty()


def confirm(what: str) -> None:
    """Ask whether to do it.

    Raises:
        HudiError: The answer is no.
    """
    if not click.confirm(f"{what}\nContinue?", err=True):
        raise HudiError("nothing was changed")

"""Commands that remove or rewrite something ask first, or only say what they would do."""

from __future__ import annotations

import sys

import click

from pyhudi_expr.errors import HudiError

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

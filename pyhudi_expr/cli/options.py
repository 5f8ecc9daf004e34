"""Options that several groups of commands have."""

from __future__ import annotations

import click

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
"""The parameter `as_json`."""


def names(texts: str) -> tuple[str, ...]:
    """Names with commas in between."""
    return tuple(name.strip() for name in texts.split(",") if name.strip())

"""The option that writes an HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from pyhudi_expr.errors import HudiError

AS_HTML = click.option(
    "--html",
    "html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a page for a browser, too; it loads nothing else.",
)
"""The parameter `html`."""


def write_page(target: Path, content: str) -> None:
    """Write a page. Raises HudiError if the file cannot be written."""
    try:
        target.write_text(content, encoding="utf-8")
    except OSError as error:
        raise HudiError(f"{target}: the page cannot be written: {error}") from error

"""Options of the commands that take a predicate."""

from __future__ import annotations

import click

from pyhudi_expr.frontend.sql import DIALECTS
from pyhudi_expr.table.listing import TableView

_VIEWS = {"snapshot": TableView.SNAPSHOT, "read-optimized": TableView.READ_OPTIMIZED}

DIALECT = click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS)),
    default="hive",
    show_default=True,
    help="The SQL that the predicate or the queries are written in.",
)
"""The parameter `dialect`: a key of `DIALECTS`."""

VIEW = click.option(
    "--view",
    type=click.Choice(list(_VIEWS)),
    default="snapshot",
    show_default=True,
    callback=lambda _context, _option, name: _VIEWS[name],
    help="Base and log files, or base files only.",
)
"""The parameter `view`: a `TableView`."""

AS_OF = click.option("--as-of", metavar="INSTANT", help="Time travel: as of this instant.")
"""The parameter `as_of`."""

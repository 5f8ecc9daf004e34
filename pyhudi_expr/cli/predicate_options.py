"""Options of the commands that take a predicate."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import click

from pyhudi_expr.frontend.sql.parser import DIALECTS
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.listing import TableView
from pyhudi_expr.table.timeline.timeline import query_instant

_VIEWS = {"snapshot": TableView.SNAPSHOT, "read-optimized": TableView.READ_OPTIMIZED}

DIALECT = click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS)),
    default="hive",
    show_default=True,
    help="The SQL that the predicate or the queries are written in.",
)
"""The parameter `dialect`: a key of `DIALECTS`."""

_READERS = {"hive": PartitionReader.ENGINE, "spark": PartitionReader.HUDI_SPARK}


def reader_of(dialect: str) -> PartitionReader:
    """Return where the engine of the dialect takes partition values from."""
    return _READERS.get(dialect, PartitionReader.ANY)


VIEW = click.option(
    "--view",
    type=click.Choice(list(_VIEWS)),
    default="snapshot",
    show_default=True,
    callback=lambda _context, _option, name: _VIEWS[name],
    help="Base and log files, or base files only.",
)
"""The parameter `view`: a `TableView`."""


def known_zone(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    """Check a zone option (a callback)."""
    try:
        if name not in (None, "UTC", "Z", "GMT"):
            ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise click.BadParameter(f"the zone {name!r} is unknown; Europe/Oslo is one") from error
    return name


ZONE = click.option(
    "--zone",
    callback=known_zone,
    help="IANA zone in which the query reads instants as wall clocks.",
)
"""The parameter `zone`."""


def instant(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """Parse an instant option, which may also be a date (a callback)."""
    try:
        return query_instant(text)
    except HudiError as error:
        raise click.BadParameter(str(error)) from error


AS_OF = click.option(
    "--as-of",
    metavar="INSTANT",
    callback=instant,
    help="Time travel: as of this instant (20240131235959000, or '2024-01-31 23:59:59').",
)
"""The parameter `as_of`: digits, as in the timeline."""

SINCE = click.option(
    "--since",
    metavar="INSTANT",
    callback=instant,
    help="Only rows that were written after this instant.",
)
"""The parameter `since`: digits, as in the timeline."""

"""Options of the commands that take a predicate."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pyarrow as pa

from pyhudi_expr.api.arguments import instant_text
from pyhudi_expr.api.defaults import DEFAULT_DIALECT, DEFAULT_ZONE, FOOTER_WAIT_SECONDS
from pyhudi_expr.api.predicates import quoted_columns
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.errors import HudiError, PyHudiWarning
from pyhudi_expr.expr.frontend.sql.parser import DIALECTS
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.expr.zones import UnknownZoneError, python_zone
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.index.request_checks import check_columns
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.store.disk_cache import user_directory
from pyhudi_expr.tables.timeline.timeline import query_instant

if TYPE_CHECKING:
    from pyhudi_expr.api.table import Table

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_BARE_DATE = re.compile(r"(?<![\w.])[12]\d{3}-\d\d-\d\d(?!\w)")
_VIEWS = {"snapshot": TableView.SNAPSHOT, "read-optimized": TableView.READ_OPTIMIZED}

FOOTERS = click.option(
    "--footers", is_flag=True, help="Read the Parquet footers of files that have no statistics."
)
"""The parameter `footers` of `prune_options`."""


def prune_options(footers: bool) -> PruneOptions:
    """Return the options of a pruner that waits for footers, if they are asked for.

    It shares the user's cache directory with the service, and with later commands.
    """
    return PruneOptions(
        footers=footers, footer_wait=FOOTER_WAIT_SECONDS, snapshot_dir=user_directory()
    )


def asked_table(opened: HudiTable, footers: bool) -> Table:
    """Return a table for the questions of a command, which shows its progress itself."""
    from pyhudi_expr.api.table import Table  # on use: the import takes time

    return Table(opened, Pruner(prune_options(footers)), shows_progress=False)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Leave out warnings of the Python API: commands print hints and notes of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PyHudiWarning)
        yield


DIALECT = click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS), case_sensitive=False),
    default=DEFAULT_DIALECT,
    show_default=True,
    help="The SQL that the predicate or the queries are written in.",
)
"""The parameter `dialect`: a key of `DIALECTS`."""

VIEW = click.option(
    "--view",
    type=click.Choice(list(_VIEWS), case_sensitive=False),
    default="snapshot",
    show_default=True,
    callback=lambda _context, _option, name: _VIEWS[name],
    help="Base and log files, or base files only.",
)
"""The parameter `view`: a `TableView`."""


def known_zone(_context: click.Context, _option: click.Parameter, name: str) -> str:
    """Check a zone option (a callback)."""
    try:
        python_zone(name)
    except UnknownZoneError as error:
        raise click.BadParameter(f"the zone {name!r} is unknown; Europe/Oslo is one") from error
    return name


ZONE = click.option(
    "--zone",
    default=DEFAULT_ZONE,
    show_default=True,
    callback=known_zone,
    help="IANA zone in which the query reads instants as wall clocks.",
)
"""The parameter `zone`."""


def instant(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> str | datetime | None:
    """Parse an instant option, which may also be a date or have an offset (a callback)."""
    try:
        return query_instant(text)
    except HudiError as error:
        with_offset = _time_with_offset(text or "")
        if with_offset is None:
            raise click.BadParameter(str(error)) from error
        return with_offset


def _time_with_offset(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text.strip()))
    except ValueError:
        return None
    return None if time.tzinfo is None else time


def timeline_instant(given: str | datetime | None, table: str, zone: str) -> str | None:
    """Return the value of an instant option in the digits of the table's timeline."""
    if not isinstance(given, datetime):
        return given
    return instant_text(given, zone, HudiTable.open(table).properties)


AS_OF = click.option(
    "--as-of",
    metavar="INSTANT",
    callback=instant,
    help="Time travel: as of this instant (20240131235959000, '2024-01-31 23:59:59', or with an "
    "offset from UTC, 2024-01-31T23:59:59+01:00).",
)
"""The parameter `as_of`: see `timeline_instant`."""

SINCE = click.option(
    "--since",
    metavar="INSTANT",
    callback=instant,
    help="Only rows that were written after this instant.",
)
"""The parameter `since`: see `timeline_instant`."""


def _condition(context: click.Context, option: click.Parameter, text: str) -> str:
    """Check that it is no table, and warn of dates without quotes (a callback)."""
    if text and Path(text).is_dir():
        raise click.UsageError(f"the table comes first, then the condition: {text} is a directory")
    bare = _BARE_DATE.search(_QUOTED.sub("''", text))
    if bare is not None:
        echo(f"hint: {bare[0]} is a difference; a date is in quotes: '{bare[0]}'", err=True)
    return text


PREDICATE = click.argument("predicate", callback=_condition)
"""The argument `predicate`."""

OPTIONAL_PREDICATE = click.argument("predicate", default="true", callback=_condition)
"""The argument `predicate`; without it all rows."""


def checked_snapshot(pruner: Pruner, table: str, request: PruneRequest) -> TableSnapshot:
    """Open a table for a request of a person.

    Raises:
        HudiError: The table cannot be read, has no such column (UnknownColumn), or had no commit at
            the instant (BeforeFirstCommit).
    """
    if request.as_of is not None:
        HudiTable.open(table).check_as_of(request.as_of)
    snapshot = pruner.open(table, request.view, request.as_of)
    check_columns(request.predicate, snapshot.schema, table)
    hint_at_quoted_columns(request.predicate, snapshot.schema)
    return snapshot


def hint_at_quoted_columns(predicate: HudiExpression, schema: pa.Schema) -> None:
    """Print a hint for each column's name that is a text by its quotes."""
    for found in quoted_columns(predicate, schema):
        echo(f"hint: {found}", err=True)

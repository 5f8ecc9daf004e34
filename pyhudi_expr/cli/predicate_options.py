"""Options of the commands that take a predicate."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from pyhudi_expr.api import DEFAULT_DIALECT, DEFAULT_ZONE, FOOTER_WAIT_SECONDS
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.errors import HudiError, PyHudiWarning, QuotedColumnWarning
from pyhudi_expr.expr.frontend.sql.dialects import DIALECTS
from pyhudi_expr.expr.semantics import UnknownZoneError, python_zone
from pyhudi_expr.index.partition_semantics import READERS
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.tables.hudi_names import BUCKET_NUMBER, INDEX_TYPE
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.store.disk_cache import user_directory
from pyhudi_expr.tables.properties import StatedBuckets
from pyhudi_expr.tables.timeline import query_instant

if TYPE_CHECKING:
    from pyhudi_expr.api.table import Table

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_BARE_DATE = re.compile(r"(?<![\w.])[12]\d{3}-\d\d-\d\d(?!\w)")
_VIEWS = {"snapshot": TableView.SNAPSHOT, "read-optimized": TableView.READ_OPTIMIZED}

FOOTERS = click.option(
    "--footers",
    is_flag=True,
    help="Read the Parquet footers of all files that have no statistics, however many they are.",
)
"""The parameter `footers` of `asked_table`."""


def _stated_buckets(
    _context: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> StatedBuckets | None:
    """Parse a catalog's properties (a callback)."""
    pairs = [text.partition("=") for text in texts]
    for text, (_, equals, _) in zip(texts, pairs, strict=True):
        if not equals:
            raise click.BadParameter(f"expected KEY=VALUE, got {text!r}")
    try:
        return StatedBuckets.of({key.strip(): value.strip() for key, _, value in pairs})
    except HudiError as error:
        raise click.BadParameter(str(error)) from error


BUCKETS = click.option(
    "--catalog-property",
    "buckets",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_stated_buckets,
    help="A property of the table in a catalog; repeatable. Those of a bucket index are used: "
    f"{INDEX_TYPE}=BUCKET and {BUCKET_NUMBER}.",
)
"""The parameter `buckets`: a `StatedBuckets`, or None."""


def asked_table(location: str, footers: bool, buckets: StatedBuckets | None = None) -> Table:
    """Return a table for the questions of a command, which shows its progress itself.

    It waits for the footers that it reads, and shares the user's cache directory with the
    service, and with later commands.
    """
    from pyhudi_expr.api.table import Table  # on use: the import takes time

    options = PruneOptions(
        footers=footers, footer_wait=FOOTER_WAIT_SECONDS, snapshot_dir=user_directory()
    )
    return Table(location, Pruner(options), False, buckets=buckets)


@contextmanager
def warnings_as_hints() -> Iterator[None]:
    """Print the warnings of quoted columns as hints, and no other warnings of the Python API.

    For what these say, commands print notes of their own.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PyHudiWarning)
        warnings.simplefilter("default", QuotedColumnWarning)
        others = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, PyHudiWarning):
                echo(f"hint: {message}", err=True)
            else:
                others(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


DIALECT = click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS), case_sensitive=False),
    default=DEFAULT_DIALECT,
    show_default=True,
    help="The SQL that the predicate or the queries are written in.",
)
"""The parameter `dialect`: a key of `DIALECTS`."""

READER = click.option(
    "--reader",
    type=click.Choice(list(READERS), case_sensitive=False),
    help="Who will read the files: partition columns are in the files and in the paths, which may "
    "differ. [default: the engine of the dialect]",
)
"""The parameter `reader`: a key of `READERS`, or None."""

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


AS_OF = click.option(
    "--as-of",
    metavar="INSTANT",
    callback=instant,
    help="Time travel: as of this instant (20240131235959000, '2024-01-31 23:59:59', or with an "
    "offset from UTC, 2024-01-31T23:59:59+01:00).",
)
"""The parameter `as_of`: digits of a timeline, or a time with its offset."""

SINCE = click.option(
    "--since",
    metavar="INSTANT",
    callback=instant,
    help="Only rows that were written after this instant.",
)
"""The parameter `since`, as `as_of`."""


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

"""How far the indexes of a table's extension are behind the table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from pyhudi_expr.index.catalog.registry import kind_of
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.extension.reader import Extension

_SECONDS = len("yyyyMMddHHmmss")


@dataclass(frozen=True)
class IndexLag:
    """How far one index is behind.

    Attributes:
        index: Its name; the name of the kind, where a table has one of a kind only.
        instants: The number of actions that changed rows, and that it does not cover.
        since: When the first of them completed (in layout 1: began); None if there is none.
    """

    index: str
    instants: int
    since: datetime | None

    def seconds(self, now: datetime) -> float:
        """Return for how long it has been behind; 0 if it is not."""
        return 0.0 if self.since is None else max((now - self.since).total_seconds(), 0.0)


def index_lags(table: HudiTable, extension: Extension | None) -> tuple[IndexLag, ...]:
    """Return the lag of each index of the extension, by name. Reads nothing.

    Args:
        table: The table.
        extension: Its extension; None if it has none.
    """
    if extension is None:
        return ()
    lacking = extension.coverage.uncovered(table)
    zone = timezone.utc if table.properties.timeline_zone == "UTC" else None
    ends = [_time(instant.completed or instant.requested, zone) for instant in lacking]
    since = min(ends, default=None)
    names = sorted(kind_of(partition)[1] for partition in extension.partitions)
    return tuple(IndexLag(name, len(lacking), since) for name in names)


def _time(instant: str, zone: timezone | None) -> datetime:
    """Return a timeline's time; `zone` is the timeline's, None: the local one."""
    moment = datetime.strptime(instant[:_SECONDS].ljust(_SECONDS, "0"), "%Y%m%d%H%M%S")
    return moment.replace(tzinfo=zone).astimezone(timezone.utc)

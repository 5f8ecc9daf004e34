"""How far the extension's indexes of known tables are behind, as metrics. A scrape reads nothing.

A table is known from requests and callbacks. What is shown is what the latest of them saw, and the
seconds go on.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from pyhudi_expr.index.catalog.registry import kind_of
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.extension import Extension

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


_MAX_TABLES = 500
_LABELS = ("table", "index")


class Staleness(Collector):
    """The tables that were seen last, of limited number. Thread safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lags: OrderedDict[str, tuple[IndexLag, ...]] = OrderedDict()
        self._seen = weakref.WeakValueDictionary[str, TableSnapshot]()

    def opened(self, table: str, snapshot: TableSnapshot) -> None:
        """Take the lags of a table as a request has opened it."""
        with self._lock:
            if self._seen.get(table) is snapshot:
                return
        self.found(table, index_lags(snapshot.table, snapshot.extension))
        with self._lock:
            self._seen[table] = snapshot

    def found(self, table: str, lags: tuple[IndexLag, ...]) -> None:
        """Take the lags of a table; without any it is forgotten."""
        with self._lock:
            self._forget(table)
            if lags:
                self._lags[table] = lags
            while len(self._lags) > _MAX_TABLES:
                self._forget(next(iter(self._lags)))

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the metrics, see prometheus_client's `Collector`."""
        seconds = GaugeMetricFamily(
            "pyhudi_index_lag_seconds",
            "Age of the first commit that an index of the extension does not cover.",
            labels=_LABELS,
        )
        instants = GaugeMetricFamily(
            "pyhudi_index_lag_instants",
            "Commits that an index of the extension does not cover.",
            labels=_LABELS,
        )
        now = datetime.now(timezone.utc)
        with self._lock:
            tables = list(self._lags.items())
        for table, lags in tables:
            for lag in lags:
                seconds.add_metric((table, lag.index), lag.seconds(now))
                instants.add_metric((table, lag.index), lag.instants)
        return seconds, instants

    def _forget(self, table: str) -> None:
        self._lags.pop(table, None)
        self._seen.pop(table, None)

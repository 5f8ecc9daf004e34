"""How far the extension's indexes of known tables are behind, as metrics. A scrape reads nothing.

A table is known from requests and callbacks. What is shown is what the latest of them saw, and the
seconds go on.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime, timezone

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.manage.index_lag import IndexLag, index_lags

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

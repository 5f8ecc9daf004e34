"""The service's metrics for Prometheus, and its latest requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from functools import cache, lru_cache
from typing import TypeAlias

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Summary,
    generate_latest,
)
from prometheus_client.metrics_core import Metric

from pyhudi_expr.api.pages.activity import Activity, AnsweredRequest
from pyhudi_expr.index.catalog.registry import kind_of
from pyhudi_expr.index.kept_rows import KeptRows
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.protocol.generated.ttypes import PruneResponse, PruneStatus
from pyhudi_expr.service.history import History
from pyhudi_expr.service.staleness import Staleness

#: The content type of `text`.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OfLabel: TypeAlias = Callable[[str], Counter]
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """The counters of one service. Thread safe.

    Attributes:
        staleness: How far the extension's indexes of the tables are behind.
    """

    def __init__(self) -> None:
        self._history = History()
        self._listeners: list[Callable[[AnsweredRequest], None]] = []
        self._lock = threading.Lock()
        #: What the counters lack: each has a lock of its own, and is looked at now and then.
        self._amounts: dict[Counter, int] = {}
        self.staleness = Staleness()
        registry = self._registry = CollectorRegistry()
        registry.register(self.staleness)
        self._requests = _counter(
            "pyhudi_requests", "Requests that were answered.", "status", registry
        )
        self._open = _counter(
            "pyhudi_unpruned", "Requests after which a query reads every file.", "reason", registry
        )
        self._refused = _counter(
            "pyhudi_connections_refused",
            "Connections that the service closed.",
            "reason",
            registry,
        )
        self._seconds = Histogram(
            "pyhudi_request_seconds",
            "Time from a request's decoding to its answer.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._files = _dropped("pyhudi_files", "Files of requested tables", registry)
        self._bytes = _dropped("pyhudi_bytes", "Bytes of requested tables", registry)
        self._partitions = _dropped("pyhudi_partitions", "Partitions", registry)
        self._row_groups = _dropped(
            "pyhudi_row_groups", "Row groups of evaluated kept files", registry
        )
        self._pages = _dropped(
            "pyhudi_pages", "Pages of the predicate's columns in evaluated row groups", registry
        )
        self._rows = _dropped("pyhudi_rows", "Rows of evaluated kept files", registry)
        self._index_files = _counter(
            "pyhudi_index_files_dropped",
            "Files dropped, by the index that excluded them of what those before it left.",
            "index",
            registry,
        )
        index_seconds = Summary(
            "pyhudi_index_seconds",
            "Time of an index's answer, reading included.",
            ["index"],
            registry=registry,
        )
        self._index_seconds: Callable[[str], Summary] = cache(index_seconds.labels)
        self._metadata = _counter(
            "pyhudi_metadata_requests",
            "Requests for rows that describe a table, by status.",
            "status",
            registry,
        )
        self._notes = Counter(
            "pyhudi_notes",
            "Reasons in answers why less was pruned than could be.",
            registry=registry,
        )
        self._refreshes = _counter(
            "pyhudi_index_refreshes",
            "Commit callbacks that were carried out, by what became of the refresh.",
            "outcome",
            registry,
        )

    def refreshed(self, outcome: str) -> None:
        """Count the end of a refresh, by one of a few words."""
        self._refreshes(outcome).inc()

    def described(self, status: str) -> None:
        """Count a response with rows that describe a table, by its status."""
        self._metadata(status.lower()).inc()

    def answered(
        self, response: PruneResponse, seconds: float, reason: str | None, note: str | None = None
    ) -> None:
        """Count a response.

        Args:
            response: The response.
            seconds: The time of the request.
            reason: Why nothing was pruned, one of a few words; None if files were pruned.
            note: What may be shown of the response's message.
        """
        answered = _answered_request(response, seconds, note or "")
        self._history.add(answered)
        for listener in self._listeners:
            listener(answered)
        self._seconds.observe(seconds)
        status, done = PruneStatus._VALUES_TO_NAMES[response.status].lower(), response.counts
        with self._lock:
            self._add(self._requests(status), 1)
            if reason is not None:
                self._add(self._open(reason), 1)
            if done is None:
                return
            self._count(self._files, done.filesConsidered, done.filesDropped)
            self._count(self._bytes, done.bytesConsidered, done.bytesDropped)
            self._count(self._partitions, done.partitionsConsidered, done.partitionsDropped)
            if response.message:
                self._add(self._notes, 1)

    def count_result(self, table: str, result: PruneResult) -> None:
        """Count the time of each index, and the files that it dropped of a table."""
        self._history.add_result(table, result)
        for source in result.evidence:
            self._index_seconds(_kind(source.name)).observe(source.seconds)
        with self._lock:
            for name, files in result.dropped_by.items():
                self._add(self._index_files(_kind(name)), files)

    def count_rows(self, kept: KeptRows) -> None:
        """Count what was evaluated of kept files."""
        with self._lock:
            self._count(self._row_groups, kept.groups, kept.groups - kept.groups_kept)
            self._count(self._pages, kept.pages, kept.pages - kept.pages_kept)
            self._count(self._rows, kept.num_rows, kept.num_rows - kept.num_rows_kept)

    def activity(self) -> Activity:
        """Return the requests since the start: totals, trends, tables, the latest ones."""
        return self._history.activity()

    def refused(self, reason: str) -> None:
        """Count a connection that was closed for one of a few reasons."""
        self._refused(reason).inc()

    def subscribe(self, listener: Callable[[AnsweredRequest], None]) -> None:
        """Call a listener for each response from now on; it must neither wait nor raise."""
        self._listeners.append(listener)

    def watch(self, name: str, meaning: str, value: Callable[[], float]) -> None:
        """Show a value that is computed for each scrape."""
        Gauge(name, meaning, registry=self._registry).set_function(value)

    def collected(self) -> tuple[Iterable[Metric], Iterable[Metric]]:
        """Return the service's metrics, and those of the process."""
        self._sum_up()
        return self._registry.collect(), REGISTRY.collect()

    def text(self) -> bytes:
        """Return all metrics, with the process's memory, files and garbage collections."""
        self._sum_up()
        return generate_latest(self._registry) + generate_latest(REGISTRY)

    def _count(self, counter: _OfLabel, considered: int, dropped: int) -> None:
        self._add(counter("dropped"), dropped)
        self._add(counter("kept"), considered - dropped)

    def _add(self, counter: Counter, amount: int) -> None:
        """Add to a counter, before it is looked at. The lock is held."""
        self._amounts[counter] = self._amounts.get(counter, 0) + amount

    def _sum_up(self) -> None:
        with self._lock:
            amounts, self._amounts = self._amounts, {}
        for counter, amount in amounts.items():
            counter.inc(amount)


def _answered_request(response: PruneResponse, seconds: float, note: str) -> AnsweredRequest:
    done = response.counts
    return AnsweredRequest(
        at=datetime.now(timezone.utc),
        request=response.requestId,
        table=response.basePath,
        status=PruneStatus._VALUES_TO_NAMES[response.status],
        instant=response.instant,
        files=done.filesConsidered if done else 0,
        dropped=done.filesDropped if done else 0,
        millis=seconds * 1e3,
        note=note,
        bytes=done.bytesConsidered if done else 0,
        bytes_dropped=done.bytesDropped if done else 0,
    )


@lru_cache(maxsize=1024)
def _kind(index: str) -> str:
    return kind_of(index)[0].replace(" ", "_")


def _dropped(name: str, what: str, registry: CollectorRegistry) -> _OfLabel:
    return _counter(name, f"{what}, by what became of them.", "outcome", registry)


def _counter(name: str, meaning: str, label: str, registry: CollectorRegistry) -> _OfLabel:
    """Return the counter of each value of a label. The values are few, and looked up once."""
    return cache(Counter(name, meaning, [label], registry=registry).labels)

"""Follow a table's commits: how far the extension's indexes are behind, and steps that refresh.

With `hoodie.write.commit.callback.on=true` a writer posts a JSON object to
`hoodie.write.commit.callback.http.url` after each commit: the commit's time, the table's name and
base path, then a description of each written file. That may be megabytes; the base path is in its
first bytes.

A table is known from requests and callbacks. What is shown is what the latest of them saw, and the
seconds go on.
"""

from __future__ import annotations

import json
import re
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timezone
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import kind_of
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.extension.reader import Extension

#: So much of a message is kept.
HEAD_BYTES = 1 << 16
#: Larger messages are refused: a commit of 100,000 files has less.
MAX_BYTES = 64 << 20

# In JSON, quotes within a text have a backslash before them: this can only be the name of a field.
_BASE_PATH = re.compile(rb'"basePath"\s*:\s*("(?:[^"\\]|\\.)*")')


def committed_table(head: bytes) -> str | None:
    """Return the base path in a message; None if it has none.

    Args:
        head: The first bytes of the message, up to `HEAD_BYTES`.
    """
    found = _BASE_PATH.search(head)
    if found is None:
        return None
    try:
        path = json.loads(found[1])
    except ValueError:  # not UTF-8, or not an escape of JSON's
        return None
    return path if isinstance(path, str) and path else None


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


_PATIENCE = 10.0


class CommitCalls(AbstractContextManager["CommitCalls"]):
    """A port that writers call after a commit; open in a `with` block.

    What a call says is not read: it only ends a `wait`, so anyone who reaches the port may cause a
    step, and nothing else.
    """

    def __init__(self, host: str, port: int) -> None:
        """Listen on a port; 0 takes a free one. Raises HudiError if it is taken."""
        self._called = threading.Event()
        try:
            self._server = _Server((host, port), _Handler)
        except OSError as error:
            raise HudiError(f"{host}:{port} cannot be listened on: {error}") from error
        self._server.called = self._called
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="commit-calls", daemon=True
        )

    @property
    def port(self) -> int:
        """The port."""
        return self._server.server_address[1]

    def wait(self, seconds: float) -> None:
        """Return at the next call, or after so many seconds. Calls before it count."""
        self._called.wait(seconds)
        self._called.clear()

    def __enter__(self) -> CommitCalls:
        """Take calls."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def repeat(step: Callable[[], None], wait: Callable[[float], None], seconds: float) -> None:
    """Run a step again and again, each time after a wait; it ends only by an exception.

    Args:
        step: What to do.
        wait: Waits for so many seconds, or less.
        seconds: The interval.
    """
    while True:
        step()
        wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    called: threading.Event


class _Handler(BaseHTTPRequestHandler):
    timeout = _PATIENCE

    def do_POST(self) -> None:
        """Take a call."""
        size = self.headers.get("Content-Length", "0")
        if not size.isdecimal() or int(size) > MAX_BYTES:
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        left = int(size)
        while left and (read := len(self.rfile.read(min(left, HEAD_BYTES)))):
            left -= read
        cast(_Server, self.server).called.set()
        self.send_response(HTTPStatus.NO_CONTENT)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: what follows a call is reported."""

"""What the service did since its start, in memory of a limited size, for the console."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from dataclasses import replace
from datetime import datetime, timezone

from pyhudi_expr.pages.activity import (
    Activity,
    AnsweredRequest,
    IndexSaving,
    TableActivity,
    Totals,
    Trend,
)
from pyhudi_expr.prune import PruneResult

_MAX_RECENT = 200
_MAX_TABLES = 500


class History:
    """Sums requests. Thread safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since = datetime.now(timezone.utc)
        self._totals = Totals()
        self._trend = Trend(self._since)
        self._tables: OrderedDict[str, TableActivity] = OrderedDict()
        self._recent: deque[AnsweredRequest] = deque(maxlen=_MAX_RECENT)

    def add(self, answer: AnsweredRequest) -> None:
        """Add an answered request."""
        own = Totals.of(answer)
        with self._lock:
            self._recent.appendleft(answer)
            self._totals = self._totals.plus(own)
            self._trend = self._trend.plus(answer.at, own)
            known = self._table(answer.table, answer.at)
            self._tables[answer.table] = replace(
                known,
                totals=known.totals.plus(own),
                instant=answer.instant or known.instant,
                last=answer.at,
                trend=known.trend.plus(answer.at, own),
            )

    def add_result(self, table: str, result: PruneResult) -> None:
        """Add the time of each index, and the files that it dropped, before the answer itself."""
        millis = {source.name: 1e3 * source.seconds for source in result.evidence}
        with self._lock:
            known = self._table(table, datetime.now(timezone.utc))
            savings = dict(known.savings)
            for name in {*millis, *result.dropped_by}:
                saving = savings.get(name, IndexSaving())
                savings[name] = saving.plus(result.dropped_by.get(name, 0), millis.get(name, 0.0))
            self._tables[table] = replace(known, savings=savings)

    def activity(self) -> Activity:
        """Return everything as of now."""
        now = datetime.now(timezone.utc)
        with self._lock:
            return Activity(
                self._since, now, self._totals, self._trend, dict(self._tables), tuple(self._recent)
            )

    def _table(self, path: str, now: datetime) -> TableActivity:
        """Return a table, as the one that was requested last; forget the one before all others."""
        known = self._tables.get(path)
        if known is None:
            known = TableActivity(path, Totals(), None, now, Trend(self._since))
            self._tables[path] = known
            if len(self._tables) > _MAX_TABLES:
                self._tables.popitem(last=False)
        self._tables.move_to_end(path)
        return known

"""What the service did since its start, in memory of a limited size, for the console."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone

from pyhudi_expr.api.pages.activity import (
    Activity,
    AnsweredRequest,
    IndexSaving,
    TableActivity,
    Totals,
    Trend,
)
from pyhudi_expr.index.prune import PruneResult

_MAX_RECENT = 200
_MAX_TABLES = 500
#: Requests that are summed up together: one by one, that takes a tenth of the time of a request.
_TOGETHER = 128
_NOTHING = IndexSaving()


class History:
    """Sums requests. Thread safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since = datetime.now(timezone.utc)
        self._totals = Totals()
        self._trend = Trend(self._since)
        self._tables: OrderedDict[str, TableActivity] = OrderedDict()
        self._recent: deque[AnsweredRequest] = deque(maxlen=_MAX_RECENT)
        self._answers: list[AnsweredRequest] = []
        self._savings: dict[str, dict[str, IndexSaving]] = {}

    def add(self, answer: AnsweredRequest) -> None:
        """Add an answered request."""
        with self._lock:
            self._answers.append(answer)
            if len(self._answers) >= _TOGETHER:
                self._sum_up()

    def add_result(self, table: str, result: PruneResult) -> None:
        """Add the time of each index, and the files that it dropped, before the answer itself."""
        millis = {source.name: 1e3 * source.seconds for source in result.evidence}
        with self._lock:
            savings = self._savings.setdefault(table, {})
            for name in {*millis, *result.dropped_by}:
                saving = savings.get(name, _NOTHING)
                savings[name] = saving.plus(result.dropped_by.get(name, 0), millis.get(name, 0.0))

    def activity(self) -> Activity:
        """Return everything as of now."""
        now = datetime.now(timezone.utc)
        with self._lock:
            self._sum_up()
            return Activity(
                self._since, now, self._totals, self._trend, dict(self._tables), tuple(self._recent)
            )

    def _sum_up(self) -> None:
        """Add what came since the last time to the sums."""
        self._recent.extendleft(self._answers)
        by_second = dict[tuple[str, int], list[AnsweredRequest]]()
        for answer in self._answers:
            second = int(answer.at.timestamp())
            by_second.setdefault((answer.table, second), []).append(answer)
        for (table, _), answers in by_second.items():
            self._add_to(table, answers)
        for table, savings in self._savings.items():
            known = self._table(table, datetime.now(timezone.utc))
            sums = {
                name: known.savings.get(name, _NOTHING).and_of(more)
                for name, more in savings.items()
            }
            self._tables[table] = replace(known, savings={**known.savings, **sums})
        self._answers, self._savings = [], {}

    def _add_to(self, table: str, answers: Sequence[AnsweredRequest]) -> None:
        """Add the answers of one second about a table."""
        totals, last = Totals.of(answers), answers[-1]
        self._totals = self._totals.plus(totals)
        self._trend = self._trend.plus(last.at, totals)
        known = self._table(table, last.at)
        self._tables[table] = replace(
            known,
            totals=known.totals.plus(totals),
            instant=next((one.instant for one in reversed(answers) if one.instant), known.instant),
            last=last.at,
            trend=known.trend.plus(last.at, totals),
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

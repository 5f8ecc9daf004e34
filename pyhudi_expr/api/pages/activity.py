"""What a service did since its start: the data of the console's pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

_OK = "OK"
_MAX_BUCKETS = 60


@dataclass(frozen=True)
class AnsweredRequest:
    """The result of one request.

    Attributes:
        at: Time of the answer, UTC.
        files: Number of files considered and dropped; 0 if nothing was evaluated.
        note: Why nothing, or less, was pruned; without text of predicates.
        bytes: Size of the files considered.
        bytes_dropped: Size of the files dropped.
    """

    at: datetime
    request: str
    table: str
    status: str
    instant: str | None
    files: int
    dropped: int
    millis: float
    note: str
    bytes: int = 0
    bytes_dropped: int = 0


@dataclass(frozen=True)
class Totals:
    """Sums over requests.

    Attributes:
        unpruned: Number of requests after which a query reads every file.
        files: Number of files considered and dropped.
        bytes: Their size.
        millis: Time of all requests; `slowest` is that of one.
    """

    requests: int = 0
    unpruned: int = 0
    files: int = 0
    dropped: int = 0
    bytes: int = 0
    bytes_dropped: int = 0
    millis: float = 0.0
    slowest: float = 0.0

    @staticmethod
    def of(answers: Sequence[AnsweredRequest]) -> Totals:
        """Return the totals of requests."""
        return Totals(
            requests=len(answers),
            unpruned=sum(answer.status != _OK for answer in answers),
            files=sum(answer.files for answer in answers),
            dropped=sum(answer.dropped for answer in answers),
            bytes=sum(answer.bytes for answer in answers),
            bytes_dropped=sum(answer.bytes_dropped for answer in answers),
            millis=sum(answer.millis for answer in answers),
            slowest=max((answer.millis for answer in answers), default=0.0),
        )

    def plus(self, other: Totals) -> Totals:
        """Return the totals of both."""
        return Totals(
            self.requests + other.requests,
            self.unpruned + other.unpruned,
            self.files + other.files,
            self.dropped + other.dropped,
            self.bytes + other.bytes,
            self.bytes_dropped + other.bytes_dropped,
            self.millis + other.millis,
            max(self.slowest, other.slowest),
        )

    @property
    def mean_millis(self) -> float:
        """Mean time of a request."""
        return self.millis / max(self.requests, 1)

    @property
    def skipped_share(self) -> float:
        """Share of the files that were dropped, from 0 to 1."""
        return self.dropped / max(self.files, 1)


@dataclass(frozen=True)
class Trend:
    """Totals of periods of equal length since a start; the periods grow as time goes on.

    Attributes:
        start: Begin of the first period.
        seconds: Length of a period.
        periods: The totals, without empty periods at the end.
    """

    start: datetime
    seconds: int = 15
    periods: tuple[Totals, ...] = ()

    def plus(self, at: datetime, totals: Totals) -> Trend:
        """Return the trend with more requests, which were answered at a time."""
        grown = self.until(at)
        periods = list(grown.periods)
        place = min(grown._period(at), len(periods) - 1)
        periods[place] = periods[place].plus(totals)
        return Trend(grown.start, grown.seconds, tuple(periods))

    def until(self, now: datetime) -> Trend:
        """Return the trend with the period of a time as the last one, or the last one it has."""
        found = self
        while found._period(now) >= _MAX_BUCKETS:
            found = found._halved()
        lacking = found._period(now) + 1 - len(found.periods)
        if lacking <= 0:
            return found
        return replace(found, periods=(*found.periods, *[Totals()] * lacking))

    def begin(self, period: int) -> datetime:
        """Return the begin of a period."""
        return self.start + timedelta(seconds=period * self.seconds)

    def _period(self, at: datetime) -> int:
        return max(int((at - self.start).total_seconds() // self.seconds), 0)

    def _halved(self) -> Trend:
        pairs = zip(self.periods[::2], (*self.periods[1::2], Totals()), strict=False)
        return Trend(self.start, 2 * self.seconds, tuple(one.plus(other) for one, other in pairs))


@dataclass(frozen=True)
class IndexSaving:
    """What an index did for requests.

    Attributes:
        requests: Number of requests in which it dropped files.
        files: Number of files that it dropped beyond those that others had dropped before.
        millis: Time of its answers.
    """

    requests: int = 0
    files: int = 0
    millis: float = 0.0

    def plus(self, files: int, millis: float) -> IndexSaving:
        """Return the saving with one more request."""
        return IndexSaving(self.requests + int(files > 0), self.files + files, self.millis + millis)

    def and_of(self, other: IndexSaving) -> IndexSaving:
        """Return the saving for the requests of both."""
        return IndexSaving(
            self.requests + other.requests, self.files + other.files, self.millis + other.millis
        )


@dataclass(frozen=True)
class TableActivity:
    """The requests for one table since the start.

    Attributes:
        instant: That of the latest answer.
        last: Time of the latest answer.
        savings: By the names of indexes in results.
    """

    path: str
    totals: Totals
    instant: str | None
    last: datetime
    trend: Trend
    savings: Mapping[str, IndexSaving] = field(default_factory=dict)


@dataclass(frozen=True)
class Activity:
    """The requests of a service since its start.

    Attributes:
        since: When the service started.
        now: When this was asked for.
        totals: Of all tables.
        tables: By path; of many only those that were requested last.
        recent: The latest requests, the last one first.
    """

    since: datetime
    now: datetime
    totals: Totals
    trend: Trend
    tables: Mapping[str, TableActivity]
    recent: tuple[AnsweredRequest, ...]

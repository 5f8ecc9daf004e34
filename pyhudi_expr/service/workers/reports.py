"""What workers report, the sum of it with those that have ended, and the pages' numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from pydantic import TypeAdapter

from pyhudi_expr.api.pages.activity import Activity, IndexSaving, TableActivity, Totals, Trend
from pyhudi_expr.service.workers.channel import Channel, Kind, Message
from pyhudi_expr.service.workers.child import Child

#: Latest requests that are shown.
_MOST_RECENT = 200
_CREATED = "_created"
_SUMMED = frozenset({"counter", "histogram", "summary"})
_LABEL = "worker"


@dataclass(frozen=True)
class Sample:
    """A number.

    Attributes:
        name: Its name, of which its family's is a part.
        labels: Names and values.
        value: The number.
    """

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


@dataclass(frozen=True)
class Family:
    """The numbers of one metric, in the terms of Prometheus."""

    name: str
    meaning: str
    type: str
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class Report:
    """What a worker, or the supervisor, reports.

    Attributes:
        worker: Its name; empty: the supervisor's.
        summed: Metrics of which counters are added.
        named: Metrics of the process.
        activity: The requests since its start, if they were asked for.
    """

    worker: str
    summed: tuple[Family, ...]
    named: tuple[Family, ...] = ()
    activity: Activity | None = None


_REPORT = TypeAdapter(Report)
_REPORTS = TypeAdapter(tuple[Report, ...])


def encoded(report: Report) -> bytes:
    """Return a report as JSON."""
    return _REPORT.dump_json(report)


def decoded(json: bytes) -> Report:
    """Return the report of JSON."""
    return _REPORT.validate_json(json)


def all_decoded(json: bytes) -> tuple[Report, ...]:
    """Return the reports of a JSON list."""
    return _REPORTS.validate_json(json)


def families(collected: Iterable[Metric]) -> tuple[Family, ...]:
    """Return the metrics of a registry of prometheus_client."""
    return tuple(
        Family(
            one.name,
            one.documentation,
            one.type,
            tuple(
                Sample(sample.name, tuple(sample.labels.items()), sample.value)
                for sample in one.samples
            ),
        )
        for one in collected
    )


def joined(reports: Sequence[Report]) -> Report:
    """Return one report for several: sums, and the gauges of each worker under its name."""
    merged: dict[str, tuple[Family, dict[Sample, float]]] = {}
    for report in reports:
        for family in (*report.summed, *report.named):
            _, values = merged.setdefault(family.name, (family, {}))
            adds = family.type in _SUMMED and family not in report.named
            for sample in family.samples:
                key = replace(sample if adds else _named(sample, report.worker), value=0.0)
                if key in values:
                    values[key] = _added(key, values[key], sample.value)
                else:
                    values[key] = sample.value
    sums = tuple(
        replace(family, samples=tuple(replace(key, value=value) for key, value in values.items()))
        for family, values in merged.values()
    )
    activities = [report.activity for report in reports if report.activity is not None]
    return Report("", sums, (), _joined_activities(activities) if activities else None)


def counts_only(report: Report) -> Report:
    """Return what is left of a worker that has ended: what it has counted."""
    return Report(report.worker, tuple(one for one in report.summed if one.type in _SUMMED))


def text(report: Report) -> bytes:
    """Return the metrics of a report in Prometheus' format."""
    registry = CollectorRegistry()
    registry.register(_Fixed(report))
    return generate_latest(registry)


class _Fixed(Collector):
    def __init__(self, report: Report) -> None:
        self._report = report

    def collect(self) -> Iterable[Metric]:
        for family in self._report.summed:
            metric = Metric(family.name, family.meaning, family.type)
            for sample in family.samples:
                metric.add_sample(sample.name, dict(sample.labels), sample.value)
            yield metric


def _named(sample: Sample, worker: str) -> Sample:
    if not worker:
        return sample
    return replace(sample, labels=(*sample.labels, (_LABEL, worker)))


def _added(sample: Sample, one: float, other: float) -> float:
    """Return the sum of two values of a sample; of the times of their creation the earlier one."""
    return min(one, other) if sample.name.endswith(_CREATED) else one + other


def _joined_activities(parts: Sequence[Activity]) -> Activity:
    tables: dict[str, TableActivity] = {}
    for part in parts:
        for path, table in part.tables.items():
            tables[path] = _joined_tables(tables[path], table) if path in tables else table
    recent = sorted((one for part in parts for one in part.recent), key=lambda one: one.at)
    return Activity(
        since=min(part.since for part in parts),
        now=max(part.now for part in parts),
        totals=_sum([part.totals for part in parts]),
        trend=_joined_trends([part.trend for part in parts]),
        tables=dict(sorted(tables.items(), key=lambda item: item[1].last)),
        recent=tuple(reversed(recent[-_MOST_RECENT:])),
    )


def _sum(parts: Sequence[Totals]) -> Totals:
    total = Totals()
    for part in parts:
        total = total.plus(part)
    return total


def _joined_tables(one: TableActivity, other: TableActivity) -> TableActivity:
    latest = max(one, other, key=lambda each: each.last)
    savings = dict(one.savings)
    for name, saving in other.savings.items():
        savings[name] = savings.get(name, IndexSaving()).and_of(saving)
    return replace(
        latest,
        totals=one.totals.plus(other.totals),
        trend=_joined_trends([one.trend, other.trend]),
        savings=savings,
    )


def _joined_trends(trends: Sequence[Trend]) -> Trend:
    """Return the sum of trends; its periods are as long as the longest, from the earliest start.

    A period is added to the one in which it begins.
    """
    start = min(trend.start for trend in trends)
    seconds = max(trend.seconds for trend in trends)
    sums: dict[int, Totals] = {}
    for trend in trends:
        for period, totals in enumerate(trend.periods):
            place = int((trend.begin(period) - start).total_seconds() // seconds)
            sums[place] = sums.get(place, Totals()).plus(totals)
    periods = tuple(sums.get(place, Totals()) for place in range(max(sums, default=-1) + 1))
    return Trend(start, seconds, periods)


_SECONDS = 2.0


class Gathering:
    """The counts of a service. Use it in one event loop."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._ended: tuple[Report, ...] = ()
        self._replaced = Counter(
            "pyhudi_workers_replaced", "Workers that ended by themselves.", registry=registry
        )
        self._running = Gauge("pyhudi_workers", "Workers that take requests.", registry=registry)

    def replaced(self, child: Child) -> None:
        """Count a worker that has ended, and keep what it counted until it reported last."""
        self._replaced.inc()
        if child.last_report is not None:
            counted = counts_only(decoded(child.last_report))
            self._ended = (counts_only(joined([*self._ended, counted])),)

    async def gather(self, children: Sequence[Child], kind: Kind) -> bytes:
        """Return the reports of workers as a JSON list; of one that does not answer its last one.

        Args:
            children: The workers that are ready.
            kind: `REPORT` or `REPORT_WITH_ACTIVITY`.
        """
        found = await asyncio.gather(*(child.ask(kind, _SECONDS) for child in children))
        self._running.set(len(children))
        own = Report("", families(self._registry.collect()))
        reports = [
            *(report or child.last_report for report, child in zip(found, children, strict=True)),
            *(encoded(report) for report in (own, *self._ended)),
        ]
        return b"[" + b",".join(report for report in reports if report) + b"]"


class GatheredOverview:
    """Asks the supervisor for the reports of all workers (an `Overview`)."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[bytes]] = {}

    async def metrics_text(self) -> bytes:
        """See `Overview`."""
        return text(await self._gather(Kind.GATHER))

    async def activity(self) -> Activity:
        """See `Overview`."""
        found = (await self._gather(Kind.GATHER_WITH_ACTIVITY)).activity
        assert found is not None, "this worker reports as well"
        return found

    def gathered(self, message: Message) -> None:
        """Take the reports that were asked for."""
        waiting = self._waiting.pop(message.number, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(message.body)

    async def _gather(self, kind: Kind) -> Report:
        number = next(self._numbers)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._channel.send(Message(kind, number))
        return joined(all_decoded(await waiting))

"""What all workers of a service have counted, those that have ended included."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge

from pyhudi_expr.service.workers.channel import Kind
from pyhudi_expr.service.workers.child import Child
from pyhudi_expr.service.workers.reports import (
    Report,
    counts_only,
    decoded,
    encoded,
    families,
    joined,
)

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

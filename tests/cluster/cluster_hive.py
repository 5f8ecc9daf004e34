"""Queries to HiveServer2 on a cluster: rows, scans, and how many tasks there were."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from devtools.cluster import tables
from devtools.cluster.hadoop import Cluster
from devtools.cluster.hive import FETCH, IN_MASTER, MR, PLACES
from devtools.ddl import create_adopted, create_with_handler
from devtools.scan_reports import ScanTotals
from tests.hive.query_results import NOTHING, Hive, QuerySession, Rows

_FRAMEWORK = "mapreduce.framework.name"
_SWITCHES: Mapping[str, str] = MappingProxyType(
    {
        # The service reads the metadata table by WebHDFS, at the first question about a table.
        "hudi.pruning.timeout.ms": "20000",
        "hudi.pruning.cache.ms": "60000",
        "hudi.pruning.breaker.ms": "5000",
        "hudi.pruning.job.token.ms": "3600000",
        "tez.grouping.min-size": "52428800",
        "tez.grouping.max-size": "1073741824",
        _FRAMEWORK: "yarn",
    }
)
"""What a session's next query may have in another way, and what other queries have."""
_MAPPERS = re.compile(r"number of mappers: (\d+)")
_COUNTER = re.compile(r"\b([A-Z][A-Z_]+): (\d+)")


@dataclass(frozen=True)
class ClusterAnswer:
    """The result of a query.

    Attributes:
        rows: Its rows, in one order for equal sets of rows.
        scan: The totals of its scans.
        tasks: How many tasks read the table; 0 for a fetch task.
        logged: What HiveServer2 has logged meanwhile.
    """

    rows: Rows
    scan: ScanTotals
    tasks: int
    logged: str

    @property
    def files(self) -> tuple[int, int]:
        """Files considered and files read."""
        return self.scan.files_considered, self.scan.files_kept

    @property
    def counters(self) -> dict[str, int]:
        """The counters of a query on Tez."""
        return {name: int(value) for name, value in _COUNTER.findall(self.logged)}


class ClusterHive(Hive):
    """A HiveServer2 on a cluster. The tables `events` and `returns` are registered."""

    UNPRUNED: Mapping[str, Mapping[str, str]] = MappingProxyType({MR: {_FRAMEWORK: "local"}})
    """Settings for queries without pruning: MapReduce in HiveServer2; YARN needs half a minute."""

    @cached_property
    def _unpruned(self) -> dict[str, ClusterAnswer]:
        """The answers without pruning, by their queries."""
        return {}

    def register_at(self, cluster: Cluster) -> None:
        """Register both tables with the storage handler."""
        for name in ("events", "returns"):
            self.run(create_with_handler(name, f"{cluster.root}/warehouse/{name}"))

    def register_adopted(self, cluster: Cluster, name: str) -> None:
        """Register the table `NAME_synced`, with partitions and without the storage handler."""
        synced = f"{name}_synced"
        if synced in self._registered:
            return
        statements = create_adopted(
            self.at(FETCH).run(f"DESCRIBE {name}"),
            synced,
            f"{cluster.root}/warehouse/{name}",
            sorted(one.name for one in (tables.DIRECTORY / name).glob("day=*")),
        )
        self.run(*statements)
        self._registered.add(synced)

    def at(self, place: str, settings: Mapping[str, str] = NOTHING) -> QuerySession:
        """Return the session of a place, with more settings.

        The sessions of other engines end: each session of Tez keeps a master, and the cluster has
        room for a few. A master starts for 10 s or more, so what it takes from each query is set in
        a session that runs, where its splits are made too.
        """
        asked = {**PLACES[place], **settings}
        usual = {
            **_SWITCHES,
            IN_MASTER: "true",
            "hudi.pruning.service.addresses": self._service.address,
        }
        switched = {name: asked.get(name, value) for name, value in usual.items()}
        wanted = {name: value for name, value in asked.items() if name not in usual}
        if tuple(sorted(wanted.items())) not in self._sessions_by_settings:
            self.close_sessions()
        session = self._open_session(wanted)
        for name, value in switched.items():
            session.run(f"SET {name}={value}")
        return session

    def ask(
        self,
        query: str,
        place: str,
        *,
        pruning: bool = True,
        settings: Mapping[str, str] = NOTHING,
    ) -> ClusterAnswer:
        """Run a query at a place."""
        session = self.at(place, settings)
        session.run(f"SET hudi.pruning.enabled={str(pruning).lower()}")
        start, printed = len(self.server.log()), len(self._printed())
        found = session.query(query)
        if place == FETCH:
            return ClusterAnswer(found.rows, found.scan, 0, self.server.log()[start:])
        if place == MR:
            tasks = sum(map(int, _MAPPERS.findall(self._printed()[printed:])))
            return ClusterAnswer(found.rows, found.scan, tasks, self.server.log()[start:])
        # Each query of the tests has one reducer.
        logged = self.server.log_until(["SCANS_"], start)
        answer = ClusterAnswer(found.rows, found.scan, 0, logged)
        tasks = answer.counters.get("NUM_SUCCEEDED_TASKS", 1) - 1
        return ClusterAnswer(found.rows, found.scan, tasks, logged)

    def ask_unpruned(
        self, query: str, place: str, settings: Mapping[str, str] = NOTHING
    ) -> ClusterAnswer:
        """Run a query at a place without pruning, or by the quicker way of `UNPRUNED`."""
        return self.ask(
            query, place, pruning=False, settings={**settings, **self.UNPRUNED.get(place, {})}
        )

    def _printed(self) -> str:
        """What the server has written to its console: MapReduce reports its jobs there."""
        return (self.server.run_dir / "hiveserver2.out").read_text(errors="replace")

    def ask_both_ways(
        self, query: str, place: str, settings: Mapping[str, str] = NOTHING
    ) -> tuple[ClusterAnswer, ClusterAnswer]:
        """Run a query without and with pruning, and check that the rows are equal."""
        unpruned = self.ask(query, place, pruning=False, settings=settings)
        return unpruned, self._compared(unpruned, query, place, settings)

    def ask_and_compare(
        self, query: str, place: str, settings: Mapping[str, str] = NOTHING
    ) -> tuple[ClusterAnswer, ClusterAnswer]:
        """The same, but the query runs without pruning only where it is asked for the first time.

        Its rows are those of every place.
        """
        if query not in self._unpruned:
            self._unpruned[query] = self.ask_unpruned(query, place, settings)
        unpruned = self._unpruned[query]
        return unpruned, self._compared(unpruned, query, place, settings)

    def _compared(
        self, unpruned: ClusterAnswer, query: str, place: str, settings: Mapping[str, str]
    ) -> ClusterAnswer:
        pruned = self.ask(query, place, settings=settings)
        assert repr(pruned.rows) == repr(unpruned.rows), (
            f"pruning changes the rows of {query} ({place})"
        )
        assert unpruned.scan.files_kept == unpruned.scan.files_considered
        return pruned

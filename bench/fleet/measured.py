"""Measure one service with one table, and simulate services that share 1,000 of them.

What is measured is called so in the figures' names, and so is what is simulated.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.clients.answers import with_children
from bench.clients.service_clients import ServiceTable, ask_service
from bench.fleet.simulation import House, ShardCosts, addresses, fleet, loss
from bench.reporting.measuring import Measurement, benchmark
from bench.tables import synthetic
from devtools.runtime import WORK
from devtools.service import ServiceProcess

_RUN_DIR = WORK / "bench" / "fleet"
_SIZES = ((2_000, 20), (100_000, 100), (1_000_000, 1_000))
"""Files and partitions of the measured tables."""
_CLIENTS, _SECONDS = 8, 10.0
_FIRST_TIMEOUT = 120.0
_TABLES, _FILES, _SEED = 1_000, 100_000_000, 31
_SERVICES = (4, 8, 16, 32, 64)


@benchmark("fleet")
def measure() -> Iterator[Measurement]:
    """One service, measured; 4 to 64 of them for 1,000 tables of 100,000,000 files, simulated."""
    found = []
    for files, partitions in _SIZES:
        one = _shard(files, partitions)
        found.append(one)
        title = f"fleet: measured, {files:,} files"
        yield Measurement(f"{title}, memory of the table", one.memory / 1e6, "MB")
        yield Measurement(f"{title}, first answer", one.first_seconds, "s")
        yield Measurement(f"{title}, {_CLIENTS} clients, answers a second", one.per_second, "1/s")
        name = f"{title}, processor time of an answer"
        yield Measurement(name, one.answer_seconds * 1e3, "ms")
    costs = ShardCosts(
        [files for files, _ in _SIZES],
        [one.memory for one in found],
        [one.first_seconds for one in found],
        [one.answer_seconds for one in found],
        found[0].bare_memory,
    )
    yield Measurement("fleet: measured, memory without a table", costs.bare_memory / 1e6, "MB")
    yield from _simulated(costs)


def _simulated(costs: ShardCosts) -> Iterator[Measurement]:
    house = House.of(_TABLES, _FILES, _SEED)
    largest = costs.at(house.files[:1], costs.memory)[0]
    yield Measurement("fleet: simulated, files of the largest table", house.files[0], "files")
    yield Measurement("fleet: simulated, memory of the largest table", largest / 1e9, "GB")
    for count in _SERVICES:
        services = addresses(count)
        whole = fleet(house, costs, services)
        title = f"fleet: simulated, {count} services"
        yield Measurement(f"{title}, fewest tables of one", whole.tables.min(), "tables")
        yield Measurement(f"{title}, most tables of one", whole.tables.max(), "tables")
        yield Measurement(f"{title}, mean memory", whole.memory.mean() / 1e9, "GB")
        yield Measurement(f"{title}, most memory", whole.memory.max() / 1e9, "GB")
        yield Measurement(f"{title}, answers a second", whole.answers_per_second, "1/s")
        yield Measurement(f"{title}, mean load against the most", whole.evenness * 100, "%")
        losses = [loss(house, costs, services, lost) for lost in range(count)]
        moved = float(np.mean([one.tables for one in losses]))
        yield Measurement(f"{title}, one is lost, tables that move", moved * 100, "%")
        median = float(np.median([one.seconds for one in losses]))
        yield Measurement(f"{title}, one is lost, an heir's reading, median", median, "s")
        most = max(one.seconds for one in losses)
        yield Measurement(f"{title}, one is lost, an heir's reading, most", most, "s")


@dataclass(frozen=True)
class _Shard:
    """What one service was measured to need for one table, as in `ShardCosts`."""

    bare_memory: float
    memory: float
    first_seconds: float
    answer_seconds: float
    per_second: float


def _shard(files: int, partitions: int) -> _Shard:
    """Measure a new service with a table."""
    path = synthetic.ensure_written(files, partitions)
    table = ServiceTable(str(path), files, synthetic.ROWS_PER_FILE)
    with ServiceProcess(_RUN_DIR) as server:
        bare = _memory(server)
        started = time.perf_counter()
        with server.client(_FIRST_TIMEOUT) as client:
            table.check(client.prune(table.location, table.predicate(0)))
        first = time.perf_counter() - started
        answers = ask_service(server, table, _CLIENTS, _SECONDS)
        memory = _memory(server) - bare
    processor = answers.processor_millis / 1e3
    return _Shard(bare, memory, first, processor, answers.per_second)


def _memory(server: ServiceProcess) -> int:
    """Return the bytes of a process that are in memory, without files that it maps."""
    *_, serving = with_children(server.pid)
    status = Path(f"/proc/{serving}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024

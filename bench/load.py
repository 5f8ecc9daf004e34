"""The pruning service under load: answers a second, their times, and what it holds on to.

The clients are threads of this process, on the machine of the service, each with a connection of
its own and always one request on its way. LOAD_SECONDS is how long each number of clients asks;
1800 shows what half an hour leaves behind.
"""

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console

from bench import synthetic
from bench.measuring import Measurement, benchmark
from devtools.runtime import WORK
from devtools.service import ServiceProcess
from pyhudi_expr.expr.nodes import Column, Comparison, Literal, Op
from pyhudi_expr.protocol.ttypes import PruneStatus

_RUN_DIR = WORK / "bench"
_CLIENTS = (1, 8, 64)
_FILES, _PARTITIONS = 2_000, 20
_TIMEOUT = 60.0
_SECONDS = float(os.environ.get("LOAD_SECONDS", "15"))


@dataclass(frozen=True)
class Held:
    """What a process holds: resident memory in bytes, open files, threads."""

    memory: int
    files: int
    threads: int


def held(pid: int) -> Held:
    """What Linux says of a process."""
    process = Path(f"/proc/{pid}")
    status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines())
    return Held(
        memory=int(status["VmRSS"].split()[0]) * 1024,
        files=len(list((process / "fd").iterdir())),
        threads=int(status["Threads"]),
    )


@benchmark("load")
def load() -> Iterator[Measurement]:
    """The pruning service with 1, 8 and 64 clients: answers a second, p50, p99, what it holds."""
    table = synthetic.ensure_written(_FILES, _PARTITIONS)
    with ServiceProcess(_RUN_DIR) as server:
        for clients in (*_CLIENTS, *_CLIENTS):  # once to warm up
            _asked(server, table, clients, min(_SECONDS, 5.0))
        before = held(server.pid)
        for clients in _CLIENTS:
            millis, elapsed = _asked(server, table, clients, _SECONDS)
            title = f"load: {clients} client{'s' if clients > 1 else ''}"
            yield Measurement(f"{title}, answers a second", len(millis) / elapsed, "1/s")
            yield Measurement(f"{title}, median", float(np.percentile(millis, 50)), "ms")
            yield Measurement(f"{title}, 99th percentile", float(np.percentile(millis, 99)), "ms")
        after = held(server.pid)
    yield Measurement("load: memory at the end", after.memory / 1e6, "MB")
    yield Measurement(
        "load: memory, end against beginning", after.memory / before.memory, "x", "<= 1.05"
    )
    yield Measurement("load: more open files", after.files - before.files, "files", "<= 0")
    yield Measurement("load: more threads", after.threads - before.threads, "threads", "<= 0")


def _asked(
    server: ServiceProcess, table: Path, clients: int, seconds: float
) -> tuple[list[float], float]:
    """Milliseconds of each answer, and the seconds that all took together."""
    rows = _FILES * synthetic.ROWS_PER_FILE
    end = time.monotonic() + seconds
    results: list[list[float]] = [[] for _ in range(clients)]

    def ask(number: int) -> None:
        with server.client(timeout=_TIMEOUT) as client:
            while time.monotonic() < end:
                value = (number * 7919 + len(results[number])) % rows
                predicate = Comparison(Op.EQ, Column(("spread",)), Literal(value, pa.int64()))
                begun = time.perf_counter()
                response = client.prune(str(table), predicate)
                results[number].append((time.perf_counter() - begun) * 1e3)
                assert response.status == PruneStatus.OK, response.message
                assert response.counts.filesDropped == _FILES - 1

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(clients)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed = time.monotonic() - begun
    assert all(results), "a client failed, or was never answered"
    return [one for some in results for one in some], elapsed


if __name__ == "__main__":
    for measurement in load():
        Console().print(f"{measurement.name}: {measurement.value:,.4g} {measurement.unit}")

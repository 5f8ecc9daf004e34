"""A new worker's first answer: how long who asks waits after all workers have died."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from thrift.Thrift import TException

from bench.clients.answers import with_children
from bench.clients.service_clients import ServiceTable
from devtools.service import ServiceProcess

_WORKERS = 2
_TIMEOUT = 60.0


def memory(kind: str, pid: int | str = "self") -> int:
    """Return a part of a process's memory in bytes: Rss, or Anonymous for what no file has."""
    status = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(status.partition(f"\n{kind}:")[2].split()[0]) * 1024


@dataclass(frozen=True)
class FirstAnswer:
    """What a new worker needs.

    Attributes:
        seconds: Time from the death of all workers to the answer of one of their successors.
        memory: What no file has in the memory of that one, in bytes; imports included.
    """

    seconds: float
    memory: int


def first_answer(run_dir: Path, snapshots: Path, table: ServiceTable) -> FirstAnswer:
    """Kill the workers of a service, and ask about a table of which there is a snapshot.

    Args:
        run_dir: For the service's log.
        snapshots: The service's `snapshot_dir`, which gets the snapshot if it lacks it.
        table: What is asked about.
    """
    with ServiceProcess(run_dir, "--workers", str(_WORKERS), snapshots=snapshots) as service:
        with service.client(_TIMEOUT) as client:
            table.check(client.prune(table.location, table.predicate(0)))
        before = _workers(service)
        started = time.perf_counter()
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        seconds = _answered_by_next(service, table, started)
        answering = max(_workers(service), key=lambda pid: memory("Rss", pid))
        return FirstAnswer(seconds, memory("Anonymous", answering))


def _answered_by_next(service: ServiceProcess, table: ServiceTable, started: float) -> float:
    while True:
        try:
            with service.client(_TIMEOUT) as client:
                answer = client.prune(table.location, table.predicate(1))
        except (TException, OSError, EOFError):
            continue  # It was handed to a worker in the moment of its death.
        table.check(answer)
        return time.perf_counter() - started


def _workers(service: ServiceProcess) -> list[int]:
    """Return the workers: they are forked from the supervisor's only child."""
    _, template, *workers = with_children(service.pid)
    if len(workers) != _WORKERS:
        raise ValueError(f"{template}: {len(workers)} workers instead of {_WORKERS}")
    return workers

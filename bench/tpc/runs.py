"""The queries of a suite in HiveServer2: one after another, or several at once."""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from queue import SimpleQueue

from bench.tpc.data import Data
from bench.tpc.dialect import hive_text
from bench.tpc.figures import look_slower
from bench.tpc.hive import Run, SuiteInHive
from bench.tpc.modes import Mode
from bench.tpc.oracle import Oracle, Verdict
from bench.tpc.results import Result

_MOST_RUNS = 4


@dataclass(frozen=True)
class Judge:
    """Compares the rows of runs with DuckDB's. `queries` are the data's, by their numbers."""

    data: Data
    queries: Mapping[str, str]
    truth: Oracle

    def text(self, number: str) -> str:
        """Return a query in Hive's SQL."""
        return hive_text(self.data.suite.name, number, self.queries[number])

    def result(self, number: str, mode: str, run: Run) -> Result:
        """Return the result of a run of a query."""
        verdict = (
            self.truth.verdict(self.queries[number], run.rows)
            if run.error is None
            else Verdict(f"failed: {run.error}")
        )
        return Result(
            scale=self.data.scale,
            query=number,
            mode=mode,
            verdict=verdict.text,
            is_equal=verdict.is_equal,
            rows=len(run.rows),
            seconds=round(run.seconds, 2),
            files_considered=run.scans.files_considered,
            files_kept=run.scans.files_kept + run.scans.files_for_plans,
            outcomes=run.scans.outcomes,
            load=round(os.getloadavg()[0], 1),
        )


def one_by_one(
    hive: SuiteInHive, judge: Judge, numbers: Sequence[str], modes: Sequence[Mode]
) -> Iterator[Result]:
    """Run each query in each mode; in turns, the first mode comes first and last.

    One that looks slower with pruning runs again, in each mode, and the shortest time of each mode
    counts: a single time on a shared host may be twice as long as the next one.
    """
    for turn, number in enumerate(numbers):
        found: dict[str, Result] = {}
        for again in range(turn, turn + _MOST_RUNS):
            for mode in modes if again % 2 == 0 else reversed(modes):
                one = judge.result(number, mode.name, hive.run(judge.text(number), mode))
                found[mode.name] = one.best_of(found.get(mode.name, one))
            if not look_slower(found):
                break
        yield from found.values()


def at_once(
    servers: Sequence[SuiteInHive], judge: Judge, numbers: Sequence[str], modes: Sequence[Mode]
) -> Iterator[Result]:
    """Run each query once in each mode, each in the server that is free next.

    Each mode of the results says how many there are at once, as their times are other ones.
    """
    free: SimpleQueue[SuiteInHive] = SimpleQueue()
    for server in servers:
        free.put(server)

    def run(job: tuple[str, Mode]) -> Run:
        number, mode = job
        server = free.get()
        try:
            return server.run(judge.text(number), mode)
        finally:
            free.put(server)

    jobs = list(product(numbers, modes))
    pool = ThreadPoolExecutor(len(servers))
    try:
        # DuckDB's connection serves one thread, this one.
        for (number, mode), found in zip(jobs, pool.map(run, jobs), strict=True):
            yield judge.result(number, mode.at_once(len(servers)), found)
    finally:
        pool.shutdown(cancel_futures=True)

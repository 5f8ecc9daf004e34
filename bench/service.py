"""The pruning service over its socket: time and size of its answers, warm and cold."""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAcceleratedFactory
from thrift.TSerialization import serialize

from bench.reporting.measuring import Measurement, benchmark, median_seconds, seconds
from bench.tables import synthetic
from devtools.runtime import WORK
from devtools.service import ServiceProcess
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneResponse, PruneStatus

_RUN_DIR = WORK / "bench"
_WARM_RUNS = 31
_COLD_RUNS = 5
_COLD_TIMEOUT = 60.0


@dataclass(frozen=True)
class Case:
    """A predicate, and the number of files that it must keep."""

    name: str
    predicate: HudiExpression
    kept: int


def cases(files: int, options: int) -> list[Case]:
    """Return the predicates for a synthetic table of `files` files.

    `options` is the length of the IN list. No predicate excludes a partition, so that every file is
    evaluated.
    """
    rows = files * synthetic.ROWS_PER_FILE
    step = rows // options
    every = ", ".join(str(step * option + 7) for option in range(options))
    sql = {
        "1 file matches": (f"spread = {rows // 3}", 1),
        "half of the files match": (f"spread < {rows // 2}", files // 2),
        "nothing is prunable": ("spread >= 0", files),
        f"IN list of {options:,}": (f"spread IN ({every})", options),
    }
    return [Case(name, parse_predicate(text), kept) for name, (text, kept) in sql.items()]


@benchmark("service")
def service() -> Iterator[Measurement]:
    """The pruning service's answers for 100,000 and 2,000 files: time, bytes, warm and cold."""
    yield from _answers(
        100_000, partitions=100, options=1_000, warm_bar="< 50", size_bar="<= 5", cold_bar=None
    )
    yield from _answers(
        2_000, partitions=20, options=100, warm_bar="< 20", size_bar=None, cold_bar="< 2"
    )


def _answers(
    files: int,
    *,
    partitions: int,
    options: int,
    warm_bar: str,
    size_bar: str | None,
    cold_bar: str | None,
) -> Iterator[Measurement]:
    table = synthetic.ensure_written(files, partitions)
    asked = cases(files, options)
    title = f"service: {files:,} files"
    yield from _cold(title, table, asked[0], cold_bar)
    with ServiceProcess(_RUN_DIR) as server, server.client() as client:
        for case in asked:
            _checked(_slow_client(server), table, case)
            answer = _checked(client, table, case)
            elapsed = median_seconds(partial(_ask, client, table, case), _WARM_RUNS)
            yield Measurement(f"{title}, {case.name}: warm answer", elapsed * 1e3, "ms", warm_bar)
            size = len(serialize(answer, TBinaryProtocolAcceleratedFactory()))
            yield Measurement(f"{title}, {case.name}: answer's size", size / 1e6, "MB", size_bar)


def _cold(title: str, table: Path, case: Case, bar: str | None) -> Iterator[Measurement]:
    """Measure the first request to a new process; the operating system may have the files."""
    starts, answers = [], []
    for _ in range(_COLD_RUNS):
        started = time.perf_counter()
        with ServiceProcess(_RUN_DIR) as server:
            starts.append(time.perf_counter() - started)
            client = _slow_client(server)
            answers.append(seconds(partial(_checked, client, table, case)))
    yield Measurement(f"{title}: start of the process", statistics.median(starts), "s")
    yield Measurement(f"{title}, {case.name}: first answer", statistics.median(answers), "s", bar)


def _slow_client(server: ServiceProcess) -> PruningClient:
    return PruningClient("127.0.0.1", server.port, _COLD_TIMEOUT)


def _ask(client: PruningClient, table: Path, case: Case) -> PruneResponse:
    return client.prune(str(table), case.predicate)


def _checked(client: PruningClient, table: Path, case: Case) -> PruneResponse:
    """Return the answer. Raises ValueError if it is not the right one."""
    answer = _ask(client, table, case)
    if answer.status != PruneStatus.OK:
        raise ValueError(f"{case.name}: {answer.message}")
    kept = answer.counts.filesConsidered - answer.counts.filesDropped
    if kept != case.kept:
        raise ValueError(f"{case.name}: {kept} files are kept, {case.kept} match")
    return answer

"""Compare planning with other readers of a table that Hudi wrote: Spark with Hudi, and hudi-rs.

`python -m bench.engines READER TABLE NUMBER` plans one predicate in a new process, then all of them
once more, and prints the number of kept files and the time of each as JSON.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import cold
from bench.reporting.measuring import Measurement, benchmark, median_seconds
from bench.tables import event_table
from devtools.runtime import ROOT
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest


@dataclass(frozen=True)
class _Predicate:
    """A predicate in the form of each reader.

    rs: The form of hudi-rs, a list of comparisons that all hold; None: it has none. wrong_in: The
    reader that loses rows here; the number of files that it keeps is not a bar then.
    """

    sql: str
    rs: tuple[tuple[str, str, str], ...] | None = None
    wrong_in: str | None = None


PREDICATES = (
    _Predicate("id = 123456", (("id", "=", "123456"),)),
    _Predicate("id < 20000", (("id", "<", "20000"),)),
    _Predicate("amount > 1900000", (("amount", ">", "1900000"),)),
    _Predicate("city = 'Oslo' AND score >= 0.5", (("city", "=", "Oslo"), ("score", ">=", "0.5"))),
    _Predicate("day = '2024-01-03'", (("day", "=", "2024-01-03"),)),
    _Predicate("user_id = 4242", (("user_id", "=", "4242"),)),
    _Predicate("city IN ('Oslo', 'Lima')"),
    _Predicate("amount > 1990000 OR id < 1000"),
    _Predicate("device.build = 1100"),
    _Predicate("note IS NOT NULL"),
    _Predicate("NOT ok"),
    _Predicate("city LIKE 'Z%'", wrong_in="spark"),
)
_WARM_RUNS = 9
_FOOTER_WAIT = 60.0
_READERS = ("spark", "hudi-rs")


@benchmark("engines")
def engines() -> Iterator[Measurement]:
    """2,000 files that Hudi wrote: planning against Spark with Hudi and hudi-rs; 10 minutes."""
    path = event_table.ensure_written().path
    # Doubtful entries are checked against the files' footers, once.
    pruner = Pruner(PruneOptions(footer_wait=_FOOTER_WAIT))
    others = {reader: _others(reader, path) for reader in _READERS}
    for number, predicate in enumerate(PREDICATES):
        request = PruneRequest(parse_predicate(predicate.sql), semantics=here("UTC"))
        ask = partial(pruner.prune, str(path), request)
        kept = ask().files_kept
        warm = median_seconds(ask, _WARM_RUNS)
        fresh = cold.run("bench.cold", str(path), predicate.sql)
        title = f"engines: {predicate.sql}"
        yield Measurement(f"{title}: files kept", kept, "files")
        yield Measurement(f"{title}: warm", warm * 1e3, "ms")
        yield Measurement(f"{title}: new process", fresh.seconds, "s")
        for reader, found in others.items():
            planned = found.get(number)
            if planned is None:
                continue
            against = f"{title}: {reader}"
            wrong = reader == predicate.wrong_in
            name = f"{against}, files kept{' (it loses rows)' if wrong else ''}"
            yield Measurement(name, planned.kept, "files", None if wrong else f">= {kept}")
            yield Measurement(
                f"{against}, warm, our times faster", planned.warm / warm, "x", ">= 1"
            )
            ratio = planned.cold / fresh.seconds
            yield Measurement(f"{against}, cold, our times faster", ratio, "x", ">= 1")


@dataclass(frozen=True)
class _Planned:
    """The files that a reader kept, and its seconds: warm, and first in a process (with start)."""

    kept: int
    warm: float
    cold: float


def _others(reader: str, path: Path) -> dict[int, _Planned]:
    """Return results by the predicate's number; each one is the first in a process once."""
    found = {}
    for number, predicate in enumerate(PREDICATES):
        if reader == "hudi-rs" and predicate.rs is None:
            continue
        started = time.perf_counter()
        command = [sys.executable, "-m", "bench.engines", reader, str(path), str(number)]
        output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        printed = json.loads(output.stdout.splitlines()[-1])
        first = printed["ready"] - started
        found[number] = _Planned(printed["kept"], printed["warm"], first)
    return found


def _print_ready(plan: Callable[[_Predicate], int], number: int) -> None:
    """Print when the first plan was ready: perf_counter is the same in all local processes."""
    predicate = PREDICATES[number]
    kept = plan(predicate)
    ready = time.perf_counter()
    warm = median_seconds(partial(plan, predicate), 3)
    print(json.dumps({"kept": kept, "ready": ready, "warm": warm}))


def _with_spark(path: str, number: int) -> None:
    from devtools.spark import spark_session

    options = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
    with spark_session("bench-engines") as spark:
        spark.conf.set("spark.sql.adaptive.enabled", "false")

        def plan(predicate: _Predicate) -> int:
            frame = spark.read.format("hudi").options(**options).load(path).where(predicate.sql)
            scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
            return sum(part.files().size() for part in scan.selectedPartitions())

        _print_ready(plan, number)


def _with_hudi_rs(path: str, number: int) -> None:
    from hudi import HudiReadOptions, HudiTableBuilder

    table = HudiTableBuilder.from_base_uri(path).build()

    def plan(predicate: _Predicate) -> int:
        options = HudiReadOptions(filters=list(predicate.rs or ()))
        return len(table.get_file_slices(options))

    _print_ready(plan, number)


if __name__ == "__main__":
    _run = {"spark": _with_spark, "hudi-rs": _with_hudi_rs}[sys.argv[1]]
    _run(sys.argv[2], int(sys.argv[3]))

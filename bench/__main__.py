"""`python -m bench [NAMES]`: run the named benchmarks, or all, and store the results."""

import os
import sys
from collections.abc import Sequence

from rich.console import Console

from bench import (
    engines,
    first,
    hive,
    hive_planning,
    iceberg,
    index_builds,
    key_indexes,
    layouts,
    load,
    lookups,
    object_store,
    pruning,
    query_path,
    service,
    virtual_keys,
    wide,
)
from bench.clients import join_keys
from bench.cluster import queries as cluster_queries
from bench.fleet import measured as fleet
from bench.indexes import key_builds
from bench.limits import top_k
from bench.reporting import publishing, results
from bench.reporting.measuring import Benchmark, Measurement, median_seconds, registered
from bench.scale import rows, sizes
from bench.spark import queries as spark_queries
from devtools.process import ServerError
from devtools.runtime import RuntimeMissingError

# They register themselves when they are imported.
_MODULES = (
    pruning,
    wide,
    iceberg,
    engines,
    first,
    service,
    join_keys,
    hive,
    hive_planning,
    key_indexes,
    index_builds,
    query_path,
    layouts,
    virtual_keys,
    load,
    lookups,
    key_builds,
    object_store,
    fleet,
    rows,
    sizes,
    top_k,
    spark_queries,
    cluster_queries,
)


def main(names: Sequence[str]) -> int:
    """Run benchmarks; return 0 if all succeed and clear their bars, 2 for an unknown name."""
    console = Console()
    known = {benchmark.name: benchmark for benchmark in registered()}
    unknown = [name for name in names if name not in known]
    if unknown:
        console.print(f"unknown: {', '.join(unknown)}. The benchmarks are:", style="red")
        for benchmark in known.values():
            console.print(f"  {benchmark.name}: {benchmark.summary}")
        return 2
    failed = False
    measured = []
    for benchmark in (known[name] for name in names or known):
        console.print(f"[bold]{benchmark.name}[/]: {benchmark.summary}")
        try:
            fresh = results.entries(benchmark.name, _measured(benchmark, console))
        except (ServerError, RuntimeMissingError) as error:
            console.print(str(error), style="red", markup=False)
            failed = True
            continue
        publishing.publish({benchmark.name: fresh})
        measured.extend(fresh)
    console.print(results.table(measured))
    return 1 if failed or any(entry["holds"] is False for entry in measured) else 0


def _pace() -> float:
    """Return the seconds of a million turns of a loop: how fast the machine is at the time.

    The processors of hosts that are shared have been twice as slow on one day as on another.
    """
    return median_seconds(lambda: sum(number * number for number in range(1_000_000)), 5)


def _measured(benchmark: Benchmark, console: Console) -> list[Measurement]:
    """Return the benchmark's figures, after those of the machine."""
    found = [
        Measurement(f"{benchmark.name}: cores of the machine", os.cpu_count() or 0, "cores"),
        Measurement(f"{benchmark.name}: load at the start", os.getloadavg()[0], "processes"),
        Measurement(f"{benchmark.name}: a fixed loop of Python", 1_000 * _pace(), "ms"),
    ]
    for measurement in benchmark.measure():
        bar = f" ({measurement.bar})" if measurement.bar else ""
        console.print(
            f"  {measurement.name}: {measurement.value:,.4g} {measurement.unit}{bar}",
            highlight=False,
        )
        found.append(measurement)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

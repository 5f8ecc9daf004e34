"""IN lists of 100,000 record keys and secondary values on indexes of 10,000,000 entries."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench import cold
from bench.reporting.measuring import Measurement, benchmark, median_seconds, seconds
from bench.tables.key_tables import SECONDARY_INDEX, ensure_written
from bench.tables.synthetic import ROWS_PER_FILE
from pyhudi_expr.expr.nodes import Column, In, Literal
from pyhudi_expr.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.table.hudi_names import RECORD_INDEX

_FILES, _PARTITIONS = 10_000, 10
_KEYS = 100_000
_SEED = 77
_RUNS = 5
_PATIENCE = 600.0  # seconds
_COLUMNS = {RECORD_INDEX: "id", SECONDARY_INDEX: "spread"}
_MEGABYTE = 10**6


@benchmark("key-indexes")
def key_indexes() -> Iterator[Measurement]:
    """100,000 record keys and secondary values looked up among 10,000,000 rows' entries."""
    table = ensure_written(_FILES, _PARTITIONS)
    yield Measurement("key-indexes: entries of an index", _FILES * ROWS_PER_FILE, "rows")
    for index in _COLUMNS:
        # A separate process, so that its memory is that of this index alone.
        command = [sys.executable, "-m", "bench.key_indexes", str(table), index]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        for name, value, unit, bar in json.loads(done.stdout):
            yield Measurement(f"key-indexes: {index}, {name}", value, unit, bar)


def _measured(table: Path, index: str) -> list[tuple[str, float, str, str | None]]:
    wanted = np.random.default_rng(_SEED).choice(_FILES * ROWS_PER_FILE, _KEYS, replace=False)
    options = tuple(Literal(int(value), pa.int64()) for value in wanted)
    request = PruneRequest(In(Column((_COLUMNS[index],)), options))
    pruner = Pruner()

    def prune() -> PruneResult:
        return pruner.prune(str(table), request)

    def answered() -> None:
        """Wait until the index, which is read in the background, is used."""
        while not any(source.name == index for source in prune().evidence):
            if time.perf_counter() - started > _PATIENCE:
                raise RuntimeError(f"{index} does not answer: {prune().notes}")

    started = time.perf_counter()
    first = seconds(prune)
    answered()
    complete = time.perf_counter() - started
    warm = median_seconds(prune, _RUNS)
    kept = prune().files_kept
    return [
        (f"first query with {_KEYS:,} values, before the index is read", first, "s", None),
        ("until the index is read", complete, "s", None),
        (f"warm query with {_KEYS:,} values", warm, "s", "< 1"),
        ("files kept", kept, "files", f"<= {_FILES}"),
        ("memory at most", cold.peak() / _MEGABYTE, "MB", "< 1074"),
    ]


if __name__ == "__main__":
    print(json.dumps(_measured(Path(sys.argv[1]), sys.argv[2])))

"""A new worker's first answer: `python -m bench.scale.worker TABLE SNAPSHOT_DIR ROW`.

Prints one line of JSON: seconds of the imports and of the answer, and the memory of its own in MB.
"""

import json
import sys
import time
from pathlib import Path

from bench.cold import without_pandas


def memory(kind: str) -> int:
    """Return a part of this process's memory in bytes: Rss, or Anonymous for what is its own."""
    status = Path("/proc/self/smaps_rollup").read_text()
    return int(status.partition(f"\n{kind}:")[2].split()[0]) * 1024


def _main(table: str, directory: str, row: str) -> None:
    started = time.perf_counter()
    # Importing is part of what is measured; requests of the service need no parser of SQL.
    import pyarrow as pa

    from pyhudi_expr.expr.nodes import Column, Comparison, Literal, Op
    from pyhudi_expr.prune import PruneOptions, Pruner, PruneRequest

    imported = time.perf_counter()
    least = Comparison(Op.LTEQ, Column(("spread",)), Literal(int(row), pa.int64()))
    result = Pruner(PruneOptions(snapshot_dir=Path(directory))).prune(table, PruneRequest(least))
    kept, answered = result.files_kept, time.perf_counter()
    report = {
        "kept": kept,
        "imports": imported - started,
        "first answer from the snapshot": answered - imported,
        "imports and first answer": answered - started,
        "own memory": memory("Anonymous") / 1e6,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    without_pandas()
    _main(*sys.argv[1:])

"""IN lists of 10,000 record keys and secondary values on indexes of 10,000,000 entries."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench import cold
from bench.reporting.measuring import Measurement, benchmark, median_seconds, seconds
from bench.tables.key_tables import SECONDARY_INDEX, ensure_written
from bench.tables.synthetic import ROWS_PER_FILE
from pyhudi_expr.expr.nodes import Column, In, Literal
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.certificates import stored
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

_FILES, _PARTITIONS = 10_000, 10
_KEYS = 10_000
_SEED = 77
_RUNS = 5
_COLUMNS = {RECORD_INDEX: "id", SECONDARY_INDEX: "spread"}
_MEGABYTE = 10**6


@benchmark("key-indexes")
def key_indexes() -> Iterator[Measurement]:
    """10,000 record keys and secondary values looked up among 10,000,000 rows' entries."""
    table = ensure_written(_FILES, _PARTITIONS)
    yield Measurement("key-indexes: entries of an index", _FILES * ROWS_PER_FILE, "rows")
    _certify(table)
    for index in _COLUMNS:
        # A separate process, so that its memory is that of this index alone.
        command = [sys.executable, "-m", "bench.key_indexes", str(table), index]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        for name, value, unit, bar in json.loads(done.stdout):
            yield Measurement(f"key-indexes: {index}, {name}", value, unit, bar)


def _certify(table: Path) -> None:
    mdt = MetadataTable.open(HudiTable.open(str(table)))
    if mdt is None:
        raise ValueError(f"{table} has no metadata table")
    if stored.value_certificate(mdt, SECONDARY_INDEX) is None:
        stored.write_certificate(mdt, RECORD_INDEX, stored.certify_records(mdt))
        values = stored.certify_values(mdt, SECONDARY_INDEX)
        stored.write_certificate(mdt, SECONDARY_INDEX, values)


def _measured(table: Path, index: str) -> list[tuple[str, float, str, str | None]]:
    pruner = Pruner()
    lists = iter(_lists(index))

    def prune(request: PruneRequest) -> PruneResult:
        found = pruner.prune(str(table), request)
        if not any(source.name == index for source in found.evidence):
            raise RuntimeError(f"{index} does not answer: {found.notes}")
        return found

    first = seconds(lambda: prune(next(lists)))
    others = median_seconds(lambda: prune(next(lists)), _RUNS)
    last = next(lists)
    kept = prune(last).files_kept
    again = median_seconds(lambda: prune(last), _RUNS)
    title = f"{_KEYS:,} values"
    return [
        (f"{title}, first answer of a new process", first, "s", "< 3"),
        (f"{title}, warm, others each time", others, "s", "< 3"),
        (f"{title}, warm, asked before", again, "s", "< 1"),
        ("files kept", kept, "files", f"< {_FILES}"),
        ("memory at most", cold.peak() / _MEGABYTE, "MB", "< 1074"),
    ]


def _lists(index: str) -> Iterator[PruneRequest]:
    """Return conditions with values that none before has."""
    values = np.random.default_rng(_SEED).permutation(_FILES * ROWS_PER_FILE)
    for start in range(0, len(values), _KEYS):
        chosen = values[start : start + _KEYS].tolist()
        options = tuple(Literal(value, pa.int64()) for value in chosen)
        yield PruneRequest(In(Column((_COLUMNS[index],)), options))


if __name__ == "__main__":
    print(json.dumps(_measured(Path(sys.argv[1]), sys.argv[2])))

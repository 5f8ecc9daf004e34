"""Single record keys and values, looked up in indexes of up to 100,000,000 entries."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench import cold
from bench.indexes.key_builds import key_builds
from bench.reporting.measuring import Measurement, benchmark, median_seconds, seconds
from bench.tables import large_indexes
from bench.tables.key_tables import SECONDARY_INDEX
from bench.tables.large_indexes import ensure_written, spread_of
from bench.tables.logged_updates import logged_updates
from pyhudi_expr.expr.nodes import Column, In, Literal
from pyhudi_expr.index.lookups.record_index import record_index
from pyhudi_expr.index.lookups.secondary_index import secondary_indexes
from pyhudi_expr.mdt.certificates import stored
from pyhudi_expr.mdt.certificates.extending import extend_records, extend_values
from pyhudi_expr.mdt.store.metadata_table import MetadataTable, current_listing
from pyhudi_expr.prune import Pruner, PruneRequest
from pyhudi_expr.table.hudi_names import RECORD_INDEX
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import TableView

_SMALL, _LARGE = 1_000_000, 100_000_000
_MANY = 1_000
_RUNS = 5
_WARMING_VALUES = 5_000
"""Values looked up before a warm answer is timed: each shard is open then."""
_SEED = 77
_MEGABYTE = 10**6
_BARS: dict[int, tuple[tuple[int, str | None, str], ...]] = {
    # So many values are in every file of the small table: no index is asked for them.
    _SMALL: ((1, None, "< 5"),),
    _LARGE: ((1, "< 1", "< 5"), (_MANY, "< 3", "< 100")),
}
"""For each size: numbers of values, with the bars of the first answer (s) and a warm one (ms)."""


@benchmark("lookups")
def lookups() -> Iterator[Measurement]:
    """Values looked up in 100,000,000 entries, cold and warm; builds of 20,000,000 rows."""
    warm = {}
    for rows in (_SMALL, _LARGE):
        table = ensure_written(rows)
        case = f"lookups: {rows:,} entries"
        certified = _certified(table)
        yield Measurement(f"{case}, certified in", certified, "s")
        share = _extended(table, rows) / certified
        share_bar = "< 5" if rows == _LARGE else None
        yield Measurement(f"{case}, extended by 1% of the files", 100 * share, "%", share_bar)
        for values, bar, warm_bar in _BARS[rows]:
            found = _in_new_process(table, rows, values)
            name = f"{case}, {values:,} values"
            yield Measurement(f"{name}, first answer of a new process", found["first"], "s", bar)
            yield Measurement(f"{name}, its memory", found["peak"], "MB", bar and "< 300")
            yield Measurement(f"{name}, warm, asked before", found["warm"], "ms", warm_bar)
            yield Measurement(f"{name}, warm, others each time", found["others"], "ms", warm_bar)
            if values == 1:
                warm[rows] = found["others"]
                read = _index_bytes(table, rows) / _MEGABYTE
                yield Measurement(f"{name}, bytes of the indexes read", read, "MB", "< 2")
    growth = warm[_LARGE] / warm[_SMALL]
    yield Measurement("lookups: growth from 10^6 to 10^8 entries, warm", growth, "x", "<= 2")
    yield from key_builds()


def _certified(table: Path) -> float:
    """Return the seconds that it takes to certify both indexes anew."""

    def certify() -> None:
        mdt = MetadataTable.open(HudiTable.open(str(table)))
        assert mdt is not None
        records = stored.certify_records(mdt)
        values = stored.certify_values(mdt, SECONDARY_INDEX)
        assert int(records.entries.sum()) % large_indexes.ROWS_PER_FILE == 0
        assert not len(values.doubtful)
        stored.write_certificate(mdt, RECORD_INDEX, records)
        stored.write_certificate(mdt, SECONDARY_INDEX, values)

    return seconds(certify)


def _extended(table: Path, rows: int) -> float:
    """Return the seconds that the certificates take to follow a commit to 1% of the files.

    The commit gives each row of these files another value: a tombstone and an entry for each.
    """
    mdt = MetadataTable.open(HudiTable.open(str(table)))
    assert mdt is not None
    records, values = mdt.groups(RECORD_INDEX), mdt.groups(SECONDARY_INDEX)
    before = stored.record_certificate(mdt), stored.value_certificate(mdt, SECONDARY_INDEX)
    assert before[0] is not None
    assert before[1] is not None
    with logged_updates(table, rows, rows // 100, values) as logged:
        started = time.perf_counter()
        followed = extend_records(before[0], records), extend_values(before[1], records, logged)
        spent = time.perf_counter() - started
    assert followed[0] is not None
    assert followed[1] is not None
    assert not len(followed[1].doubtful)
    return spent


def _index_bytes(table: Path, rows: int) -> int:
    """Return the bytes that a look-up of one value reads: of both indexes, and of certificates."""
    mdt = MetadataTable.open(HudiTable.open(str(table)))
    assert mdt is not None
    listing = current_listing(mdt.table, mdt, TableView.SNAPSHOT)
    before = mdt.bytes_read
    records = record_index(mdt, listing)
    assert records is not None
    (index,) = secondary_indexes(mdt, listing, records)
    kept = index.places(0).slices_with([str(spread_of(rows // 3, rows)).encode()])
    assert int(kept.sum()) == 1
    certificates = (table / stored.CERTIFICATES_DIR).iterdir()
    return mdt.bytes_read - before + sum(file.stat().st_size for file in certificates)


def _in_new_process(table: Path, rows: int, values: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.lookups", str(table), str(rows), str(values)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _measured(table: str, rows: int, values: int) -> dict[str, float]:
    """Look values up in this process, which has asked for nothing before."""
    random = np.random.default_rng(_SEED)
    pruner = Pruner()
    count = 1 + _RUNS + _WARMING_VALUES // values
    questions = [random.choice(rows, values, replace=False).tolist() for _ in range(count)]

    def ask(chosen: list[int]) -> None:
        options = [Literal(spread_of(row, rows), pa.int64()) for row in chosen]
        predicate = In(Column(("spread",)), tuple(options))
        result = pruner.prune(table, PruneRequest(predicate))
        assert any(source.name == SECONDARY_INDEX for source in result.evidence), result.notes
        assert result.files_kept == len({large_indexes.file_of(row) for row in chosen})

    others = iter(questions[1:])
    first = seconds(lambda: ask(questions[0]))
    peak = cold.peak()
    for _ in range(_WARMING_VALUES // values):
        ask(next(others))
    return {
        "first": first,
        "peak": peak / _MEGABYTE,
        "warm": 1_000 * median_seconds(lambda: ask(questions[0]), _RUNS),
        "others": 1_000 * median_seconds(lambda: ask(next(others)), _RUNS),
    }


if __name__ == "__main__":
    path, row_count, value_count = sys.argv[1:]
    print(json.dumps(_measured(path, int(row_count), int(value_count))))

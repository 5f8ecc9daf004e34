"""Single record keys and values, looked up in indexes of up to 100,000,000 entries."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench import cold
from bench.indexes.key_plans import key_plans
from bench.indexes.updated_slices import updated_slices
from bench.reporting.measuring import Measurement, benchmark, seconds
from bench.tables import large_indexes
from bench.tables.key_tables import SECONDARY_INDEX
from bench.tables.large_indexes import FIRST, SHARDS, ensure_written, spread_of
from bench.tables.logged_updates import logged_updates
from pyhudi_expr.expr.nodes import Column, In, Literal
from pyhudi_expr.index.lookups.record_index import record_index
from pyhudi_expr.index.lookups.secondary_index import secondary_indexes
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.tables.hudi_names import METADATA_DIR, RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import TableView
from pyhudi_expr.tables.mdt.certificates import stored
from pyhudi_expr.tables.mdt.certificates.extending import extend_records, extend_values
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing

_RUNS = 5
_WARMING_VALUES = 5_000
"""Values looked up before a warm answer is timed: each shard is open then."""
_SEED = 77
_MEGABYTE = 10**6
_PIECE_BYTES = 1 << 22


@dataclass(frozen=True)
class _Case:
    """A table whose indexes are looked up in.

    Attributes:
        title: What figures call it.
        rows: Entries of each index.
        shards: Shards of each index.
        counts: How many values are looked up at once.
        has_bars: Whether its figures have bars.
    """

    title: str
    rows: int
    shards: int
    counts: tuple[int, ...]
    has_bars: bool


_BARS = {1: ("< 1", "< 5"), 1_000: ("< 3", "< 100")}
"""For numbers of values: the bars of the first answer (s), and of a warm one (ms)."""
_SMALL = _Case("1,000,000 entries", 1_000_000, SHARDS, (1,), has_bars=False)
_LARGE = _Case("100,000,000 entries", 100_000_000, SHARDS, (1, 1_000), has_bars=True)
_SHARD = _Case("one of 64 shards of 10^9 entries", 16_000_000, 1, (1,), has_bars=False)
"""All that a look-up of one value opens of such an index, but for the longer list of shards."""


@benchmark("lookups")
def lookups() -> Iterator[Measurement]:
    """Values looked up in 100,000,000 entries, cold and warm; plans beside Hudi's."""
    warm: dict[_Case, float] = {}
    for case in (_SMALL, _LARGE, _SHARD):
        table = ensure_written(case.rows, case.shards)
        title = f"lookups: {case.title}"
        certified = _certified(table)
        yield Measurement(f"{title}, certified in", certified, "s")
        share = _extended(table, case.rows) / certified
        bar = "< 5" if case.has_bars else None
        yield Measurement(f"{title}, extended by 1% of the files", 100 * share, "%", bar)
        read = _index_bytes(table, case.rows) / _MEGABYTE
        yield Measurement(f"{title}, bytes of the indexes read for a value", read, "MB", "< 2")
        yield from _of_column(f"{title}, 1 key", case, _in_new_process(table, case, "id", 1), 1)
        for count in case.counts:
            found = _in_new_process(table, case, "spread", count)
            yield from _of_column(f"{title}, {count:,} values", case, found, count)
            warm.setdefault(case, found["others"])
    growth = warm[_LARGE] / warm[_SMALL]
    yield Measurement("lookups: growth from 10^6 to 10^8 entries, warm", growth, "x", "<= 2")
    yield from key_plans()
    yield from updated_slices()


def _of_column(
    name: str, case: _Case, found: Mapping[str, float], count: int
) -> Iterator[Measurement]:
    first, warm = _BARS[count] if case.has_bars else (None, None)
    yield Measurement(f"{name}, first answer of a new process", found["first"], "s", first)
    yield Measurement(f"{name}, its memory", found["peak"], "MB", first and "< 300")
    yield Measurement(f"{name}, warm, asked before", found["warm"], "ms", warm)
    yield Measurement(f"{name}, warm, others each time", found["others"], "ms", warm)


def _certified(table: Path) -> float:
    """Return the seconds that it takes to certify both indexes anew."""

    def certify() -> None:
        mdt = MetadataTable.open(HudiTable.open(str(table)))
        assert mdt is not None
        records = stored.certify_records(mdt)
        values = stored.certify_values(mdt, SECONDARY_INDEX)
        assert int(records.sums.counts.sum()) % large_indexes.ROWS_PER_FILE == 0
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


def _in_new_process(table: Path, case: _Case, column: str, count: int) -> dict[str, float]:
    arguments = [str(table), str(case.rows), column, str(count)]
    command = [sys.executable, "-m", "bench.lookups", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _measured(table: str, rows: int, column: str, count: int) -> dict[str, float]:
    """Look values up in this process, which has asked for nothing before."""
    random = np.random.default_rng(_SEED)
    pruner = Pruner()
    warming = _WARMING_VALUES // count
    questions = [random.choice(rows, count, replace=False) for _ in range(1 + _RUNS + warming)]
    is_key = column == "id"
    index = RECORD_INDEX if is_key else SECONDARY_INDEX

    def values_of(chosen: npt.NDArray[np.int64]) -> list[int]:
        return [FIRST + row if is_key else spread_of(row, rows) for row in chosen.tolist()]

    def ask(values: list[int]) -> PruneResult:
        predicate = In(Column((column,)), tuple(Literal(value, pa.int64()) for value in values))
        return pruner.prune(table, PruneRequest(predicate))

    def seconds_of(chosen: npt.NDArray[np.int64]) -> float:
        """Time one question; its values and what is expected of it are computed untimed."""
        values = values_of(chosen)
        started = time.perf_counter()
        result = ask(values)
        duration = time.perf_counter() - started
        assert any(source.name == index for source in result.evidence), result.notes
        assert result.files_kept == len(large_indexes.files_of(chosen))
        return duration

    others = iter(questions[1:])
    first = seconds_of(questions[0])
    peak = cold.peak()
    _read_whole(Path(table, METADATA_DIR))
    for _ in range(warming):
        seconds_of(next(others))
    return {
        "first": first,
        "peak": peak / _MEGABYTE,
        "warm": 1_000 * median(seconds_of(questions[0]) for _ in range(_RUNS)),
        "others": 1_000 * median(seconds_of(next(others)) for _ in range(_RUNS)),
    }


def _read_whole(directory: Path) -> None:
    """Bring files into the system's memory: a warm answer waits for no disk."""
    for file in directory.rglob("*.hfile"):
        with file.open("rb", buffering=0) as content:
            while content.read(_PIECE_BYTES):
                pass


if __name__ == "__main__":
    path, row_count, looked_up, value_count = sys.argv[1:]
    print(json.dumps(_measured(path, int(row_count), looked_up, int(value_count))))

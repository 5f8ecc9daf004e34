"""Prune in this process and in new ones: against bare comparisons, by size, memory, snapshots."""

import os
import shutil
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench import cold
from bench.reporting.measuring import Measurement, benchmark, interleaved, seconds
from bench.tables import synthetic
from bench.tables.questions import Question, question_of
from devtools.runtime import WORK
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import columns
from pyhudi_expr.expr.domains import float_ordinals
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.opening import SnapshotOptions
from pyhudi_expr.index.prune import Pruner, PruneRequest
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.tables.hudi_table import HudiTable

#: Files and partitions of the tables.
SIZES = ((10_000, 100), (100_000, 100), (1_000_000, 1_000))
_ROUNDS = 31
_COLD_RUNS = 3
_MEMORY_LIMIT = 1 << 30


@benchmark("pruning")
def pruning() -> Iterator[Measurement]:
    """Three leaves over 10,000 to 1,000,000 files: warm against bare comparisons, cold, memory."""
    pa.set_cpu_count(1)
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        warm = {}
        for files, partitions in SIZES:
            table = synthetic.ensure_written(files, partitions)
            warm[files], measured = _warm(table, files)
            yield from measured
    finally:
        os.sched_setaffinity(0, allowed)
    for fewer, more in ((10_000, 100_000), (100_000, 1_000_000)):
        name = f"pruning: warm, {more:,} files against {fewer:,}"
        yield Measurement(name, warm[more] / warm[fewer], "x", "<= 10")
    for files, partitions in SIZES[1:]:
        yield from _cold(synthetic.ensure_written(files, partitions), files)


def _warm(table: Path, files: int) -> tuple[float, list[Measurement]]:
    """Return the seconds of a warm answer on one core, and the figures."""
    question = question_of(files)
    pruner, request = Pruner(), PruneRequest(parse_predicate(question.sql))
    kept = pruner.prune(str(table), request).files_kept
    bare = _bare(table, question)
    if not kept == question.kept(files) == np.count_nonzero(bare()):
        raise ValueError(f"{kept} of {files} files are kept, {question.kept(files)} match")
    ours, theirs = interleaved(
        [partial(seconds, lambda: pruner.prune(str(table), request)), partial(seconds, bare)],
        _ROUNDS,
    )
    elapsed, base = statistics.median(ours), statistics.median(theirs)
    million = files == 1_000_000
    title = f"pruning: {files:,} files, three leaves"
    return elapsed, [
        Measurement(f"{title}: warm, one core", elapsed * 1e3, "ms", "< 60" if million else None),
        Measurement(f"{title}: bare comparison", base * 1e3, "ms"),
        Measurement(
            f"{title}: warm against bare", elapsed / base, "x", "<= 2" if million else None
        ),
    ]


def _bare(table: Path, question: Question) -> Callable[[], Any]:
    """Return the minimum that any answer takes: the three comparisons of the same arrays."""
    snapshot = TableSnapshot.open(HudiTable.open(str(table)), SnapshotOptions())
    stats, everywhere = snapshot.column_stats, np.ones(len(snapshot.listing.partitions), np.bool_)
    assert stats is not None
    predicate = bind(parse_predicate(question.sql), Scope(snapshot.schema))
    loaded = stats.load(list(columns(predicate).values()), everywhere, 0.0)
    bounds: dict[str, Any] = {column.name: found for column, found in loaded.columns.items()}
    spread, amount, code = (bounds[name] for name in ("spread", "amount", "code"))
    least = float_ordinals(np.array([question.least]))[0]
    first = pa.scalar(question.first.encode(), code.upper.type)

    def compare() -> object:
        behind = pc.greater_equal(code.upper, first).to_numpy(zero_copy_only=False)
        return (spread.lower < question.most) & ((amount.upper > least) | behind)

    return compare


def _cold(table: Path, files: int) -> Iterator[Measurement]:
    """Measure new processes: without a snapshot, and with the one that the first of them wrote."""
    question = question_of(files)
    ask = partial(cold.run, "bench.cold", str(table), question.sql)
    runs = [ask() for _ in range(_COLD_RUNS)]
    directory = WORK / "bench" / "snapshots"
    shutil.rmtree(directory, ignore_errors=True)
    kept = [ask(str(directory)) for _ in range(_COLD_RUNS + 1)][1:]
    expected = question.kept(files)
    if any(run.kept != expected for run in (*runs, *kept)):
        raise ValueError(f"{runs[0].kept} files are kept, {expected} match")
    title = f"pruning: {files:,} files, new process"
    for name, of in (("no snapshot", runs), ("from the snapshot", kept)):
        elapsed = statistics.median(run.seconds for run in of)
        yield Measurement(f"{title}, {name}", elapsed, "s")
        spent = statistics.median(run.cpu_seconds for run in of)
        yield Measurement(f"{title}, {name}: CPU", spent, "s")
    peak = max(run.peak for run in runs)
    bar = f"<= {_MEMORY_LIMIT / 1e6:.0f}"
    yield Measurement(f"{title}: most memory", peak / 1e6, "MB", bar)

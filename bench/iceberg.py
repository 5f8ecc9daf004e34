"""PyIceberg's `plan_files` on a table with the same files and statistics."""

import statistics
from collections.abc import Iterator
from functools import partial

from bench import cold, planning
from bench.reporting.measuring import Measurement, benchmark, median_seconds
from bench.tables import synthetic
from bench.tables.iceberg_table import FILES, PARTITIONS, WAREHOUSE, ensure_written
from bench.tables.questions import question_of
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner, PruneRequest

_WARM_RUNS, _PLANNED_RUNS, _COLD_ROUNDS = 31, 2, 5


@benchmark("iceberg")
def iceberg() -> Iterator[Measurement]:
    """100,000 files against PyIceberg's plan_files on equal statistics, warm and cold."""
    table = str(synthetic.ensure_written(FILES, PARTITIONS))
    ensure_written()
    question = question_of(FILES)
    expected = question.kept(FILES)
    title = f"iceberg: {FILES:,} files, three leaves"

    pruner, request = Pruner(), PruneRequest(parse_predicate(question.sql))
    asked = (question.most, question.least, question.first)
    plan = planning.iceberg(str(WAREHOUSE), *asked)
    kept = pruner.prune(table, request).files_kept, plan()
    if kept != (expected, expected):
        raise ValueError(f"{kept} files are kept, {expected} match")
    ours = median_seconds(lambda: pruner.prune(table, request), _WARM_RUNS)
    theirs = median_seconds(plan, _PLANNED_RUNS)
    yield Measurement(f"{title}: PyIceberg's plan_files", theirs, "s")
    yield Measurement(f"{title}: ours, warm", ours * 1e3, "ms")
    yield Measurement(f"{title}: warm, times faster", theirs / ours, "x", ">= 1000")

    words = tuple(map(str, asked))
    commands = (
        partial(cold.run, "bench.planning", "ours", table, *words),
        partial(cold.run, "bench.planning", "theirs", str(WAREHOUSE), *words),
        partial(cold.run, "bench.cold", table, question.sql),
    )
    rounds = [[command() for command in commands] for _ in range(_COLD_ROUNDS)]
    if any(run.kept != expected for runs in rounds for run in runs):
        raise ValueError("a new process keeps other files")
    first, second, parsed = (
        statistics.median(runs[k].seconds for runs in rounds) for k in range(len(commands))
    )
    yield Measurement(f"{title}: PyIceberg in a new process", second, "s")
    yield Measurement(f"{title}: ours in a new process", first, "s")
    yield Measurement(f"{title}: ours in a new process that parses SQL, too", parsed, "s")
    yield Measurement(f"{title}: cold, times faster", second / first, "x", ">= 10")

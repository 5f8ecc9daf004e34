"""1,000,000 and 10,000,000 files: new processes, new commits, selective questions, memory."""

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from bench.clients.service_clients import ServiceTable
from bench.reporting.measuring import Measurement, benchmark, interleaved, seconds
from bench.scale.worker import first_answer, memory
from bench.tables import commits, synthetic
from bench.tables.questions import question_of
from bench.tables.synthetic_snapshot import snapshot_of
from devtools.runtime import ROOT, WORK
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.service.answers.encoding import verdicts

#: Files and partitions. A dropped partition has a verdict of its own, so that their number counts,
#: too: it is the same in both.
_MILLION, _TEN = (1_000_000, 1_000), (10_000_000, 1_000)
_RUNS = 5
_ROUNDS = 31
_COMMITS, _MERGED = 200, 10
#: `pyhudi` where pandas is not installed, which only the tests need: pyarrow imports it.
_PYHUDI = (
    "import sys; from bench.cold import without_pandas; without_pandas();"
    " from pyhudi_expr.cli.main import main; sys.exit(main())"
)
_DIRECTORY = WORK / "bench" / "scale-snapshots"
_RUN_DIR = WORK / "bench" / "scale-service"


@benchmark("scale")
def scale() -> Iterator[Measurement]:
    """1,000,000 and 10,000,000 files: new processes, commits, selective questions, memory."""
    table = synthetic.ensure_written(*_MILLION)
    yield from _starts()
    yield from _commands(table)
    yield from _new_workers(table)
    yield from _commit(table)
    yield from _warm()


def _starts() -> Iterator[Measurement]:
    """Measure what starts without a table, interpreter included."""
    for name, command, bar in (
        ("import pyhudi_expr", ["-c", "import pyhudi_expr"], "< 80"),
        ("pyhudi --help", ["-m", "pyhudi_expr.cli", "--help"], "< 150"),
    ):
        start = partial(_run, [sys.executable, *command], os.environ)
        start()
        taken = statistics.median(seconds(start) for _ in range(_ROUNDS))
        yield Measurement(f"scale: {name}", taken * 1e3, "ms", bar)


def _run(command: Sequence[str], environment: Mapping[str, str]) -> None:
    subprocess.run(command, check=True, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)


def _commands(table: Path) -> Iterator[Measurement]:
    """Measure `pyhudi prune`, interpreter included, without a snapshot and with one."""
    question, taken = question_of(_MILLION[0]), dict[str, list[float]]()
    home = WORK / "bench" / "scale-home"
    for _ in range(_RUNS):
        shutil.rmtree(home, ignore_errors=True)
        for name in ("no snapshot", "from the snapshot"):
            command = [sys.executable, "-c", _PYHUDI, "prune", "--count", str(table), question.sql]
            environment = {**os.environ, "XDG_CACHE_HOME": str(home)}
            run = partial(_run, command, environment)
            taken.setdefault(name, []).append(seconds(run))
    for (name, runs), bar in zip(taken.items(), ("< 5", "< 0.8"), strict=True):
        title = f"scale: 1,000,000 files, pyhudi prune, {name}"
        yield Measurement(title, statistics.median(runs), "s", bar)


def _new_workers(table: Path) -> Iterator[Measurement]:
    """Measure first answers of the successors of killed workers, which map a snapshot."""
    asked = ServiceTable(str(table), _MILLION[0], synthetic.ROWS_PER_FILE)
    found = [first_answer(_RUN_DIR, _DIRECTORY / "million", asked) for _ in range(_RUNS)]
    title = "scale: 1,000,000 files, new worker"
    for name, values, unit, bar in (
        ("first answer from the snapshot", [one.seconds for one in found], "s", "< 0.3"),
        ("own memory", [one.memory / 1e6 for one in found], "MB", "< 150"),
    ):
        yield Measurement(f"{title}, {name}", statistics.median(values), unit, bar)


def _commit(table: Path) -> Iterator[Measurement]:
    """Measure the answers after commits of 100 files, against warm ones, and what they leave."""
    copy, kept = WORK / "bench" / "scale-commits", _DIRECTORY / "commits"
    for directory in (copy, kept):
        shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(table, copy)
    pruner = Pruner(PruneOptions(snapshot_dir=kept))
    request = PruneRequest(parse_predicate(f"spread = {_MILLION[0] * 333}"))
    ask = partial(pruner.prune, str(copy), request)
    ask()
    warm = statistics.median(seconds(ask) for _ in range(_ROUNDS))
    before, written = ask().files_total, _size(kept)
    later, own = [], []
    for number in range(_COMMITS):
        commits.add_files(copy, files=100, number=number)
        later.append(seconds(ask) - warm)
        own.append(memory("Anonymous"))
    if ask().files_total != before + 100 * _COMMITS:
        raise ValueError("the new files are not listed")
    per_commit = (_size(kept) - written) / _COMMITS
    for directory in (copy, kept):
        shutil.rmtree(directory)
    # Hudi merges the log files of the metadata table after ten commits, by default.
    few, many = (statistics.median(some) * 1e3 for some in (later[:_MERGED], later[-_MERGED:]))
    title = "scale: 1,000,000 files, after a commit of 100 files"
    yield Measurement(f"{title}: later than a warm answer", few, "ms", "< 50")
    yield Measurement(f"{title}: written to disk", per_commit / 1e3, "KB", "< 100")
    yield Measurement(f"{title}: the same after {_COMMITS} commits", many, "ms")
    grown = (own[-1] - own[_MERGED]) / 1e6
    yield Measurement(f"{title}: memory, {_COMMITS} commits later", grown, "MB")


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.iterdir())


def _warm() -> Iterator[Measurement]:
    """Measure warm answers of snapshots of both sizes in turns, with their verdicts."""
    small = synthetic.ensure_written(100_000, 100)
    opened = [snapshot_of(small, _DIRECTORY, *size) for size in (_MILLION, _TEN)]
    for case, sql, bar, growth in (
        ("1 file matches", "id = {third}", "< 20", "<= 2"),
        ("1 file matches, in no order", "spread = {third}", "< 20", None),
        ("nothing is prunable", "spread >= 0", "< 60", None),
    ):
        asks = [partial(_answer, snapshot, sql) for snapshot in opened]
        for ask in asks:
            ask()
        taken = interleaved([partial(seconds, ask) for ask in asks], _ROUNDS)
        million, ten = map(statistics.median, taken)
        title = f"scale: {case}, warm"
        yield Measurement(f"{title}, 1,000,000 files", million * 1e3, "ms")
        yield Measurement(f"{title}, 10,000,000 files", ten * 1e3, "ms", bar)
        yield Measurement(f"{title}, 10,000,000 against 1,000,000", ten / million, "x", growth)
    resident = memory("Rss") / 1e6
    yield Measurement("scale: 10,000,000 files, memory of the process", resident, "MB", "< 3000")


def _answer(snapshot: TableSnapshot, sql: str) -> int:
    """Return the number of verdicts on the files; checks that the table has not changed, too."""
    rows = snapshot.listing.num_files * synthetic.ROWS_PER_FILE
    request = PruneRequest(parse_predicate(sql.format(third=rows // 3)))
    if not snapshot.is_in(snapshot.state_now()):
        raise ValueError("the table has changed")
    result = Pruner().prune_snapshot(snapshot, request)
    if result.files_kept not in (1, result.files_total):
        raise ValueError(f"{result.files_kept} files are kept")
    return len(verdicts(result))

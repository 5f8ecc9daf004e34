"""`python -m bench.tpc tpcds|tpch`: run queries in Hive, and compare their rows with DuckDB's."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence

from rich.console import Console

from bench.reporting import publishing
from bench.reporting import results as reporting
from bench.tpc import report, results, tables
from bench.tpc.data import Data, generated
from bench.tpc.dialect import hive_text
from bench.tpc.figures import figures, look_slower
from bench.tpc.hive import SuiteInHive
from bench.tpc.modes import MODES, Mode
from bench.tpc.oracle import Oracle, Verdict, oracle
from bench.tpc.results import Result
from bench.tpc.suites import SUITES
from devtools.process import ServerError, interrupt_at_sigterm
from devtools.runtime import WORK, RuntimeMissingError
from pyhudi_expr.table.errors import HudiError

_DIRECTORY = WORK / "bench" / "tpc"
_WIDTH = 180
_MOST_RUNS = 4


def main() -> int:
    """Run the queries; return 0 if every one has DuckDB's rows in every mode."""
    options = _parser().parse_args()
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    interrupt_at_sigterm()
    suite = SUITES[options.suite]
    modes = [MODES[name] for name in options.modes.split(",")]
    fresh: list[Result] = []
    status = 0
    try:
        place = _DIRECTORY / f"{suite.name}-{options.scale:g}"
        console.print(f"{suite.name} at scale {options.scale:g}: data and tables in {place}")
        data = generated(suite, options.scale, place)
        tables.ensure_written(data, {form for mode in modes for form in mode.forms})
        queries = list(chosen(options.queries)) or list(data.queries())
        console.print(f"{len(queries)} queries: starting HiveServer2")
        servers = SuiteInHive(
            data, modes, _DIRECTORY / "run", heap=options.heap, limit=options.limit
        )
        with oracle(data) as truth, servers as hive:
            for one in _compared(hive, truth, data, queries, modes):
                console.print(_line(one), highlight=False, markup=False)
                fresh.append(one)
    except KeyboardInterrupt:
        console.print("interrupted; everything that was started is stopped")
        status = 130
    except (ServerError, RuntimeMissingError, HudiError) as error:
        console.print(str(error), style="red", markup=False)
        status = 1
    kept = results.load(suite.name).updated(fresh)
    kept.save()
    measured = reporting.entries(suite.name, list(figures(kept)), "make {}")
    publishing.publish({suite.name: measured})
    console.print(report.table(kept.at(options.scale)))
    return status or int(not all(one.is_equal for one in fresh))


def _compared(
    hive: SuiteInHive, truth: Oracle, data: Data, numbers: Sequence[str], modes: Sequence[Mode]
) -> Iterator[Result]:
    """Run each query in each mode; in turns, the first mode comes first and last.

    One that looks slower with pruning runs again, in each mode, and the shortest time of each mode
    counts: a single time on a shared host may be twice as long as the next one.
    """
    queries = data.queries()
    for turn, number in enumerate(numbers):
        found: dict[str, Result] = {}
        for run in range(turn, turn + _MOST_RUNS):
            for mode in modes if run % 2 == 0 else reversed(modes):
                one = _result(hive, truth, data, number, queries[number], mode)
                found[mode.name] = one.best_of(found.get(mode.name, one))
            if not look_slower(found):
                break
        yield from found.values()


def _result(
    hive: SuiteInHive, truth: Oracle, data: Data, number: str, query: str, mode: Mode
) -> Result:
    run = hive.run(hive_text(data.suite.name, number, query), mode)
    verdict = (
        truth.verdict(query, run.rows) if run.error is None else Verdict(f"failed: {run.error}")
    )
    return Result(
        scale=data.scale,
        query=number,
        mode=mode.name,
        verdict=verdict.text,
        is_equal=verdict.is_equal,
        rows=len(run.rows),
        seconds=round(run.seconds, 2),
        files_considered=run.scans.files_considered,
        files_kept=run.scans.files_kept + run.scans.files_for_plans,
        outcomes=run.scans.outcomes,
        load=round(os.getloadavg()[0], 1),
    )


def _line(one: Result) -> str:
    files = f"{one.files_kept} of {one.files_considered} files, " if one.files_considered else ""
    return f"  {one.query} {one.mode}: {files}{one.seconds:.1f} s, {one.rows} rows: {one.verdict}"


def chosen(text: str) -> Iterator[str]:
    """Yield the numbers of a list like "1-20,67"."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from map(str, range(int(first), int(last or first) + 1))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.tpc", description=__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--scale", type=float, default=0.2, help="1: about 1 GB of text")
    parser.add_argument("--queries", default="", help="for example 1-20,67; all by default")
    parser.add_argument("--modes", default=",".join(MODES), help=f"of {', '.join(MODES)}")
    parser.add_argument("--heap", default="3g", help="of HiveServer2")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each query")
    return parser


if __name__ == "__main__":
    sys.exit(main())

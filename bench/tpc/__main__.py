"""`python -m bench.tpc tpcds|tpch`: run queries in Hive, and compare their rows with DuckDB's."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence

from rich.console import Console

from bench.tpc import report, results, tables
from bench.tpc.data import Data, generated
from bench.tpc.dialect import hive_text
from bench.tpc.hive import SuiteInHive
from bench.tpc.modes import MODES, Mode
from bench.tpc.oracle import Oracle, oracle
from bench.tpc.results import Result
from bench.tpc.suites import SUITES
from devtools.process import ServerError, interrupt_at_sigterm
from devtools.runtime import WORK, RuntimeMissingError

_WIDTH = 180


def main() -> int:
    """Run the queries; return 0 if every one has DuckDB's rows in every mode."""
    options = _parser().parse_args()
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    interrupt_at_sigterm()
    suite, modes = SUITES[options.suite], [MODES[name] for name in options.modes.split(",")]
    place = WORK / "bench" / "tpc" / f"{suite.name}-{options.scale:g}"
    fresh = []
    try:
        console.print(f"{suite.name} at scale {options.scale:g}: data and tables in {place}")
        data = generated(suite, options.scale, place)
        tables.ensure_written(data)
        queries = data.queries()
        numbers = list(chosen(options.queries)) or list(queries)
        console.print(f"starting HiveServer2 for {len(numbers)} queries")
        servers = SuiteInHive(
            data, modes, WORK / "bench" / "tpc" / "run", heap=options.heap, limit=options.limit
        )
        with oracle(data) as truth, servers as hive:
            for place_of, number in enumerate(numbers):
                for one in _compared(
                    hive, truth, data, number, modes[:: -1 if place_of % 2 else 1]
                ):
                    console.print(_line(one), highlight=False, markup=False)
                    fresh.append(one)
    except KeyboardInterrupt:
        console.print("interrupted; everything that was started is stopped")
    except (ServerError, RuntimeMissingError) as error:
        console.print(str(error), style="red", markup=False)
        return 1
    kept = results.load(suite.name, options.scale).updated(fresh)
    kept.save()
    console.print(report.table(kept))
    return 0 if all(one.is_equal for one in fresh) else 1


def _compared(
    hive: SuiteInHive, truth: Oracle, data: Data, number: str, modes: Sequence[Mode]
) -> Iterator[Result]:
    query = data.queries()[number]
    for mode in modes:
        run = hive.run(hive_text(data.suite.name, number, query), mode)
        if run.error is None:
            verdict = truth.verdict(query, run.rows)
            text, is_equal = verdict.text, verdict.is_equal
        else:
            text, is_equal = f"failed: {run.error}", False
        yield Result(
            query=number,
            mode=mode.name,
            verdict=text,
            is_equal=is_equal,
            rows=len(run.rows),
            seconds=round(run.seconds, 2),
            files_considered=run.scans.files_considered,
            files_kept=run.scans.files_kept,
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

"""`python -m bench.tpc tpcds|tpch`: run queries in Hive, and compare their rows with DuckDB's."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from rich.console import Console

from bench.reporting import publishing
from bench.reporting import results as reporting
from bench.tpc import report, results, tables
from bench.tpc.data import generated
from bench.tpc.figures import figures
from bench.tpc.hive import SuiteInHive
from bench.tpc.modes import MODES
from bench.tpc.oracle import oracle
from bench.tpc.results import Result
from bench.tpc.runs import Judge, at_once, one_by_one
from bench.tpc.suites import SUITES
from devtools.process import ServerError, interrupt_at_sigterm
from devtools.runtime import WORK, RuntimeMissingError
from devtools.service import ServiceProcess
from pyhudi_expr.errors import HudiError

_DIRECTORY = WORK / "bench" / "tpc"
_WIDTH = 180


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
        texts = data.queries()
        queries = list(chosen(options.queries)) or list(texts)
        console.print(f"{len(queries)} queries: starting HiveServer2")
        run_dir = _DIRECTORY / "run"
        service = ServiceProcess(run_dir)
        with oracle(data) as truth, service, ExitStack() as running:
            judge = Judge(data, texts, truth)
            servers = [
                running.enter_context(
                    SuiteInHive(
                        data,
                        modes,
                        service.address,
                        run_dir / f"server-{number}",
                        heap=options.heap,
                        limit=options.limit,
                    )
                )
                for number in range(options.servers)
            ]
            found = (
                one_by_one(servers[0], judge, queries, modes)
                if len(servers) == 1
                else at_once(servers, judge, queries, modes)
            )
            for one in found:
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
    parser.add_argument(
        "--servers", type=int, default=1, help="HiveServer2s: each runs a query at the same time"
    )
    parser.add_argument("--heap", default="3g", help="of HiveServer2")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each query")
    return parser


if __name__ == "__main__":
    sys.exit(main())

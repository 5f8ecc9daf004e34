"""Answers of new processes, beside readers that open all files.

`python -m bench.first READER TABLE SQL` asks one reader in a new process, as `bench.cold` does, but
with pandas where it is installed.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import median

from bench import cold
from bench.reporting.measuring import Measurement, benchmark
from bench.tables import event_table

_SQL = "id = 123456"
_RUNS = 9


@benchmark("first")
def first() -> Iterator[Measurement]:
    """New processes, 2,000 files: prune, and a point query beside DuckDB and Polars by force."""
    yield from measured(str(event_table.ensure_written().path), _SQL)


def measured(table: str, sql: str) -> Iterator[Measurement]:
    """Ask each reader in turns; ratios are medians of those of one turn."""
    ask = {name: partial(cold.run, "bench.first", name, table, sql) for name in _READERS}
    for run in ask.values():  # fill the caches of the file system
        run()
    turns = [{name: run() for name, run in ask.items()} for _ in range(_RUNS)]
    assert len({turn[name].kept for turn in turns for name in ("scan", "duckdb", "polars")}) == 1
    for name in _READERS:
        yield Measurement(f"first: {name}", median(turn[name].seconds for turn in turns), "s")
    beyond = median(turn["prune"].seconds - turn["import pyarrow"].seconds for turn in turns)
    yield Measurement("first: prune, beyond import pyarrow", beyond, "s", "<= 0.2")
    peak = median(turn["prune"].peak for turn in turns) / 1e6
    yield Measurement("first: prune, memory", peak, "MB", "<= 110")
    ratio = median(
        turn["scan"].seconds / min(turn["duckdb"].seconds, turn["polars"].seconds) for turn in turns
    )
    yield Measurement("first: scan, of the faster of DuckDB and Polars", ratio, "x", "<= 0.5")


def _pyarrow(_table: str, _sql: str) -> int:
    import pyarrow

    return len(pyarrow.__version__)


def _prune(table: str, sql: str) -> int:
    import pyhudi_expr as ph

    return ph.table(table).prune(sql).files_kept


def _scan(table: str, sql: str) -> int:
    import pyhudi_expr as ph

    return ph.table(table).scan(sql).to_arrow().num_rows


def _duckdb(table: str, sql: str) -> int:
    import duckdb

    columns = duckdb.read_parquet(_base_files(table)).filter(sql).fetchnumpy()
    return len(columns["_hoodie_record_key"])


def _polars(table: str, sql: str) -> int:
    import polars

    return polars.scan_parquet(_base_files(table)).filter(polars.sql_expr(sql)).collect().height


def _base_files(table: str) -> list[str]:
    """Return the table's files; its only commit replaced none."""
    return [str(path) for path in Path(table).glob("[!.]*/**/*.parquet")]


_READERS: Mapping[str, Callable[[str, str], int]] = {
    **{"import pyarrow": _pyarrow, "prune": _prune, "scan": _scan},
    **{"duckdb": _duckdb, "polars": _polars},
}

if __name__ == "__main__":
    cold.report(_READERS[sys.argv[1]](*sys.argv[2:]))

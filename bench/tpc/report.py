"""The table of the results."""

from collections.abc import Sequence
from itertools import groupby

from rich.table import Table

from bench.tpc.results import Result, Results


def table(found: Results) -> Table:
    """Return a row for each query of one scale: rows, files read and seconds of each mode."""
    modes = list(dict.fromkeys(one.mode for one in found.results))
    shown = Table("query", title=found.suite, title_justify="left")
    shown.add_column("rows", justify="right")
    for mode in modes:
        shown.add_column(f"{mode}\nfiles, s", justify="right")
    shown.add_column("rows against DuckDB's")
    for query, group in groupby(found.results, key=lambda one: one.query):
        of_modes = {one.mode: one for one in group}
        rows = "/".join(dict.fromkeys(str(one.rows) for one in of_modes.values()))
        cells = [_cell([of_modes[mode]] if mode in of_modes else []) for mode in modes]
        shown.add_row(query, rows, *cells, _verdicts(list(of_modes.values())))
    shown.add_section()
    complete = _in_all(found, modes)
    totals = [[one for one in complete if one.mode == mode] for mode in modes]
    equal = ", ".join(
        f"{mode}: {sum(one.is_equal for one in total)} of {len(total)}"
        for mode, total in zip(modes, totals, strict=True)
    )
    shown.add_row("all", "", *map(_cell, totals), equal)
    return shown


def _in_all(found: Results, modes: Sequence[str]) -> list[Result]:
    """Return the results of the queries that were run in all modes."""
    run = {(one.query, one.mode) for one in found.results}
    return [one for one in found.results if all((one.query, mode) in run for mode in modes)]


def _cell(results: Sequence[Result]) -> str:
    if not results:
        return ""
    seconds = sum(one.seconds for one in results)
    considered = sum(one.files_considered for one in results)
    if not considered:
        return f"{seconds:.1f}"
    return f"{sum(one.files_kept for one in results):,}/{considered:,} {seconds:.1f}"


def _verdicts(results: Sequence[Result]) -> str:
    of_verdict: dict[str, list[str]] = {}
    for one in results:
        of_verdict.setdefault(one.verdict, []).append(one.mode)
    if len(of_verdict) == 1:
        return next(iter(of_verdict))
    return "; ".join(f"{', '.join(modes)}: {verdict}" for verdict, modes in of_verdict.items())

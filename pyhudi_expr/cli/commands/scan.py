"""`pyhudi scan`: print rows as a table on a terminal, tab separated in a pipe, or as JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich import box
from rich.table import Table
from rich.text import Text

from pyhudi_expr.api.progress_bar import ProgressBar
from pyhudi_expr.arrays import AnyScalar
from pyhudi_expr.cli.options import (
    TABLE,
    columns_option,
    complete_columns,
    examples,
    table_location,
)
from pyhudi_expr.cli.predicate_options import (
    AS_OF,
    BUCKETS,
    DIALECT,
    FOOTERS,
    OPTIONAL_PREDICATE,
    VIEW,
    ZONE,
    asked_table,
    warnings_as_hints,
)
from pyhudi_expr.cli.progress import iter_with_progress, progress_while
from pyhudi_expr.cli.reports import print_table
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.expr.frontend.sql.plain import is_query
from pyhudi_expr.expr.nodes import ALWAYS, PythonValue
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.tables.listing import TableView

if TYPE_CHECKING:
    from pyhudi_expr.rows.scan import Progress
    from pyhudi_expr.tables.properties import StatedBuckets

_NULL = Text("NULL", "dim")

_MINUTE = 60_000_000  # microseconds
_YEAR_DIGITS = 4
_SHOWN_ROWS = 40
"""On a terminal, unless another limit is given."""


@click.command(
    short_help="The rows of a table, without an engine.",
    epilog=examples(
        ('pyhudi scan /warehouse/trips "fare > 100" --columns id,fare --limit 10', ""),
        ('pyhudi scan /warehouse/trips --order-by "ts DESC" --limit 100', ""),
        ('pyhudi scan /warehouse/trips "fare > 100" --json | jq .fare', ""),
    ),
)
@TABLE
@OPTIONAL_PREDICATE
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object for each row.")
@columns_option(default="", help="Top-level columns; by default all.")
@click.option("--meta", is_flag=True, help="Hudi's meta columns (_hoodie_...), too.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"The maximum number of rows; by default {_SHOWN_ROWS} on a terminal, all in a pipe.",
)
@click.option(
    "--order-by",
    shell_complete=complete_columns,
    help="The order of the rows, as in SQL: 'fare DESC, id'. NULL comes last without NULLS FIRST,"
    " and NaN beside it.",
)
@FOOTERS
@BUCKETS
@DIALECT
@VIEW
@AS_OF
@ZONE
def scan(
    table: str,
    predicate: str,
    as_json: bool,
    columns: tuple[str, ...],
    meta: bool,
    limit: int | None,
    order_by: str | None,
    footers: bool,
    buckets: StatedBuckets | None,
    dialect: str,
    view: TableView,
    as_of: str | datetime | None,
    zone: str,
) -> None:
    """Print the rows of TABLE for which PREDICATE is true.

    They are a table on a terminal, and tab separated in a pipe or file; --json prints JSON lines.
    Instants are shown with the offset of --zone.
    Log files of merge-on-read tables are merged by the package 'hudi'.
    """
    on_terminal = sys.stdout.isatty()
    as_table = on_terminal and not as_json
    bar, started = ProgressBar("reading rows"), _StartedFiles(limit)
    with progress_while("pruning files"), warnings_as_hints():
        rows = asked_table(table_location(table), footers, buckets=buckets).scan(
            predicate,
            columns or None,
            as_of,
            # One row more than is shown, to know whether there are more.
            _SHOWN_ROWS + 1 if as_table and limit is None else limit,
            view=view,
            dialect=dialect,
            zone=zone,
            order_by=order_by,
            progress=started.reporting_to(bar),
            meta=meta,
        )
    for note in _why_all_are_kept(rows.result):
        echo(f"note: {note}", err=True)
    if is_query(predicate):
        echo(
            "note: of the query only the WHERE is used; see --columns, --order-by, --limit",
            err=True,
        )
    if as_table:
        with bar:
            shown = _in_zone(rows.to_arrow(), zone)
        _show(shown, limit, started.text(rows.result))
        return
    if not as_json:
        echo("\t".join(rows.schema.names))
    batches = (_in_zone(pa.Table.from_batches([batch]), zone) for batch in rows.batches())
    if on_terminal:  # the rows themselves show progress
        _print(iter_with_progress(batches, "reading rows"), as_json)
    else:
        with bar:
            _print(batches, as_json)
    echo(started.text(rows.result), err=True)


def _why_all_are_kept(result: PruneResult) -> Sequence[str]:
    """Return why a predicate skips no file; nothing if it skips some, or there is none."""
    is_pruned = result.files_kept < result.files_total
    return () if is_pruned or result.predicate == ALWAYS else result.notes


class _StartedFiles:
    """Counts the file slices that a scan has started to read, which a limit may end early."""

    def __init__(self, limit: int | None) -> None:
        self._limit, self._slices, self._is_full = limit, 0, False

    def reporting_to(self, bar: ProgressBar) -> Callable[[Progress], None]:
        """Return a function for the scan's progress, which moves the bar as well."""

        def heard(progress: Progress) -> None:
            self._slices = progress.slices
            self._is_full = self._limit is not None and progress.rows >= self._limit
            bar.advance(progress.slices, progress.slices_total, "files")

        return heard

    def text(self, result: PruneResult) -> str:
        """Return what was read of a table."""
        files = f"{result.files_kept:,} of {result.files_total:,} files"
        if not self._is_full:
            return f"read {files}"
        slices = "1 file slice" if self._slices == 1 else f"{self._slices:,} file slices"
        return f"stopped at the limit after {slices}; the predicate keeps {files}"


def _show(found: pa.Table, limit: int | None, read: str) -> None:
    """Print a table, and below it how much it is."""
    if limit is None and found.num_rows > _SHOWN_ROWS:
        _print_table(found.slice(0, _SHOWN_ROWS))
        echo(f"the first {_SHOWN_ROWS} rows; --limit shows more, a pipe all", err=True)
        return
    _print_table(found)
    rows = "1 row" if found.num_rows == 1 else f"{found.num_rows:,} rows"
    echo(f"{rows}; {read}", err=True)


def _print_table(rows: pa.Table) -> None:
    output = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for field in rows.schema:
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        right = is_number or pa.types.is_decimal(field.type)
        output.add_column(
            field.name,
            justify="right" if right else "left",
            overflow="fold",
            no_wrap=right or pa.types.is_temporal(field.type),
        )
    for row in _python_rows(rows):
        output.add_row(*(_NULL if value is None else _shown(value) for value in row.values()))
    print_table(output)


def _python_rows(rows: pa.Table) -> list[dict[str, PythonValue]]:
    """Return rows as Python's values; days and times that Python cannot hold as texts."""
    try:
        return rows.to_pylist()
    except (OverflowError, ValueError):
        columns = [[_python_value(value) for value in column] for column in rows.columns]
        return [
            dict(zip(rows.column_names, row, strict=True)) for row in zip(*columns, strict=True)
        ]


def _python_value(value: AnyScalar) -> PythonValue:
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return _far_moment(value) if pa.types.is_temporal(value.type) else str(value)


def _far_moment(value: AnyScalar) -> str:
    """Return a day or time of a year that has not four digits, as Java writes it."""
    if pa.types.is_date(value.type):
        return _signed(np.datetime64(value.cast(pa.int32()).as_py(), "D"))
    zone = value.type.tz
    utc = value.cast(pa.timestamp("us", zone))
    clock = utc if zone is None else pc.local_timestamp(utc)
    micros, local = (one.cast(pa.int64()).as_py() for one in (utc, clock))
    text = _signed(np.datetime64(local, "us")).removesuffix(".000000")
    if zone is None:
        return text
    hours, minutes = divmod(abs(local - micros) // _MINUTE, 60)
    return f"{text}{'-' if local < micros else '+'}{hours:02}:{minutes:02}"


def _signed(moment: np.datetime64) -> str:
    text = str(np.datetime_as_string(moment))
    return text if text.startswith("-") or text.index("-") == _YEAR_DIGITS else f"+{text}"


def _shown(value: PythonValue) -> str:
    if isinstance(value, datetime):
        return value.isoformat(" ").removesuffix("+00:00")
    text = _text(value)
    return text if text.isprintable() else repr(text)


def _in_zone(rows: pa.Table, zone: str) -> pa.Table:
    """Return the rows with instants as the zone's clocks show them."""
    fields = [
        field.with_type(pa.timestamp(field.type.unit, zone))
        if pa.types.is_timestamp(field.type) and field.type.tz is not None
        else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))


def _print(batches: Iterable[pa.Table], as_json: bool) -> None:
    for batch in batches:
        for line in _lines(batch, as_json):
            echo(line)


def _lines(batch: pa.Table, as_json: bool) -> Iterator[str]:
    for row in _python_rows(batch):
        if as_json:
            yield _json(row)
        else:
            yield "\t".join("NULL" if value is None else _text(value) for value in row.values())


def _text(value: PythonValue) -> str:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict | list):
        return _json(value)
    return str(value)


def _json(value: PythonValue) -> str:
    """Return a value for JSON, which has no NaN and no infinity: they are texts."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_text, allow_nan=False)
    except ValueError:
        return json.dumps(_json_value(value), ensure_ascii=False, default=_text)


def _json_value(value: PythonValue) -> PythonValue:
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, dict):
        return {name: _json_value(one) for name, one in value.items()}
    return [*map(_json_value, value)] if isinstance(value, list | tuple) else value

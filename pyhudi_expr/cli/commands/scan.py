"""`pyhudi scan`: print rows of a table on the terminal, or as JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from datetime import date, datetime

import click
import pyarrow as pa

from pyhudi_expr.cli.options import comma_separated, examples
from pyhudi_expr.cli.predicate_options import AS_OF, DIALECT, VIEW, known_zone
from pyhudi_expr.cli.progress import ProgressBar, iter_with_progress, progress_while
from pyhudi_expr.cli.table_location import complete_directories, table_location
from pyhudi_expr.expr.nodes import PythonValue
from pyhudi_expr.frontend.sql.parser import DIALECTS
from pyhudi_expr.table.listing import TableView


@click.command(
    short_help="The rows of a table, without an engine.",
    epilog=examples(
        ('pyhudi scan /warehouse/trips "fare > 100" --columns id,fare --limit 10', ""),
        ('pyhudi scan /warehouse/trips "fare > 100" --json | jq .fare', ""),
    ),
)
@click.argument("table", shell_complete=complete_directories)
@click.argument("predicate", default="true")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object for each row.")
@click.option("--columns", default="", help="Top-level columns, with commas; by default all.")
@click.option("--limit", type=click.IntRange(min=0), help="So many rows at most.")
@DIALECT
@VIEW
@AS_OF
@click.option(
    "--zone",
    default="UTC",
    show_default=True,
    callback=known_zone,
    help="IANA zone of times in PREDICATE.",
)
def scan(
    table: str,
    predicate: str,
    as_json: bool,
    columns: str,
    limit: int | None,
    dialect: str,
    view: TableView,
    as_of: str | None,
    zone: str,
) -> None:
    """Print the rows of TABLE for which PREDICATE is true, tab separated (or as JSON lines).

    Log files of merge-on-read tables are merged by the package 'hudi'.
    """
    bar = ProgressBar("reading rows")
    with progress_while("pruning files"):
        from pyhudi_expr.reading.scan import scan as scanned  # on use: the import takes time

        rows = scanned(
            table_location(table),
            predicate,
            comma_separated(columns) or None,
            as_of,
            view=view,
            dialect=DIALECTS[dialect],
            zone=zone,
            limit=limit,
            progress=lambda done: bar.advance(done.slices, done.slices_total, "files"),
        )
    if not as_json:
        click.echo("\t".join(rows.schema.names))
    if sys.stdout.isatty():  # the rows themselves show progress
        _print(iter_with_progress(rows.batches(), "reading rows"), as_json)
    else:
        with bar:
            _print(rows.batches(), as_json)
    result = rows.result
    click.echo(f"read {result.files_kept} of {result.files_total} files", err=True)


def _print(batches: Iterable[pa.RecordBatch], as_json: bool) -> None:
    for batch in batches:
        for line in _lines(batch, as_json):
            click.echo(line)


def _lines(batch: pa.RecordBatch, as_json: bool) -> Iterator[str]:
    for row in batch.to_pylist():
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

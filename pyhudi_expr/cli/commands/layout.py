"""`pyhudi layout ...`: estimate what a layout would do for queries, and lay a table out."""

from __future__ import annotations

from collections.abc import Mapping as AnyMapping
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import click
from rich.table import Table

from pyhudi_expr.api.display import size_text
from pyhudi_expr.api.pages.layouts import ESTIMATED, layouts_page
from pyhudi_expr.cli import reports, spark_session
from pyhudi_expr.cli.commands.index_building import WAIT
from pyhudi_expr.cli.options import (
    AS_HTML,
    AS_JSON,
    TABLE,
    Commands,
    columns_option,
    examples,
    table_location,
    write_page,
)
from pyhudi_expr.cli.predicate_options import ZONE
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.terminal import DRY_RUN, YES, confirm, echo, is_asked
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.index.request_checks import check_columns
from pyhudi_expr.manage.indexing.writer_options import HUDI_SESSION
from pyhudi_expr.manage.laying_out import Clustered, LayOut, LayoutCommit, LayoutPlan
from pyhudi_expr.manage.layout.analysis import Analysis, Shares, analyze
from pyhudi_expr.manage.layout.curves import Curve
from pyhudi_expr.manage.layout.plots import draw
from pyhudi_expr.manage.layout.row_order import InvalidLayout, Layout, Mapping
from pyhudi_expr.manage.layout.selection import Choice, Selection, Size
from pyhudi_expr.manage.operations import carry_out, plan_record
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.storage import Storage

_COUNT = click.IntRange(min=1)
_CURVES = click.Choice([curve.value for curve in Curve])
_MAPPINGS = click.Choice([mapping.value for mapping in Mapping])
_SHOWN = 12


@click.group(
    cls=Commands, short_help="Find the row order that helps queries most, and rewrite files."
)
def layout() -> None:
    """Choose the order of rows in a table's files, and rewrite them."""


@layout.command(
    "analyze",
    epilog=examples(
        ("pyhudi layout analyze /warehouse/trips --predicate 'fare > 100' --html files.html", ""),
    ),
)
@TABLE
@click.option(
    "--predicate",
    "predicates",
    multiple=True,
    required=True,
    metavar="SQL",
    help="What queries ask for; repeatable.",
)
@columns_option(help="Consider only layouts of these columns.")
@click.option("--files", type=_COUNT, help="Files that there would be; by default as many as now.")
@ZONE
@click.option("--all", "every", is_flag=True, help="Show every layout, not the best ones alone.")
@click.option(
    "--picture",
    type=click.Path(path_type=Path),
    help="Draw the files before and after, as rectangles over two columns (PNG, SVG).",
)
@AS_HTML
@AS_JSON
def analyze_table(
    table: str,
    predicates: tuple[str, ...],
    columns: tuple[str, ...] | None,
    files: int | None,
    zone: str,
    every: bool,
    picture: Path | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Print which share of TABLE the predicates would read under each layout, the best first."""
    parsed = [parse_predicate(text) for text in predicates]
    candidates = None if columns is None else _layouts_of(columns)
    with progress_while("evaluating layouts"):
        opened = HudiTable.open(table_location(table))
        for one in parsed:
            check_columns(one, opened.schema(), opened.base_path)
        found = analyze(
            table_location(table), parsed, candidates=candidates, files=files, zone=zone
        )
    drawing = None if picture is None else partial(draw, found, *_drawn(found), picture)
    if html is not None:
        write_page(html, layouts_page(found, predicates, opened.timeline.instants))
    if as_json:
        echo(reports.as_json(_analysis(found, predicates)))
    else:
        reports.print_table(_shares_table(found, predicates, every))
        for note in (*map(_skipped, predicates, found.results), *found.notes):
            echo(f"note: {note}", err=True)
    if drawing is not None:
        drawing()  # last, as it needs an extra that the others do not


@layout.command(
    "cluster",
    epilog=examples(
        (
            "pyhudi layout cluster /warehouse/trips --columns fare,city --conf spark.jars=hudi.jar",
            "",
        ),
    ),
)
@TABLE
@columns_option(required=True, help="The columns.")
@click.option("--curve", type=_CURVES, default=Curve.HILBERT.value, show_default=True)
@click.option("--mapping", type=_MAPPINGS, default=Mapping.SAMPLED.value, show_default=True)
@click.option(
    "--files", type=_COUNT, help="How many files in all; by default as many as there are."
)
@click.option("--target-file-size", type=_COUNT, metavar="BYTES", help="How large files shall be.")
@click.option("--partition", "partitions", multiple=True, help="Only this one; repeatable.")
@click.option("--file-group", "groups", multiple=True, help="Only this one (its id); repeatable.")
@WAIT
@click.option(
    "--writer-option",
    "writer",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of Hudi's writer, its lock's, say; repeatable.",
)
@click.option(
    "--statistics/--no-statistics",
    default=True,
    show_default=True,
    help="Build column_stats of the columns where there are none: no file is skipped without.",
)
@DRY_RUN
@YES
@spark_session.with_spark
@AS_JSON
def cluster_table(
    table: str,
    columns: tuple[str, ...],
    curve: str,
    mapping: str,
    files: int | None,
    target_file_size: int | None,
    partitions: tuple[str, ...],
    groups: tuple[str, ...],
    wait: float,
    writer: tuple[str, ...],
    statistics: bool,
    dry_run: bool,
    is_confirmed: bool,
    master: str | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Rewrite the files of TABLE in the order of a layout, in one commit of Hudi.

    Spark needs Apache Hudi's bundle, for example by --conf spark.jars=... or spark.jars.packages.
    """
    target = Layout(columns, Curve(curve), Mapping(mapping))
    chosen = frozenset(partitions) or None, frozenset(groups) or None
    choice = Choice(target, *chosen, Size(files, target_file_size))
    path = table_location(table)
    spark = _SparkWriter(path, wait, spark_session.key_values(writer), master, settings)
    with progress_while("reading the table"):
        operation = LayOut(Storage.open(path), choice, statistics, spark)
        plan = operation.plan()
    if dry_run:
        report = {**_planned(plan.selection), **plan_record(plan)}
        echo(reports.as_json(report) if as_json else f"would rewrite {_plan(plan.selection)}")
        return
    if is_asked(is_confirmed):
        confirm(f"Rewrites {_plan(plan.selection)}.")
    done = carry_out(operation, plan)
    echo(reports.as_json(asdict(done)) if as_json else _summary(done))


@dataclass(frozen=True)
class _SparkWriter:
    """Writes slices anew in a session of Spark, which starts when there is something to do."""

    path: str
    wait: float
    options: AnyMapping[str, str]
    master: str | None
    settings: tuple[str, ...]

    def __call__(self, plan: LayoutPlan) -> LayoutCommit:
        """Write the slices of a plan anew. Raises HudiError."""
        started = spark_session.spark_session(
            "rewriting files", self.master, self.settings, HUDI_SESSION
        )
        with started as spark:
            from pyhudi_expr.spark.clustering.clustering import ClusteringWriter

            return ClusteringWriter(spark, self.path, self.wait, self.options)(plan)


def _planned(selected: Selection) -> reports.Report:
    return {
        "layout": str(selected.choice.layout),
        "partitions": list(selected.partitions),
        "files_before": selected.listing.num_files,
        "files_after": sum(selected.files) if selected.listing.num_files else 0,
        "bytes_before": int(selected.listing.file_size.sum()),
        "notes": list(selected.notes),
    }


def _plan(selected: Selection) -> str:
    plan, table = _planned(selected), selected.table.base_path
    notes = "".join(f"; {note}" for note in selected.notes)
    if not plan["files_before"]:
        return f"nothing of {table}{notes}"
    return (
        f"{plan['files_before']:,} files of {table} ({size_text(plan['bytes_before'])}, "
        f"{len(plan['partitions'])} partitions) as {plan['files_after']:,} in the order "
        f"{plan['layout']}{notes}"
    )


def _summary(done: Clustered) -> str:
    lines = [f"note: {note}" for note in done.notes]
    if done.instant is None:
        return "\n".join([*lines, "there was nothing to lay out"])
    size = f"{size_text(done.bytes_before)} to {size_text(done.bytes_after)}"
    files = f"{done.files_before} files to {done.files_after}"
    return "\n".join([*lines, f"laid out {files}, {size}, at {done.instant}"])


def _skipped(predicate: str, today: PruneResult) -> str:
    """Return what a predicate reads today, and which indexes skip the other files."""
    skipped = ", ".join(f"{name} skips {files:,}" for name, files in today.dropped_by.items())
    read = f"{today.files_kept:,} of {today.files_total:,} files are read today"
    return f"{predicate}: {read}; {skipped or 'no index skips one'}"


def _layouts_of(columns: tuple[str, ...]) -> list[Layout]:
    """Return every curve and mapping of these columns, in this order."""
    curves = [curve for curve in Curve if curve is not Curve.LINEAR and len(columns) > 1]
    some = [Layout(columns, curve, mapping) for curve in curves for mapping in Mapping]
    return [Layout(columns, Curve.LINEAR), *some]


def _drawn(found: Analysis) -> tuple[Layout, tuple[str, str]]:
    """Return the best layout, and the two columns over which files are drawn."""
    best = found.candidates[0].layout
    assert best is not None
    columns = list(dict.fromkeys([*best.columns, *found.sample.rows.column_names]))
    if len(columns) < 2:
        raise InvalidLayout("a picture takes two columns; the predicates use one")
    return best, (columns[0], columns[1])


def _shares_table(found: Analysis, predicates: Sequence[str], every: bool) -> Table:
    output = Table(
        "layout", title=f"share of files read, {found.files} files", title_justify="left"
    )
    output.add_column("bytes", justify="right")
    output.add_column("files", justify="right")
    for text in predicates:
        output.add_column(text, justify="right", overflow="fold")
    candidates = found.candidates if every else found.candidates[:_SHOWN]
    rows = [("today", found.today), (ESTIMATED, found.estimated)]
    for name, shares in (*rows, *((str(one.layout), one) for one in candidates)):
        cells = (shares.mean_bytes, shares.mean_files, *shares.files)
        output.add_row(name, *(f"{share:.1%}" for share in cells))
    return output


def _analysis(found: Analysis, predicates: Sequence[str]) -> reports.Report:
    today = _shares(found.today, predicates)
    for share, result in zip(today["predicates"], found.results, strict=True):
        share["skipped_by"] = dict(result.dropped_by)
    return {
        "table": found.table,
        "instant": found.instant,
        "files": found.files,
        "sampled_rows": found.sample.rows.num_rows,
        "today": today,
        "estimated": _shares(found.estimated, predicates),
        "candidates": [_shares(each, predicates) for each in found.candidates],
        "notes": list(found.notes),
    }


def _shares(shares: Shares, predicates: Sequence[str]) -> reports.Report:
    layout = None if shares.layout is None else asdict(shares.layout)
    return {
        "layout": layout,
        "files": shares.mean_files,
        "bytes": shares.mean_bytes,
        "predicates": [
            {"predicate": text, "files": files, "bytes": size}
            for text, files, size in zip(predicates, shares.files, shares.bytes, strict=True)
        ],
    }

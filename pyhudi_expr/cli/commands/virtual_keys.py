"""`pyhudi virtual-keys ...`: stop storing `_hoodie_record_key`, and restore it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from pyhudi_expr.api.display import size_text
from pyhudi_expr.cli import reports
from pyhudi_expr.cli.commands.index_building import LOCK_SETTINGS, WAIT
from pyhudi_expr.cli.options import (
    AS_JSON,
    TABLE,
    Command,
    Commands,
    columns_option,
    examples,
    table_location,
)
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.spark_session import spark_session, with_spark
from pyhudi_expr.cli.terminal import DRY_RUN, YES, confirm, echo, is_asked
from pyhudi_expr.manage.indexing.writer_options import HUDI_SESSION
from pyhudi_expr.manage.invariants import SliceKeys, extent, stored_keys
from pyhudi_expr.manage.operations import Action, carry_out, plan_record
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import (
    DisableVirtualKeys,
    EnableVirtualKeys,
    KeyPlan,
    KeyReport,
    RewriteWithoutKeys,
    Rewritten,
)
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import is_virtual
from pyhudi_expr.tables.keys.key_storage import KeyStorage, key_storage
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@click.group(
    "virtual-keys", cls=Commands, short_help="Stop storing record keys, or store them again."
)
def virtual_keys() -> None:
    """Do not store a table's record keys: readers compute them from the key's columns.

    `rewrite` and `disable` write through Apache Hudi: its bundle has to be on Spark's class path
    (--conf spark.jars=...).
    """


def _in_commits(command: Command) -> Command:
    return click.option(
        "--commit-bytes",
        default=1 << 30,
        show_default=True,
        help="Rewrite about so many bytes of file groups with each commit.",
    )(command)


@virtual_keys.command(
    epilog=examples(
        (
            "pyhudi virtual-keys enable /warehouse/trips --keep-column",
            "readers first, writers later",
        ),
        ("pyhudi virtual-keys enable /warehouse/trips", ""),
    )
)
@TABLE
@columns_option(
    help="The key's columns; the table's own, if they are named at all.",
)
@click.option("--concatenator", help="Between the values of several columns; Hudi's is a comma.")
@click.option("--class", "class_name", help="The key generator; `python:NAME` for one's own.")
@click.option(
    "--keep-column",
    is_flag=True,
    help="Writers go on writing _hoodie_record_key, readers ignore it; `enable` again ends that.",
)
@click.option(
    "--append-only",
    is_flag=True,
    help="Rows are only added to the table: key columns may be dates, decimals and bytes, which"
    " Hudi could not update by.",
)
@DRY_RUN
@LOCK_SETTINGS
@AS_JSON
def enable(
    table: str,
    columns: tuple[str, ...] | None,
    concatenator: str | None,
    class_name: str | None,
    keep_column: bool,
    append_only: bool,
    dry_run: bool,
    lock_settings: dict[str, str],
    as_json: bool,
) -> None:
    """Make readers of TABLE compute its keys, and writers omit them from now on.

    Only hoodie.properties changes; existing files keep their column.
    """
    settings = VirtualKeySettings(
        columns, concatenator, class_name, keep_column, append_only or None
    )
    with progress_while("enabling virtual keys"):
        storage = Storage.open(table_location(table))
        operation = EnableVirtualKeys(storage, settings, TableLock.of(storage, lock_settings))
        plan = operation.plan()
        if dry_run:
            operation.check(plan)
    if dry_run:
        _show_plan(plan, as_json)
        return
    definition = carry_out(operation, plan)
    saved = {**definition.settings(), hudi_names.POPULATE_META_FIELDS: str(keep_column).lower()}
    if as_json:
        echo(reports.as_json({"settings": saved}))
    else:
        echo(reports.as_text(saved))


@virtual_keys.command(
    epilog=examples(("pyhudi virtual-keys report /warehouse/trips", "")),
)
@TABLE
@AS_JSON
def report(table: str, as_json: bool) -> None:
    """Print what stored keys take in TABLE, and what omitting them saves, from the footers."""
    with progress_while("reading footers and log files"):
        opened = HudiTable.open(table_location(table))
        found = key_storage(opened)
        slices = stored_keys(opened, opened.listing())
    if as_json:
        record = {
            "enabled": is_virtual(opened.properties),
            "stored": extent(slices).value,
            **asdict(found),
            "log_rows": sum(one.log_rows for one in slices),
            "log_rows_with_keys": sum(one.log_keys for one in slices),
        }
        echo(reports.as_json(record))
    else:
        echo(_summary(found, slices))


@virtual_keys.command(
    epilog=examples(
        ("pyhudi virtual-keys rewrite /warehouse/trips --conf spark.jars=hudi-spark.jar", ""),
    )
)
@TABLE
@click.option(
    "--partition", "partitions", multiple=True, help="Rewrite this partition only; repeatable."
)
@_in_commits
@DRY_RUN
@YES
@with_spark
@WAIT
@AS_JSON
def rewrite(
    table: str,
    partitions: tuple[str, ...],
    commit_bytes: int,
    dry_run: bool,
    is_confirmed: bool,
    master: str | None,
    settings: tuple[str, ...],
    wait: float,
    as_json: bool,
) -> None:
    """Rewrite the files of TABLE that still have stored keys, without them.

    It works file group by file group, committed by Hudi's clustering, and continues an earlier run.
    """
    path = table_location(table)
    rewriter = _SparkRewriter(
        "rewriting files", path, commit_bytes, wait, master, settings, as_json
    )
    with progress_while("reading footers"):
        operation = RewriteWithoutKeys(
            Storage.open(path), partitions or None, rewriter.without_keys, rewriter.statistics
        )
        plan = operation.plan()
    if dry_run:
        _show_plan(plan, as_json)
        return
    if is_asked(is_confirmed):
        confirm(f"Rewrites {_files(plan)} without stored record keys.")
    done = carry_out(operation, plan)
    found = _outcome(done, path)
    echo(reports.as_json(found) if as_json else reports.as_text(found))


@virtual_keys.command(
    epilog=examples(
        ("pyhudi virtual-keys disable /warehouse/trips --conf spark.jars=hudi-spark.jar", ""),
    )
)
@TABLE
@_in_commits
@DRY_RUN
@YES
@with_spark
@WAIT
@LOCK_SETTINGS
@AS_JSON
def disable(
    table: str,
    commit_bytes: int,
    dry_run: bool,
    is_confirmed: bool,
    master: str | None,
    settings: tuple[str, ...],
    lock_settings: dict[str, str],
    wait: float,
    as_json: bool,
) -> None:
    """Restore the stored keys of TABLE, and read them again.

    File groups in which a row has no key are rewritten, committed by Hudi's clustering. At the end
    no other writer may be at work.
    """
    path = table_location(table)
    rewriter = _SparkRewriter("restoring keys", path, commit_bytes, wait, master, settings, as_json)
    with progress_while("reading footers"):
        storage = Storage.open(path)
        lock = TableLock.of(storage, lock_settings)
        operation = DisableVirtualKeys(storage, lock, rewriter.with_keys, rewriter.statistics)
        plan = operation.plan()
    if dry_run:
        _show_plan(plan, as_json)
        return
    if is_asked(is_confirmed):
        confirm(f"Rewrites {_files(plan)} with stored record keys.")
    done = carry_out(operation, plan)
    if as_json:
        echo(reports.as_json(_outcome(done, path)))
    else:
        count = done.rewritten.file_groups
        lines = [f"every row has its stored key; {count:,} file groups were written anew"]
        echo("\n".join([*lines, *done.notes]))


@dataclass(frozen=True)
class _SparkRewriter:
    """Rewrites slices in a session of Spark, which starts only where there are some.

    Attributes:
        purpose: What the session is for, for people.
        wait: Seconds for which statistics wait for other writers.
    """

    purpose: str
    path: str
    commit_bytes: int
    wait: float
    master: str | None
    settings: tuple[str, ...]
    as_json: bool

    def without_keys(self, slices: Sequence[SliceKeys]) -> Rewritten:
        """Write slices anew without stored keys. Raises HudiError."""
        with self._session() as spark:
            from pyhudi_expr.spark.virtual_keys.rewriting import ClusteringRewriter

            made = ClusteringRewriter.without_keys(spark, self.path, self.commit_bytes, self._show)
            return made(slices)

    def with_keys(self, slices: Sequence[SliceKeys]) -> Rewritten:
        """Write slices anew with stored keys. Raises HudiError."""
        with self._session() as spark:
            from pyhudi_expr.spark.virtual_keys.rewriting import ClusteringRewriter

            made = ClusteringRewriter.with_keys(spark, self.path, self.commit_bytes, self._show)
            return made(slices)

    def statistics(self) -> tuple[str, ...]:
        """Build `column_stats` anew; return what was left out. Raises HudiError."""
        with self._session() as spark:
            from pyhudi_expr.spark.virtual_keys.rewriting import statistics

            return statistics(spark, self.path, self.wait)

    def _show(self, done: int, of: int) -> None:
        if not self.as_json:
            echo(f"{done} of {of} file groups", err=True)

    def _session(self) -> AbstractContextManager[SparkSession]:
        return spark_session(self.purpose, self.master, self.settings, HUDI_SESSION)


def _show_plan(plan: KeyPlan, as_json: bool) -> None:
    if as_json:
        echo(reports.as_json(plan_record(plan)))
        return
    lines = [f"would rewrite {_files(plan)}"]
    for change in plan.changes:
        if change.action is Action.SET:
            lines.append(f"would set {change.what} = {change.value}")
        elif change.action is Action.REMOVE:
            lines.append(f"would remove {change.what}")
        elif change.action is Action.WRITE:
            lines.append(f"would build {change.what} anew")
    echo("\n".join(lines))


def _files(plan: KeyPlan) -> str:
    record = plan_record(plan)
    return f"{record['files']:,} files of {plan.table} ({size_text(record['bytes'])})"


def _outcome(done: KeyReport, path: str) -> dict[str, Any]:
    return {**asdict(done.rewritten), "notes": done.notes, **asdict(_storage(path))}


def _storage(path: str) -> KeyStorage:
    with progress_while("reading footers"):
        return key_storage(HudiTable.open(path))


def _summary(found: KeyStorage, slices: Sequence[SliceKeys]) -> str:
    basis = "measured by stored keys" if found.is_measured else "by the size of the key's columns"
    lines = [
        f"base files: {found.files:,}, {size_text(found.bytes)}, {found.rows:,} rows",
        f"stored keys: {extent(slices).value}: {found.rows_with_keys:,} of {found.rows:,} rows, in "
        f"{found.files_with_keys:,} of {found.files:,} base files",
        f"saved: {size_text(found.bytes_saved)} ({basis})",
        f"to save: {size_text(found.bytes_to_save)} in {found.files_with_keys:,} files",
    ]
    if found.log_files:
        keys, rows = sum(one.log_keys for one in slices), sum(one.log_rows for one in slices)
        lines.append(
            f"log files: {found.log_files}, with stored keys in {keys:,} of {rows:,} rows; their "
            "size is not counted, compaction takes them in"
        )
    return "\n".join(lines)

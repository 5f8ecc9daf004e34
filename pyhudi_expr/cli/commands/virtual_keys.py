"""`pyhudi virtual-keys ...`: stop storing `_hoodie_record_key`, and restore it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import click

from pyhudi_expr.api.sizes import size_text
from pyhudi_expr.cli import reports
from pyhudi_expr.cli.confirmation import DRY_RUN, YES, confirm, is_asked
from pyhudi_expr.cli.options import AS_JSON, Commands, comma_separated, examples
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.cli.spark_session import spark_session, with_spark
from pyhudi_expr.cli.table_location import complete_directories, table_location
from pyhudi_expr.indexing import virtual_key_settings
from pyhudi_expr.indexing.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.indexing.writer_options import HUDI_SESSION
from pyhudi_expr.keys.definition import is_virtual
from pyhudi_expr.keys.key_storage import KeyStorage, base_files, key_storage
from pyhudi_expr.table import config_keys
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import TableView
from pyhudi_expr.table.locks import TableLock

_Command = Callable[..., None]


@click.group(
    "virtual-keys", cls=Commands, short_help="Stop storing record keys, or store them again."
)
def virtual_keys() -> None:
    """Do not store a table's record keys: readers compute them from the key's columns.

    `rewrite` and `disable` write through Apache Hudi: its bundle has to be on Spark's class path
    (--conf spark.jars=...).
    """


def _table(command: _Command) -> _Command:
    return click.argument("table", shell_complete=complete_directories)(command)


def _locking(command: _Command) -> _Command:
    return click.option(
        "--lock-wait", default=60.0, show_default=True, help="Seconds to wait for the table's lock."
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
@_table
@click.option("--columns", help="The key's columns; the table's own, if they are named at all.")
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
@_locking
@AS_JSON
def enable(
    table: str,
    columns: str | None,
    concatenator: str | None,
    class_name: str | None,
    keep_column: bool,
    append_only: bool,
    lock_wait: float,
    as_json: bool,
) -> None:
    """Make readers of TABLE compute its keys, and writers omit them from now on.

    Only hoodie.properties changes; existing files keep their column.
    """
    key = None if columns is None else comma_separated(columns)
    settings = VirtualKeySettings(key, concatenator, class_name, keep_column, append_only or None)
    with progress_while("enabling virtual keys"):
        opened = HudiTable.open(table_location(table))
        lock = TableLock.of(opened.storage, wait=lock_wait)
        definition = virtual_key_settings.enable(opened, settings, lock)
    saved = {**definition.settings(), config_keys.POPULATE_META_FIELDS: str(keep_column).lower()}
    if as_json:
        click.echo(reports.as_json({"settings": saved}))
    else:
        click.echo(reports.as_text(saved))


@virtual_keys.command(
    epilog=examples(("pyhudi virtual-keys report /warehouse/trips", "")),
)
@_table
@AS_JSON
def report(table: str, as_json: bool) -> None:
    """Print what stored keys take in TABLE, and what omitting them saves, from the footers."""
    with progress_while("reading footers"):
        opened = HudiTable.open(table_location(table))
        found = key_storage(opened)
    if as_json:
        enabled = is_virtual(opened.properties)
        click.echo(reports.as_json({"enabled": enabled, **asdict(found)}))
    else:
        click.echo(_summary(found))


@virtual_keys.command(
    epilog=examples(
        ("pyhudi virtual-keys rewrite /warehouse/trips --conf spark.jars=hudi-spark.jar", ""),
    )
)
@_table
@click.option(
    "--partition", "partitions", multiple=True, help="Rewrite this partition only; repeatable."
)
@click.option(
    "--commit-bytes",
    default=1 << 30,
    show_default=True,
    help="Rewrite about so many bytes of file groups with each commit.",
)
@DRY_RUN
@YES
@with_spark
@AS_JSON
def rewrite(
    table: str,
    partitions: tuple[str, ...],
    commit_bytes: int,
    dry_run: bool,
    is_confirmed: bool,
    master: str | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Rewrite the files of TABLE that still have stored keys, without them.

    It works file group by file group, committed by Hudi's clustering, and continues an earlier run.
    """
    path = table_location(table)
    if dry_run or is_asked(is_confirmed):
        with progress_while("reading footers"):
            plan = _to_rewrite(HudiTable.open(path), partitions)
        if dry_run:
            click.echo(reports.as_json(asdict(plan)) if as_json else f"would rewrite {plan}")
            return
        confirm(f"Rewrites {plan} without stored record keys.")
    with spark_session("rewriting files", master, settings, HUDI_SESSION) as spark:
        from pyhudi_expr.spark.virtual_keys.rewriting import rewrite as rewritten

        done = rewritten(spark, path, partitions or None, commit_bytes, _progress(as_json))
    found = {**asdict(done), **asdict(_storage(path))}
    click.echo(reports.as_json(found) if as_json else reports.as_text(found))


@virtual_keys.command(
    epilog=examples(
        ("pyhudi virtual-keys disable /warehouse/trips --conf spark.jars=hudi-spark.jar", ""),
    )
)
@_table
@DRY_RUN
@YES
@with_spark
@_locking
@AS_JSON
def disable(
    table: str,
    dry_run: bool,
    is_confirmed: bool,
    master: str | None,
    settings: tuple[str, ...],
    lock_wait: float,
    as_json: bool,
) -> None:
    """Restore the stored keys of TABLE, and read them again.

    The rows are rewritten by one insert overwrite; no other writer may run in the meantime.
    """
    path = table_location(table)
    if dry_run or is_asked(is_confirmed):
        with progress_while("reading footers"):
            plan = _to_restore(HudiTable.open(path))
        if dry_run:
            click.echo(reports.as_json(asdict(plan)) if as_json else f"would rewrite {plan}")
            return
        confirm(f"Rewrites {plan} with stored record keys, by one insert overwrite.")
    with spark_session("restoring keys", master, settings, HUDI_SESSION) as spark:
        from pyhudi_expr.spark.virtual_keys.restoring import restore

        restore(spark, path, lock_wait)
    found = asdict(_storage(path))
    click.echo(reports.as_json(found) if as_json else "the keys are stored again")


@dataclass(frozen=True)
class _Rewriting:
    """Base files of a table that a command would rewrite, and their size in bytes."""

    table: str
    files: int
    bytes: int

    def __str__(self) -> str:
        """Return what a person is told."""
        return f"{self.files:,} files of {self.table} ({size_text(self.bytes)})"


def _to_rewrite(table: HudiTable, partitions: tuple[str, ...]) -> _Rewriting:
    """Return the files with stored keys."""
    virtual_key_settings.check_rewritable(table)
    files = [
        file
        for file in base_files(table, table.listing(TableView.READ_OPTIMIZED))
        if file.has_keys and (not partitions or file.path.rpartition("/")[0] in partitions)
    ]
    return _Rewriting(table.base_path, len(files), sum(file.size for file in files))


def _to_restore(table: HudiTable) -> _Rewriting:
    """Return the files to rewrite with stored keys: all, or none if each of them still has some."""
    virtual_key_settings.check_restorable(table)
    storage = key_storage(table)
    if not virtual_key_settings.lacks_keys(table, storage):
        return _Rewriting(table.base_path, 0, 0)
    return _Rewriting(table.base_path, storage.files, storage.bytes)


def _storage(path: str) -> KeyStorage:
    with progress_while("reading footers"):
        return key_storage(HudiTable.open(path))


def _progress(as_json: bool) -> Callable[[int, int], None]:
    def show(done: int, of: int) -> None:
        if not as_json:
            click.echo(f"{done} of {of} file groups", err=True)

    return show


def _summary(found: KeyStorage) -> str:
    basis = "measured by stored keys" if found.is_measured else "by the size of the key's columns"
    lines = [
        f"base files: {found.files:,}, {size_text(found.bytes)}, {found.rows:,} rows",
        f"saved: {size_text(found.bytes_saved)} ({basis})",
        f"to save: {size_text(found.bytes_to_save)} in {found.files_with_keys:,} files",
    ]
    if found.log_files:
        lines.append(f"log files: {found.log_files}, not counted; compaction takes them in")
    return "\n".join(lines)

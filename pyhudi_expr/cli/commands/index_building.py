"""What the commands share that build, refresh or check indexes: their options, and their steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click

from pyhudi_expr.api.display import size_text
from pyhudi_expr.cli import reports
from pyhudi_expr.cli.options import Command, is_table_name, table_location
from pyhudi_expr.cli.spark_session import key_values, spark_session
from pyhudi_expr.cli.terminal import echo
from pyhudi_expr.manage.building import Builder, IndexBuilding
from pyhudi_expr.manage.indexing.build_options import BuildOptions, BuildResult
from pyhudi_expr.manage.indexing.preparation import Work
from pyhudi_expr.manage.indexing.statements import CreateIndex, RefreshIndex
from pyhudi_expr.tables.locks import PROVIDER, SETTINGS, TableLock
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.user_settings import user_setting

_WITH_METASTORE = {"spark.sql.catalogImplementation": "hive"}


def _lock_settings(
    _context: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    """Parse settings of locks (a callback)."""
    given = key_values(texts)
    for key in given:
        if key not in SETTINGS:
            raise click.BadParameter(f"{key} is no setting of a lock; {PROVIDER} is one")
    return given


LOCK_SETTINGS = click.option(
    "--writer-option",
    "lock_settings",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_lock_settings,
    help="An option of the table's writers for their lock (hoodie.write.lock.provider, "
    "hoodie.write.lock.wait_time_ms ...), which is taken here, too; repeatable. By default what "
    "hudi-defaults.conf says.",
)
"""The parameter `lock_settings`."""


WAIT = click.option(
    "--wait",
    default=600.0,
    show_default=True,
    help="Seconds to wait for writers that started before.",
)
"""The parameter `wait`."""


def with_writing(command: Command) -> Command:
    """Add the options of the commands that change a table."""
    return LOCK_SETTINGS(WAIT(command))


def report_built(built: BuildResult | None, as_json: bool, nothing_done: str) -> None:
    """Print what was built; `nothing_done` if nothing was."""
    if built is None:
        echo(reports.as_json({"built": None}) if as_json else nothing_done)
        return
    if as_json:
        echo(reports.as_json({"built": asdict(built)}))
        return
    for note in built.notes:
        echo(f"note: {note}")
    for partition, records in built.records.items():
        size = size_text(built.bytes[partition])
        echo(f"{partition}: {records:,} entries, {size}, as of {built.instant}")
    if built.writer_options:
        echo("a writer of Hudi deletes the index unless its options are:")
        for key, value in built.writer_options.items():
            echo(f"  {key}={value}")


def located(table: str, settings: Mapping[str, Any]) -> str:
    """Return the base path of a table given by its path, or by its name in the metastore."""
    if not is_table_name(table) or user_setting("metastore"):
        return table_location(table)
    purpose, master, own = f"looking up {table}", settings["master"], settings["settings"]
    with spark_session(purpose, master, own, _WITH_METASTORE) as spark:
        from pyhudi_expr.spark import indexes

        return indexes.location(spark, table)


def building(
    request: CreateIndex | RefreshIndex, purpose: str, settings: Mapping[str, Any]
) -> IndexBuilding:
    """Return the operation that builds an index; a Spark session starts when it is needed."""
    options = build_options(settings)
    return IndexBuilding(request, options, in_session(purpose, options, settings))


def in_session(purpose: str, options: BuildOptions, settings: Mapping[str, Any]) -> Builder:
    """Return what builds each index in a Spark session, which starts then."""

    def build(work: Work) -> BuildResult | None:
        with spark_session(purpose, settings["master"], settings["settings"]) as spark:
            from pyhudi_expr.spark import indexes

            return indexes.carry_out(spark, work, options)

    return build


def build_options(settings: Mapping[str, Any]) -> BuildOptions:
    """Return the options of `with_writing`."""

    def lock(storage: Storage) -> TableLock:
        return TableLock.of(storage, settings["lock_settings"])

    return BuildOptions(lock, settings["wait"])

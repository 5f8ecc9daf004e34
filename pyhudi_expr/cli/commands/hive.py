"""`pyhudi hive ...`: tables in Hive's metastore."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import click

from pyhudi_expr.cli import reports
from pyhudi_expr.cli.commands.index_follow import SECONDS, listened, repeat_until_interrupted
from pyhudi_expr.cli.options import AS_JSON, TABLE, Command, Commands, OptionValue, examples
from pyhudi_expr.cli.spark_session import key_values
from pyhudi_expr.cli.terminal import DRY_RUN, YES, echo, is_asked
from pyhudi_expr.installation import require_extra
from pyhudi_expr.manage.hive import DEFAULT_PORT, STATEMENT_TIMEOUT, TIMEOUT, HiveAddress
from pyhudi_expr.manage.hive.jars import CENTRAL, HANDLERS, put_jars
from pyhudi_expr.user_settings import user_setting

_PASSWORD = "PYHUDI_HS2_PASSWORD"
_AUTHS = ("NONE", "NOSASL", "LDAP", "CUSTOM", "KERBEROS")
_SCHEMES = ("binary", "http", "https")

_NAME = click.option(
    "--name", help="[DATABASE.]TABLE in Hive; by default the Hudi table's own name."
)
_LOCATION = click.option(
    "--location", "seen", metavar="URI", help="Where Hive finds it, if not at TABLE."
)
_FOLLOW = click.option(
    "--follow", "following", is_flag=True, help="Go on and do it again, until Ctrl-C."
)
_EVERY = click.option(
    "--every",
    type=SECONDS,
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="With --follow: how often.",
)
_CALLBACK = click.option(
    "--callback",
    metavar="HOST:PORT",
    help="With --follow: listen for Hudi's commit callbacks, and do it at once after each.",
)


@click.group(cls=Commands, short_help="Register tables in Hive; find out why they are not pruned.")
def hive() -> None:
    """Manage tables in Hive that the storage handler reads."""


def _with_address(command: Command) -> Command:
    """Add the options of HiveServer2's address; the parameter `address`."""

    @wraps(command)
    def with_address(
        hs2: str,
        database: str,
        user: str | None,
        auth: str,
        transport: str,
        kerberos_service: str,
        timeout: float,
        statement_timeout: float,
        **others: OptionValue,
    ) -> None:
        host, port = _host_and_port(hs2)
        password = os.environ.get(_PASSWORD)
        address = HiveAddress(
            *(host, port, database, user, password, auth, transport, kerberos_service),
            timeout=timeout,
            statement_timeout=statement_timeout,
        )
        command(address=address, **others)

    decorated: Command = with_address
    for option in reversed(
        (
            click.option(
                "--hs2",
                default=_set_or("hs2", "127.0.0.1"),
                show_default="127.0.0.1",
                metavar="HOST[:PORT]",
                envvar="PYHUDI_HS2",
                help=f"HiveServer2, by default port {DEFAULT_PORT}; also PYHUDI_HS2.",
            ),
            click.option("--database", default="default", show_default=True, help="In Hive."),
            click.option(
                "--user",
                default=_set_or("hs2_user", None),
                envvar="PYHUDI_HS2_USER",
                help=f"Also PYHUDI_HS2_USER; the password is in {_PASSWORD}.",
            ),
            click.option(
                "--auth",
                type=click.Choice(_AUTHS, case_sensitive=False),
                default=_set_or("hs2_auth", "NONE"),
                show_default="NONE",
                envvar="PYHUDI_HS2_AUTH",
                help="hive.server2.authentication.",
            ),
            click.option(
                "--transport",
                type=click.Choice(_SCHEMES),
                default="binary",
                show_default=True,
                help="hive.server2.transport.mode.",
            ),
            click.option("--kerberos-service", default="hive", show_default=True),
            click.option(
                "--timeout",
                type=SECONDS,
                default=_set_or("hs2_timeout", TIMEOUT),
                show_default=str(TIMEOUT),
                envvar="PYHUDI_HS2_TIMEOUT",
                metavar="SECONDS",
                help="For connecting and each answer until a session; also PYHUDI_HS2_TIMEOUT.",
            ),
            click.option(
                "--statement-timeout",
                type=SECONDS,
                default=_set_or("hs2_statement_timeout", STATEMENT_TIMEOUT),
                show_default=str(STATEMENT_TIMEOUT),
                envvar="PYHUDI_HS2_STATEMENT_TIMEOUT",
                metavar="SECONDS",
                help="For each statement; HiveServer2 goes on with one that is given up. Also"
                " PYHUDI_HS2_STATEMENT_TIMEOUT.",
            ),
        )
    ):
        decorated = option(decorated)
    return decorated


def _set_or(key: str, default: OptionValue) -> Callable[[], OptionValue]:
    """Return what an option is without a value: the user's setting, or else its default."""
    return lambda: user_setting(key) or default


def _host_and_port(hs2: str) -> tuple[str, int]:
    host, colon, port = hs2.rpartition(":")
    if not colon:
        return hs2, DEFAULT_PORT
    if not port.isdecimal():
        raise click.UsageError(f"--hs2 {hs2} is not of the form HOST:PORT")
    return host.strip("[]"), int(port)


@hive.command(
    epilog=examples(
        ("pyhudi hive register /warehouse/trips --hs2 host:10000 --dry-run", "what would be run"),
        ("pyhudi hive register /warehouse/trips --hs2 host:10000 --name lake.trips", ""),
        ("pyhudi hive register /warehouse/trips --hs2 host:10000 --follow", "with its columns"),
    )
)
@TABLE
@_NAME
@_LOCATION
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="KEY=VALUE",
    help="A table property, hudi.view=read_optimized, say; repeatable.",
)
@click.option("--replace", "replacing", is_flag=True, help="Drop a table of this name; data stays.")
@click.option(
    "--metadata",
    "with_views",
    is_flag=True,
    help="Also register TABLE__files, __history, __indexes and __column_ranges, which describe it.",
)
@DRY_RUN
@YES
@_FOLLOW
@_EVERY
@_CALLBACK
@_with_address
@AS_JSON
def register(
    address: HiveAddress,
    table: str,
    name: str | None,
    seen: str | None,
    properties: tuple[str, ...],
    replacing: bool,
    with_views: bool,
    dry_run: bool,
    is_confirmed: bool,
    following: bool,
    every: float,
    callback: str | None,
    as_json: bool,
) -> None:
    """Register the Hudi table TABLE in Hive: create Hive's table, or update its columns.

    Columns, types and comments are those of the Hudi table. New columns are added. A table that has
    changed in other ways is dropped and created again (the data stays). Types such as varchar(n),
    comments and hudi. properties that were set in Hive stay. You can run it again at any time, or
    let --follow do that whenever the Hudi table's columns change.
    """
    given = key_values(properties)
    _check_following(following, callback, dry_run, as_json)
    with require_extra("hive"):
        from pyhudi_expr.cli import hive_output
    planned = hive_output.plan_registration(address, table, name, seen, given)
    if with_views:
        planned = planned.with_views()
    asks = replacing and not dry_run and is_asked(is_confirmed)
    consent = hive_output.ask_to_drop if asks else hive_output.unasked
    hive_output.register(address, planned, replacing, dry_run, as_json, consent)
    if following:
        follower = hive_output.RegistrationFollower(address, planned, name, seen, given)
        repeat_until_interrupted(follower.step, every, listened(callback))


@hive.command(
    epilog=examples(
        ("pyhudi hive jars /opt/hive/auxlib", "for Hive 4"),
        ("pyhudi hive jars /opt/hive/auxlib --hive 3.1", ""),
        ("pyhudi hive jars auxlib --repository https://maven.example.com/central", "a mirror"),
    )
)
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--hive",
    "version",
    type=click.Choice(list(HANDLERS)),
    default="4.0",
    show_default=True,
    help="The version of Hive.",
)
@click.option(
    "--repository", default=CENTRAL, show_default=True, metavar="URL", help="A Maven repository."
)
@AS_JSON
def jars(directory: Path, version: str, repository: str, as_json: bool) -> None:
    """Put the handler's jar, Hudi's bundle and what it needs into DIRECTORY.

    It is for Hive's auxiliary path, hive.aux.jars.path. What is fetched has to have the SHA-256
    that this version knows.
    """

    def fetching(name: str) -> None:
        echo(f"fetching {name}", err=True)

    found = [str(path) for path in put_jars(directory, HANDLERS[version], repository, fetching)]
    echo(reports.as_json({"jars": found}) if as_json else "\n".join(found))


@hive.command(
    epilog=examples(
        ("pyhudi hive unregister lake.trips --hs2 host:10000 --dry-run", "what would be dropped"),
        ("pyhudi hive unregister lake.trips --hs2 host:10000", ""),
    )
)
@click.argument("name", metavar="[DATABASE.]TABLE")
@DRY_RUN
@YES
@_with_address
@AS_JSON
def unregister(
    address: HiveAddress, name: str, dry_run: bool, is_confirmed: bool, as_json: bool
) -> None:
    """Drop TABLE in Hive, and the tables that describe it; the Hudi table stays as it is.

    TABLE is one that the storage handler reads, as `register` creates it.
    """
    with require_extra("hive"):
        from pyhudi_expr.cli import hive_output
    asks = not dry_run and is_asked(is_confirmed)
    hive_output.unregister(address, name, dry_run, as_json, asks)


@hive.command(
    epilog=examples(
        ("pyhudi hive adopt lake.trips --hs2 host:10000 --dry-run", "what would be run"),
        ("pyhudi hive adopt lake --hs2 host:10000", "every table in the database that Hudi synced"),
        ("pyhudi hive adopt lake --hs2 host:10000 --undo", ""),
    )
)
@click.argument("tables", nargs=-1, required=True, metavar="TABLE|DATABASE...")
@click.option("--undo", "undoing", is_flag=True, help="Give tables back what they had.")
@DRY_RUN
@_FOLLOW
@_EVERY
@_CALLBACK
@_with_address
@AS_JSON
def adopt(
    address: HiveAddress,
    tables: tuple[str, ...],
    undoing: bool,
    dry_run: bool,
    following: bool,
    every: float,
    callback: str | None,
    as_json: bool,
) -> None:
    """Prune tables that Hudi's sync has registered: set our input format, and keep all else.

    TABLE is [DATABASE.]TABLE in Hive. Of a table, its input format and those of its partitions are
    changed; columns, partitions, locations and properties stay, and the former ones are kept in
    table properties. Other tables are skipped with a line that says why. Hudi's sync sets its own
    input format again: run this after it, or with --follow. The exit code is 1 if a table failed.
    """
    _check_following(following, callback, dry_run or undoing, as_json)
    with require_extra("hive"):
        from pyhudi_expr.cli import hive_output
    if following:
        follower = hive_output.AdoptionFollower(address, tables)
        repeat_until_interrupted(follower.step, every, listened(callback))
    else:
        hive_output.adopt(address, tables, undoing, dry_run, as_json)


def _check_following(
    following: bool, callback: str | None, changes_nothing: bool, as_json: bool
) -> None:
    if callback is not None and not following:
        raise click.UsageError("--callback needs --follow")
    if following and (changes_nothing or as_json):
        raise click.UsageError("--follow goes on and prints lines: leave the other options out")


@hive.command(
    epilog=examples(
        ("pyhudi hive doctor /warehouse/trips --hs2 host:10000", ""),
    )
)
@TABLE
@_NAME
@_LOCATION
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="What the sessions SET that are not pruned; repeatable.",
)
@click.option(
    "--engine",
    type=click.Choice(["tez", "mr"]),
    help="Run a query there, and check pruning where its splits are made.",
)
@_with_address
@AS_JSON
def doctor(
    address: HiveAddress,
    table: str,
    name: str | None,
    seen: str | None,
    settings: tuple[str, ...],
    engine: str | None,
    as_json: bool,
) -> None:
    """Check whether Hive's queries on TABLE are pruned and, if not, why and how to fix it.

    Checks each link from HiveServer2 to the service and the indexes, and has HiveServer2 explain a
    query that must exclude a file. Nothing is changed. The exit code is 1 if a link is broken.
    """
    given = key_values(settings)
    with require_extra("hive"):
        from pyhudi_expr.cli import hive_output
    planned = hive_output.plan_registration(address, table, name, seen)
    hive_output.doctor(address, planned, given, engine, as_json)

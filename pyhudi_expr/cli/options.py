"""Options that several groups of commands share."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

import click
from click.shell_completion import CompletionItem

from pyhudi_expr.errors import HudiError
from pyhudi_expr.user_settings import user_setting

#: The value of a command's option, as click has converted it.
OptionValue: TypeAlias = Any

Command: TypeAlias = Callable[..., None]
"""The function of a command."""

COMPLETION_VARIABLE = "_PYHUDI_COMPLETE"
"""Set by a shell that asks how its words may go on."""

_NAME = re.compile(r"\w+\.\w+")
_FORMER = frozenset({"--table", "--lock-dir", "--lock-provider", "--lock-wait"})
"""Options of the last version, of commands about a table."""
_PATIENCE = 1.0
"""Seconds that a shell waits for names in a table."""


def table_location(table: str) -> str:
    """Return a URI or an absolute path; relative paths are resolved.

    `database.table` is asked of the user's metastore, if one is set.
    """
    if is_table_name(table) and (metastore := user_setting("metastore")):
        return _named_location(table, metastore)
    return table if ":" in table.split("/")[0] else str(Path(table).absolute())


@cache
def _named_location(name: str, metastore: str) -> str:
    """Ask the metastore once, however often a command names its table."""
    from pyhudi_expr.api.catalog import table_uri

    return table_uri(name, metastore)


def is_table_name(table: str) -> bool:
    """Return whether it is `database.table`, and not an existing path."""
    return bool(_NAME.fullmatch(table)) and not Path(table).exists()


def complete_tables(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete a table's path in shells, and its name after that of a database."""
    database, dot, _ = incomplete.partition(".")
    names = _at_once(lambda: _tables(database)) if dot and database.isidentifier() else ()
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="dir")]


def complete_columns(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the last of several columns of the command's table."""
    before, comma, last = incomplete.rpartition(",")
    names = _names_at_once(context, _columns)
    return [CompletionItem(before + comma + name) for name in names if name.startswith(last)]


def columns_option(**attributes: OptionValue) -> Callable[[Command], Command]:
    """Return the option of a command that takes columns.

    Its parameter `columns` is a tuple of names; None if there is neither a text nor a default.
    """

    def names(
        _context: click.Context, _option: click.Parameter, text: str | None
    ) -> tuple[str, ...] | None:
        if text is None:
            return None
        return tuple(name.strip() for name in text.split(",") if name.strip())

    return click.option(
        "--columns",
        metavar="NAME,...",
        callback=names,
        shell_complete=complete_columns,
        **attributes,
    )


def complete_indexes(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the name of an index of the command's table."""
    names = _names_at_once(context, _indexes)
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _names_at_once(context: click.Context, read: Callable[[str], Sequence[str]]) -> Sequence[str]:
    """Return names in the command's table; none if it is not given or does not answer in time."""
    # Where the last option has no value yet, click leaves the arguments among the rest.
    table = context.params.get("table") or next(iter(context.args), None)
    return _at_once(lambda: read(table_location(table))) if table else ()


def _at_once(read: Callable[[], Sequence[str]]) -> Sequence[str]:
    """Return what is read; nothing if that fails or takes too long."""
    found = SimpleQueue[Sequence[str]]()

    def ask() -> None:
        try:
            found.put(read())
        except Exception:  # whatever is wrong, the command says it
            found.put(())

    Thread(target=ask, name="completion", daemon=True).start()
    try:
        return found.get(timeout=_PATIENCE)
    except Empty:
        return ()


def _tables(database: str) -> Sequence[str]:
    if not user_setting("metastore"):
        return ()
    # On use, as in the next ones: the imports take time.
    from pyhudi_expr.api.catalog import list_tables

    return list_tables(database)


def _columns(table: str) -> Sequence[str]:
    from pyhudi_expr.api.functions import table as open_table

    return open_table(table).columns


def _indexes(table: str) -> Sequence[str]:
    from pyhudi_expr.index.catalog.status import index_statuses
    from pyhudi_expr.tables.hudi_table import HudiTable

    return [status.name for status in index_statuses(HudiTable.open(table))]


TABLE = click.argument("table", shell_complete=complete_tables)
"""The parameter `table`, the first argument of every command about one."""


AS_HTML = click.option(
    "--html",
    "html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a page for a browser, too; it loads nothing else.",
)
"""The parameter `html`."""


def write_page(target: Path, content: str) -> None:
    """Write a page. Raises HudiError if the file cannot be written."""
    try:
        target.write_text(content, encoding="utf-8")
    except OSError as error:
        raise HudiError(f"{target}: the page cannot be written: {error}") from error


_LONGEST = 200
"""Characters of a sentence in a list of commands."""

_STORAGE = "storage_options"

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
"""The parameter `as_json`."""


def _apply_storage_options(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> None:
    """Set the options for this process and those that it starts, until the command has ended."""
    if not texts or context.resilient_parsing:
        return
    # On use: the import takes time.
    from pyhudi_expr.errors import HudiError
    from pyhudi_expr.tables.storage import (
        OPTIONS_VARIABLE,
        joined_options,
        parse_options,
        process_options,
        set_storage_options,
    )

    before = os.environ.get(OPTIONS_VARIABLE)

    def restore() -> None:
        if before is None:
            os.environ.pop(OPTIONS_VARIABLE, None)
        else:
            os.environ[OPTIONS_VARIABLE] = before

    try:
        set_storage_options(joined_options(process_options(), parse_options(texts)))
    except HudiError as error:
        raise click.UsageError(str(error), context) from None
    context.call_on_close(restore)


storage_option = click.option(
    "--storage-option",
    _STORAGE,
    metavar="KEY=VALUE",
    multiple=True,
    expose_value=False,
    callback=_apply_storage_options,
    help="A setting of the object store, such as an endpoint or a key; repeatable.",
)
"""Adds an option, without a parameter, to a command or group."""


class Commands(click.Group):
    """A group that shows whole sentences in its help, and suggests a command for a typo.

    Its commands take `--storage-option`, too, beside those of the whole program. What is about a
    table has that as its first argument, `TABLE`.
    """

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command with the options that every command has."""
        command = self.find_command(ctx, cmd_name)
        if command is not None and not any(one.name == _STORAGE for one in command.params):
            storage_option(command)
        return command

    def find_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command with its own options."""
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does. Raises click.UsageError with the nearest command."""
        near = get_close_matches(args[0], self.list_commands(ctx), 1)
        if near and self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            raise click.UsageError(f"there is no command {args[0]!r}; is it {near[0]}?", ctx)
        name, command, words = super().resolve_command(ctx, args)
        takes_table = command is not None and any(one.name == "table" for one in command.params)
        if takes_table and not ctx.resilient_parsing:
            words = _as_now(words)
        return name, command, words

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with whole sentences."""
        with formatter.section("Commands"):
            formatter.write_dl(self.command_helps(ctx))

    def command_helps(self, ctx: click.Context) -> list[tuple[str, str]]:
        """Return the names of the commands and their help in a sentence."""
        names = self.list_commands(ctx)
        found = [(name, command) for name in names if (command := self.get_command(ctx, name))]
        return [(name, command.get_short_help_str(_LONGEST)) for name, command in found]


def _as_now(words: Sequence[str]) -> list[str]:
    """Return a command's words with what the options of the last version are now, and say so."""
    first, others, rest = list[str](), list[str](), list(words)
    while rest and rest[0] != "--":
        word = rest.pop(0)
        option, equals, value = word.partition("=")
        if option not in _FORMER or not (equals or rest):
            others.append(word)
            continue
        value = value if equals else rest.pop(0)
        if option == "--table":
            first, now = [value], f"{value} comes first"
        else:
            given = ["--writer-option", _lock_setting(option, value)]
            others, now = others + given, f"it is {shlex.join(given)}"
        click.echo(f"hint: {option} goes with the next version: {now}", err=True)
    return first + others + rest


def _lock_setting(option: str, value: str) -> str:
    """Return the setting that an option of the last version was. Raises click.UsageError."""
    from pyhudi_expr.tables.locks import DIRECTORY, PROVIDER, WAIT

    if option != "--lock-wait":
        return f"{DIRECTORY if option == '--lock-dir' else PROVIDER}={value}"
    try:
        return f"{WAIT}={float(value) * 1000:.0f}"
    except ValueError:
        raise click.UsageError(f"--lock-wait {value} is not a number of seconds") from None


def examples(*pairs: tuple[str, str]) -> str:
    """Return the end of a command's help: example commands, with their purpose."""
    width = max(len(typed) for typed, _ in pairs)
    lines = (
        f"  {typed:{width}}  # {meaning}" if meaning else f"  {typed}" for typed, meaning in pairs
    )
    return "\b\nExamples:\n" + "\n".join(lines)

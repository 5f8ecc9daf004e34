"""The command line; errors become one line and an exit code here.

Exit codes: 0 success, 1 the table or the predicate cannot be read, 2 wrong command line, 130
interrupted; `audit` has two more.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

try:
    import click
except ModuleNotFoundError:
    sys.exit("pyhudi: click is missing; install the extra: pip install 'pyhudi-expr[cli]'")

from pyhudi_expr.cli.options import COMPLETION_VARIABLE, Commands, examples, storage_option
from pyhudi_expr.cli.terminal import echo

_FAILED = 1
_INTERRUPTED = 130
#: Errors of the service with a complete message; their modules need packages of some commands only.
_REPORTED = frozenset({"RootError", "SettingsError"})
#: Each command's module and short help, in the order of the help: first steps, then daily use.
#: Commands need different packages, whose import takes time: so the list of commands imports none.
_COMMANDS = {
    "demo": ("demo", "A small table to try all of this on."),
    "inspect": ("prune", "What a table is: versions, timeline, files, indexes."),
    "explain": ("prune", "What each part of a predicate excludes, and why not more."),
    "prune": ("prune", "The files that a predicate leaves to read."),
    "scan": ("scan", "The rows of a table, without an engine."),
    "bench": ("demo", "How fast a table is pruned, and what that spares."),
    "advise": ("advise", "Which indexes a table's queries would benefit from."),
    "index": ("index", "Build, list, refresh, check and drop the indexes of a table."),
    "audit": ("audit", "Check a table's metadata against its files, and repair it."),
    "snapshot": ("snapshot", "Publish a large table's snapshot for all services."),
    "layout": ("layout", "Find the row order that helps queries most, and rewrite files."),
    "virtual-keys": ("virtual_keys", "Stop storing record keys, or store them again."),
    "hive": ("hive", "Register tables in Hive; find out why they are not pruned."),
    "serve": ("serve", "Run the pruning service."),
    "completion": ("completion", "Let a shell complete commands and options."),
}


class _Commands(Commands):
    """The commands, each imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def find_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"pyhudi_expr.cli.commands.{_COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def command_helps(self, ctx: click.Context) -> list[tuple[str, str]]:
        return [(name, help_) for name, (_, help_) in _COMMANDS.items()]


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        ("pyhudi demo", "a small table to try the commands on"),
        ("pyhudi inspect /warehouse/trips", "what a table is"),
        ('pyhudi explain /warehouse/trips "fare > 100"', "which files that leaves, and why"),
        ("pyhudi COMMAND --help", "more about a command"),
    ),
)
@click.version_option(package_name="pyhudi-expr", prog_name="pyhudi")
@click.option("--debug", is_flag=True, help="Show where in the program an error comes from.")
@storage_option
def cli(debug: bool) -> None:
    """Prune the files of Apache Hudi tables by their metadata.

    A TABLE is its base path or URI; a predicate is a condition as in WHERE. Results go to standard
    output (as JSON with --json), everything else to standard error. Exit codes: 0 success, 1
    failure (one line says why), 2 wrong command line, 130 interrupted. NO_COLOR turns colours off.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    if COMPLETION_VARIABLE in os.environ:
        # A shell would show an error in the middle of the words that it completes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    given = list(sys.argv[1:] if arguments is None else arguments)
    atexit.register(gc.freeze)  # a last garbage collection would take a tenth of a second
    try:
        # None: colours if there is a terminal.
        colours = False if os.environ.get("NO_COLOR") else None
        cli.main(given, prog_name="pyhudi", standalone_mode=False, color=colours)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except Exception as error:
        if "--debug" in given:
            traceback.print_exc()
        echo(f"pyhudi: {_line(error)}{_marked(error)}", err=True)
        return _FAILED
    return 0


def _line(error: Exception) -> str:
    from pyhudi_expr.errors import HudiError
    from pyhudi_expr.expr.frontend.sql.parser import PredicateSyntaxError

    text = " ".join(str(error).split())
    if isinstance(error, PredicateSyntaxError):
        return f"the predicate cannot be read: {text}"
    if isinstance(error, HudiError | OSError) or type(error).__name__ in _REPORTED:
        return text
    if isinstance(error, ModuleNotFoundError):
        extras = "cli,service,spark,hive"
        return f"{error.name} is missing; install the extra: pip install 'pyhudi-expr[{extras}]'"
    return f"unexpected {type(error).__name__}: {text} (--debug shows where)"


def _marked(error: Exception) -> str:
    """Return further lines: the place of a syntax error in the predicate."""
    from pyhudi_expr.expr.frontend.sql.parser import PredicateSyntaxError

    if not isinstance(error, PredicateSyntaxError):
        return ""
    return "".join(f"\n  {line}" for line in error.marked.splitlines())


if __name__ == "__main__":
    sys.exit(main())

"""Usability of the command line: help, completion, colours, progress, exit codes."""

import io
import json
import os
import shlex
import subprocess
import sys
import time

import click
import pytest
from click.shell_completion import ShellComplete
from rich.console import Console

from pyhudi_expr.cli import options
from pyhudi_expr.cli.main import cli, main
from pyhudi_expr.cli.options import COMPLETION_VARIABLE, Commands
from pyhudi_expr.cli.progress import progress_while
from pyhudi_expr.tables.storage.process_options import OPTIONS_VARIABLE
from tests.tables.storage.failing_servers import silent_server

#: Commands without output of their own.
_WITHOUT_JSON = {("serve",), ("completion",)}


def every_command(command=cli, path=()):
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            yield from every_command(below, (*path, name))
    else:
        yield path, command


_COMMANDS = dict(every_command())


def options_of(command):
    return {name for parameter in command.params for name in parameter.opts}


def test_all_documented_commands_exist():
    promised = """inspect; index create; index drop; index list; index refresh; index verify;
    index stats; prune; explain; scan; layout analyze; layout cluster; virtual-keys enable;
    hive register; hive adopt; hive doctor; serve; bench; demo"""
    assert {tuple(each.split()) for each in promised.split(";")} <= set(_COMMANDS)


@pytest.mark.parametrize("path", _COMMANDS, ids=" ".join)
def test_each_command_explains_itself(path, run):
    code, out, _ = run(*path, "--help")
    assert code == 0
    command = _COMMANDS[path]
    assert command.help
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert path in _WITHOUT_JSON or any("--json" in each.opts for each in options)
    assert "Examples:" in out


@pytest.mark.parametrize("path", _COMMANDS, ids=" ".join)
def test_a_table_is_the_first_argument(path):
    parameters = _COMMANDS[path].params
    arguments = [each.name for each in parameters if isinstance(each, click.Argument)]
    if "table" in [each.name for each in parameters]:
        assert arguments[0] == "table"


@pytest.mark.parametrize("former", [["--table", "{}"], ["--table={}"]])
def test_the_former_option_still_names_the_table(former, run, golden):
    table = str(golden["cow_v9_txns_simple_meta"])
    given = [word.format(table) for word in former]
    code, out, err = run("index", "stats", "merchant_idx", *given, "--json")
    assert (code, out) == run("index", "stats", table, "merchant_idx", "--json")[:2]
    assert code == 0
    assert err == f"hint: --table goes with the next version: {table} comes first\n"


@pytest.mark.parametrize("path", [(), ("index",), ("layout",), ("virtual-keys",), ("hive",)])
def test_command_lists_show_complete_sentences(path, run):
    code, out, _ = run(*path, "--help")
    assert code == 0
    assert "..." not in out.partition("Commands:")[2].partition("Examples:")[0]


def test_the_list_of_commands_says_what_each_command_says_of_itself():
    context = click.Context(cli)
    of_themselves = Commands.command_helps(cli, context)
    assert cli.command_helps(context) == of_themselves


@pytest.mark.parametrize("asked", ["import pyhudi_expr", "HELP"])
def test_neither_the_package_nor_its_help_imports_what_takes_long(asked):
    """So that the package is imported in 80 ms, and the help shown in 150."""
    code = (
        "from pyhudi_expr.cli.main import main; assert main(['--help']) == 0"
        if asked == "HELP"
        else asked
    )
    code += "; import sys; print('modules', *sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    imported = out.stdout.rpartition("modules")[2].split()
    slow = {"numpy", "pyarrow", "pandas", "sqlglot", "rich", "jinja2", "thrift", "pydantic"}
    assert not slow & set(imported)


def test_examples_in_the_help_are_valid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.sql").touch()
    bars_shown = 0
    for command in (cli, *_COMMANDS.values()):
        for line in (command.epilog or "").splitlines():
            words = line.partition("  #")[0].partition(" | ")[0].strip()
            if words.startswith("pyhudi ") and "COMMAND" not in words and ">" not in words.split():
                assert_valid_command(words)
                bars_shown += 1
    assert bars_shown >= 10


def assert_valid_command(line):
    command: click.Command | None = cli
    words = shlex.split(line)[1:]
    while isinstance(command, click.Group):
        name, *words = words
        command = command.get_command(click.Context(command), name)
    assert command is not None
    command.make_context(command.name, list(words))


@pytest.mark.slow
def test_bash_completes_commands_and_choices(tmp_path):
    program = tmp_path / "pyhudi"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m pyhudi_expr.cli.main "$@"\n')
    program.chmod(0o755)
    script = tmp_path / "complete.sh"
    script.write_text(
        'eval "$(pyhudi completion bash)"\n'
        "COMP_WORDS=($1); COMP_CWORD=$2; _pyhudi_completion pyhudi\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def completed(line, word):
        command = ["bash", script, line, str(word)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert completed("pyhudi in", 1) == ["inspect", "index"]
    assert "verify" in completed("pyhudi index v", 2)
    assert completed("pyhudi prune t p --dialect tr", 5) == ["trino"]


@pytest.mark.parametrize("path", _COMMANDS, ids=" ".join)
def test_shells_complete_a_tables_directory(path):
    shell = ShellComplete(cli, {}, "pyhudi", COMPLETION_VARIABLE)
    for parameter in _COMMANDS[path].params:
        if parameter.name == "table":
            (item,) = shell.get_completions([*path], "/wareh")
            assert (item.type, item.value) == ("dir", "/wareh")


def completed(*words: str) -> list[str]:
    shell = ShellComplete(cli, {}, "pyhudi", COMPLETION_VARIABLE)
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


_OF_COLUMNS = [path for path, one in _COMMANDS.items() if "--columns" in options_of(one)]


@pytest.fixture
def patient(monkeypatch):
    """Names in a table are waited for, however busy the machine is."""
    monkeypatch.setattr(options, "_PATIENCE", 60)


@pytest.mark.parametrize("path", _OF_COLUMNS, ids=" ".join)
def test_shells_complete_columns_of_the_table(path, patient, golden):
    table = str(golden["cow_v9_txns_simple_meta"])
    assert completed(*path, table, "--columns", "merch") == ["merchant_name"]
    assert completed(*path, table, "--columns", "a,merch") == ["a,merchant_name"]
    assert completed(*path, table, "--columns", "_hoodie") == []


@pytest.mark.parametrize("command", ["drop", "refresh", "stats", "verify"])
def test_shells_complete_indexes_of_the_table(command, patient, golden):
    table = str(golden["cow_v9_txns_simple_meta"])
    everything = ["column_stats", "merchant_idx", "record_index", "txn_date_idx"]
    assert completed("index", command, table, "") == everything
    assert completed("index", command, table, "m") == ["merchant_idx"]


@pytest.mark.parametrize("table", ["nowhere", "lake.trips", "unknown://trips"])
def test_shells_complete_nothing_without_a_table(table, patient, capfd):
    assert completed("index", "drop", table, "") == []
    assert completed("scan", table, "--columns", "") == []
    assert completed("scan", "--columns", "") == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "words", ["pyhudi index drop s3://lake/trips ", "pyhudi scan s3://lake/trips t>2024-01-01 "]
)
def test_a_completion_ends_in_time_and_without_a_word(words):
    with silent_server() as endpoint:
        options = {"endpoint": endpoint, "access_key_id": "a", "secret_access_key": "b"}
        environment = {
            **os.environ,
            OPTIONS_VARIABLE: json.dumps(options),
            COMPLETION_VARIABLE: "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        command = [sys.executable, "-m", "pyhudi_expr.cli"]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=20
        )
    assert (done.stdout.split(), done.stderr) == ([], "")


def test_other_shells_have_a_completion_script(run):
    assert "#compdef pyhudi" in run("completion", "zsh")[1]
    assert "complete" in run("completion", "fish")[1]
    assert run("completion", "cmd")[0] == 2


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [(["inspct"], "inspect"), (["index", "crete"], "create"), (["virtual_keys"], "virtual-keys")],
)
def test_a_mistyped_command_suggests_the_nearest(run, words, suggestion):
    code, _, err = run(*words)
    assert code == 2
    assert f"is it {suggestion}?" in err


def test_an_unknown_command_is_refused(run):
    code, _, err = run("frobnicate")
    assert (code, "is it" in err) == (2, False)


def test_an_interrupted_command_ends_with_130(monkeypatch):
    @click.command()
    def slow():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "get_command", lambda context, name: slow)
    assert main(["slow"]) == 130


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colours_can_be_turned_off(monkeypatch, no_color, coloured):
    """Styles of our commands; rich, which prints tables, handles NO_COLOR itself."""
    monkeypatch.setenv("NO_COLOR", no_color)

    @click.command()
    def styled():
        click.secho("good", fg="green")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(cli, "get_command", lambda context, name: styled)
    assert main(["styled"]) == 0
    assert ("\x1b[" in screen.getvalue()) is coloured


def test_commands_longer_than_a_second_show_progress():
    screen = io.StringIO()
    with progress_while("pruning files", Console(file=screen, force_terminal=True, width=80)):
        limit = time.monotonic() + 20
        while "pruning files" not in screen.getvalue():
            assert time.monotonic() < limit
            time.sleep(0.05)


@pytest.mark.parametrize("terminal", [True, False])
def test_fast_commands_show_no_progress(terminal):
    screen = io.StringIO()
    with progress_while("pruning files", Console(file=screen, force_terminal=terminal)):
        pass
    assert "judging" not in screen.getvalue()

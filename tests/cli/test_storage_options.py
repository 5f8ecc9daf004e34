"""`--storage-option`: where it is given, for whom it counts, and that values are shown nowhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest

from pyhudi_expr.cli.main import cli, main
from pyhudi_expr.tables.storage.process_options import OPTIONS_VARIABLE, process_options
from tests.cli.conftest import Run
from tests.tables.storage.failing_servers import repeating_server

_SECRETS = ("S3CR3T-KEY-0f1e", "S3SS10N-T0K3N-77")
_TABLE = "s3://lake/trips"
_PREDICATE = "fare > 100"
#: Every command that reads a table without Spark and Hive.
_COMMANDS = (
    ("inspect", _TABLE),
    ("prune", _TABLE, _PREDICATE),
    ("explain", _TABLE, _PREDICATE),
    ("scan", _TABLE, _PREDICATE),
    ("bench", _TABLE, _PREDICATE),
    ("advise", _TABLE, "--queries", "queries.sql"),
    ("index", "list", _TABLE),
    ("index", "stats", _TABLE),
    ("layout", "analyze", _TABLE, "--predicate", _PREDICATE),
    ("virtual-keys", "report", _TABLE),
)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, str]]:
    """The process's options during each run of `pyhudi inspect` and `pyhudi index list`."""
    found: list[Mapping[str, str]] = []

    @click.command()
    @click.argument("words", nargs=-1)
    def noting(words: tuple[str, ...]) -> None:
        found.append(process_options())

    group = cli.get_command(click.Context(cli), "index")
    monkeypatch.setattr(cli, "find_command", lambda _, name: group if name == "index" else noting)
    monkeypatch.setattr(group, "find_command", lambda context, name: noting)
    monkeypatch.delenv(OPTIONS_VARIABLE, raising=False)
    return found


@pytest.mark.parametrize(
    "words",
    [
        "--storage-option a=1 --storage-option b=x=y inspect t",
        "inspect --storage-option a=1 t --storage-option b=x=y",
        "--storage-option a=2 inspect t --storage-option a=1 --storage-option b=x=y",
        "--storage-option a=1 index --storage-option b=x=y list",
        "index list --storage-option a=1 --storage-option b=x=y",
    ],
)
def test_options_are_the_process_s_until_the_command_ends(
    words: str, seen: list[Mapping[str, str]]
) -> None:
    assert main(words.split()) == 0
    assert seen == [{"a": "1", "b": "x=y"}]
    assert OPTIONS_VARIABLE not in os.environ


def test_options_are_added_to_those_of_the_environment(
    seen: list[Mapping[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = json.dumps({"a": "old", "c": True})
    monkeypatch.setenv(OPTIONS_VARIABLE, before)
    assert main(["--storage-option", "a=1", "inspect", "t"]) == 0
    assert seen == [{"c": "true", "a": "1"}]
    assert os.environ[OPTIONS_VARIABLE] == before


@pytest.mark.parametrize("option", [_SECRETS[0], "", f"={_SECRETS[0]}"])
@pytest.mark.parametrize("is_first", [True, False])
def test_an_option_without_a_name_or_a_value_is_refused(
    option: str, is_first: bool, run: Run
) -> None:
    given = ["--storage-option", option]
    code, out, err = run(*(given if is_first else []), "inspect", "t", *([] if is_first else given))
    assert (code, out) == (2, "")
    assert err.count("expected KEY=VALUE") == 1
    assert _SECRETS[0] not in err


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"{{{_SECRETS[0]}", "is not JSON"),
        (json.dumps([_SECRETS[0]]), "expected an object"),
        (json.dumps({"k": [_SECRETS[0]]}), "option k: expected a text"),
    ],
)
def test_a_malformed_variable_is_one_line(
    text: str, named: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OPTIONS_VARIABLE, text)
    code, _, err = run("inspect", _TABLE)
    assert (code, err.count("\n")) == (1, 1)
    assert named in err
    assert _SECRETS[0] not in err


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with repeating_server() as url:
        yield url


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("words", _COMMANDS, ids=lambda words: "-".join(words[:2]))
def test_failing_commands_show_no_secret(
    words: tuple[str, ...],
    debug: bool,
    endpoint: str,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.sql").write_text("SELECT * FROM trips WHERE fare > 100")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    options = {
        "endpoint": endpoint.replace("://", f"://user:{_SECRETS[0]}@"),
        "aws_access_key_id": "reader",
        "fs.s3a.secret.key": _SECRETS[0],
        "session_token": _SECRETS[1],
    }
    given = [word for pair in options.items() for word in ("--storage-option", "=".join(pair))]
    code, out, err = run(*(["--debug"] if debug else []), *given, *words)
    assert code == 1
    assert "s3://lake/trips" in err
    assert debug or (err.count("\n") == 1 and "400 Bad Request" in err)
    for secret in _SECRETS:
        assert secret not in out + err

"""Commands that remove or rewrite something ask on a terminal, and have a dry run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import click
import pytest

from pyhudi_expr.cli.main import cli
from tests.cli.conftest import Run
from tests.cli.terminals import at_a_terminal
from tests.tables.directory_contents import contents

DESTRUCTIVE = (
    "layout cluster",
    "index drop",
    "virtual-keys rewrite",
    "virtual-keys disable",
    "hive register",
)


@pytest.fixture
def table(golden: Mapping[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(golden["cow_v9_txns_simple_meta"], tmp_path / "t"))


@pytest.mark.parametrize("name", DESTRUCTIVE)
def test_destructive_commands_have_a_dry_run_and_do_not_ask_with_yes(name: str) -> None:
    command: click.Command | None = cli
    for word in name.split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    options = {option for parameter in command.params for option in parameter.opts}
    assert {"--dry-run", "--yes"} <= options


def test_no_is_an_answer(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(table)
    screen = at_a_terminal(monkeypatch, "n\n")
    code, out, _ = run("index", "drop", table, "merchant_idx")
    assert (code, out) == (1, "")
    assert f"The index merchant_idx of {table} is removed: secondary_index_" in screen.getvalue()
    assert screen.getvalue().endswith("pyhudi: nothing was changed\n")
    assert contents(table) == before


@pytest.mark.parametrize("given", [("y\n", ()), ("", ("--yes",))])
def test_yes_goes_on(
    run: Run, table: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, tuple[str, ...]]
) -> None:
    screen = at_a_terminal(monkeypatch, given[0])
    code, out, _ = run("index", "drop", table, "merchant_idx", *given[1])
    assert (code, out) == (0, "dropped merchant_idx\n")
    assert ("Continue?" in screen.getvalue()) is bool(given[0])


def test_nobody_is_asked_without_a_terminal(run: Run, table: Path) -> None:
    assert run("index", "drop", table, "merchant_idx")[0] == 0


def test_the_dry_run_of_a_drop_changes_nothing(run: Run, table: Path) -> None:
    before = contents(table)
    code, out, _ = run("index", "drop", table, "txn_date_idx", "--dry-run")
    assert (code, out) == (0, "would drop txn_date_idx: secondary_index_txn_date_idx\n")
    given = ("index", "drop", table, "merchant_idx", "--dry-run", "--json")
    planned = json.loads(run(*given)[1])
    assert planned["metadata_partitions"] == ["secondary_index_merchant_idx"]
    code, _, why = run("index", "drop", table, "column_stats", "--dry-run")
    assert code == 1
    assert "its newest action" in why
    assert run("index", "drop", table, "nothing", "--dry-run")[0] == 1
    given = ("index", "drop", table, "nothing", "--dry-run", "--if-exists")
    assert run(*given)[:2] == (0, "would drop nothing: nothing\n")
    assert contents(table) == before


def test_the_dry_run_of_a_clustering_needs_no_spark(run: Run, table: Path) -> None:
    before = contents(table)
    given = ("layout", "cluster", table, "--columns", "amount", "--files", "1", "--dry-run")
    code, out, _ = run(*given)
    assert code == 0
    assert out.startswith(f"would rewrite 5 files of {table} (")
    assert "partitions) as " in out
    report = json.loads(run(*given, "--json")[1])
    assert report["files_before"] == 5
    assert report["files_after"] == len(report["partitions"])
    assert contents(table) == before


def test_a_clustering_is_confirmed_before_spark_starts(
    run: Run, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = at_a_terminal(monkeypatch, "n\n")
    assert run("layout", "cluster", table, "--columns", "amount")[0] == 1
    assert f"Rewrites 5 files of {table}" in screen.getvalue()


def test_the_dry_run_of_a_rewrite_without_keys(
    run: Run, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    path = shutil.copytree(golden["cow_v8_complexkeygen_hivestyle"], tmp_path / "keys")
    code, _, err = run("virtual-keys", "rewrite", path, "--dry-run")
    assert (code, "still write _hoodie_record_key" in err) == (1, True)
    assert run("virtual-keys", "enable", path)[0] == 0
    before = contents(path)
    code, out, _ = run("virtual-keys", "rewrite", path, "--dry-run")
    assert code == 0
    assert out.startswith(f"would rewrite 3 files of {path} (")
    assert contents(path) == before


def test_the_dry_run_of_restored_keys_needs_no_spark(
    run: Run, golden: Mapping[str, Path], tmp_path: Path
) -> None:
    path = shutil.copytree(golden["cow_v8_complexkeygen_hivestyle"], tmp_path / "stored")
    assert "has no virtual keys" in run("virtual-keys", "disable", path, "--dry-run")[2]
    assert run("virtual-keys", "enable", path)[0] == 0
    out = run("virtual-keys", "disable", path, "--dry-run", "--json")[1]
    assert json.loads(out)["files"] == 0  # all of them still have stored keys
    without = golden["cow_v8_simplekeygen_hivestyle_no_metafields"]
    path = shutil.copytree(without, tmp_path / "virtual")
    assert run("virtual-keys", "enable", path)[0] == 0
    before = contents(path)
    code, out, _ = run("virtual-keys", "disable", path, "--dry-run")
    assert code == 0
    assert out.startswith(f"would rewrite 3 files of {path} (")
    assert contents(path) == before


def test_restoring_keys_is_confirmed_before_spark_starts(
    run: Run, golden: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = golden["cow_v8_simplekeygen_hivestyle_no_metafields"]
    path = shutil.copytree(without, tmp_path / "virtual")
    assert run("virtual-keys", "enable", path)[0] == 0
    screen = at_a_terminal(monkeypatch, "n\n")
    assert run("virtual-keys", "disable", path)[0] == 1
    assert f"Rewrites 3 files of {path}" in screen.getvalue()

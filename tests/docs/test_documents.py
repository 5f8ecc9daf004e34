"""The documents: programs run, commands and names exist, links lead somewhere.

`documents.Runner` says where pieces that need Spark or Hive are run.
"""

import ast
import importlib
import json
import re

import click
import pytest

from pyhudi_expr.cli.demo_table import write_demo_table
from pyhudi_expr.cli.main import cli, main
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.protocol.conversion.encoder import filter_text
from tests.docs.documents import (
    DOCUMENTS,
    ROOT,
    SHOWN,
    Piece,
    Runner,
    kinds,
    pieces,
    runner_of,
    tree,
)

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_CONSOLE = re.compile(r"console_address\W+[\d.]+:(\d+)", re.IGNORECASE)
_EXTRAS = re.compile(r"\[([\w,]+)\]")


def commands(runner=None):
    """The commands of `pyhudi`."""
    return [one for one in pieces(runner, "shell") if one.words[0] == "pyhudi"]


@pytest.mark.parametrize("piece", pieces(), ids=str)
def test_every_piece_of_code_is_run_by_a_test(piece):
    assert (ROOT / runner_of(piece).value).is_file()


def test_a_piece_that_no_test_runs_is_detected():
    for text in ("pyhudi vacuum /warehouse/trips", "curl localhost"):
        with pytest.raises(LookupError, match="no test runs it"):
            runner_of(Piece("docs/new.md", 0, "shell", text))


def test_blocks_have_known_kinds():
    assert {kind for _, kind in kinds()} <= {"python", "java", "sql", "", *SHOWN}


@pytest.mark.parametrize("piece", pieces(kind="python"), ids=str)
def test_imported_names_exist(piece):
    for node in ast.walk(tree(piece.text)):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("pyhudi_expr"):
            module = importlib.import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name), f"{node.module} has no {name.name}"


@pytest.mark.parametrize("piece", pieces(Runner.ALONE, "python"), ids=str)
def test_programs_without_spark_or_hive_run(piece, golden):
    # Any table will do: nothing is known of missing columns.
    source = piece.text.replace("/warehouse/trips", str(golden["cow_v9_txns_simple_meta"]))
    source = source.replace("fare", "amount").replace("city", "region")
    exec(compile(source, "document", "exec"), {"__name__": "document"})  # noqa: S102  the documents' own examples


@pytest.mark.parametrize("piece", commands(), ids=str)
def test_commands_are_valid(piece, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("queries.sql", "asked.jsonl"):
        (tmp_path / name).touch()
    (tmp_path / "history").mkdir()
    command: click.Command | None = cli
    words = piece.words[1:]
    while isinstance(command, click.Group):
        name, *words = words
        group, command = command, command.get_command(click.Context(command), name)
        assert command is not None, f"{group.name} has no command {name}"
    assert command is not None
    with command.make_context(command.name, list(words)):
        pass


def lines_of(program):
    return [one for one in pieces(Runner.ALONE, "shell") if one.words[0] == program]


@pytest.mark.parametrize("piece", lines_of("pip"), ids=str)
def test_documented_extras_exist(piece):
    project = (ROOT / "pyproject.toml").read_text()
    extras = project.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    for each in ",".join(_EXTRAS.findall(piece.text)).split(","):
        assert not each or re.search(rf"^{each} = \[", extras, re.MULTILINE), f"no extra {each}"


@pytest.mark.parametrize("piece", lines_of("make"), ids=str)
def test_documented_make_targets_exist(piece):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {word for word in piece.words[1:] if "=" not in word} <= set(targets)


def test_a_block_that_runs_from_the_environment_makes_it_before():
    """`make runtime handler` alone leaves a new checkout without `.venv`."""
    shell = pieces(kind="shell")
    using = [place for place, piece in enumerate(shell) if piece.words[0].startswith(".venv/bin/")]
    assert using
    for place in using:
        used = shell[place]
        made = [
            one.words[1:]
            for one in shell[:place]
            if (one.document, one.number, one.words[0]) == (used.document, used.number, "make")
        ]
        assert any("venv" in targets for targets in made), f"{used}: no `make venv` before it"


def test_the_console_of_all_examples_has_one_port(capsys):
    with pytest.raises(SystemExit):
        cli(["serve", "--help"])
    texts = [capsys.readouterr().out, *(document.read_text() for document in DOCUMENTS)]
    found = [port for text in texts for port in _CONSOLE.findall(text)]
    assert len(found) > 1
    assert set(found) == {"9101"}


@pytest.mark.parametrize("piece", pieces(Runner.CONTAINERS) + pieces(Runner.EXAMPLES), ids=str)
def test_documented_files_exist(piece):
    """Other tests run these files."""
    words = [re.sub(r"^examples\.(\w+)$", r"examples/\1.py", word) for word in piece.words]
    named = [word for word in words if re.match(r"(docker|examples)/", word)]
    made = "docker/secrets"
    assert named or "docker/compose.yaml" in piece.text
    assert all((ROOT / word).exists() for word in named if word != made)


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    path = tmp_path_factory.mktemp("documents") / "trips"
    write_demo_table(path)
    return path


@pytest.mark.parametrize("piece", commands(Runner.ALONE), ids=str)
def test_commands_without_spark_or_hive_run(piece, trips, tmp_path, monkeypatch, capsys):
    """On the demo's table, which has the columns of the documents' table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.sql").write_text("SELECT * FROM trips WHERE fare > 160")
    log = {"table": str(trips), "predicate": filter_text(parse_predicate("fare > 160"))}
    (tmp_path / "asked.jsonl").write_text(f"{json.dumps(log)}\n")
    (tmp_path / "history").mkdir()
    started = 'QueryStart QUERY_STRING="select id from trips where fare > 160" QUERY_ID="a"\n'
    (tmp_path / "history" / "session.txt").write_text(started)
    words = piece.words[1:]
    assert main([word.replace("/warehouse/trips", str(trips)) for word in words]) == 0
    assert capsys.readouterr().out.strip() or words[0] == "prune"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    for target in _LINK.findall(document.read_text()):
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (document.parent / path).resolve() if path else document
        assert file.exists(), f"{target} does not exist"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{path} has no heading {anchor}"


def anchors(document):
    headings = _HEADING.findall(document.read_text())
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }

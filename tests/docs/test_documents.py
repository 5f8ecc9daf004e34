"""What documents show: programs run or at least could, commands exist, links lead somewhere."""

import ast
import importlib
import json
import re
import shlex
from pathlib import Path

import click
import pytest

from pyhudi_expr.cli.demo_table import write_demo_table
from pyhudi_expr.cli.main import cli, main
from pyhudi_expr.frontend.json_encoder import dumps
from pyhudi_expr.frontend.sql import parse_predicate

_ROOT = Path(__file__).parents[2]
_DOCUMENTS = sorted(
    [
        *_ROOT.glob("*.md"),
        *(_ROOT / "docs").glob("*.md"),
        _ROOT / "handler-java" / "README.md",
        *(_ROOT / "examples").glob("*.md"),
    ]
)
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
#: Commands that are run on the demo's table, which has the columns of the documents' one.
_ALONE = {
    *("demo", "inspect", "explain", "prune", "scan", "bench", "advise"),
    *("layout analyze", "virtual-keys report", "index list", "index stats"),
}
#: Names that a reader has: a Spark session, frames, a HiveServer2. What uses them is not run here.
_GIVEN = {"spark", "frame", "changes", "hive"}


def blocks(*kinds):
    found = []
    for document in _DOCUMENTS:
        name = str(document.relative_to(_ROOT))
        for number, match in enumerate(_BLOCK.finditer(document.read_text())):
            indent, kind, text = match.groups()
            if kind in kinds:
                lines = [line.removeprefix(indent) for line in text.splitlines()]
                found.append(pytest.param("\n".join(lines) + "\n", id=f"{name}-{number}"))
    return found


def commands():
    for block in blocks("", "bash", "sh", "shell"):
        for line in block.values[0].replace("\\\n", " ").splitlines():
            words = shlex.split(line.removesuffix("&"), comments=True)
            # `...` stands for what else there may be.
            if words[:1] == ["pyhudi"] and not any("..." in word for word in words):
                yield pytest.param(words[1:], id=f"{block.id}-{' '.join(words[1:4])}")


def program(text):
    """A block's syntax tree; `...` at its end stands for the rest of a chain."""
    return ast.parse(text.replace(")...", ")"))


def uses(tree):
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.names[0].name for node in ast.walk(tree) if isinstance(node, ast.Import)}


@pytest.mark.parametrize("text", blocks("python"))
def test_what_programs_import_exists(text):
    for node in ast.walk(program(text)):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("pyhudi_expr"):
            module = importlib.import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name), f"{node.module} has no {name.name}"


@pytest.mark.parametrize("text", blocks("python"))
def test_programs_that_need_nothing_else_run(text, golden):
    tree = program(text)
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    if uses(tree) & _GIVEN or any(module.startswith("pyhive") for module in imported):
        return
    # Any table will do: of a column that it lacks nothing is known.
    source = text.replace("/warehouse/trips", str(golden["cow_v9_txns_simple_meta"]))
    source = source.replace("fare", "amount").replace("city", "region")
    exec(compile(source, "document", "exec"), {"__name__": "document"})  # noqa: S102  the documents' own examples


@pytest.mark.parametrize("words", list(commands()))
def test_commands_are_understood(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("queries.sql", "asked.jsonl"):
        (tmp_path / name).touch()
    (tmp_path / "history").mkdir()
    command = cli
    while isinstance(command, click.Group):
        name, *words = words
        group, command = command, command.get_command(click.Context(command), name)
        assert command is not None, f"{group.name} has no command {name}"
    command.make_context(command.name, list(words))


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    path = tmp_path_factory.mktemp("documents") / "trips"
    write_demo_table(path)
    return path


def runs_alone(words):
    """Whether the command needs neither Spark nor Hive, and ends by itself."""
    return words[0] in _ALONE or " ".join(words[:2]) in _ALONE


@pytest.mark.parametrize("words", [one for one in commands() if runs_alone(one.values[0])])
def test_commands_that_need_nothing_else_run(words, trips, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.sql").write_text("SELECT * FROM trips WHERE fare > 160")
    log = {"table": str(trips), "predicate": json.loads(dumps(parse_predicate("fare > 160")))}
    (tmp_path / "asked.jsonl").write_text(f"{json.dumps(log)}\n")
    (tmp_path / "history").mkdir()
    started = 'QueryStart QUERY_STRING="select id from trips where fare > 160" QUERY_ID="a"\n'
    (tmp_path / "history" / "session.txt").write_text(started)
    assert main([word.replace("/warehouse/trips", str(trips)) for word in words]) == 0
    assert capsys.readouterr().out.strip() or words[0] == "prune"


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: str(path.relative_to(_ROOT)))
def test_links_lead_somewhere(document):
    for target in _LINK.findall(document.read_text()):
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (document.parent / path).resolve() if path else document
        assert file.exists(), f"{target} is not there"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{path} has no heading {anchor}"


def anchors(document):
    headings = _HEADING.findall(document.read_text())
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }

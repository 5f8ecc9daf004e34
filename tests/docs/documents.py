"""The code blocks of the documents, split into pieces, and the test that runs each piece.

A piece is what a reader runs at once: a program, a SQL statement, a line of a shell.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        ROOT / "handler-java" / "README.md",
        ROOT / "hive-conf" / "README.md",
        *(ROOT / "examples").glob("*.md"),
    ]
)
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_SHELL = ("", "bash", "sh", "shell")
#: Blocks that are not run: output of programs.
SHOWN = ("text",)


class Runner(Enum):
    """The value is the test file that runs such pieces."""

    ALONE = "tests/docs/test_documents.py"
    """These pieces need nothing else, or only have to name existing things."""
    SPARK = "tests/docs/test_programs_with_spark.py"
    HIVE = "tests/hive/test_documents.py"
    EXAMPLES = "tests/examples/test_domains.py"
    SERVICE = "tests/service/test_process.py"
    SERVER = "tests/devtools/test_hiveserver.py"
    OBJECT_STORES = "tests/tables/storage/test_documents.py"
    HDFS = "tests/tables/storage/hadoop/test_hdfs.py"
    GUIDE = "tests/api/test_guide.py"
    """These programs are one session."""
    CONTAINERS = "tests/containers/conftest.py"
    """These lines need the images and the compose file."""
    AUTHENTICATION = "tests/hive/test_authentication.py"
    DEPLOYMENT = "tests/deployment/test_guide.py"
    STATEMENTS = "tests/spark/statements/test_documents.py"


_COMMANDS = {
    **dict.fromkeys(("pip", "make"), Runner.ALONE),
    **dict.fromkeys(("python", "java"), Runner.EXAMPLES),
    **dict.fromkeys(("docker-compose", "docker/build.sh", "docker/secrets.sh"), Runner.CONTAINERS),
    "beeline": Runner.HIVE,
    "export": Runner.OBJECT_STORES,
    ".venv/bin/python": Runner.SERVER,
}
_PYHUDI = {
    **dict.fromkeys(
        ("demo", "inspect", "explain", "prune", "scan", "bench", "advise", "audit"),
        Runner.ALONE,
    ),
    **dict.fromkeys(
        ("virtual-keys report", "index list", "index stats", "layout analyze"), Runner.ALONE
    ),
    **dict.fromkeys(("index create", "index verify", "index drop"), Runner.SPARK),
    **dict.fromkeys(("layout cluster",), Runner.SPARK),
    **dict.fromkeys(
        ("virtual-keys enable", "virtual-keys rewrite", "virtual-keys disable"), Runner.SPARK
    ),
    **dict.fromkeys(("hive jars", "hive register", "hive adopt", "hive doctor"), Runner.HIVE),
    "serve": Runner.SERVICE,
}
#: Its tables are in a bucket.
_OF_OBJECT_STORES = "docs/object-stores.md"
#: Its tables are in HDFS.
_OF_HDFS = "docs/hdfs.md"
#: Its programs are one session.
_GUIDE = "docs/python.md"
#: It is one sequence of steps.
_OF_DEPLOYMENT = "docs/deployment.md"
#: Its statements are Spark's.
_OF_STATEMENTS = "docs/spark-statements.md"
#: Its HiveServer2 asks who calls.
_OF_AUTHENTICATION = "docs/hive-security.md"
#: Names that a reader has defined.
_OF_SPARK = {"spark", "frame", "changes"}


@dataclass(frozen=True)
class Piece:
    """kind: `python`, `java`, `sql` or `shell`. number: of the block in its document."""

    document: str
    number: int
    kind: str
    text: str

    @property
    def words(self) -> list[str]:
        """The words of a shell's line."""
        return shlex.split(self.text.removesuffix("&"), comments=True)

    def __str__(self) -> str:
        return f"{self.document}-{self.number}-{' '.join(self.text.split())[:40]}"


def pieces(runner: Runner | None = None, kind: str | None = None) -> list[Piece]:
    """The pieces of all documents, in order: those of one runner, of one kind."""
    every = (one for document in DOCUMENTS for one in _pieces(document))
    return [
        one
        for one in every
        if kind in (None, one.kind) and (runner is None or runner_of(one) is runner)
    ]


def runner_of(piece: Piece) -> Runner:
    """Raises LookupError if no test runs it."""
    if piece.document == _OF_DEPLOYMENT:
        return Runner.DEPLOYMENT
    if piece.document == _OF_AUTHENTICATION:
        return Runner.AUTHENTICATION
    if piece.document == _OF_HDFS:
        return Runner.HDFS
    runner = _runner_anywhere(piece)
    if piece.document == _GUIDE and piece.kind == "python":
        return Runner.GUIDE
    is_remote = piece.document == _OF_OBJECT_STORES and runner is Runner.ALONE
    return Runner.OBJECT_STORES if is_remote else runner


def _runner_anywhere(piece: Piece) -> Runner:
    if piece.document == _OF_STATEMENTS:
        return Runner.STATEMENTS
    if piece.kind in ("sql", "java"):
        return Runner.HIVE
    if piece.kind == "python":
        modules, names = imported_modules(piece.text), names_used(piece.text)
        if any(module.startswith("pyhive") for module in modules):
            return Runner.HIVE
        return Runner.SPARK if names & _OF_SPARK else Runner.ALONE
    words = piece.words
    if words[0] == "pyhudi":
        runner_of_command = _PYHUDI.get(words[1]) or _PYHUDI.get(" ".join(words[1:3]))
    else:
        runner_of_command = _COMMANDS.get(words[0])
    if runner_of_command is None:
        raise LookupError(f"{piece}: no test runs it")
    return runner_of_command


def kinds() -> Iterator[tuple[str, str]]:
    """The document and the kind of every block of code."""
    for document in DOCUMENTS:
        for match in _BLOCK.finditer(document.read_text()):
            yield str(document.relative_to(ROOT)), match.group(2)


def _pieces(document: Path) -> Iterator[Piece]:
    name = str(document.relative_to(ROOT))
    for number, match in enumerate(_BLOCK.finditer(document.read_text())):
        indent, kind, text = match.groups()
        text = "\n".join(line.removeprefix(indent) for line in text.splitlines()) + "\n"
        if kind in ("python", "java"):
            yield Piece(name, number, kind, text)
        elif kind == "sql":
            for statement in re.sub(r"--.*", "", text).split(";"):
                if statement.strip():
                    yield Piece(name, number, kind, statement.strip())
        elif kind in _SHELL:
            for line in text.replace("\\\n", " ").splitlines():
                if shlex.split(line, comments=True):
                    yield Piece(name, number, "shell", line.strip())


def tree(text: str) -> ast.Module:
    """A program's syntax; `...` at its end stands for the rest of a chain."""
    return ast.parse(text.replace(")...", ")"))


def imported_modules(text: str) -> list[str]:
    """The modules from which a program imports names."""
    return [one.module or "" for one in ast.walk(tree(text)) if isinstance(one, ast.ImportFrom)]


def names_used(text: str) -> set[str]:
    """The names in a program."""
    return {node.id for node in ast.walk(tree(text)) if isinstance(node, ast.Name)}

"""Move the package's modules into ten rooms, with every name and path that names one.

`python devtools/move_rooms.py` in a checkout moves what is not moved yet, and replaces old names in
all text files, also in those that were added since: so it also brings a branch up to date.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "pyhudi_expr"
MODULES = {
    "table.errors": "errors",
    "table.optional_dependencies": "optional_dependencies",
    "table": "tables",
    "keys": "tables.keys",
    "parquet": "tables.parquet",
    "mdt": "tables.mdt",
    "protocol.ttypes": "protocol.generated.ttypes",
    "protocol.constants": "protocol.generated.constants",
    "protocol.PruningService": "protocol.generated.PruningService",
    "frontend.thrift": "protocol.conversion",
    "frontend": "expr.frontend",
    "backend": "expr.backend",
    "service.client": "protocol.client",
    "prune": "index.prune",
    "limits": "index.limits",
    "kept_rows": "index.kept_rows",
    "reading": "rows",
    "indexing": "manage.indexing",
    "layout": "manage.layout",
    "audit": "manage.audit",
    "advice": "manage.advice",
    "following": "manage.following",
    "hive": "manage.hive",
    "pages": "api.pages",
    "api.metadata_views": "index.description.metadata_views",
    "api.column_ranges": "index.description.column_ranges",
    "api.contents": "index.description.contents",
}
TESTS = {
    "table": "tables",
    "keys": "tables/keys",
    "mdt": "tables/mdt",
    "frontend/thrift": "protocol",
    "frontend": "expr/frontend",
    "backend": "expr/backend",
    "prune": "index/prune",
    "limits": "index/limits",
    "test_kept_rows.py": "index/test_kept_rows.py",
    "reading": "rows",
    "indexing": "manage/indexing",
    "layout": "manage/layout",
    "audit": "manage/audit",
    "advice": "manage/advice",
    "following": "manage/following",
    "pages": "api/pages",
    "api/test_metadata_views.py": "index/description/test_metadata_views.py",
}
"""Tests of Hive stay: they start an engine, and are more than those of one room."""

_TEXT = {
    ".py",
    ".java",
    ".md",
    ".toml",
    ".thrift",
    ".html",
    ".yml",
    ".yaml",
    ".sh",
    ".json",
    ".txt",
}
_NAMED = {"Makefile", ".gitignore", "Dockerfile", "run"}
_RECORDED = ("CHANGELOG.md", "devtools/move_rooms.py", "bench/results.json")


def tracked() -> list[str]:
    """Return the files of the repository."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return listed.stdout.splitlines()


def moved_module(name: str) -> str:
    """Return the new dotted name, without the package, of an old one."""
    for old, new in MODULES.items():
        if name == old or name.startswith(old + "."):
            return new + name[len(old) :]
    return name


def moved_test(path: str) -> str:
    """Return where a test goes, from `tests`."""
    for old, new in TESTS.items():
        if path == old or path.startswith(old + "/"):
            return new + path[len(old) :]
    return path


def target(path: str) -> str:
    """Return where a file goes."""
    head, _, rest = path.partition("/")
    if head == "tests" and rest:
        return f"tests/{moved_test(rest)}"
    if head != PACKAGE:
        return path
    dotted = rest.removesuffix(".py").replace("/", ".")
    suffix = ".py" if rest.endswith(".py") else ""
    if suffix:
        return f"{PACKAGE}/{moved_module(dotted).replace('.', '/')}{suffix}"
    for old, new in MODULES.items():
        if rest.startswith(old.replace(".", "/") + "/"):
            return f"{PACKAGE}/{new.replace('.', '/')}{rest[len(old) :]}"
    return path


def move_files() -> None:
    """Move what is not moved yet."""
    moved = {}
    for path in tracked():
        new = target(path)
        # A room's docstring stays with what was in it; a room that has one keeps its own.
        if new != path and not (new.endswith("__init__.py") and (ROOT / new).exists()):
            moved[path] = new
    for path, new in moved.items():
        (ROOT / new).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "mv", path, new], cwd=ROOT, check=True)
        if path.startswith("tests/"):
            deepen(ROOT / new, new.count("/") - path.count("/"))


def deepen(file: Path, by: int) -> None:
    """Keep what a test finds from its own place."""
    if by and file.suffix == ".py":
        text = file.read_text()
        file.write_text(
            re.sub(
                r"(__file__\)(?:\.resolve\(\))?\.parents\[)(\d)\]",
                lambda found: f"{found[1]}{int(found[2]) + by}]",
                text,
            )
        )


_DOTTED = re.compile(rf"\b{PACKAGE}\.([a-zA-Z_0-9]+(?:\.[a-zA-Z_0-9]+)*)")
_PATH = re.compile(rf"\b{PACKAGE}/([a-z_0-9]+(?:/[a-z_0-9]+)*)")
_TEST_PATH = re.compile(r"\btests/([a-z_0-9]+(?:/[a-z_0-9]+)*(?:\.py)?)")
_TEST_DOTTED = re.compile(r"\btests\.([a-z_0-9]+(?:\.[a-z_0-9]+)*)")
_IMPORTED = re.compile(
    rf"^(\s*from {PACKAGE}(?:\.[a-z_.]+)? import )(\w+(?:, \w+)*)$", re.MULTILINE
)


def renamed(text: str) -> str:
    """Return a text with the new names."""

    def imports(found: re.Match[str]) -> str:
        base = found[1].split()[1].removeprefix(PACKAGE).removeprefix(".")
        lines = []
        for name in found[2].split(", "):
            old = f"{base}.{name}" if base else name
            new = moved_module(old)
            room, _, module = new.rpartition(".")
            indent = found[1][: len(found[1]) - len(found[1].lstrip())]
            if new == old or module != name:
                room, module = base, name
            lines.append(f"{indent}from {'.'.join(filter(None, [PACKAGE, room]))} import {module}")
        return "\n".join(lines)

    def dotted(found: re.Match[str]) -> str:
        if found[1] == "table":  # the function
            return found[0]
        return f"{PACKAGE}.{moved_module(found[1])}"

    def path(found: re.Match[str]) -> str:
        return f"{PACKAGE}/{moved_module(found[1].replace('/', '.')).replace('.', '/')}"

    def test_path(found: re.Match[str]) -> str:
        return f"tests/{moved_test(found[1])}"

    def test_dotted(found: re.Match[str]) -> str:
        return f"tests.{moved_test(found[1].replace('.', '/')).replace('/', '.')}"

    text = _IMPORTED.sub(imports, text)
    text = _DOTTED.sub(dotted, text)
    text = _PATH.sub(path, text)
    text = _TEST_PATH.sub(test_path, text)
    return _TEST_DOTTED.sub(test_dotted, text)


def main() -> None:
    """Move files, then replace names."""
    move_files()
    for path in tracked():
        file = ROOT / path
        if path in _RECORDED or path.startswith("devtools/changes/"):
            continue
        if (
            file.suffix not in _TEXT
            and file.name not in _NAMED
            and not file.name.startswith("Docker")
        ):
            continue
        text = file.read_text()
        new = renamed(text)
        if new != text:
            file.write_text(new)


if __name__ == "__main__":
    main()

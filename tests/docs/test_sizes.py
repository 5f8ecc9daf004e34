"""The sizes that keep the code easy to find and to read."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from devtools.runtime import ROOT

_ROOMS = ("pyhudi_expr", "tests", "devtools", "bench", "handler-java/src", "handler-java/spark/src")
_GENERATED = (ROOT / "pyhudi_expr" / "protocol", ROOT / "handler-java" / "src" / "gen")
_NO_CODE = ("__init__.py", "conftest.py", "package-info.java")


def _sources() -> Iterator[Path]:
    for room in _ROOMS:
        for path in (ROOT / room).rglob("*.*"):
            is_generated = any(map(path.is_relative_to, _GENERATED))
            if path.suffix in (".py", ".java") and not is_generated:
                yield path


def test_a_folder_has_at_most_twenty_files_of_code():
    files = Counter(path.parent for path in _sources() if path.name not in _NO_CODE)
    assert {str(folder.relative_to(ROOT)): n for folder, n in files.items() if n > 20} == {}


def test_a_module_has_at_most_four_hundred_lines():
    def lines(path: Path) -> int:
        return path.read_text().count("\n")

    modules = [path for path in _sources() if path.suffix == ".py"]
    assert {path.name: lines(path) for path in modules if lines(path) > 400} == {}

"""Copy the project and its requirements out of the current environment.

`python -m devtools.packages DIRECTORY [EXTRA...]` fills a directory for PYTHONPATH with what `pip
install pyhudi-expr[EXTRA,...]` would install, in the tested versions, without a network.
"""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from devtools.runtime import ROOT

_PROJECT = "pyhudi-expr"
_PACKAGE = "pyhudi_expr"
_UNWANTED = ("__pycache__", "*.pyc", "tests")


def needed(name: str, extras: Iterable[str] = ()) -> Iterator[Distribution]:
    """Return a distribution and all that it requires here, each once.

    Raises:
        PackageNotFoundError: One of them is not installed.
    """
    seen: set[tuple[str, str]] = set()
    found: set[str] = set()
    waiting = [(name, extra) for extra in ("", *extras)]
    while waiting:
        one, extra = waiting.pop()
        key = (canonicalize_name(one), extra)
        if key in seen:
            continue
        seen.add(key)
        installed = distribution(one)
        if key[0] not in found:
            found.add(key[0])
            yield installed
        for text in installed.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting.extend((requirement.name, other) for other in ("", *requirement.extras))


def copy(target: Path, extras: Iterable[str]) -> None:
    """Fill a new directory."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for package in needed(_PROJECT, extras):
        for file in package.files or ():
            source = Path(str(file.locate()))
            # Scripts are outside the directory of packages, and belong to this environment.
            if ".." in file.parts or file.suffix in (".pyc", ".pth") or not source.is_file():
                continue
            _place(source, target.joinpath(*file.parts))
    ours = shutil.ignore_patterns(*_UNWANTED)
    shutil.copytree(ROOT / _PACKAGE, target / _PACKAGE, ignore=ours, dirs_exist_ok=True)


def _place(source: Path, target: Path) -> None:
    """Link a file if the file system allows it, or copy it: PySpark alone is 400 MB."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


if __name__ == "__main__":
    try:
        copy(Path(sys.argv[1]), sys.argv[2:])
    except PackageNotFoundError as error:
        raise SystemExit(f"{error.name} is not installed: run `make venv`") from None

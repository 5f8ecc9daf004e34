"""The installed package, and what may be missing beside it: packages of extras, and our jars."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from pyhudi_expr.errors import HudiError

_METADATA = re.compile(r"pyhudi_expr-(.+)\.dist-info")


@cache
def version() -> str:
    """Return the version of the installed package.

    By the name of its metadata's directory, as importlib.metadata finds it: to import that takes
    longer than an answer from a snapshot.
    """
    for directory in sys.path:
        try:
            names = os.listdir(directory or ".")
        except OSError:  # an archive, or missing
            names = []
        for name in names:
            found = _METADATA.fullmatch(name)
            if found:
                return found[1]
    import importlib.metadata

    return importlib.metadata.version("pyhudi-expr")


@contextmanager
def require_extra(extra: str) -> Iterator[None]:
    """Wrap a block that imports the packages of an extra.

    Raises:
        HudiError: A package is missing; the message names the extra.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        raise HudiError(
            f"{missing} is missing; install the extra: pip install 'pyhudi-expr[{extra}]'"
        ) from error


def own_jar(name: str, goal: str) -> Path:
    """Return the path of a jar of this project: that of the wheel, or of a checkout.

    Args:
        name: The file's name.
        goal: Which target of the Makefile builds it.

    Raises:
        HudiError: It is missing.
    """
    package = Path(__file__).resolve().parent
    target = package.parent / "handler-java" / "target"
    for directory in (package / "jars", target, target / "spark", target / "hive3"):
        if (directory / name).is_file():
            return directory / name
    raise HudiError(
        f"{name} is missing: neither the package has it nor {target}; install a wheel of a"
        f" release, or build it by: make {goal}"
    )

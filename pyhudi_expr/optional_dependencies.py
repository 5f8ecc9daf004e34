"""Report what may be missing: packages of an extra, and this project's jars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyhudi_expr.errors import HudiError


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

"""Report missing packages of an extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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

"""What is said where a package of an extra is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyhudi_expr.table.errors import HudiError


@contextmanager
def require_extra(extra: str) -> Iterator[None]:
    """For a block that imports what comes with an extra.

    Raises HudiError, which names the extra, where a package is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        raise HudiError(
            f"{missing} is missing; install the extra: pip install 'pyhudi-expr[{extra}]'"
        ) from error

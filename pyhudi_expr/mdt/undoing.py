"""Taking back what was begun when the rest of it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyhudi_expr.table.errors import HudiError


@contextmanager
def undone_on_failure(undo: Callable[[], object]) -> Iterator[None]:
    """Calls `undo` when the block is left by an exception, which goes on.

    Where that fails too (the disk is still full, say), the next command on the table does it: the
    error that is raised then says both.
    """
    try:
        yield
    except BaseException as error:
        try:
            undo()
        except HudiError as second:
            if not isinstance(error, Exception):
                raise error from second
            raise HudiError(
                f"{error}; what was begun stays until the next command on the table takes it back, "
                f"as that failed, too: {second}"
            ) from error
        raise

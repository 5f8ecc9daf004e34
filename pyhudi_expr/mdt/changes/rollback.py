"""Taking back what was begun when the rest of it fails."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.properties import HOODIE_DIR
from pyhudi_expr.table.storage import Storage

_RESERVE = f"{HOODIE_DIR}/pyhudi/reserve"
_RESERVED = 1 << 16
"""Bytes: of locks, properties, definitions and the register."""


@contextmanager
def rollback_on_failure(undo: Callable[[], object]) -> Iterator[None]:
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


@contextmanager
def reserve_disk_space(table: Storage) -> Iterator[Callable[[], None]]:
    """Keeps room on the table's disk until the block is left, or what it gives is called: so what
    takes a change back, or ends it, fits on a disk that is full by then. Raises HudiError.

    Within `rollback_on_failure`, whose `undo` finds the room. One file does for all who change the
    table: it is of use where one of them fails, and of one that died the next makes it anew.
    """

    def give_back() -> None:
        table.delete(_RESERVE)

    table.write(_RESERVE, os.urandom(_RESERVED))  # zeros would take no room on some file systems
    try:
        yield give_back
    finally:
        give_back()

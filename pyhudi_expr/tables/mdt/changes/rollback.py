"""Roll a change back if the rest of it fails."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyhudi_expr.errors import CorruptFile, HudiError
from pyhudi_expr.tables.hudi_names import HOODIE_DIR
from pyhudi_expr.tables.parsing.budget import parse_json
from pyhudi_expr.tables.process_owner import is_gone, this_process
from pyhudi_expr.tables.storage import Storage

_RESERVE = f"{HOODIE_DIR}/pyhudi/reserve"
_RESERVED = 1 << 16
"""Bytes: of locks, properties, definitions and the register."""


@contextmanager
def rollback_on_failure(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` if the block raises, and let the exception pass.

    If `undo` fails as well (for example, the disk is still full), the next command on the table
    does it; the error that is raised then describes both.
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
                f"{error}; what was started stays until the next command on the table takes it"
                f" back, as that failed, too: {second}"
            ) from error
        raise


def abandoned_space(table: Storage) -> str | None:
    """Return the file by which a process that has ended since reserves space; None if none does."""
    content = table.read_if_present(_RESERVE)
    return _RESERVE if content is not None and is_gone(_owner(content)) else None


def _owner(content: bytes) -> dict[str, str]:
    try:
        owner = parse_json(content.partition(b"\n")[0], _RESERVE)
    except CorruptFile:
        return {}
    return owner if isinstance(owner, dict) else {}


@contextmanager
def reserve_disk_space(table: Storage) -> Iterator[Callable[[], None]]:
    """Reserve space on the table's disk until the block ends, or the yielded function is called.

    With it a change can be rolled back, or completed, on a disk that has become full. Use it within
    `rollback_on_failure`, whose `undo` gets the space. One file serves all changes of the table; a
    file that a failed process left is created anew by the next one.

    Raises:
        HudiError: There is not enough space.
    """

    def give_back() -> None:
        """Release the space."""
        table.delete(_RESERVE)

    owner = json.dumps(this_process()).encode() + b"\n"
    # Zeros would take no space on some file systems.
    table.write(_RESERVE, owner + os.urandom(_RESERVED - len(owner)))
    try:
        yield give_back
    finally:
        give_back()

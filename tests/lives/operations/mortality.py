"""Death of a command at one of its changes of files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

from pyhudi_expr.tables.storage.storage import Storage
from tests.failure_fixtures import CHANGES, Killed

_LAST = 40


@dataclass
class Death:
    """Whether it came before the command ended, and after how many changes."""

    changes_left: int
    happened: bool = False

    def count(self) -> None:
        """A file is about to be changed. Raises Killed from the death on."""
        if self.changes_left == 0:
            self.happened = True
            raise Killed
        self.changes_left -= 1


@contextmanager
def killed_at_random(random: Random) -> Iterator[Death]:
    """Let what runs in this context change a random number of files, and no more."""
    death = Death(random.randrange(_LAST))
    with ExitStack() as patches:
        for name in CHANGES:
            patches.enter_context(patch.object(Storage, name, _counted(name, death)))
        with suppress(Killed):
            yield death


def _counted(name: str, death: Death) -> Any:
    change = getattr(Storage, name)

    def counting(self: Storage, *arguments: Any, **options: Any) -> Any:
        death.count()
        return change(self, *arguments, **options)

    return counting

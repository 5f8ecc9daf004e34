"""What a step does: one value for each operation, and whose it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from random import Random

from tests.lives.life import Life


class Owner(Enum):
    """Whose code an operation runs."""

    HUDI = "hudi"
    OURS = "ours"
    WORLD = "world"
    """Damage, and processes that come and go."""


def always(_life: Life) -> bool:
    return True


@dataclass(frozen=True)
class Operation:
    """An operation of a life.

    Attributes:
        name: Its name in scripts.
        owner: Whose code it runs.
        run: Does it to the table, and to the model.
        applies: Whether it can be done to a table in this state.
    """

    name: str
    owner: Owner
    run: Callable[[Life, Random], None]
    applies: Callable[[Life], bool] = always

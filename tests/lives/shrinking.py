"""The shortest sequence of steps that ends a life in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.lives.living import OPERATIONS, Lived, Place, replayed
from tests.lives.operations.operation import Owner
from tests.lives.shapes import Script, Step

_TRIES = 16


def shortest(ended: Lived, live: Callable[[Script], Lived], tries: int = _TRIES) -> Lived:
    """Leave out steps, half of them, a quarter and so on, as long as the end is the same.

    Args:
        ended: A life that ended by a harm.
        live: Lives a script again.
        tries: The number of lives that this may take.
    """
    best, size = ended, max(1, (len(ended.script.steps) - 1) // 2)
    while tries and size:
        shorter = None
        for start in range(0, max(len(best.script.steps) - 1, 0), size):
            if not tries:
                break
            tries -= 1
            again = live(replace(best.script, steps=_without(best.script.steps, start, size)))
            if again.ending == ended.ending and len(again.script.steps) < len(best.script.steps):
                shorter = again
                break
        if shorter is None:
            size //= 2
        else:
            best, size = shorter, min(size, max(1, (len(shorter.script.steps) - 1) // 2))
    return best


def is_hudis_own(ended: Lived, place: Place) -> bool:
    """Whether Hudi alone, without any operation of ours, ends a life in the same way.

    Hudi alone drops indexes that its settings do not ask for; the extension is there to keep them.
    """
    if ended.ending == "index":
        return False
    steps = [one for one in ended.script.steps if OPERATIONS[one.operation].owner is Owner.HUDI]
    return place.alone().live(ended.script.shape, replayed(steps)).ending == ended.ending


def _without(steps: Sequence[Step], start: int, size: int) -> tuple[Step, ...]:
    """All but some; the last step, which ended the life, stays."""
    kept = [*steps[:-1][:start], *steps[:-1][start + size :], steps[-1]]
    return tuple(kept)

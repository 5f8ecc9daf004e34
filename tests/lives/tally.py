"""Many lives, a part of them in each process, and what they have come to.

Processes import this module by its name; they cannot import a package's `__main__`.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.lives.living import Lived, Meetings, Place, drawn_steps, replayed
from tests.lives.sessions import shared_sessions
from tests.lives.shapes import Beginning, drawn
from tests.lives.shrinking import is_hudis_own, shortest


@dataclass(frozen=True)
class Orders:
    """Which lives are lived.

    Attributes:
        seed: Of the random choices; a life has its own with its number.
        lives: The number of lives of all processes.
        steps: The most steps of a life.
        processes: Each lives each `processes`-th life.
        seconds: No new life starts after so many.
        shrinks: Whether the shortest life that shows a harm is looked for.
    """

    seed: str
    lives: int
    steps: int
    processes: int
    seconds: float
    shrinks: bool


@dataclass(frozen=True)
class Tally:
    """What lives have come to.

    Attributes:
        lives: Their number.
        steps: That of their steps.
        ends: How many something ended, by whose it is: ``hudi`` or ``ours``.
        pairs: The operations that have met, the earlier one first.
    """

    lives: int = 0
    steps: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    pairs: frozenset[tuple[str, str]] = frozenset()

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.lives + other.lives,
            self.steps + other.steps,
            self.ends + other.ends,
            self.pairs | other.pairs,
        )


@contextmanager
def open_place() -> Iterator[Place]:
    """Start the sessions that lives share, in a new directory."""
    with (
        tempfile.TemporaryDirectory(prefix="lives") as root,
        shared_sessions(Path(root)) as sessions,
    ):
        yield Place(Path(root), sessions)


def live_part(orders: Orders, part: int) -> Tally:
    """Live the lives of one of the processes, counted from 0."""
    meetings, ends = Meetings(), Counter[str]()
    started, steps, lives = time.monotonic(), 0, 0
    with open_place() as place:
        for number in range(part, orders.lives, orders.processes):
            if time.monotonic() - started > orders.seconds:
                break
            random = Random(f"{orders.seed}/{number}")
            shape = drawn(random, tuple(Beginning))
            lived = place.live(shape, drawn_steps(random, meetings, orders.steps))
            lives, steps = lives + 1, steps + len(lived.script.steps)
            print(f"{number}: {described_ending(lived)}", flush=True)
            if lived.ending:
                ends[_judged(lived, place, shrinks=orders.shrinks)] += 1
    return Tally(lives, steps, ends, frozenset(meetings.pairs))


def _judged(lived: Lived, place: Place, *, shrinks: bool) -> str:
    """Says whose a harm is, and prints the shortest life that shows it."""
    if is_hudis_own(lived, place):
        print(f"   Hudi alone does the same: {lived.script.text()}", flush=True)
        return "hudi"
    if shrinks:
        short = shortest(lived, lambda script: place.live(script.shape, replayed(script.steps)))
        print(f"   HARMED, shortest: {described_ending(short)}", flush=True)
    return "ours"


def described_ending(lived: Lived) -> str:
    """Return how a life ended, its steps, and what was noted, one a line."""
    end = str(lived.harm) if lived.harm else lived.failure or "unharmed"
    more = [f"   {what}: {text}" for what, text in {**lived.notes, **lived.refusals}.items()]
    first = f"{lived.seconds:.0f} s, {len(lived.script.steps)} steps, {end}"
    return "\n".join((first, f"   {lived.script.text()}", *more))

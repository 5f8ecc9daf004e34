"""`make lives`: random lives of tables, and a model of their rows beside each.

    python -m tests.lives --cases 60 --seed 7 --processes 2
    python -m tests.lives --replay "type=COPY_ON_WRITE,... upsert:12 optimize:7"

The last line is ``N lives, N steps, 0 harmed``, and the exit code 0. Otherwise the exit code is 1,
and the shortest sequence of steps of each harm is printed first, as a line that `--replay` takes.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from itertools import repeat
from multiprocessing import get_context
from operator import add
from pathlib import Path
from random import Random

from tests.lives.living import Lived, Meetings, Place, drawn_steps, replayed
from tests.lives.sessions import shared_sessions
from tests.lives.shapes import Beginning, drawn, parsed
from tests.lives.shrinking import is_hudis_own, shortest


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


def main() -> int:
    """Returns the exit code: 1 if a table was harmed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--processes", type=int, default=1, help="each needs 4 GiB and a core")
    parser.add_argument("--seed", default=str(secrets.randbelow(10**9)))
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="no new life after so many"
    )
    parser.add_argument("--replay", help="a line that an earlier run printed")
    parser.add_argument("--no-shrink", action="store_true", help="print the whole life of a harm")
    arguments = parser.parse_args()
    if arguments.replay:
        return _replay(arguments.replay)
    print(f"seed {arguments.seed}", flush=True)
    started, processes = time.monotonic(), arguments.processes
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        parts = pool.map(_live, repeat(arguments), range(processes))
        total = reduce(add, parts, Tally())
    share = len(total.pairs) / Meetings().total
    print(f"{time.monotonic() - started:.0f} s, {share:.0%} of the pairs of operations have met")
    if total.ends["hudi"]:
        print(f"{total.ends['hudi']} lives ended by Hudi itself")
    print(f"{total.lives} lives, {total.steps} steps, {total.ends['ours']} harmed")
    return 1 if total.ends["ours"] else 0


@contextmanager
def _place() -> Iterator[Place]:
    with (
        tempfile.TemporaryDirectory(prefix="lives") as root,
        shared_sessions(Path(root)) as sessions,
    ):
        yield Place(Path(root), sessions)


def _replay(line: str) -> int:
    script = parsed(line)
    with _place() as place:
        lived = place.live(script.shape, replayed(script.steps))
    print(_ending(lived))
    return 1 if lived.harm else 0


def _live(arguments: argparse.Namespace, part: int) -> Tally:
    """Live the lives of one of the processes, counted from 0."""
    meetings, ends = Meetings(), Counter[str]()
    started, steps, lives = time.monotonic(), 0, 0
    with _place() as place:
        for number in range(part, arguments.cases, arguments.processes):
            if time.monotonic() - started > arguments.seconds:
                break
            random = Random(f"{arguments.seed}/{number}")
            shape = drawn(random, tuple(Beginning))
            lived = place.live(shape, drawn_steps(random, meetings, arguments.steps))
            lives, steps = lives + 1, steps + len(lived.script.steps)
            print(f"{number}: {_ending(lived)}", flush=True)
            if lived.ending:
                ends[_judged(lived, place, shrinks=not arguments.no_shrink)] += 1
    return Tally(lives, steps, ends, frozenset(meetings.pairs))


def _judged(lived: Lived, place: Place, *, shrinks: bool) -> str:
    """Says whose a harm is, and prints the shortest life that shows it."""
    if is_hudis_own(lived, place):
        print(f"   Hudi alone does the same: {lived.script.text()}", flush=True)
        return "hudi"
    if shrinks:
        short = shortest(lived, lambda script: place.live(script.shape, replayed(script.steps)))
        print(f"   HARMED, shortest: {_ending(short)}", flush=True)
    return "ours"


def _ending(lived: Lived) -> str:
    end = str(lived.harm) if lived.harm else lived.failure or "unharmed"
    more = [f"   {what}: {text}" for what, text in {**lived.notes, **lived.refusals}.items()]
    first = f"{lived.seconds:.0f} s, {len(lived.script.steps)} steps, {end}"
    return "\n".join((first, f"   {lived.script.text()}", *more))


if __name__ == "__main__":
    sys.exit(main())

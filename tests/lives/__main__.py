"""`make lives`: random lives of tables, and a model of their rows beside each.

    python -m tests.lives --cases 60 --seed 7
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
from pathlib import Path
from random import Random

from tests.lives.living import Lived, Meetings, Place, drawn_steps, replayed
from tests.lives.sessions import Sessions, shared_sessions
from tests.lives.shapes import Beginning, drawn, parsed
from tests.lives.shrinking import is_hudis_own, shortest


def main() -> int:
    """Returns the exit code: 1 if a table was harmed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--seed", default=str(secrets.randbelow(10**9)))
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="no new life after so many"
    )
    parser.add_argument("--replay", help="a line that an earlier run printed")
    parser.add_argument("--no-shrink", action="store_true", help="print the whole life of a harm")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="lives") as root,
        shared_sessions(Path(root)) as sessions,
    ):
        if arguments.replay:
            script = parsed(arguments.replay)
            lived = Place(Path(root), sessions).live(script.shape, replayed(script.steps))
            print(_ending(lived))
            return 1 if lived.harm else 0
        return _run(Path(root), sessions, arguments)


def _run(root: Path, sessions: Sessions, arguments: argparse.Namespace) -> int:
    print(f"seed {arguments.seed}", flush=True)
    place, meetings, ends = Place(root, sessions), Meetings(), Counter[str]()
    started, steps, lives = time.monotonic(), 0, 0
    for number in range(arguments.cases):
        if time.monotonic() - started > arguments.seconds:
            break
        random = Random(f"{arguments.seed}/{number}")
        shape = drawn(random, tuple(Beginning))
        lived = place.live(shape, drawn_steps(random, meetings, arguments.steps))
        lives, steps = lives + 1, steps + len(lived.script.steps)
        print(f"{number}: {_ending(lived)}", flush=True)
        if lived.ending:
            ends[_judged(lived, place, shrinks=not arguments.no_shrink)] += 1
    share = len(meetings.pairs) / meetings.total
    print(f"{time.monotonic() - started:.0f} s, {share:.0%} of the pairs of operations have met")
    if ends["hudi"]:
        print(f"{ends['hudi']} lives ended by Hudi itself")
    print(f"{lives} lives, {steps} steps, {ends['ours']} harmed")
    return 1 if ends["ours"] else 0


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

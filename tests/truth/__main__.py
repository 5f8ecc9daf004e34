"""`make soundness`: millions of random cases, judged by the engines themselves.

    python -m tests.truth --cases 10000000 --seed 7 --processes 2

The last line is ``N cases, 0 lost``, and the exit code 0; or the smallest reproducer of each loss
comes before it, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.truth.rounds import heard
from tests.truth.soundness import Tally
from tests.truth.witnesses import DIALECTS, missing


def main() -> int:
    """The exit code: 1 where a row is lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300_000)
    parser.add_argument("--seed", default=str(secrets.randbelow(10**9)))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--dialects", nargs="+", choices=DIALECTS, help="all that are there")
    parser.add_argument("--looseness", action="store_true", help="the share of files kept by each")
    given = parser.parse_args()
    absent = missing()
    dialects = given.dialects or [name for name in DIALECTS if name not in absent]
    if refused := [name for name in dialects if name in absent]:
        parser.error(f"{' and '.join(refused)}: not there, run `{absent[refused[0]]}`")
    print(f"seed {given.seed}, judged by {_listed(dialects, absent)}", flush=True)
    begun = time.monotonic()
    total, share = Tally(), -(-given.cases // given.processes)
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.processes, mp_context=spawning) as pool:
        seeds = [f"{given.seed}/{number}" for number in range(given.processes)]
        running = [pool.submit(heard, seed, share, dialects) for seed in seeds]
        for future in running:
            total.merge(future.result())
    if given.looseness:
        print("\n".join(("dialect    kept  ideal  of", *total.looseness())))
    for loss in sorted(total.losses.values(), key=lambda one: one.key):
        print(loss)
    print(f"{time.monotonic() - begun:.0f} s", flush=True)
    print(f"{total.cases} cases, {total.lost} lost")
    return 1 if total.lost else 0


def _listed(dialects: Sequence[str], absent: Mapping[str, str]) -> str:
    others = [f"{name} ({how})" for name, how in absent.items()]
    return ", ".join(dialects) + (f"; not there: {', '.join(others)}" if others else "")


if __name__ == "__main__":
    sys.exit(main())

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
import time
from concurrent.futures import ProcessPoolExecutor
from functools import reduce
from itertools import repeat
from multiprocessing import get_context
from operator import add

from tests.lives.living import Meetings, replayed
from tests.lives.shapes import parsed
from tests.lives.tally import Orders, Tally, described_ending, live_part, open_place


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
        orders = Orders(
            seed=arguments.seed,
            lives=arguments.cases,
            steps=arguments.steps,
            processes=processes,
            seconds=arguments.seconds,
            shrinks=not arguments.no_shrink,
        )
        parts = pool.map(live_part, repeat(orders), range(processes))
        total = reduce(add, parts, Tally())
    share = len(total.pairs) / Meetings().total
    print(f"{time.monotonic() - started:.0f} s, {share:.0%} of the pairs of operations have met")
    if total.ends["hudi"]:
        print(f"{total.ends['hudi']} lives ended by Hudi itself")
    print(f"{total.lives} lives, {total.steps} steps, {total.ends['ours']} harmed")
    return 1 if total.ends["ours"] else 0


def _replay(line: str) -> int:
    script = parsed(line)
    with open_place() as place:
        lived = place.live(script.shape, replayed(script.steps))
    print(described_ending(lived))
    return 1 if lived.harm else 0


if __name__ == "__main__":
    sys.exit(main())

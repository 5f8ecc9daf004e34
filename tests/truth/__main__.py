"""`make soundness`: millions of random cases, evaluated by the engines themselves.

    python -m tests.truth --cases 10000000 --seed 7 --processes 2

The last line is ``N cases, 0 lost``, and the exit code 0. Otherwise the exit code is 1, and the
shortest reproducer of each loss is printed first.
"""

from __future__ import annotations

import argparse
import multiprocessing
import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.truth.rounds import run_cases
from tests.truth.soundness import Tally
from tests.truth.witnesses import DIALECTS, missing


def main() -> int:
    """Returns the exit code: 1 if a row is lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300_000)
    parser.add_argument("--seed", default=str(secrets.randbelow(10**9)))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--dialects", nargs="+", choices=DIALECTS, help="default: all that are installed"
    )
    parser.add_argument("--looseness", action="store_true", help="the share of files kept by each")
    arguments = parser.parse_args()
    missing_engines = missing()
    dialects = arguments.dialects or [name for name in DIALECTS if name not in missing_engines]
    if unavailable := [name for name in dialects if name in missing_engines]:
        parser.error(
            f"{' and '.join(unavailable)}: not installed, run `{missing_engines[unavailable[0]]}`"
        )
    print(
        f"seed {arguments.seed}, evaluated by {_format_dialects(dialects, missing_engines)}",
        flush=True,
    )
    started = time.monotonic()
    total, share = Tally(), -(-arguments.cases // arguments.processes)
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(arguments.processes, mp_context=spawning) as pool:
        seeds = [f"{arguments.seed}/{number}" for number in range(arguments.processes)]
        running = [pool.submit(run_cases, seed, share, dialects) for seed in seeds]
        for future in running:
            total.merge(future.result())
    if arguments.looseness:
        print("\n".join(("dialect    kept  ideal  of", *total.looseness())))
    for loss in sorted(total.losses.values(), key=lambda one: one.key):
        print(loss)
    print(f"{time.monotonic() - started:.0f} s", flush=True)
    print(f"{total.cases} cases, {total.lost} lost")
    return 1 if total.lost else 0


def _format_dialects(dialects: Sequence[str], missing_engines: Mapping[str, str]) -> str:
    others = [f"{name} ({command})" for name, command in missing_engines.items()]
    return ", ".join(dialects) + (f"; not installed: {', '.join(others)}" if others else "")


if __name__ == "__main__":
    sys.exit(main())

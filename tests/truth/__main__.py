"""`make soundness`: millions of random cases, evaluated by the engines themselves.

    python -m tests.truth --cases 10000000 --seed 7 --processes 2

The last line is ``S sessions, P predicates, N cases, 0 lost``, and the exit code 0. Otherwise the
exit code is 1, and each life of a process has printed the shortest reproducer of each loss.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from tests.truth.lives import in_process, lives_of
from tests.truth.soundness import Tally
from tests.truth.witnesses import DIALECTS, compile_classes, missing


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
    compile_classes()
    print(
        f"seed {arguments.seed}, evaluated by {_format_dialects(dialects, missing_engines)}",
        flush=True,
    )
    started = time.monotonic()
    total = Tally()
    lives = lives_of(arguments.seed, arguments.cases, arguments.processes, dialects)
    pool = ThreadPoolExecutor(arguments.processes)
    try:
        for done in as_completed([pool.submit(in_process, life) for life in lives]):
            life, tally = done.result()
            print(f"{life}: {tally}", *tally.losses.values(), sep="\n", flush=True)
            total.merge(tally)
    finally:
        # After an error the lives that have not started do not start.
        pool.shutdown(cancel_futures=True)
    if arguments.looseness:
        print("\n".join(("dialect    kept  ideal  of", *total.looseness())))
    print(f"{time.monotonic() - started:.0f} s", flush=True)
    print(total)
    return 1 if total.lost else 0


def _format_dialects(dialects: Sequence[str], missing_engines: Mapping[str, str]) -> str:
    others = [f"{name} ({command})" for name, command in missing_engines.items()]
    return ", ".join(dialects) + (f"; not installed: {', '.join(others)}" if others else "")


if __name__ == "__main__":
    sys.exit(main())

"""`make rows`: random tables, read by Spark and by `scan` in every way.

    python -m tests.rows --cases 200 --seed 7

The last line is ``N reads, 0 different``, and the exit code 0. Otherwise the exit code is 1, and
what was different is printed first.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
from pathlib import Path

from devtools.spark import SHORT_QUERIES, spark_session
from tests.rows.reads import Tally, read_state
from tests.rows.states import ANY_VALUES


def main() -> int:
    """Return the exit code: 1 if a read is different."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20, help="the number of states")
    parser.add_argument("--seed", default=str(secrets.randbelow(10**9)))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    started, tally = time.monotonic(), Tally.empty()
    with (
        tempfile.TemporaryDirectory() as directory,
        spark_session("rows", settings={**SHORT_QUERIES, **ANY_VALUES}) as spark,
    ):
        for number in range(arguments.cases):
            read_state(spark, Path(directory), arguments.seed, number, tally)
    for one in tally.different:
        print(one)
    for reason, times in tally.refused.most_common():
        print(f"refused {times} times: {reason}")
    print(f"{arguments.cases} states, {time.monotonic() - started:.0f} s")
    print(f"{tally.reads} reads, {len(tally.different)} different")
    return 1 if tally.different else 0


if __name__ == "__main__":
    sys.exit(main())

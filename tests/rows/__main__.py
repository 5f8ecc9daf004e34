"""`make rows`: random tables, read by Spark and by `scan` in every way, with `--hive` by Hive, too.

    python -m tests.rows --cases 200 --seed 7 --hive

The last line is ``N reads, N of them by Hive, 0 different``, and the exit code 0. Otherwise the
exit code is 1, and what was different is printed first.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

from devtools.spark import SHORT_QUERIES, spark_session
from tests.rows.hive_reads import read_in_hive, started_hive
from tests.rows.reads import Tally, read_state
from tests.rows.states import ANY_VALUES


def main() -> int:
    """Return the exit code: 1 if a read is different."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20, help="the number of states")
    parser.add_argument("--seed", default=str(secrets.randbelow(10**9)))
    parser.add_argument("--hive", action="store_true", help="ask HiveServer2 as well")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    started, here, in_hive = time.monotonic(), Tally.empty(), Tally.empty()
    with (
        tempfile.TemporaryDirectory() as directory,
        spark_session("rows", settings={**SHORT_QUERIES, **ANY_VALUES}) as spark,
        started_hive(Path(directory) / "hive") if arguments.hive else nullcontext() as hive,
    ):
        for number in range(arguments.cases):
            state, questions = read_state(spark, Path(directory), arguments.seed, number, here)
            if hive is not None:
                read_in_hive(hive, state, questions, in_hive)
    different = [*here.different, *(f"in Hive: {one}" for one in in_hive.different)]
    for one in different:
        print(one)
    for whose, tally in (("", here), (" by Hive", in_hive)):
        for reason, times in tally.refused.most_common():
            print(f"refused{whose} {times} times: {reason}")
    print(f"{arguments.cases} states, {time.monotonic() - started:.0f} s")
    reads = here.reads + in_hive.reads
    print(f"{reads} reads, {in_hive.reads} of them by Hive, {len(different)} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())

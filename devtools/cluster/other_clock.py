"""`python -m devtools.cluster.other_clock SECONDS ...`: `pyhudi ...`, whose clock is ahead."""

import argparse
import sys
import time

from pyhudi_expr.cli.main import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="devtools.cluster.other_clock", description=__doc__)
    parser.add_argument("seconds", type=float, help="how far the clock is ahead; negative: behind")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="those of pyhudi")
    given, right = parser.parse_args(), time.time
    time.time = lambda: right() + given.seconds
    sys.exit(main(given.arguments))

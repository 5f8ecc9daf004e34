"""`python -m devtools.cluster.other_clock SECONDS ...`: `pyhudi ...`, whose clock is ahead."""

import sys
import time

from pyhudi_expr.cli.main import main

if __name__ == "__main__":
    ahead, right = float(sys.argv.pop(1)), time.time
    time.time = lambda: right() + ahead
    sys.exit(main(sys.argv[1:]))

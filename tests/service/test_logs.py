"""Lines of the log for people: a name in them neither ends a line nor controls the terminal."""

from __future__ import annotations

import subprocess
import sys

_LOGGING = """
import logging, structlog
from pyhudi_expr.service import logs
logs.configure("console", "info")
hostile = "/t\\x1b[2J\\n2026-01-01 [info] forged\\x9b"
structlog.get_logger().warning("prune", table=hostile, reason="/u\\x1b[2J")
logging.getLogger("any").warning("the file %s cannot be read", hostile)
"""


def test_an_event_is_one_line_whatever_a_caller_names() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _LOGGING], capture_output=True, text=True, check=True, timeout=60
    )
    lines = ran.stderr.split("\n")[:-1]
    assert len(lines) == 2
    assert all(line.isprintable() and "x1b[2J" in line for line in lines)

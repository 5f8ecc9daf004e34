"""How many random examples a test has, and of which seed."""

from __future__ import annotations

import os
import secrets

_TIMES = float(os.environ.get("TEST_EXAMPLES", "1"))

SEED = os.environ.get("PYHUDI_SEED", "") or secrets.token_hex(4)
"""Of cases that are new in each run. The environment variable PYHUDI_SEED repeats a run."""


def examples(usual: int) -> int:
    """The usual number, multiplied by the environment variable TEST_EXAMPLES."""
    return max(round(usual * _TIMES), 1)

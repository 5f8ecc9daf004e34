"""The number of random examples for each property test."""

from __future__ import annotations

import os

_TIMES = float(os.environ.get("TEST_EXAMPLES", "1"))


def examples(usual: int) -> int:
    """The usual number, multiplied by the environment variable TEST_EXAMPLES."""
    return max(round(usual * _TIMES), 1)

"""How many random cases the properties are tried with."""

from __future__ import annotations

import os

_TIMES = float(os.environ.get("PYHUDI_EXAMPLES", "1"))


def examples(usual: int) -> int:
    """So many, times the number that the variable PYHUDI_EXAMPLES sets."""
    return max(round(usual * _TIMES), 1)

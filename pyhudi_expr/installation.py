"""The installed package."""

from __future__ import annotations

import os
import re
import sys
from functools import cache

_METADATA = re.compile(r"pyhudi_expr-(.+)\.dist-info")


@cache
def version() -> str:
    """Return the version of the installed package.

    By the name of its metadata's directory, as importlib.metadata finds it: to import that takes
    longer than an answer from a snapshot.
    """
    for directory in sys.path:
        try:
            names = os.listdir(directory or ".")
        except OSError:  # an archive, or missing
            names = []
        for name in names:
            found = _METADATA.fullmatch(name)
            if found:
                return found[1]
    import importlib.metadata

    return importlib.metadata.version("pyhudi-expr")

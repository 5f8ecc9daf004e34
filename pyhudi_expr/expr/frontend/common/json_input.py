"""Parse untrusted JSON, with limits of length and depth."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

MAX_TEXT = 1 << 24

#: What JSON becomes in Python.
Json: TypeAlias = Any


def read_json(text: str, error: Callable[[str], Exception]) -> Json:
    """Parse a JSON text. Raises the exception that `error` creates from a message."""
    if len(text) > MAX_TEXT:
        raise error(f"the text is longer than {MAX_TEXT} characters")
    try:
        return json.loads(text)
    except RecursionError:
        raise error("no JSON: nested too deeply") from None
    except ValueError as problem:
        raise error(f"no JSON: {str(problem)[:200]}") from None

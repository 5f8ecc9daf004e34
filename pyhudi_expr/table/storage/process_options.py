"""Storage options of a process: those of a call win over them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.storage.option_texts import option_texts

OPTIONS_VARIABLE = "PYHUDI_STORAGE_OPTIONS"
"""Storage options of this process and of those that it starts, as JSON."""


def set_storage_options(options: Mapping[str, str]) -> None:
    """Set storage options of this process and of those that it starts; see `Storage.open`.

    They replace those that were set before.
    """
    os.environ[OPTIONS_VARIABLE] = json.dumps(dict(options))


def process_options() -> Mapping[str, str]:
    """Return what `set_storage_options`, or who started this process, has set.

    Raises:
        HudiError: The environment variable does not hold options.
    """
    text = os.environ.get(OPTIONS_VARIABLE)
    if not text:
        return {}
    try:
        options = json.loads(text)
    except ValueError:  # its message may quote the text
        raise HudiError(f"{OPTIONS_VARIABLE} is not JSON") from None
    if not isinstance(options, dict):
        raise HudiError(f"{OPTIONS_VARIABLE}: expected an object of names and values")
    return option_texts(options)

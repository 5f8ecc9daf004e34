"""Storage options of a process, and of the calls in a block, which win over them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage.option_texts import joined_options, option_texts

OPTIONS_VARIABLE = "PYHUDI_STORAGE_OPTIONS"
"""Storage options of this process and of those that it starts, as JSON."""

_OF_HADOOP = ("hdfs_via", "hadoop_conf_dir")
"""Options that have a variable `PYHUDI_...` of their own: settings of the service, too."""

_OF_BLOCK = ContextVar[Mapping[str, str]]("storage options", default=MappingProxyType({}))


def set_storage_options(options: Mapping[str, str]) -> None:
    """Set storage options of this process and of those that it starts; see `Storage.open`.

    They replace those that were set before.
    """
    os.environ[OPTIONS_VARIABLE] = json.dumps(dict(options))


def process_options() -> Mapping[str, str]:
    """Return what `set_storage_options`, or who started this process, has set.

    That may be in `PYHUDI_HDFS_VIA` and `PYHUDI_HADOOP_CONF_DIR`, too.

    Raises:
        HudiError: The environment variable does not hold options.
    """
    variables = {name: os.environ.get(f"PYHUDI_{name.upper()}") for name in _OF_HADOOP}
    own = {name: value for name, value in variables.items() if value}
    text = os.environ.get(OPTIONS_VARIABLE)
    if not text:
        return own
    try:
        options = json.loads(text)
    except ValueError:  # its message may quote the text
        raise HudiError(f"{OPTIONS_VARIABLE} is not JSON") from None
    if not isinstance(options, dict):
        raise HudiError(f"{OPTIONS_VARIABLE}: expected an object of names and values")
    return joined_options(own, option_texts(options))


@contextmanager
def using_storage_options(options: Mapping[str, str] | None) -> Iterator[None]:
    """Open storages with these options in the block: in this thread, and in its Spark tasks.

    They win over the options of the process and of an outer block. None: these alone.
    """
    before = _OF_BLOCK.get()
    _OF_BLOCK.set(joined_options(before, options or {}))
    try:
        yield
    finally:
        _OF_BLOCK.set(before)


def block_options() -> Mapping[str, str]:
    """Return what the blocks of `using_storage_options` give that this thread is in."""
    return _OF_BLOCK.get()

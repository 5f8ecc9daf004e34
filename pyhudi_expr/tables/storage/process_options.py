"""Storage options as users give them, and those of a process and of the calls in a block.

Values may be secrets: errors name options, and never show what was given for them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType

from pyhudi_expr.errors import HudiError
from pyhudi_expr.user_settings import STORAGE_OPTIONS, settings_in_file, variable

#: By this option local directories are opened with links confined, see `file_system`.
LINKS_OPTION, LINKS_INSIDE = "local_links", "inside"


def joined_options(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Return the options of both; those of the second win, and come last.

    The order matters: the last of two spellings of an option (`region`, `aws_region`) counts.
    """
    return {key: first[key] for key in first if key not in second} | dict(second)


def option_texts(options: Mapping[str, object]) -> dict[str, str]:
    """Return options with texts as values, from JSON or TOML.

    Tables are taken apart: TOML reads `fs.s3a.endpoint = ".."` as three nested tables.

    Raises:
        HudiError: A value is neither a text nor a number, a truth value or a table.
    """
    return dict(_flat(options, ""))


def parse_options(texts: tuple[str, ...]) -> dict[str, str]:
    """Return the options of texts `KEY=VALUE`.

    Raises:
        HudiError: A text has no name or no `=`. The text is not shown.
    """
    options = {}
    for number, text in enumerate(texts, 1):
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise HudiError(
                f"storage option {number} of {len(texts)}: expected KEY=VALUE, as in"
                " aws_region=eu-central-1 (what was given is not shown: it may be a secret)"
            )
        options[key.strip()] = value
    return options


def certificate_text(options: Mapping[str, str]) -> str:
    """Return the PEM text of the option `root_certificate`, which may name a file; else empty.

    Raises:
        HudiError: The file cannot be read.
    """
    given = options.get("root_certificate", "")
    if not given or "-----BEGIN" in given:
        return given
    try:
        return Path(given).read_text()
    except OSError as error:
        raise HudiError(f"the storage option root_certificate: {error}") from error


def _flat(options: Mapping[str, object], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in options.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, bool):
            yield name, str(value).lower()
        elif isinstance(value, str | int | float):
            yield name, str(value)
        else:
            raise HudiError(f"the storage option {name}: expected a text")


OPTIONS_VARIABLE = variable(STORAGE_OPTIONS)
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

    That may be in `PYHUDI_HDFS_VIA` and `PYHUDI_HADOOP_CONF_DIR`, too. If nothing is set, they are
    those of the user's file.

    Raises:
        HudiError: The environment variable, or the user's file, does not hold options.
    """
    variables = {name: os.environ.get(f"PYHUDI_{name.upper()}") for name in _OF_HADOOP}
    own = {name: value for name, value in variables.items() if value}
    text = os.environ.get(OPTIONS_VARIABLE)
    if not text:
        return joined_options(option_texts(settings_in_file().get(STORAGE_OPTIONS, {})), own)
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

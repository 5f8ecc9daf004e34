"""Settings of Hudi's writers that a machine has, and no table: `hudi-defaults.conf`.

The file is in /etc/hudi/conf and in the directory named by HUDI_CONF_DIR, whose settings win. A
line is `key value` or `key=value`, a comment, or `include=file`, relative to the file's own
directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage import Storage

_DIRECTORY = "/etc/hudi/conf"
_FILE = "hudi-defaults.conf"
_INCLUDE = "include"


def hudi_defaults() -> dict[str, str]:
    """Read the settings; empty if the machine has no such file.

    Raises:
        HudiError: A file cannot be read.
    """
    directories = [_DIRECTORY]
    if named := os.environ.get("HUDI_CONF_DIR"):
        directories.append(named)
    settings: dict[str, str] = {}
    for directory in directories:
        storage = Storage.open(directory)
        if storage.stat(_FILE) is not None:
            settings.update(_settings(storage, _FILE, ()))
    return settings


def _settings(directory: Storage, file: str, within: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    path = f"{directory.uri}/{file}"
    if path in within:
        raise HudiError(f"{path} includes itself; take out the line that does")
    for line in directory.read(file).decode(errors="replace").splitlines():
        key, value = _setting(line)
        if key == _INCLUDE:
            parent, _, name = value.rpartition("/")
            of = directory.resolve(parent) if parent else directory
            yield from _settings(of, name, (*within, path))
        elif key:
            yield key, value


def _setting(line: str) -> tuple[str, str]:
    """Return the key and the value of a line; empty ones for other lines."""
    if line.startswith("#"):
        return "", ""
    key, separator, value = line.partition("=")
    if not separator:
        key, separator, value = " ".join(line.split()).partition(" ")
    return (key.strip(), value.strip()) if separator else ("", "")

"""What a user sets once for all programs: variables `PYHUDI_...`, and a file for those not set."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pyhudi_expr.errors import HudiError

STORAGE_OPTIONS = "storage_options"
"""The key of the file that is a table of its own."""

_TEXTS = ("metastore", "hs2", "hs2_user", "hs2_auth")
_SECONDS = ("hs2_timeout", "hs2_statement_timeout")
_KEYS = (*_TEXTS, *_SECONDS, STORAGE_OPTIONS)


def variable(key: str) -> str:
    """Return the environment variable that wins over a key of the file."""
    return f"PYHUDI_{key.upper()}"


def user_setting(key: str) -> str | None:
    """Return the text of a key other than `storage_options`; None if the user has not set it.

    Raises:
        HudiError: As `settings_in_file` does.
    """
    text = os.environ.get(variable(key))
    if text:
        return text
    stored = settings_in_file().get(key)
    return None if stored is None else str(stored)


def settings_file() -> Path | None:
    """Return the path of the file, which need not exist; None without a home directory."""
    directory = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(directory) / "pyhudi" / "config.toml" if os.path.isabs(directory) else None


def settings_in_file() -> Mapping[str, Any]:
    """Return what the user's file sets, by key; nothing if there is none.

    Values may be secrets: errors name keys, and show no value.

    Raises:
        HudiError: The file cannot be read, or a key is unknown or has another type.
    """
    file = settings_file()
    if file is None or not os.access(file.parent, os.X_OK):
        return {}  # of another user's home, too, in which a process may have been started
    try:
        state = file.stat()
        return _settings(file, state.st_mtime_ns, state.st_size)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise HudiError(f"{file}: the settings cannot be read: {error}") from error


@lru_cache(maxsize=4)
def _settings(file: Path, _modified_ns: int, _size: int) -> Mapping[str, Any]:
    """Read and check the file; each storage that is opened asks for what it sets."""
    found = _parsed(file.read_text(encoding="utf-8"), file)
    for key, value in found.items():
        if key not in _KEYS:
            raise HudiError(f"{file}: there is no setting {key!r}; expected {', '.join(_KEYS)}")
        kind, name = _kind(key)
        if isinstance(value, bool) or not isinstance(value, kind):
            raise HudiError(f"{file}: {key}: expected {name}, got {type(value).__name__}")
    return found


def _parsed(text: str, file: Path) -> Mapping[str, Any]:
    if not text.strip():
        return {}
    # On use: the import takes time, and most users have no file.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise HudiError(f"{file}: the file is no TOML: {error}") from None


def _kind(key: str) -> tuple[tuple[type, ...], str]:
    if key == STORAGE_OPTIONS:
        return (dict,), "a table, [storage_options]"
    return ((str,), "a text") if key in _TEXTS else ((int, float), "a number of seconds")

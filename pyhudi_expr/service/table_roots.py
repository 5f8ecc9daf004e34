"""Restrict which tables the service may read."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(.*)", re.DOTALL)
_AUTHORITY = re.compile(r"//([^/]*)(.*)", re.DOTALL)
_S3 = ("s3a", "s3n")


class RootError(ValueError):
    """The table is outside of the allowed directories, or its path is invalid."""


class TableRoots:
    """The directories and URIs below which tables may be read; without any, all tables.

    Local paths are compared after resolving symbolic links and "..", so a link inside of a root
    that leads out of it is refused.
    """

    def __init__(self, roots: Iterable[str] = ()) -> None:
        """Raises RootError for a root that is neither an absolute path nor a URI."""
        self._roots = tuple(map(_location, roots))

    def resolve(self, base_path: str) -> str:
        """Return the path to open for a table; with roots without links. Raises RootError."""
        if not self._roots:
            return _unrestricted(base_path)
        store, path = _location(base_path)
        if not any(
            store == root_store and f"{path}/".startswith(f"{root.rstrip('/')}/")
            for root_store, root in self._roots
        ):
            raise RootError(f"{base_path}: not below one of the service's table_roots")
        return base_path if store else path


def local_directory(root: str) -> str | None:
    """Return a root's path without symbolic links; None in an object store. Raises RootError."""
    store, path = _location(root)
    return None if store else path


def _unrestricted(location: str) -> str:
    """Return a location, for local paths in one spelling. Raises RootError."""
    scheme, rest = _split(location)
    if scheme:
        return location
    path = _absolute(location, rest)
    # What ".." means depends on links.
    return os.path.realpath(path) if "/.." in path else os.path.normpath(path)


def _absolute(location: str, rest: str) -> str:
    if not rest.startswith("/") or "\0" in rest:
        raise RootError(f"{location!r}: a table's path must be absolute")
    return "/" + rest.lstrip("/")


def _split(location: str) -> tuple[str, str]:
    """Return the scheme in lower case, "" for local files, and the rest."""
    match = _URI.fullmatch(location)
    scheme = match[1].lower() if match else ""
    rest = match[2] if match else location
    return ("s3" if scheme in _S3 else "" if scheme == "file" else scheme), rest


def _location(location: str) -> tuple[str, str]:
    """Return the store ("" for local files, else scheme and authority) and the normalised path."""
    scheme, rest = _split(location)
    if not scheme:
        return "", os.path.realpath(_absolute(location, rest))
    match = _AUTHORITY.fullmatch(rest)
    if match is None or set("%?#") & set(rest):
        raise RootError(f"{location}: this form of URI cannot be checked against table_roots")
    return f"{scheme}://{match[1]}", posixpath.normpath("/" + match[2].lstrip("/"))

"""URIs of tables, as Hadoop and Python programs spell them, and the backends that read them."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import fs

from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.optional_dependencies import require_extra
from pyhudi_expr.table.storage.entries import Backend
from pyhudi_expr.table.storage.file_system import FileSystemBackend

if TYPE_CHECKING:
    from pyhudi_expr.table.storage.object_clients import StoreAddress

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*):(.*)$", re.DOTALL)
_S3_SCHEMES = frozenset({"s3", "s3a", "s3n"})
_GCS_SCHEMES = frozenset({"gs", "gcs"})
_AZURE_SCHEMES = frozenset({"abfs", "abfss", "wasb", "wasbs", "az"})
_OSS_SCHEMES = frozenset({"oss"})
_WEBHDFS_SCHEMES = frozenset({"webhdfs", "swebhdfs"})
_OBJECT_SCHEMES = _S3_SCHEMES | _GCS_SCHEMES | _AZURE_SCHEMES | _OSS_SCHEMES
_AZURE_DOMAINS = ("dfs.core.windows.net", "blob.core.windows.net")


@dataclass(frozen=True)
class Location:
    """A backend, and a path in it without a trailing slash."""

    backend: Backend
    path: str


def split_scheme(uri: str) -> tuple[str, str]:
    """Return a URI's scheme in lower case, empty for a path, and what follows the colon."""
    match = _SCHEME.match(uri)
    return (match.group(1).lower(), match.group(2)) if match else ("", uri)


def locate(uri: str, options: Mapping[str, str]) -> Location:
    """Return the backend and the path of a path or URI; no request is made.

    Raises:
        HudiError: The URI or the options cannot be used.
    """
    scheme, rest = split_scheme(uri)
    try:
        if scheme in ("", "file"):
            path = rest if scheme else os.path.join(os.getcwd(), rest)
            local = FileSystemBackend(fs.LocalFileSystem())
            return Location(local, trim(re.sub(r"^/*", "/", path)))
        if scheme in _WEBHDFS_SCHEMES:
            return _webhdfs(scheme, rest)
        if scheme in _OBJECT_SCHEMES:
            return _object_store(uri, scheme, rest, options)
        filesystem, path = fs.FileSystem.from_uri(f"{scheme}:{rest}")
    except (OSError, ValueError, pa.ArrowException) as error:
        raise HudiError(f"{uri}: the file system cannot be used: {error}") from error
    return Location(FileSystemBackend(filesystem), trim(path))


def trim(path: str) -> str:
    """Return a path without slashes at its end."""
    return path.rstrip("/")


def _object_store(uri: str, scheme: str, rest: str, options: Mapping[str, str]) -> Location:
    # On use: a table on a local disk needs no client.
    from pyhudi_expr.table.storage.object_store import ObjectStoreBackend

    authority, _, key = rest.removeprefix("//").partition("/")
    if not rest.startswith("//") or not authority:
        raise HudiError(f"{uri}: name the bucket: {scheme}://bucket/path")
    try:
        address = _address(scheme, authority, options)
    except HudiError as error:
        raise HudiError(f"{uri}: {error}") from None
    # Empty segments name no object; Hadoop's paths drop them, too.
    path = "/".join(part for part in key.split("/") if part)
    return Location(ObjectStoreBackend(address), path)


def _address(scheme: str, authority: str, options: Mapping[str, str]) -> StoreAddress:
    from pyhudi_expr.table.storage import object_options

    if scheme in _S3_SCHEMES:
        return object_options.s3(authority, options)
    if scheme in _OSS_SCHEMES:
        return object_options.oss(authority, options)
    if scheme in _GCS_SCHEMES:
        return object_options.gcs(authority, options)
    container, _, host = authority.partition("@")
    account, _, domain = host.partition(".")
    endpoint = ""
    if domain and domain not in _AZURE_DOMAINS:
        endpoint = f"https://{account}.{domain.replace('dfs.', 'blob.', 1)}"
    return object_options.azure(container, account, endpoint, options)


def _webhdfs(scheme: str, rest: str) -> Location:
    """Return the file system and the path of `//host:port/path`."""
    with require_extra("webhdfs"):
        from fsspec.implementations.webhdfs import WebHDFS
    address, _, path = rest.removeprefix("//").partition("/")
    host, _, port = address.partition(":")
    if not port.isdigit():
        raise HudiError(f"{scheme}:{rest}: name the NameNode's host and HTTP port")
    user = os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    client = WebHDFS(host, int(port), user=user, use_https=scheme == "swebhdfs")
    filesystem = fs.PyFileSystem(fs.FSSpecHandler(client))  # type: ignore[abstract]
    return Location(FileSystemBackend(filesystem), trim(f"/{path}"))

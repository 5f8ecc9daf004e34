"""URIs of tables, as Hadoop and Python programs spell them, and the backends that read them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyarrow import fs

from pyhudi_expr.arrays import DAMAGE_ERRORS
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage.entries import Backend
from pyhudi_expr.tables.storage.file_system import FileSystemBackend, LocalBackend
from pyhudi_expr.tables.storage.process_options import LINKS_INSIDE, LINKS_OPTION

if TYPE_CHECKING:
    from pyhudi_expr.tables.storage.object_clients import StoreAddress

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*):(.*)$", re.DOTALL)
_S3_SCHEMES = frozenset({"s3", "s3a", "s3n"})
_GCS_SCHEMES = frozenset({"gs", "gcs"})
_AZURE_SCHEMES = frozenset({"abfs", "abfss", "wasb", "wasbs", "az"})
_OSS_SCHEMES = frozenset({"oss"})
_WEBHDFS_SCHEMES = frozenset({"webhdfs", "swebhdfs"})
_VIEW_SCHEME = "viewfs"
HDFS_SCHEMES = frozenset({"hdfs", _VIEW_SCHEME})
"""The schemes of HDFS that Hadoop's native library reads, or WebHDFS by the option `hdfs_via`."""
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


def store_of(uri: str) -> str:
    """Return scheme and authority of a URI in one spelling; empty for local files."""
    scheme, rest = split_scheme(uri)
    if scheme in ("", "file"):
        return ""
    name = "s3" if scheme in _S3_SCHEMES else scheme
    return f"{name}://{rest.removeprefix('//').partition('/')[0]}"


def locate(uri: str, options: Mapping[str, str]) -> Location:
    """Return the backend and the path of a path or URI; no request is made.

    Raises:
        HudiError: The URI or the options cannot be used.
    """
    scheme, rest = split_scheme(uri)
    try:
        if scheme in ("", "file"):
            path = rest if scheme else os.path.join(os.getcwd(), rest)
            path = trim(re.sub(r"^/*", "/", path))
            within = path if options.get(LINKS_OPTION) == LINKS_INSIDE else None
            return Location(LocalBackend(fs.LocalFileSystem(), within), path)
        if scheme in _WEBHDFS_SCHEMES or (scheme in HDFS_SCHEMES and _is_by_rest(options)):
            return _webhdfs(uri, scheme, rest, options)
        if scheme in _OBJECT_SCHEMES:
            return _object_store(uri, scheme, rest, options)
        filesystem, path = fs.FileSystem.from_uri(f"{scheme}:{rest}")
    except DAMAGE_ERRORS as error:
        from pyhudi_expr.tables.storage.hadoop.configuration import in_our_words

        raise HudiError(f"{uri}: the file system cannot be used: {in_our_words(error)}") from error
    return Location(FileSystemBackend(filesystem), trim(path))


def trim(path: str) -> str:
    """Return a path without slashes at its end."""
    return path.rstrip("/")


def _object_store(uri: str, scheme: str, rest: str, options: Mapping[str, str]) -> Location:
    # On use: a table on a local disk needs no client.
    from pyhudi_expr.tables.storage.object_store import ObjectStoreBackend

    authority, _, key = rest.removeprefix("//").partition("/")
    if not rest.startswith("//") or not authority:
        raise HudiError(f"{uri}: name the bucket: {scheme}://bucket/path")
    try:
        address = _address(scheme, authority, options)
    except HudiError as error:
        raise HudiError(f"{uri}: {error}") from None
    return Location(ObjectStoreBackend(address), _cleaned(key))


def _cleaned(path: str) -> str:
    """Return a path without empty segments: they name no object, and Hadoop drops them, too."""
    return "/".join(part for part in path.split("/") if part)


def _address(scheme: str, authority: str, options: Mapping[str, str]) -> StoreAddress:
    from pyhudi_expr.tables.storage import object_options

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


def _is_by_rest(options: Mapping[str, str]) -> bool:
    # On use: most tables are not on HDFS.
    from pyhudi_expr.tables.storage.hadoop.configuration import WEBHDFS, via

    return via(options) == WEBHDFS


def _webhdfs(uri: str, scheme: str, rest: str, options: Mapping[str, str]) -> Location:
    """Return the file system and the path of `//authority/path`, by WebHDFS."""
    from pyhudi_expr.tables.storage.hadoop import name_nodes
    from pyhudi_expr.tables.storage.hadoop.backend import WebHdfsBackend

    authority, _, path = (
        rest.removeprefix("//").partition("/") if rest[:2] == "//" else ("", "", rest)
    )
    try:
        if scheme == _VIEW_SCHEME:
            return locate(name_nodes.mounted_at(authority, path, options), options)
        if scheme in _WEBHDFS_SCHEMES:
            nodes = name_nodes.of_webhdfs(authority, scheme == "swebhdfs", options)
        else:
            nodes = name_nodes.of_hdfs(authority, options)
    except HudiError as error:
        raise HudiError(f"{uri}: {error}") from None
    return Location(WebHdfsBackend(nodes), _cleaned(path))

"""The NameNodes that a URI names, by Hadoop's settings and mount tables, and what others need.

References: hdfs-default.xml, HDFSHighAvailabilityWithQJM and Federation of Hadoop's documents.

References: ViewFs of Hadoop's documents; `link`, `linkFallback` and `linkMergeSlash` of its
settings. The other kinds of links (`linkMerge`, `linkNfly`, `linkRegex`) are not followed.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage.hadoop.configuration import (
    DIRECTORY_OPTION,
    VIA_OPTION,
    WEBHDFS,
    hadoop_settings,
    searched,
)
from pyhudi_expr.tables.storage.process_options import certificate_text, joined_options

USER_OPTION = "hadoop_user_name"
"""The option that names HDFS's user, else HADOOP_USER_NAME does, else it is this process's."""

_RPC, _RPC_PORT = "dfs.namenode.rpc-address", "8020"
_ANY_HOST = "0.0.0.0"


@dataclass(frozen=True)
class NameNodes:
    """How to reach the NameNodes of one file system. Hashable, and can be pickled.

    Attributes:
        addresses: `host:port` of WebHDFS of each, in the configuration's order.
        is_tls: Whether they, and the DataNodes, are asked over TLS.
        user: The user that simple authentication names.
        certificate: PEM text of the authorities for TLS; empty: the system's.
    """

    addresses: tuple[str, ...]
    is_tls: bool
    user: str
    certificate: str = field(default="", repr=False)


def of_hdfs(authority: str, options: Mapping[str, str]) -> NameNodes:
    """Return the NameNodes of `hdfs://authority/`: a name service, a `host[:port]`, or empty.

    Raises:
        HudiError: The settings do not name them.
    """
    settings = hadoop_settings(options)
    is_tls = settings.get("dfs.http.policy", "").upper() == "HTTPS_ONLY"
    authority = authority or default_authority(settings, "hdfs")
    if not authority:
        raise HudiError(
            f"no NameNode is named, and fs.defaultFS is not hdfs://...; {searched(options)}"
        )
    addresses = tuple(_addresses(authority, settings, is_tls))
    if not addresses:
        raise HudiError(
            f"no address of the name service {authority!r} is known: expected"
            f" dfs.ha.namenodes.{authority} and {_kind(is_tls)}.{authority}.NAMENODE for each in"
            f" hdfs-site.xml or in the storage options; {searched(options)}"
        )
    return NameNodes(addresses, is_tls, user_of(options), certificate_text(options))


def of_webhdfs(authority: str, is_tls: bool, options: Mapping[str, str]) -> NameNodes:
    """Return the NameNodes of `webhdfs://authority/`: `host:port` of HTTP, or a name service.

    Raises:
        HudiError: The settings do not name them.
    """
    addresses: tuple[str, ...] = (authority,)
    host, _, port = authority.rpartition(":")
    if not (host and port.isdigit()):
        settings = hadoop_settings(options)
        if authority not in _name_services(settings):
            raise HudiError("name the NameNode's host and HTTP port")
        addresses = tuple(_addresses(authority, settings, is_tls))
    return NameNodes(addresses, is_tls, user_of(options), certificate_text(options))


def default_authority(settings: Mapping[str, str], scheme: str) -> str:
    """Return the authority of `fs.defaultFS` if it has this scheme, else an empty text."""
    named, _, rest = settings.get("fs.defaultFS", "").partition("://")
    return rest.partition("/")[0] if named.lower() == scheme else ""


def _addresses(authority: str, settings: Mapping[str, str], is_tls: bool) -> Iterator[str]:
    if authority in _name_services(settings):
        for suffix in _suffixes(authority, settings):
            address = _address(suffix, settings, is_tls)
            if address:
                yield address
    elif "." in authority or ":" in authority or not _name_services(settings):
        yield _of_host(authority, settings, is_tls)


def _of_host(authority: str, settings: Mapping[str, str], is_tls: bool) -> str:
    """Return the address of the one NameNode of `host[:port]`, the port being that of its RPC."""
    host, _, port = authority.partition(":")
    rpc = f"{host}:{port or _RPC_PORT}"
    services = (
        "",
        *(one for name in _name_services(settings) for one in _suffixes(name, settings)),
    )
    for suffix in services:
        named = settings.get(f"{_RPC}{suffix}") or (
            default_authority(settings, "hdfs") if not suffix else ""
        )
        known = named if ":" in named else f"{named}:{_RPC_PORT}"
        is_this = known == rpc if named else not suffix
        address = _address(suffix, settings, is_tls) if is_this else ""
        if address:
            return f"{host}:{address.rpartition(':')[2]}" if _is_any(address) else address
    return f"{host}:{_default_port(is_tls)}"


def _address(suffix: str, settings: Mapping[str, str], is_tls: bool) -> str:
    """Return the address with the suffix of a NameNode; by its host for RPC if it has none."""
    host = settings.get(f"{_RPC}{suffix}", "").partition(":")[0]
    address = settings.get(f"{_kind(is_tls)}{suffix}", "")
    if not address:
        return f"{host}:{_default_port(is_tls)}" if host else ""
    return f"{host}:{address.rpartition(':')[2]}" if host and _is_any(address) else address


def _is_any(address: str) -> bool:
    return address.startswith(f"{_ANY_HOST}:")


def _suffixes(service: str, settings: Mapping[str, str]) -> list[str]:
    """Return the ends of the names of the settings of each NameNode of a name service."""
    nodes = _texts(settings.get(f"dfs.ha.namenodes.{service}", ""))
    return [f".{service}.{node}" for node in nodes] or [f".{service}"]


def _name_services(settings: Mapping[str, str]) -> list[str]:
    return _texts(settings.get("dfs.nameservices", ""))


def _texts(value: str) -> list[str]:
    return [text.strip() for text in value.split(",") if text.strip()]


def _kind(is_tls: bool) -> str:
    return "dfs.namenode.https-address" if is_tls else "dfs.namenode.http-address"


def _default_port(is_tls: bool) -> str:
    return "9871" if is_tls else "9870"


def user_of(options: Mapping[str, str]) -> str:
    """Return the user that asks HDFS."""
    return options.get(USER_OPTION) or os.environ.get("HADOOP_USER_NAME") or getpass.getuser()


_PREFIX = "fs.viewfs.mounttable"


def mounted_at(authority: str, path: str, options: Mapping[str, str]) -> str:
    """Return the URI in the file system that holds `viewfs://authority/path`.

    Raises:
        HudiError: No link of the mount table holds the path.
    """
    settings = hadoop_settings(options)
    default = settings.get(f"{_PREFIX}.default.name.key", "default")
    table = authority or default_authority(settings, "viewfs") or default
    parts = [part for part in path.split("/") if part]
    for depth in range(len(parts), 0, -1):
        target = settings.get(f"{_PREFIX}.{table}.link./{'/'.join(parts[:depth])}")
        if target:
            return "/".join([target.rstrip("/"), *parts[depth:]])
    for of_root in ("linkMergeSlash", "linkFallback"):
        target = settings.get(f"{_PREFIX}.{table}.{of_root}")
        if target:
            return "/".join([target.rstrip("/"), *parts])
    raise HudiError(
        f"no link of the mount table {table!r} holds the path: expected"
        f" {_PREFIX}.{table}.link./DIRECTORY in core-site.xml; {searched(options)}"
    )


def carried_options(options: Mapping[str, str]) -> Mapping[str, str]:
    """Return the options with all that reading HDFS by its REST interface needs of this machine.

    Without the option `hdfs_via=webhdfs` they are returned as they are.

    Raises:
        HudiError: Files of settings, or a certificate, cannot be read.
    """
    if options.get(VIA_OPTION) != WEBHDFS:
        return options
    own = {**hadoop_settings(options), USER_OPTION: user_of(options)}
    certificate = certificate_text(options)
    if certificate:
        own["root_certificate"] = certificate
    others = {name: value for name, value in options.items() if name != DIRECTORY_OPTION}
    return joined_options(others, own)

"""Hadoop's settings: storage options, `core-site.xml` and `hdfs-site.xml`, and libhdfs.

Reference: Hadoop's `Configuration` (files, `${...}`, XInclude).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree

from pyhudi_expr.errors import HudiError

DIRECTORY_OPTION = "hadoop_conf_dir"
"""The option that names the directory of the files."""

_FILES = ("core-site.xml", "hdfs-site.xml")
_INCLUDE = "{http://www.w3.org/2001/XInclude}include"
_VARIABLE = re.compile(r"\$\{([^${}\s]+)\}")
_OF_HDFS = ("dfs.", "fs.defaultFS", "fs.viewfs.")
_MOST_SUBSTITUTIONS = 20


def hadoop_settings(options: Mapping[str, str]) -> dict[str, str]:
    """Return Hadoop's settings of file systems, with their variables replaced.

    Args:
        options: Storage options. Those with Hadoop's names win over the files.

    Raises:
        HudiError: The directory or a file cannot be read.
    """
    found = dict(_of_directory(options))
    found.update((name, value) for name, value in options.items() if name.startswith(_OF_HDFS))
    return {name: _replaced(value, found) for name, value in found.items() if is_of_hdfs(name)}


def is_of_hdfs(name: str) -> bool:
    """Return whether a setting of Hadoop says where file systems are, and how to reach them."""
    return name.startswith(_OF_HDFS)


def searched(options: Mapping[str, str]) -> str:
    """Say where Hadoop's files are, or how to name the place."""
    directory = _directory(options)
    if directory is None:
        return f"set HADOOP_CONF_DIR, or the storage option {DIRECTORY_OPTION}"
    return f"{directory} was read"


def _directory(options: Mapping[str, str]) -> Path | None:
    named = options.get(DIRECTORY_OPTION) or os.environ.get("HADOOP_CONF_DIR")
    if named:
        return Path(named)
    home = os.environ.get("HADOOP_HOME")
    of_home = Path(home, "etc", "hadoop") if home else None
    return of_home if of_home and of_home.is_dir() else None


def _of_directory(options: Mapping[str, str]) -> Mapping[str, str]:
    directory = _directory(options)
    if directory is None:
        return {}
    if not directory.is_dir():
        raise HudiError(f"{directory}: Hadoop's configuration is expected in this directory")
    settings: dict[str, str] = {}
    for file in (directory / name for name in _FILES):
        if file.is_file():
            settings.update(_of_file(file, file.stat().st_mtime_ns))
    return settings


@lru_cache(maxsize=16)
def _of_file(file: Path, _modified_ns: int) -> Mapping[str, str]:
    return dict(_properties(file))


def _properties(file: Path) -> Iterator[tuple[str, str]]:
    try:
        root = ElementTree.parse(file).getroot()  # noqa: S314 - the administrator wrote it
    except (OSError, ElementTree.ParseError) as error:
        raise HudiError(f"{file}: Hadoop's configuration cannot be read: {error}") from None
    for element in root:
        if element.tag == _INCLUDE:
            yield from _properties(file.parent / element.get("href", ""))
        name = (element.findtext("name") or "").strip()
        if element.tag == "property" and name:
            yield name, (element.findtext("value") or "").strip()


def _replaced(value: str, settings: Mapping[str, str]) -> str:
    for _ in range(_MOST_SUBSTITUTIONS):
        match = _VARIABLE.search(value)
        known = None if match is None else _variable(match[1], settings)
        if match is None or known is None:
            break
        value = f"{value[: match.start()]}{known}{value[match.end() :]}"
    return value


def _variable(name: str, settings: Mapping[str, str]) -> str | None:
    """Return the value of a variable: of the environment (`env.NAME`), or another setting."""
    if name.startswith("env."):
        return os.environ.get(name.removeprefix("env."))
    return settings.get(name)


VIA_OPTION = "hdfs_via"
"""The option that says by what `hdfs://` is read: WEBHDFS or LIBHDFS, else the latter."""
WEBHDFS, LIBHDFS = "webhdfs", "libhdfs"

_MISSING = re.compile(r"Unable to load lib(?:hdfs|jvm)")
_PROGRAM = """
import sys
from pyarrow import fs
try:
    fs.FileSystem.from_uri(sys.argv[1])
except (OSError, ValueError) as error:
    print(*str(error).splitlines()[:1])
    sys.exit(3)
"""
_REFUSED = 3
_SECONDS = 60
_REMEDY = (
    "hdfs:// needs Hadoop's native library libhdfs, which is not here, or a NameNode's REST"
    " interface: set hdfs_via to webhdfs (PYHUDI_HDFS_VIA=webhdfs, hdfs_via of the service's"
    " settings, or the storage option) with HADOOP_CONF_DIR; or install the library and set"
    " ARROW_LIBHDFS_DIR, JAVA_HOME and CLASSPATH"
)


def via(options: Mapping[str, str]) -> str:
    """Return by what `hdfs://` is read, WEBHDFS or LIBHDFS.

    Raises:
        HudiError: The option has another value.
    """
    named = options.get(VIA_OPTION) or LIBHDFS
    if named not in (WEBHDFS, LIBHDFS):
        raise HudiError(f"the storage option {VIA_OPTION}: expected {WEBHDFS} or {LIBHDFS}")
    return named


def in_our_words(error: BaseException) -> str:
    """Return what to say of an error of pyarrow's HDFS: what to do if the library is missing."""
    text = str(error)
    return f"{_REMEDY} ({text.splitlines()[0]})" if _MISSING.search(text) else text


def problem_of(uri: str) -> str:
    """Return why the library cannot open a URI; empty if it can.

    It is tried in a process of its own: the library starts a JVM, which would stay.
    """
    command = [sys.executable, "-c", _PROGRAM, uri]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        return ""  # it has been loaded, and waits for a NameNode
    if not done.returncode:
        return ""
    if done.returncode == _REFUSED:
        return in_our_words(OSError(done.stdout))
    return f"libhdfs ended its process with status {done.returncode}: {done.stderr[-300:]}"

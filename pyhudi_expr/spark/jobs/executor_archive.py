"""What Spark's tasks need: the archive of this package and its packages, storage options.

It is built once for each set of versions, and kept in the user's cache directory; with HDFS as the
cluster's file system and `hdfs_via=webhdfs` in the user's directory there, too. Executors need a
Python of the same minor version on the same kind of machine, and nothing in it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from importlib.util import cache_from_source
from pathlib import Path, PurePosixPath
from typing import TypeVar

from pyhudi_expr.tables.mdt.store.disk_cache import user_directory
from pyhudi_expr.tables.storage import (
    Storage,
    block_options,
    joined_options,
    process_options,
    using_storage_options,
)
from pyhudi_expr.tables.storage.hadoop.configuration import VIA_OPTION, WEBHDFS, hadoop_settings
from pyhudi_expr.tables.storage.hadoop.name_nodes import carried_options, default_authority, user_of

_Rows = TypeVar("_Rows")
_Result = TypeVar("_Result")


def with_storage_options(
    step: Callable[[_Rows], Iterator[_Result]],
) -> Callable[[_Rows], Iterator[_Result]]:
    """Return a step for tasks that opens storages as this thread does now.

    The options are in the pickled function. Spark shows that nowhere, but does show a function's
    environment variables. Credentials in variables of the driver (AWS_* and the like) are not given
    to executors: set them there by `spark.executorEnv`. What WebHDFS needs of files of this machine
    is given.
    """
    options = carried_options(joined_options(process_options(), block_options()))

    def run(rows: _Rows) -> Iterator[_Result]:
        with using_storage_options(options):
            yield from step(rows)

    return run


SHIP = "spark.pyhudi.ship"
"""The setting that says whether executors get the archive: true or false."""

_ARCHIVES, _PYTHONPATH = "spark.archives", "spark.executorEnv.PYTHONPATH"
_DIRECTORY = "pyhudi-packages"
_DISTRIBUTION = "pyhudi-expr"
_PACKAGE = Path(__file__).resolve().parents[2]
_OF_EXTRAS = frozenset({"spark", "service", "cli"})
"""What tasks need, and what the pruning service of a driver that YARN runs."""
_METADATA = "METADATA"
"""The file that tells a pruning service its version."""
_NOT_SHIPPED = frozenset({"pyspark", "py4j", "setuptools"})
"""Spark has its own."""
_PREPARED = ("spark.pyspark.python", "spark.submit.pyFiles", "spark.yarn.dist.archives", _ARCHIVES)
"""Who sets one of these has prepared the executors."""
_COMPILED = "__pycache__"
_LEFT_OUT = frozenset({_COMPILED, "tests", "include"})
_NAME = re.compile(r"^[\w.-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")


def shipping_settings(master: str | None, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings by which the executors of a cluster get this package.

    Args:
        master: Spark's master; executors of `local` are in its own process.
        settings: Those of the session. Without `spark.pyhudi.ship` nothing is shipped if they name
            a Python or archives for executors.

    Raises:
        HudiError: HDFS does not take the archive.
        OSError: It cannot be built.
    """
    asked = settings.get(SHIP, "").lower()
    is_prepared = any(name in settings for name in _PREPARED)
    if not _is_cluster(master) or asked == "false" or (is_prepared and asked != "true"):
        return {}
    archives = [settings[_ARCHIVES]] if _ARCHIVES in settings else []
    paths = [settings[_PYTHONPATH]] if _PYTHONPATH in settings else []
    archive = executor_archive()
    place = _on_hdfs(archive) if (master or "").startswith("yarn") else None
    archives.append(f"{place or archive.as_uri()}#{_DIRECTORY}")
    return {_ARCHIVES: ",".join(archives), _PYTHONPATH: os.pathsep.join([*paths, _DIRECTORY])}


def executor_archive() -> Path:
    """Return the archive, built at the first use of these versions (some seconds, 170 MB).

    It is kept in the user's cache directory.

    Raises:
        OSError: It cannot be written.
    """
    kept = (user_directory() or Path.home()) / "executors"
    files = dict(_files())
    archive = kept / f"pyhudi-{_digest(files)}.tar.gz"
    if not archive.is_file():
        kept.mkdir(parents=True, exist_ok=True)
        unfinished = archive.with_name(f".{archive.name}.{os.getpid()}")
        try:
            with tarfile.open(unfinished, "w:gz", compresslevel=1) as written:
                for name, file in files.items():
                    written.add(file, name)
                    compiled = Path(cache_from_source(str(file)))
                    if file.suffix == ".py" and compiled.is_file():
                        # Python compares it with its source, and compiles again if it is older.
                        inside = PurePosixPath(name).parent / _COMPILED / compiled.name
                        written.add(compiled, str(inside))
            unfinished.replace(archive)
        finally:
            unfinished.unlink(missing_ok=True)
    return archive


def _is_cluster(master: str | None) -> bool:
    return bool(master) and re.match(r"local(\[[^\]]*\])?$", master or "") is None


def _on_hdfs(archive: Path) -> str | None:
    """Return the URI of the archive in HDFS, uploaded if it is missing; None: it stays local."""
    options = process_options()
    if options.get(VIA_OPTION) != WEBHDFS:
        return None
    if not default_authority(hadoop_settings(options), "hdfs"):
        return None
    place = Storage.open(f"hdfs:///user/{user_of(options)}/.pyhudi", options)
    if place.stat(archive.name) is None:
        with archive.open("rb") as content, place.writing(archive.name) as stream:
            while block := content.read(1 << 20):
                stream.write(block)
    return f"{place.uri}/{archive.name}"


def _files() -> Iterator[tuple[str, Path]]:
    """Yield the files of this package and of those that it needs, by their names in the archive."""
    for file in sorted(_PACKAGE.rglob("*")):
        if file.is_file() and not _LEFT_OUT.intersection(file.parts[len(_PACKAGE.parts) :]):
            yield f"{_PACKAGE.name}/{file.relative_to(_PACKAGE)}", file
    for path in metadata.distribution(_DISTRIBUTION).files or ():
        if path.name == _METADATA:
            yield str(path), Path(str(path.locate()))
    for name in sorted(_needed(_DISTRIBUTION, _OF_EXTRAS) - {_DISTRIBUTION}):
        for path in metadata.distribution(name).files or ():
            inside = ".." not in path.parts and not _LEFT_OUT.intersection(path.parts)
            file = Path(str(path.locate()))
            if inside and file.is_file():
                yield str(path), file


def _needed(name: str, extras: frozenset[str], known: frozenset[str] = frozenset()) -> set[str]:
    """Return the names of installed distributions that one needs, and its own."""
    found = {name}
    for requirement in metadata.requires(name) or ():
        of_extra = _EXTRA.search(requirement)
        if of_extra is not None and of_extra[1] not in extras:
            continue
        match = _NAME.match(requirement)
        other = match[0].lower() if match else ""
        if other in known | found | _NOT_SHIPPED or not _is_installed(other):
            continue
        found |= _needed(other, frozenset(), known | found)
    return found


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False  # for another system or version of Python
    return True


def _digest(files: Mapping[str, Path]) -> str:
    """Return a digest of what the archive would hold: names, sizes and times, and the platform."""
    known = hashlib.sha256(f"{sys.version_info[:2]}{platform.platform()}".encode())
    for name, file in files.items():
        status = file.stat()
        known.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return known.hexdigest()[:16]

"""Snapshots that one process makes for all, on storage that all can read.

A service that lacks a snapshot on its own disk copies it from there (`DiskCache.find`). What was
copied is checked like every file of a disk cache: its name follows from what it was made of, and it
has a checksum. So a snapshot of another state, another version or another table is not found, and a
damaged one is not used. Errors cost speed only, and are logged.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from pyhudi_expr.arrays import READ_ERRORS
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.storage.process_options import LINKS_OPTION

_CHUNK_BYTES = 8 << 20

_log = logging.getLogger(__name__)


class SharedSnapshots:
    """A directory of snapshots. Safe for several threads and processes.

    Whoever can write to it decides which files are pruned, so only the jobs that publish should.
    """

    def __init__(self, storage: Storage) -> None:
        """Use the root of a storage."""
        self._storage = storage

    @staticmethod
    def at(uri: str | None, options: Mapping[str, str] | None) -> SharedSnapshots | None:
        """Return the snapshots of a directory; None for None.

        Args:
            uri: The directory.
            options: Settings of its storage, see `Storage.open`.

        Raises:
            HudiError: There is no such storage.
        """
        if uri is None:
            return None
        # The directory is the administrator's, who may link where he likes.
        return SharedSnapshots(Storage.open(uri, {**(options or {}), LINKS_OPTION: ""}))

    def fetch(self, name: str, target: Path) -> bool:
        """Copy a snapshot to a local file, and return whether there is one."""
        try:
            entry = self._storage.stat(name)
            if entry is None:
                return False
            with self._storage.open_input(name, entry.size) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy, _CHUNK_BYTES)
            return True
        except (HudiError, *READ_ERRORS) as error:
            _log.warning("the shared snapshot %s cannot be read: %s", name, error)
            return False

    @property
    def storage(self) -> Storage:
        """The directory."""
        return self._storage

    def publish(self, file: Path) -> None:
        """Copy a snapshot, which others see when it is complete.

        Raises:
            HudiError: The storage cannot be written.
        """
        with file.open("rb") as source, self._storage.writing(file.name) as target:
            shutil.copyfileobj(source, target, _CHUNK_BYTES)

    def remove(self, name: str) -> None:
        """Delete a snapshot if it is there. Raises HudiError."""
        self._storage.delete(name)

    def has(self, file: Path) -> bool:
        """Return whether the same bytes are there. Raises HudiError."""
        entry = self._storage.stat(file.name)
        if entry is None or entry.size != file.stat().st_size:
            return False
        with (
            file.open("rb") as source,
            self._storage.open_input(file.name, entry.size) as copy,
        ):
            return all(ours == copy.read(len(ours)) for ours in _chunks(source))

    def lacks(self, name: str) -> bool:
        """Return whether there is no file of this name. Raises HudiError."""
        return self._storage.stat(name) is None


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    while chunk := source.read(_CHUNK_BYTES):
        yield chunk

"""The files of a small table in memory, written to an object store again and again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyhudi_expr.tables.storage import Storage


@dataclass(frozen=True)
class StoredFiles:
    """Contents of files by path.

    They are written through the store: S3Proxy gives no ETag to files that appear on its disk.
    """

    files: Mapping[str, bytes]

    @staticmethod
    def of_directory(table: Path) -> StoredFiles:
        """Those of a local table, without Hadoop's checksums."""
        found = (file for file in table.rglob("*") if file.is_file() and file.suffix != ".crc")
        return StoredFiles({str(file.relative_to(table)): file.read_bytes() for file in found})

    @staticmethod
    def of_storage(storage: Storage) -> StoredFiles:
        """Those of a storage, without Hadoop's markers of empty directories."""
        paths = sorted(entry.path for entry in storage.list(recursive=True) if entry.is_file)
        contents = zip(paths, storage.at_once(storage.read_if_present, paths), strict=True)
        return StoredFiles({path: content for path, content in contents if content is not None})

    def restore(self, storage: Storage) -> None:
        """Makes these the only files of a storage. Only what differs is written."""
        there = {entry.path: entry.tag for entry in storage.list(recursive=True)}
        different = [
            path
            for path, content in self.files.items()
            if there.get(path, "").strip('"') != hashlib.md5(content).hexdigest()
        ]
        storage.at_once(lambda path: storage.write(path, self.files[path]), different)
        storage.at_once(storage.delete, [path for path in there if path not in self.files])

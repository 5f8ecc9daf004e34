"""The files of the metadata table's partitions, as file groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import string_list
from pyhudi_expr.mdt.store.block_cache import StoredFile
from pyhudi_expr.mdt.store.file_group import FileGroup
from pyhudi_expr.table.errors import CorruptFile, HudiError, UnsupportedTable
from pyhudi_expr.table.file_names import is_parsed, log_files
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing, StoredFiles, TableView
from pyhudi_expr.table.storage import FileEntry

_SHARD = re.compile(r"-(\d{4})(?:-0)?$")
_OF_A_SHARD = re.compile(r"^\.?[^.]+-\d{4}(?:-\d+)?_(?!.*\.crc$)")


@dataclass(frozen=True)
class GroupFiles:
    """The files of some partitions.

    Attributes:
        metadata: The metadata table.
        listing: The newest slices of all.
        modified: For each file, by its path, when it was modified.
        failures: Why partitions could not be listed.
    """

    metadata: HudiTable
    listing: FileListing
    modified: Mapping[str, int]
    failures: Mapping[str, HudiError]

    @staticmethod
    def listed(metadata: HudiTable, partitions: Sequence[str]) -> GroupFiles:
        """List partitions: to select the slices of several takes as long as those of one.

        Raises:
            HudiError: The timeline cannot be read. A partition that cannot be listed fails alone.
        """
        entries: list[FileEntry] = []
        numbers: list[int] = []
        failures: dict[str, HudiError] = {}
        for number, name in enumerate(partitions):
            try:
                found = [entry for entry in metadata.storage.list(name) if entry.is_file]
            except HudiError as error:
                failures[name] = error
                continue
            entries += found
            numbers += [number] * len(found)
        stored = StoredFiles(
            partitions=pa.array(partitions, pa.string()),
            partition=np.array(numbers, np.int32),
            name=pa.array([entry.name for entry in entries], pa.string()),
            size=np.array([entry.size for entry in entries], np.int64),
        )
        listing = metadata.listing(TableView.SNAPSHOT, files=stored)
        modified = {entry.path: entry.modified_ns for entry in entries}
        return GroupFiles(metadata, listing, modified, failures)

    def groups(self, partition: str, valid: frozenset[str]) -> list[FileGroup]:
        """Return a partition's file groups, in the order of their shards.

        Args:
            partition: The partition.
            valid: The instants whose log blocks are valid.

        Raises:
            HudiError: It could not be listed, or its files are not those of a metadata table.
        """
        if partition in self.failures:
            raise self.failures[partition]
        self._check_names(partition)
        place = f"{self.metadata.base_path}/{partition}"
        by_shard: dict[int, FileGroup] = {}
        for number in self._slices(partition):
            file_id = str(self.listing.slice_file_id[number])
            match = _SHARD.search(file_id)
            if match is None:
                raise CorruptFile(place, f"{file_id!r} is not a file group of a metadata table")
            shard = int(match.group(1))
            if shard in by_shard:
                raise UnsupportedTable(f"{place}: shards for each partition are not supported")
            by_shard[shard] = self._group(partition, number, valid)
        if sorted(by_shard) != list(range(len(by_shard))) or not by_shard:
            raise CorruptFile(place, f"file groups are missing (found {sorted(by_shard)})")
        return [by_shard[number] for number in range(len(by_shard))]

    def _slices(self, partition: str) -> Iterable[int]:
        paths = self.listing.partition_paths
        own = paths.index(partition) if partition in paths else -1
        return np.flatnonzero(self.listing.slice_partition == own).tolist()

    def _check_names(self, partition: str) -> None:
        """Check that no file of a file group has a format that is not read.

        Without it, entries would be missing.
        """
        base_format = self.metadata.properties.base_file_format.lower()
        for path in self.modified:
            directory, _, name = path.rpartition("/")
            is_own = directory == partition and _OF_A_SHARD.match(name)
            if is_own and not is_parsed(name, base_format):
                raise UnsupportedTable(
                    f"{self.metadata.base_path}/{path}: a file of this name is neither HFile nor"
                    " log file"
                )

    def _group(self, partition: str, number: int, valid: frozenset[str]) -> FileGroup:
        listing = self.listing
        start, end = (int(at) for at in np.searchsorted(listing.file_slice, [number, number + 1]))
        names = string_list(listing.file_name.slice(start, end - start))
        paths = [f"{partition}/{name}" for name in names]
        files = [
            StoredFile(path, size, self.modified[path])
            for path, size in zip(paths, listing.file_size[start:end].tolist(), strict=True)
        ]
        # A slice has at most one base file, and it comes first.
        first_log = int(not listing.file_is_log[start])
        writers: Sequence[str | None] = [None] * (len(files) - first_log)
        if self.metadata.properties.timeline_layout > 1:
            writers = log_files(pa.array(names[first_log:], pa.string())).instant.to_pylist()
        return FileGroup(
            storage=self.metadata.storage,
            base=files[0] if first_log else None,
            logs=tuple(zip(files[first_log:], writers, strict=True)),
            valid=valid,
        )

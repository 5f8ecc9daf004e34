"""The files of the metadata table, as file groups, and the names that Hudi gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import arrow_list, string_list
from pyhudi_expr.errors import CorruptFile, HudiError, UnsupportedTable
from pyhudi_expr.tables.hudi_names import (
    EXPRESSION_INDEX_PREFIX,
    FILES,
    PARTITION_STATS,
    SECONDARY_INDEX_PREFIX,
    is_parsed,
    log_files,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, StoredFiles, TableView
from pyhudi_expr.tables.mdt.lost_files import RequiredBlocks, WrittenFiles
from pyhudi_expr.tables.mdt.store.block_cache import StoredFile
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.storage import FileEntry

_PREFIXES = {
    "files": "files",
    "column_stats": "col-stats",
    "partition_stats": "partition-stats",
    "bloom_filters": "bloom-filters",
    "record_index": "record-index",
}

_OF_ROWS = ("record_index", "secondary_index_")

_BASE = re.compile(r"^(?P<group>[^.].*)_[^_]+_(?P<instant>\d+)\.hfile$")
_LOG = re.compile(r"^\.(?P<group>.+)_(?P<instant>\d+)\.log\.")

STUB_TOKEN = "0-0-0"
"""The write token of the log file that a file group begins with."""


def has_rows(partition: str) -> bool:
    """Return whether a partition has an entry for each row: an index of keys or of values."""
    return partition.startswith(_OF_ROWS)


def file_id(partition: str, shard: int) -> str:
    """Return the id of a partition's file group.

    The ids of secondary and expression indexes are the partition's name with hyphens.
    """
    prefix = _PREFIXES.get(partition) or partition.replace("_", "-")
    return f"{prefix}-{shard:04d}-0"


def base_file(group: str, token: str, instant: str) -> str:
    """Return the name of a base file."""
    return f"{group}_{token}_{instant}.hfile"


def log_file(group: str, token: str, instant: str, number: int = 1) -> str:
    """Return the name of a log file.

    Args:
        group: The id of the file group.
        token: The write token.
        instant: That of the delta commit; in timeline layout 1 that of the slice's base file.
        number: Counts the slice's log files in layout 1.
    """
    return f".{group}_{instant}.log.{number}_{token}"


def newest_files(
    entries: Iterable[FileEntry], completed: Mapping[str, str]
) -> list[tuple[str, int]]:
    """Return paths and sizes of the files that are probably in the newest slices of a partition.

    That is each group's newest base file, and the log files of commits that ended later. A delta
    commit may begin before the compaction and end after it.

    Args:
        entries: The partition's directory.
        completed: The completion times of the metadata table's commits, by their instants.
    """
    files = [entry for entry in entries if entry.is_file]
    bases: dict[str, tuple[str, FileEntry]] = {}
    for entry in files:
        base = _BASE.match(entry.name)
        if base is not None:
            known = bases.get(base["group"])
            if known is None or base["instant"] > known[0]:
                bases[base["group"]] = base["instant"], entry
    found = [entry for _, entry in bases.values()]
    for entry in files:
        log = _LOG.match(entry.name)
        if log is not None:
            instant, _ = bases.get(log["group"], ("", entry))
            if completed.get(log["instant"], log["instant"]) >= instant:
                found.append(entry)
    return [(entry.path, entry.size) for entry in found]


_SHARD = re.compile(r"-(\d{4})(?:-0)?$")
_NEEDS_EVERY_FILE = (FILES, PARTITION_STATS, SECONDARY_INDEX_PREFIX, EXPRESSION_INDEX_PREFIX)
"""Partitions where a lost file leaves entries that are too old, and trusted.

Without entries of column_stats or bloom_filters files are read; for record_index the slices' rows
are counted.
"""
_OF_A_SHARD = re.compile(r"^\.?[^.]+-\d{4}(?:-\d+)?_(?!.*\.crc$)")


@dataclass(frozen=True)
class GroupFiles:
    """The files of some partitions.

    Attributes:
        written: What the metadata table's commits wrote.
        listing: The newest slices of all.
        entries: Each file, by its path.
        failures: Why partitions could not be listed.
    """

    written: WrittenFiles
    listing: FileListing
    entries: Mapping[str, FileEntry]
    failures: Mapping[str, HudiError]

    @staticmethod
    def listed(written: WrittenFiles, partitions: Sequence[str]) -> GroupFiles:
        """List partitions: to select the slices of several takes as long as those of one.

        Raises:
            HudiError: The timeline cannot be read. A partition that cannot be listed fails alone.
        """
        metadata, entries = written.metadata, list[FileEntry]()
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
            partitions=arrow_list(partitions, pa.string()),
            partition=np.array(numbers, np.int32),
            name=arrow_list([entry.name for entry in entries], pa.string()),
            size=np.array([entry.size for entry in entries], np.int64),
        )
        listing = metadata.listing(TableView.SNAPSHOT, files=stored)
        return GroupFiles(written, listing, {one.path: one for one in entries}, failures)

    @property
    def metadata(self) -> HudiTable:
        """The metadata table."""
        return self.written.metadata

    def groups(self, partition: str, valid: frozenset[str]) -> list[FileGroup]:
        """Return a partition's file groups, in the order of their shards.

        Args:
            partition: The partition.
            valid: The instants whose log blocks are valid.

        Raises:
            HudiError: It could not be listed, its files are not those of a metadata table, or one
                is lost without which entries would be too old.
        """
        if partition in self.failures:
            raise self.failures[partition]
        self._check_names(partition)
        if partition.startswith(_NEEDS_EVERY_FILE):
            for path, instant in self.lost(partition):
                raise CorruptFile(
                    f"{self.metadata.base_path}/{path}",
                    f"is gone or empty, and the completed commit {instant} wrote it",
                )
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

    def lost(self, partition: str) -> Iterator[tuple[str, str]]:
        """Return files of a partition that are gone or empty, see `WrittenFiles.lost`."""
        there = [entry.name for entry in self._entries(partition) if entry.size]
        for number in self._slices(partition):
            file_id = str(self.listing.slice_file_id[number])
            own = [name for name in there if name.removeprefix(".").startswith(f"{file_id}_")]
            built = str(self.listing.slice_base_instant[number])
            yield from self.written.lost(partition, file_id, built, own)

    def _entries(self, partition: str) -> Iterator[FileEntry]:
        prefix = f"{partition}/"
        return (entry for path, entry in self.entries.items() if path.startswith(prefix))

    def _slices(self, partition: str) -> Iterable[int]:
        paths = self.listing.partition_paths
        own = paths.index(partition) if partition in paths else -1
        return np.flatnonzero(self.listing.slice_partition == own).tolist()

    def _check_names(self, partition: str) -> None:
        """Check that no file of a file group has a format that is not read.

        Without it, entries would be missing.
        """
        base_format = self.metadata.properties.base_file_format.lower()
        for entry in self._entries(partition):
            if _OF_A_SHARD.match(entry.name) and not is_parsed(entry.name, base_format):
                raise UnsupportedTable(
                    f"{self.metadata.base_path}/{entry.path}: a file of this name is neither HFile"
                    " nor log file"
                )

    def _group(self, partition: str, number: int, valid: frozenset[str]) -> FileGroup:
        listing = self.listing
        start, end = (int(at) for at in np.searchsorted(listing.file_slice, [number, number + 1]))
        names = string_list(listing.file_name.slice(start, end - start))
        paths = [f"{partition}/{name}" for name in names]
        files = [
            StoredFile(path, size, self.entries[path].modified_ns)
            for path, size in zip(paths, listing.file_size[start:end].tolist(), strict=True)
        ]
        # A slice has at most one base file, and it comes first.
        first_log = int(not listing.file_is_log[start])
        writers: Sequence[str | None] = [None] * (len(files) - first_log)
        required = None
        if self.metadata.properties.timeline_layout == 1:
            if partition == FILES:  # others may have been dropped and built again
                built = str(listing.slice_base_instant[number])
                required = RequiredBlocks(self.written, partition, built)
        else:
            writers = log_files(arrow_list(names[first_log:], pa.string())).instant.to_pylist()
        return FileGroup(
            storage=self.metadata.storage,
            base=files[0] if first_log else None,
            logs=tuple(zip(files[first_log:], writers, strict=True)),
            valid=valid,
            required=required,
        )

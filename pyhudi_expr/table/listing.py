"""The files of a table as columns: what a storage holds, and what a query sees of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from pyhudi_expr.arrays import (
    AnyArray,
    BoolArray,
    Int32Array,
    Int64Array,
    arrow_array,
    arrow_buffer,
    from_buffer,
    string_list,
)
from pyhudi_expr.table.file_names import log_files

_Scalar = TypeVar("_Scalar", bound=np.generic)


ZONE_SLICES = 1024
"""Slices in a zone, the last one has fewer: what is known of all of them is looked at first."""


class TableView(Enum):
    """The files of a slice that a query reads."""

    SNAPSHOT = "SNAPSHOT"
    READ_OPTIMIZED = "READ_OPTIMIZED"


@dataclass(frozen=True)
class StoredFiles:
    """All files in the partitions of a table, of any instant, in no order.

    `partitions` are distinct paths; `partition` (int32) is an index into them for each file.
    """

    partitions: AnyArray
    partition: Int32Array
    name: AnyArray
    size: Int64Array


@dataclass(frozen=True)
class SliceFiles:
    """The files of some slices of a listing, in its order.

    Attributes:
        files: Their positions among all files.
        file_is_log: For each whether it is a log file.
        starts: For each slice its first file among these.
    """

    files: Int64Array
    file_is_log: BoolArray
    starts: Int64Array

    @property
    def num_files(self) -> int:
        """Number of files."""
        return len(self.files)

    @property
    def num_slices(self) -> int:
        """Number of slices."""
        return len(self.starts)

    @cached_property
    def has_logs(self) -> bool:
        """Whether any file is a log file."""
        return bool(self.file_is_log.any())

    def any_file_of_slice(self, files: BoolArray) -> BoolArray:
        """Return for each slice whether one of its files is flagged."""
        if self.num_files == self.num_slices:
            return files
        return np.logical_or.reduceat(files, self.starts)


@dataclass(frozen=True)
class FileListing:
    """The file slices of a table that a query sees at `instant`, column by column.

    `partitions` are distinct and sorted as UTF-8 bytes, without partitions that have no slice.
    Slices are sorted by partition and file id. Files are sorted by slice: the base file first, then
    log files in the order in which they were written. All arrays are read-only.
    """

    instant: str | None
    """Requested time of the newest write that is considered; None for a table without commits."""
    view: TableView
    partitions: AnyArray
    slice_partition: Int32Array
    slice_file_id: AnyArray
    slice_base_instant: AnyArray
    file_slice: Int32Array
    file_name: AnyArray
    file_size: Int64Array
    file_is_log: BoolArray
    _digests: dict[int, bytes] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        """Return one line, as there may be a million files."""
        what = f"{self.num_files} files in {len(self.partitions)} partitions"
        return f"<FileListing: {what}, {self.view.value}, as of {self.instant}>"

    def __reduce__(self) -> tuple[type[FileListing], tuple[Any, ...]]:
        """Pickle without the cached digests."""
        own = [known.name for known in fields(self) if not known.name.startswith("_")]
        return FileListing, tuple(getattr(self, name) for name in own)

    @property
    def num_files(self) -> int:
        """Number of files."""
        return len(self.file_slice)

    @property
    def num_slices(self) -> int:
        """Number of slices."""
        return len(self.slice_partition)

    @cached_property
    def file_partition(self) -> Int32Array:
        """For each file the index of its partition (ascending)."""
        return self.slice_partition[self.file_slice]

    @cached_property
    def content_id(self) -> str:
        """A digest of the partitions, the slices and the files' names: equal for the same files."""
        digest = xxhash.xxh3_128()
        for texts in (self.partitions, self.file_name):
            digest.update(arrow_buffer(_ends(texts)))
            digest.update(_content(texts))
        for numbers in (self.slice_partition, self.file_slice, self.file_is_log):
            digest.update(arrow_buffer(numbers))
        found: str = digest.hexdigest()
        return found

    @cached_property
    def has_logs(self) -> bool:
        """Whether any file is a log file."""
        return bool(self.file_is_log.any())

    @cached_property
    def file_instants(self) -> AnyArray:
        """For each file the requested time of the write that made it, by its name.

        For log files of layout 1 this is the time of the slice's base file. Null if the name has
        none.
        """
        of_slice = self.slice_base_instant.take(self.file_slice)
        if not self.has_logs:
            return of_slice
        logs = np.flatnonzero(self.file_is_log)
        parsed = log_files(self.file_name.take(logs))
        of_log = np.full(self.num_files, -1, np.int64)
        of_log[logs[parsed.row]] = np.arange(len(parsed.row))
        found = parsed.instant.take(arrow_array(of_log, mask=of_log < 0))
        return pc.if_else(pa.array(self.file_is_log), found, of_slice)

    def some(self, slices: BoolArray) -> FileListing:
        """Return the listing of the flagged slices only."""
        return self.at(np.flatnonzero(slices))

    def at(self, slices: Int64Array) -> FileListing:
        """Return the listing of some slices only, given as ascending positions."""
        chosen = self.files_of(slices)
        used, partition = np.unique(self.slice_partition[slices], return_inverse=True)
        rows, names = pa.array(slices), pa.array(chosen.files)
        lengths = np.diff(np.append(chosen.starts, chosen.num_files))
        return FileListing(
            instant=self.instant,
            view=self.view,
            partitions=self.partitions.take(used),
            slice_partition=partition.astype(np.int32),
            slice_file_id=self.slice_file_id.take(rows),
            slice_base_instant=self.slice_base_instant.take(rows),
            file_slice=np.repeat(np.arange(len(slices), dtype=np.int32), lengths),
            file_name=self.file_name.take(names),
            file_size=self.file_size[chosen.files],
            file_is_log=chosen.file_is_log,
        )

    def base_files_only(self) -> FileListing:
        """Return the listing of the slices with a base file, without their log files."""
        if not self.has_logs:
            return self
        found = self.some(self.any_file_of_slice(~self.file_is_log))
        bases = ~found.file_is_log
        return replace(
            found,
            file_slice=found.file_slice[bases],
            file_name=found.file_name.take(np.flatnonzero(bases)),
            file_size=found.file_size[bases],
            file_is_log=found.file_is_log[bases],
            _digests={},
        )

    def of_files(self, slices: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
        """Repeat a value of each slice for each of its files."""
        return slices if self._is_file_per_slice else slices[self.file_slice]

    @cached_property
    def every_slice(self) -> BoolArray:
        """One flag for each slice, all set; not to be written to."""
        return np.ones(self.num_slices, np.bool_)

    def slices_of_partitions(self, partitions: BoolArray) -> BoolArray:
        """Repeat the flag of each partition for each of its slices."""
        return np.repeat(partitions, self._slices_of_partition)

    @cached_property
    def _slices_of_partition(self) -> Int64Array:
        """The number of slices of each partition; slices are in the order of partitions."""
        return np.bincount(self.slice_partition, minlength=len(self.partitions)).astype(np.int64)

    def any_file_of_slice(self, files: BoolArray) -> BoolArray:
        """Return for each slice whether one of its files is flagged."""
        if self._is_file_per_slice:
            return files
        return np.logical_or.reduceat(files, self._slice_start)

    @cached_property
    def _is_file_per_slice(self) -> bool:
        return self.num_files == self.num_slices  # every slice has a file

    @cached_property
    def _slice_start(self) -> Int64Array:
        begins = np.append(True, self.file_slice[1:] != self.file_slice[:-1])
        return np.flatnonzero(begins).astype(np.int64)

    def partition_slices(self, partitions: BoolArray) -> Int64Array:
        """Return the slices of the flagged partitions, ascending."""
        return ranges(self._partition_slice_bounds, np.flatnonzero(partitions))

    @cached_property
    def _partition_slice_bounds(self) -> Int64Array:
        """The slices of partition p are those from bounds[p] up to bounds[p + 1] (exclusive)."""
        return np.append(0, np.cumsum(self._slices_of_partition))

    @cached_property
    def zone_bounds(self) -> Int64Array:
        """The slices of zone z are those from bounds[z] up to bounds[z + 1] (exclusive)."""
        return np.append(np.arange(0, self.num_slices, ZONE_SLICES), self.num_slices)

    @cached_property
    def zone_starts(self) -> Int64Array:
        """The first file of each zone."""
        first = self.zone_bounds[:-1]
        return first if self._is_file_per_slice else self._slice_start[first]

    def zones_of_partitions(self, partitions: BoolArray) -> BoolArray:
        """Return for each zone whether it has a slice of a flagged partition."""
        chosen = np.flatnonzero(partitions)
        first = self._partition_slice_bounds[chosen] // ZONE_SLICES
        last = (self._partition_slice_bounds[chosen + 1] - 1) // ZONE_SLICES
        zones = len(self.zone_bounds) - 1
        begun = np.bincount(first, minlength=zones + 1) - np.bincount(last + 1, minlength=zones + 1)
        return np.cumsum(begun)[:zones] > 0

    def zones_of(self, slices: Int64Array) -> Int64Array:
        """Return the zones of slices, both as positions."""
        return slices // ZONE_SLICES

    def files_of(self, slices: Int64Array) -> SliceFiles:
        """Return the files of some slices, given as ascending positions."""
        if self._is_file_per_slice:
            return SliceFiles(slices, self.file_is_log[slices], np.arange(len(slices)))
        ends = np.append(self._slice_start, self.num_files)
        files = ranges(ends, slices)
        starts = np.cumsum(ends[slices + 1] - ends[slices]) - (ends[slices + 1] - ends[slices])
        return SliceFiles(files, self.file_is_log[files], starts)

    @cached_property
    def partition_file_bounds(self) -> Int64Array:
        """The files of partition p are those from bounds[p] up to bounds[p + 1] (exclusive)."""
        if self._is_file_per_slice:
            return self._partition_slice_bounds
        return np.append(self._slice_start, self.num_files)[self._partition_slice_bounds]

    @cached_property
    def partition_paths(self) -> list[str]:
        """The partitions as texts."""
        return string_list(self.partitions)

    @cached_property
    def partition_files(self) -> Int64Array:
        """The number of files of each partition."""
        return np.diff(self.partition_file_bounds)

    @cached_property
    def total_bytes(self) -> int:
        """The size of all files in bytes."""
        return int(self.file_size.sum())

    @cached_property
    def tokens(self) -> AnyArray:
        """For each file a text that identifies its bytes: its name; for log files name@length."""
        if not self.has_logs:
            return self.file_name
        lengths = pc.cast(pa.array(self.file_size), pa.string())
        with_length = pc.binary_join_element_wise(self.file_name, lengths, "@")
        return pc.if_else(pa.array(self.file_is_log), with_length, self.file_name)

    def token_bytes(self, files: Int64Array) -> Int64Array:
        """Return the lengths of some files' tokens; the files are given by their positions."""
        lengths: Int64Array = self._token_ends[files + 1] - self._token_ends[files]
        return lengths

    @cached_property
    def partition_token_bytes(self) -> Int64Array:
        """The length of the tokens of each partition's files together."""
        ends = self._token_ends[self.partition_file_bounds]
        lengths: Int64Array = np.diff(ends)
        return lengths

    @cached_property
    def _token_ends(self) -> npt.NDArray[Any]:
        """The bytes of the tokens before each file and, last, of all."""
        return _ends(self.tokens) if len(self.tokens) else np.zeros(1, np.int64)

    def paths(self, files: npt.NDArray[np.generic]) -> list[str]:
        """Return the paths of the chosen files (positions or flags), relative to the base path."""
        chosen = np.flatnonzero(files) if files.dtype == np.bool_ else files
        partition = self.slice_partition[self.file_slice[chosen]]
        partitions = self.partitions.take(pa.array(partition))
        joined = pc.binary_join_element_wise(partitions, self.file_name.take(pa.array(chosen)), "/")
        return [str(path) for path in pc.utf8_ltrim(joined, characters="/").to_pylist()]

    def partition_tokens(self, partition: int) -> AnyArray:
        """Return the tokens of a partition's files (by index), sorted as unsigned UTF-8 bytes."""
        start, end = self.partition_file_bounds[partition : partition + 2]
        tokens = self.tokens.slice(int(start), int(end - start))
        # Arrow sorts strings by their bytes.
        return tokens.take(pc.array_sort_indices(tokens))

    def digest(self, partition: int) -> bytes:
        """Return the SHA-256 of a partition's sorted tokens, each followed by a newline; cached."""
        known = self._digests.get(partition)
        if known is not None:
            return known
        lines = pc.binary_join_element_wise(self.partition_tokens(partition), "", "\n")
        digest = hashlib.sha256(_content(lines)).digest()
        self._digests[partition] = digest
        return digest


def ranges(bounds: Int64Array, chosen: Int64Array) -> Int64Array:
    """Return the numbers from bounds[c] up to bounds[c + 1] (exclusive) of each chosen c."""
    lengths = bounds[chosen + 1] - bounds[chosen]
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(bounds[chosen] - before, lengths)


def _content(texts: AnyArray) -> memoryview:
    """Return the concatenated bytes of all texts."""
    data = texts.buffers()[2]
    if data is None or not len(texts):
        return memoryview(b"")
    ends = _ends(texts)
    return memoryview(data)[int(ends[0]) : int(ends[-1])]


def _ends(texts: AnyArray) -> npt.NDArray[np.int32]:
    """Return where each text begins in its buffer and, last, where the last one ends."""
    offsets = texts.buffers()[1]
    if offsets is None or not len(texts):
        return np.zeros(1, np.int32)
    found: npt.NDArray[np.int32] = from_buffer(offsets, np.int32)
    return found[texts.offset : texts.offset + len(texts) + 1]

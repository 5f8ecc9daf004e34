"""The files of a table as columns: what a storage holds, and what a query sees of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields, replace
from enum import Enum
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
    arrow_nulls,
    arrow_scalar,
    numpy_flags,
    numpy_numbers,
    string_list,
)
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.tables.hudi_names import log_files
from pyhudi_expr.tables.positions import SliceFiles, ranges, text_bytes, text_ends

_Scalar = TypeVar("_Scalar", bound=np.generic)


ZONE_SLICES = 1024
"""Slices in a zone, the last one has fewer: what is known of all of them is looked at first."""

_LENGTH_BYTES = 4
"""A text is sent with its length before it."""

_FEW_FILES = 16
"""So many texts are taken one by one: a call of Arrow's take needs the time of some twenty."""


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


@dataclass(frozen=True, eq=False)
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

    @computed_once
    def num_files(self) -> int:
        """Number of files."""
        return len(self.file_slice)

    @computed_once
    def num_slices(self) -> int:
        """Number of slices."""
        return len(self.slice_partition)

    @computed_once
    def file_partition(self) -> Int32Array:
        """For each file the index of its partition (ascending)."""
        return self.slice_partition[self.file_slice]

    def partitions_of(self, files: Int64Array) -> Int32Array:
        """Return the partitions of some files, both as positions."""
        return self.slice_partition[files if self._is_file_per_slice else self.file_slice[files]]

    @computed_once
    def content_id(self) -> str:
        """A digest of the partitions, the slices and the files' names: equal for the same files."""
        digest = xxhash.xxh3_128()
        for texts in (self.partitions, self.file_name):
            digest.update(arrow_buffer(text_ends(texts)))
            digest.update(text_bytes(texts))
        for numbers in (self.slice_partition, self.file_slice, self.file_is_log):
            digest.update(arrow_buffer(numbers))
        found: str = digest.hexdigest()
        return found

    @computed_once
    def slice_has_logs(self) -> BoolArray:
        """One flag for each slice: whether any file of it is a log file; not to be written to."""
        return self.any_file_of_slice(self.file_is_log)

    @computed_once
    def has_logs(self) -> bool:
        """Whether any file is a log file."""
        return bool(self.file_is_log.any())

    @computed_once
    def file_instants(self) -> AnyArray:
        """For each file the requested time of the write that made it, by its name.

        For log files of layout 1 this is the time of the slice's base file. Null if the name has
        none.
        """
        if self._is_file_per_slice and not self.has_logs:
            return self.slice_base_instant
        of_slice = self.slice_base_instant.take(self.file_slice)
        if not self.has_logs:
            return of_slice
        logs = np.flatnonzero(self.file_is_log)
        parsed = log_files(self.file_name.take(logs))
        of_log = np.full(self.num_files, -1, np.int64)
        of_log[logs[parsed.row]] = np.arange(len(parsed.row))
        found = parsed.instant.take(arrow_array(of_log, mask=of_log < 0))
        return pc.if_else(arrow_array(self.file_is_log), found, of_slice)

    @computed_once
    def partition_instants(self) -> tuple[Int32Array, AnyArray]:
        """The distinct pairs of a partition (by index) and one of its `file_instants`."""
        # Neighbours are mostly alike, and to tell a million texts apart takes long.
        firsts = self._first_of_instants
        codes = self.file_instants.take(arrow_array(firsts)).dictionary_encode()
        count = len(codes.dictionary) + 1
        code = numpy_numbers(codes.indices, count - 1).astype(np.int64)
        pairs = np.sort(self.file_partition[firsts].astype(np.int64) * count + code)
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]]
        instants = pa.concat_arrays([codes.dictionary, arrow_nulls(1, codes.dictionary.type)])
        return (pairs // count).astype(np.int32), instants.take(arrow_array(pairs % count))

    @property
    def _first_of_instants(self) -> Int64Array:
        """The files that have another partition or instant than the file before them."""
        partitions, instants = self.file_partition, self.file_instants
        differ = pc.not_equal(instants[1:], instants[:-1])
        others = numpy_flags(differ, True) | (partitions[1:] != partitions[:-1])
        return np.flatnonzero(np.append(True, others)[: self.num_files])

    def some(self, slices: BoolArray) -> FileListing:
        """Return the listing of the flagged slices only."""
        return self.at(np.flatnonzero(slices))

    def at(self, slices: Int64Array) -> FileListing:
        """Return the listing of some slices only, given as ascending positions."""
        chosen = self.files_of(slices)
        used, partition = np.unique(self.slice_partition[slices], return_inverse=True)
        lengths = np.diff(np.append(chosen.starts, chosen.num_files))
        return FileListing(
            instant=self.instant,
            view=self.view,
            partitions=self.partitions.take(used),
            slice_partition=partition.astype(np.int32),
            slice_file_id=self.file_ids_at(slices),
            slice_base_instant=self.base_instants_at(slices),
            file_slice=np.repeat(np.arange(len(slices), dtype=np.int32), lengths),
            file_name=self.names_at(chosen.files),
            file_size=self.file_size[chosen.files],
            file_is_log=chosen.file_is_log,
        )

    def base_files_only(self) -> FileListing:
        """Return the listing of the slices with a base file, without their log files."""
        return self.with_files(~self.file_is_log) if self.has_logs else self

    def with_files(self, files: BoolArray) -> FileListing:
        """Return the listing of the flagged files, and of the slices that have one."""
        slices = self.any_file_of_slice(files)
        found, kept = self.some(slices), files[self.of_files(slices)]
        return replace(
            found,
            file_slice=found.file_slice[kept],
            file_name=found.file_name.take(np.flatnonzero(kept)),
            file_size=found.file_size[kept],
            file_is_log=found.file_is_log[kept],
            _digests={},
        )

    def of_files(self, slices: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
        """Repeat a value of each slice for each of its files."""
        return slices if self._is_file_per_slice else slices[self.file_slice]

    @computed_once
    def every_slice(self) -> BoolArray:
        """One flag for each slice, all set; not to be written to."""
        return np.ones(self.num_slices, np.bool_)

    def slices_of_partitions(self, partitions: BoolArray) -> BoolArray:
        """Repeat the flag of each partition for each of its slices."""
        return np.repeat(partitions, self._slices_of_partition)

    @computed_once
    def _slices_of_partition(self) -> Int64Array:
        """The number of slices of each partition; slices are in the order of partitions."""
        return np.bincount(self.slice_partition, minlength=len(self.partitions)).astype(np.int64)

    def any_file_of_slice(self, files: BoolArray) -> BoolArray:
        """Return for each slice whether one of its files is flagged."""
        if self._is_file_per_slice:
            return files
        return np.logical_or.reduceat(files, self._slice_start)

    @computed_once
    def _is_file_per_slice(self) -> bool:
        return self.num_files == self.num_slices  # every slice has a file

    @computed_once
    def _slice_start(self) -> Int64Array:
        begins = np.append(True, self.file_slice[1:] != self.file_slice[:-1])
        return np.flatnonzero(begins).astype(np.int64)

    def partition_slices(self, partitions: BoolArray) -> Int64Array:
        """Return the slices of the flagged partitions, ascending."""
        return ranges(self._partition_slice_bounds, np.flatnonzero(partitions))

    @computed_once
    def _partition_slice_bounds(self) -> Int64Array:
        """The slices of partition p are those from bounds[p] up to bounds[p + 1] (exclusive)."""
        return np.append(0, np.cumsum(self._slices_of_partition))

    @computed_once
    def zone_bounds(self) -> Int64Array:
        """The slices of zone z are those from bounds[z] up to bounds[z + 1] (exclusive)."""
        return np.append(np.arange(0, self.num_slices, ZONE_SLICES), self.num_slices)

    @computed_once
    def zone_starts(self) -> Int64Array:
        """The first file of each zone."""
        first = self.zone_bounds[:-1]
        return first if self._is_file_per_slice else self._slice_start[first]

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

    @computed_once
    def partition_file_bounds(self) -> Int64Array:
        """The files of partition p are those from bounds[p] up to bounds[p + 1] (exclusive)."""
        if self._is_file_per_slice:
            return self._partition_slice_bounds
        return np.append(self._slice_start, self.num_files)[self._partition_slice_bounds]

    @computed_once
    def nbytes(self) -> int:
        """Memory of the names and the numbers in bytes."""
        names: int = self.file_name.nbytes + self.slice_file_id.nbytes
        return names + sum(own.nbytes for own in self.numbers)

    @property
    def numbers(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays over files."""
        return self.file_slice, self.file_size, self.file_is_log

    @computed_once
    def partition_paths(self) -> list[str]:
        """The partitions as texts."""
        return string_list(self.partitions)

    @computed_once
    def partition_files(self) -> Int64Array:
        """The number of files of each partition."""
        return np.diff(self.partition_file_bounds)

    @computed_once
    def total_bytes(self) -> int:
        """The size of all files in bytes."""
        return int(self.file_size.sum())

    @computed_once
    def tokens(self) -> AnyArray:
        """For each file a text that identifies its bytes: its name; for log files name@length."""
        if not self.has_logs:
            return self.file_name
        lengths = pc.cast(arrow_array(self.file_size), pa.string())
        with_length = pc.binary_join_element_wise(self.file_name, lengths, "@")
        return pc.if_else(arrow_array(self.file_is_log), with_length, self.file_name)

    def names_at(self, files: Int64Array) -> AnyArray:
        """Return the names of some files, given by their positions."""
        return self.file_name.take(arrow_array(files))

    def tokens_at(self, files: Int64Array) -> AnyArray:
        """Return the tokens of some files, given by their positions."""
        return self.tokens.take(arrow_array(files))

    def token_texts(self, files: Int64Array) -> list[str]:
        """Return the tokens of some files, given by their positions, as texts."""
        if len(files) <= _FEW_FILES:
            tokens = self.tokens
            return [tokens[file].as_py() for file in files.tolist()]
        return text_list(self.tokens_at(files))

    def file_ids_at(self, slices: Int64Array) -> AnyArray:
        """Return the file ids of some slices, given by their positions."""
        return self.slice_file_id.take(arrow_array(slices))

    def base_instants_at(self, slices: Int64Array) -> AnyArray:
        """Return the base instants of some slices, given by their positions."""
        return self.slice_base_instant.take(arrow_array(slices))

    def token_bytes(self, files: Int64Array) -> Int64Array:
        """Return what some files' tokens take in a message; the files are given by positions."""
        ends = self._token_ends
        found: Int64Array = ends[files + 1] - ends[files] + _LENGTH_BYTES
        return found

    @computed_once
    def partition_token_bytes(self) -> Int64Array:
        """What the tokens of each partition's files take together."""
        ends = self._token_ends[self.partition_file_bounds]
        found: Int64Array = np.diff(ends) + _LENGTH_BYTES * self.partition_files
        return found

    @computed_once
    def _token_ends(self) -> npt.NDArray[Any]:
        """The bytes of the tokens before each file and, last, of all."""
        return text_ends(self.tokens) if len(self.tokens) else np.zeros(1, np.int64)

    def paths(self, files: npt.NDArray[np.generic]) -> list[str]:
        """Return the paths of the chosen files (positions or flags), relative to the base path."""
        is_flags = files.dtype == np.bool_
        chosen: Int64Array = np.flatnonzero(files) if is_flags else files.astype(np.int64)
        partition = self.partitions_of(chosen)
        partitions = self.partitions.take(arrow_array(partition))
        slash = arrow_scalar("/", pa.string())
        joined = pc.binary_join_element_wise(partitions, self.names_at(chosen), slash)
        return [str(path) for path in pc.utf8_ltrim(joined, characters="/").to_pylist()]

    def partition_tokens(self, partition: int) -> AnyArray:
        """Return the tokens of a partition's files (by index), sorted as unsigned UTF-8 bytes."""
        start, end = self.partition_file_bounds[partition : partition + 2]
        tokens = self.tokens.slice(int(start), int(end - start))
        # Arrow compares strings by their bytes. Most partitions are in order, by file ids, and to
        # see that takes a tenth of the time of sorting.
        if pc.all(pc.less_equal(tokens[:-1], tokens[1:]), min_count=0).as_py():
            return tokens
        return tokens.take(pc.array_sort_indices(tokens))

    def digest(self, partition: int) -> bytes:
        """Return the SHA-256 of a partition's sorted tokens, each followed by a newline; cached."""
        known = self._digests.get(partition)
        if known is not None:
            return known
        lines = pc.binary_join_element_wise(self.partition_tokens(partition), "", "\n")
        digest = hashlib.sha256(text_bytes(lines)).digest()
        self._digests[partition] = digest
        return digest


def text_list(texts: AnyArray) -> list[str]:
    """Return texts as a list: far faster than to_pylist, which creates a scalar for each."""
    found: list[str] = texts.to_numpy(zero_copy_only=False).tolist()
    return found

"""The files of a table as columns: what a storage holds, and what a query sees of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
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

_OF_FILES, _OF_SLICES = 4 + 8 + 1, 4
"""Bytes of the numbers of a file, and of a slice."""


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
class Runs:
    """Rows that are taken from several parts, in runs of neighbours; parallel arrays.

    Attributes:
        part: For each run the number of its part.
        first: Its first row there.
        starts: Its first row among all, ascending from 0; and last, the number of all rows.
    """

    part: Int64Array
    first: Int64Array
    starts: Int64Array

    @staticmethod
    def of(part: Int64Array, first: Int64Array, end: Int64Array) -> Runs:
        """Return runs from `first` to `end` (exclusive) of their parts."""
        return Runs(part, first, np.append(0, np.cumsum(end - first)))

    def places(self, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return for each of some rows its part, and its row there."""
        run = np.searchsorted(self.starts, rows, "right") - 1
        return self.part[run], self.first[run] + rows - self.starts[run]

    def slices(self) -> list[tuple[int, slice]]:
        """Return for each run its part, and its rows there."""
        ends = self.first + np.diff(self.starts)
        bounds = zip(self.part.tolist(), self.first.tolist(), ends.tolist(), strict=True)
        return [(part, slice(first, end)) for part, first, end in bounds]

    def joined(self, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return the rows of arrays of the parts."""
        found = [parts[part][rows] for part, rows in self.slices()]
        return found[0] if len(found) == 1 else np.concatenate(found or [parts[0][:0]])

    def joined_arrow(self, parts: Sequence[AnyArray]) -> AnyArray:
        """Return the rows of Arrow arrays of the parts."""
        found = [parts[part][rows] for part, rows in self.slices()]
        return found[0] if len(found) == 1 else pa.concat_arrays(found or [parts[0][:0]])

    def taken(self, rows: Int64Array, texts_of: Callable[[int], AnyArray]) -> AnyArray:
        """Return texts of some rows; `texts_of` returns those of all rows of a part."""
        if len(self.part) == 1:
            return texts_of(int(self.part[0])).take(arrow_array(rows + self.first[0]))
        of_row, places = self.places(rows)
        used = np.unique(of_row)
        if len(used) == 1:
            return texts_of(int(used[0])).take(arrow_array(places))
        chosen = [np.flatnonzero(of_row == part) for part in used]
        texts = [
            texts_of(int(part)).take(arrow_array(places[own]))
            for part, own in zip(used, chosen, strict=True)
        ]
        order = np.empty(len(rows), np.int64)
        order[np.concatenate(chosen or [order])] = np.arange(len(rows))
        return pa.concat_arrays(texts or [texts_of(0)[:0]]).take(arrow_array(order))


class _Slices:
    """What follows from the columns of file slices, be they stored or put together of parts."""

    num_files: int
    num_slices: int
    file_slice: Int32Array
    file_is_log: BoolArray
    slice_partition: Int32Array
    slices_of_partition: Int64Array
    partition_file_bounds: Int64Array

    @computed_once
    def is_file_per_slice(self) -> bool:
        """Whether each slice is one file."""
        return self.num_files == self.num_slices  # every slice has a file

    @computed_once
    def has_logs(self) -> bool:
        """Whether any file is a log file."""
        return bool(self.file_is_log.any())

    @computed_once
    def slice_start(self) -> Int64Array:
        """The first file of each slice."""
        begins = np.append(True, self.file_slice[1:] != self.file_slice[:-1])
        return np.flatnonzero(begins).astype(np.int64)

    @computed_once
    def partition_slice_bounds(self) -> Int64Array:
        """The slices of partition p are those from bounds[p] up to bounds[p + 1] (exclusive)."""
        return np.append(0, np.cumsum(self.slices_of_partition))

    @computed_once
    def partition_files(self) -> Int64Array:
        """The number of files of each partition."""
        return np.diff(self.partition_file_bounds)


@dataclass(frozen=True, eq=False)
class ListingPart(_Slices):
    """The file slices of some partitions of a table, column by column.

    `partitions` are distinct and sorted as UTF-8 bytes, without partitions that have no slice.
    Slices are sorted by partition and file id. Files are sorted by slice: the base file first, then
    log files in the order in which they were written. All arrays are read-only.
    """

    partitions: AnyArray
    slice_partition: Int32Array
    slice_file_id: AnyArray
    slice_base_instant: AnyArray
    file_slice: Int32Array
    file_name: AnyArray
    file_size: Int64Array
    file_is_log: BoolArray

    def __reduce__(self) -> tuple[type[ListingPart], tuple[Any, ...]]:
        """Pickle without what was computed."""
        return ListingPart, tuple(getattr(self, own.name) for own in fields(self))

    @computed_once
    def _digests(self) -> dict[int, bytes]:
        return {}

    @computed_once
    def num_files(self) -> int:
        """Number of files."""
        return len(self.file_slice)

    @computed_once
    def num_slices(self) -> int:
        """Number of slices."""
        return len(self.slice_partition)

    @computed_once
    def slices_of_partition(self) -> Int64Array:
        """The number of slices of each partition; slices are in the order of partitions."""
        return np.bincount(self.slice_partition, minlength=len(self.partitions)).astype(np.int64)

    @computed_once
    def zone_starts(self) -> Int64Array:
        """The first file of each zone."""
        first = np.arange(0, self.num_slices, ZONE_SLICES)
        return first if self.is_file_per_slice else self.slice_start[first]

    @computed_once
    def partition_file_bounds(self) -> Int64Array:
        """The files of partition p are those from bounds[p] up to bounds[p + 1] (exclusive)."""
        if self.is_file_per_slice:
            return self.partition_slice_bounds
        return np.append(self.slice_start, self.num_files)[self.partition_slice_bounds]

    @computed_once
    def file_instants(self) -> AnyArray:
        """For each file the requested time of the write that made it, by its name.

        For log files of layout 1 this is the time of the slice's base file. Null if the name has
        none.
        """
        if self.is_file_per_slice and not self.has_logs:
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

    @computed_once
    def tokens(self) -> AnyArray:
        """For each file a text that identifies its bytes: its name; for log files name@length."""
        if not self.has_logs:
            return self.file_name
        lengths = pc.cast(arrow_array(self.file_size), pa.string())
        with_length = pc.binary_join_element_wise(self.file_name, lengths, "@")
        return pc.if_else(arrow_array(self.file_is_log), with_length, self.file_name)

    @computed_once
    def token_ends(self) -> npt.NDArray[Any]:
        """The bytes of the tokens before each file and, last, of all."""
        return text_ends(self.tokens) if len(self.tokens) else np.zeros(1, np.int64)

    @computed_once
    def partition_token_bytes(self) -> Int64Array:
        """What the tokens of each partition's files take together."""
        ends = self.token_ends[self.partition_file_bounds]
        found: Int64Array = np.diff(ends) + _LENGTH_BYTES * self.partition_files
        return found

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

    @property
    def file_partition(self) -> Int32Array:
        """For each file the index of its partition (ascending)."""
        return self.slice_partition[self.file_slice]

    @computed_once
    def nbytes(self) -> int:
        """Memory of the names and the numbers in bytes."""
        names: int = self.file_name.nbytes + self.slice_file_id.nbytes
        return names + self.file_slice.nbytes + self.file_size.nbytes + self.file_is_log.nbytes


@dataclass(frozen=True, eq=False)
class FileListing(_Slices):
    """The file slices of a table that a query sees at `instant`, column by column.

    It is made of whole partitions of parts. A commit changes few partitions of a large table: what
    is known about the others stays in the part that has it, as names and digests, and only numbers
    are copied. Other listings have one part. The order is that of a part (`ListingPart`).

    Attributes:
        instant: Requested time of the newest write that is considered; None for a table without
            commits.
        parts: Each has a partition of the listing, if there are any.
        part_of: For each partition the number of the part that has it.
        place: For each partition its index in this part.
    """

    instant: str | None
    view: TableView
    parts: tuple[ListingPart, ...]
    part_of: Int64Array
    place: Int64Array

    @staticmethod
    def of(instant: str | None, view: TableView, part: ListingPart) -> FileListing:
        """Return the listing of all partitions of one part."""
        places = np.arange(len(part.partitions))
        return FileListing(instant, view, (part,), np.zeros_like(places), places)

    def __repr__(self) -> str:
        """Return one line, as there may be a million files."""
        what = f"{self.num_files} files in {len(self.partitions)} partitions"
        return f"<FileListing: {what}, {self.view.value}, as of {self.instant}>"

    def __reduce__(self) -> tuple[type[FileListing], tuple[Any, ...]]:
        """Pickle without what was computed."""
        return FileListing, tuple(getattr(self, own.name) for own in fields(self))

    @computed_once
    def is_whole(self) -> bool:
        """Whether these are all partitions of one part."""
        return len(self.parts) == 1 and len(self.place) == len(self.parts[0].partitions)

    @computed_once
    def partitions(self) -> AnyArray:
        """The partitions; distinct, and sorted as UTF-8 bytes."""
        if self.is_whole:
            return self.parts[0].partitions
        paths = [part.partitions for part in self.parts]
        offsets = np.cumsum([0, *map(len, paths)])
        return pa.concat_arrays(paths).take(arrow_array(offsets[self.part_of] + self.place))

    @computed_once
    def slice_runs(self) -> Runs:
        """The slices of the parts."""
        return self._runs([part.partition_slice_bounds for part in self.parts])

    @computed_once
    def file_runs(self) -> Runs:
        """The files of the parts."""
        return self._runs([part.partition_file_bounds for part in self.parts])

    def _runs(self, ends: Sequence[Int64Array]) -> Runs:
        """Return runs of rows of which each part has those of partition p up to ends[p + 1]."""
        if not len(self.place):
            nothing = np.zeros(0, np.int64)
            return Runs.of(nothing, nothing, nothing)
        follows = (np.diff(self.part_of) == 0) & (np.diff(self.place) == 1)
        first = np.flatnonzero(np.append(True, ~follows))
        last = np.append(first[1:], len(self.place)) - 1
        part = self.part_of[first]
        begin = [ends[p][at] for p, at in zip(part, self.place[first], strict=True)]
        end = [ends[p][at + 1] for p, at in zip(part, self.place[last], strict=True)]
        return Runs.of(part, np.array(begin, np.int64), np.array(end, np.int64))

    def _gathered(self, parts: Sequence[Int64Array]) -> Int64Array:
        """Return a number of each partition, of those of the parts' partitions."""
        offsets = np.cumsum([0, *map(len, parts)])
        return np.concatenate(parts)[offsets[self.part_of] + self.place]

    @computed_once
    def num_files(self) -> int:
        """Number of files."""
        return int(self.file_runs.starts[-1])

    @computed_once
    def num_slices(self) -> int:
        """Number of slices."""
        return int(self.slice_runs.starts[-1])

    def partitions_of(self, files: Int64Array) -> Int32Array:
        """Return the partitions of some files, both as positions."""
        found = np.searchsorted(self.partition_file_bounds, files, "right") - 1
        return found.astype(np.int32)

    @computed_once
    def partition_file_bounds(self) -> Int64Array:
        """The files of partition p are those from bounds[p] up to bounds[p + 1] (exclusive)."""
        return np.append(
            0, np.cumsum(self._gathered([part.partition_files for part in self.parts]))
        )

    @computed_once
    def slice_partition(self) -> Int32Array:
        """For each slice its partition (ascending); made when it is needed, as are most arrays."""
        if self.is_whole:
            return self.parts[0].slice_partition
        return np.repeat(np.arange(len(self.place), dtype=np.int32), self.slices_of_partition)

    @computed_once
    def file_slice(self) -> Int32Array:
        """For each file its slice."""
        if self.is_whole:
            return self.parts[0].file_slice
        slices, files = self.slice_runs, self.file_runs
        if self.is_file_per_slice:
            return np.arange(self.num_files, dtype=np.int32)
        moved = zip(files.slices(), slices.first.tolist(), slices.starts.tolist(), strict=False)
        found = [
            self.parts[part].file_slice[rows] + np.int32(start - first)
            for (part, rows), first, start in moved
        ]
        return np.concatenate(found or [np.zeros(0, np.int32)])

    @computed_once
    def file_size(self) -> Int64Array:
        """For each file its size in bytes."""
        return self.file_runs.joined([part.file_size for part in self.parts])

    @computed_once
    def slice_file_id(self) -> AnyArray:
        """For each slice its file id."""
        return self.slice_runs.joined_arrow([part.slice_file_id for part in self.parts])

    @computed_once
    def slice_base_instant(self) -> AnyArray:
        """For each slice its base instant."""
        return self.slice_runs.joined_arrow([part.slice_base_instant for part in self.parts])

    @computed_once
    def file_name(self) -> AnyArray:
        """For each file its name."""
        return self.file_runs.joined_arrow([part.file_name for part in self.parts])

    @computed_once
    def file_instants(self) -> AnyArray:
        """For each file the time of its write, see `ListingPart`."""
        return self.file_runs.joined_arrow([part.file_instants for part in self.parts])

    @computed_once
    def tokens(self) -> AnyArray:
        """For each file a text that identifies its bytes, see `ListingPart`."""
        return self.file_runs.joined_arrow([part.tokens for part in self.parts])

    def names_at(self, files: Int64Array) -> AnyArray:
        """Return the names of some files, given by their positions."""
        return self.file_runs.taken(files, lambda part: self.parts[part].file_name)

    def tokens_at(self, files: Int64Array) -> AnyArray:
        """Return the tokens of some files, given by their positions."""
        return self.file_runs.taken(files, lambda part: self.parts[part].tokens)

    def token_texts(self, files: Int64Array) -> list[str]:
        """Return the tokens of some files, given by their positions, as texts."""
        return text_list(self.tokens_at(files))

    def file_ids_at(self, slices: Int64Array) -> AnyArray:
        """Return the file ids of some slices, given by their positions."""
        return self.slice_runs.taken(slices, lambda part: self.parts[part].slice_file_id)

    def base_instants_at(self, slices: Int64Array) -> AnyArray:
        """Return the base instants of some slices, given by their positions."""
        return self.slice_runs.taken(slices, lambda part: self.parts[part].slice_base_instant)

    @computed_once
    def token_ends(self) -> Int64Array:
        """The bytes of the tokens before each file and, last, of all."""
        lengths = self.file_runs.joined([np.diff(part.token_ends) for part in self.parts])
        return np.append(0, np.cumsum(lengths, dtype=np.int64))

    @computed_once
    def partition_token_bytes(self) -> Int64Array:
        """What the tokens of each partition's files take together."""
        return self._gathered([part.partition_token_bytes for part in self.parts])

    def partition_tokens(self, partition: int) -> AnyArray:
        """Return the tokens of a partition's files (by index), sorted as unsigned UTF-8 bytes."""
        return self._part(partition).partition_tokens(int(self.place[partition]))

    def digest(self, partition: int) -> bytes:
        """Return the SHA-256 of a partition's sorted tokens, each followed by a newline."""
        return self._part(partition).digest(int(self.place[partition]))

    def _part(self, partition: int) -> ListingPart:
        return self.parts[int(self.part_of[partition])]

    @computed_once
    def partition_instants(self) -> tuple[Int32Array, AnyArray]:
        """The distinct pairs of a partition (by index) and one of its `file_instants`."""
        found: list[Int32Array] = []
        texts: list[AnyArray] = []
        for number, part in enumerate(self.parts):
            own = np.flatnonzero(self.part_of == number)
            here = np.full(len(part.partitions), -1, np.int32)
            here[self.place[own]] = own
            of_partition, instants = part.partition_instants
            moved = here[of_partition]
            found.append(moved[moved >= 0])
            texts.append(instants.filter(arrow_array(moved >= 0)))
        return np.concatenate(found), pa.concat_arrays(texts)

    @computed_once
    def zone_runs(self) -> Runs:
        """The zones: those of the parts, as far as their slices are in this listing."""
        runs = self.slice_runs
        first = runs.first // ZONE_SLICES
        end = (runs.first + np.diff(runs.starts) - 1) // ZONE_SLICES + 1
        return Runs.of(runs.part, first, end)

    @computed_once
    def zone_bounds(self) -> Int64Array:
        """The slices of zone z are those from bounds[z] up to bounds[z + 1] (exclusive)."""
        runs, zones = self.slice_runs, self.zone_runs
        lengths = np.diff(zones.starts)
        run = np.repeat(np.arange(len(lengths)), lengths)
        zone = zones.first[run] + np.arange(zones.starts[-1]) - zones.starts[run]
        begin = np.maximum(zone * ZONE_SLICES, runs.first[run])
        return np.append(runs.starts[run] + begin - runs.first[run], runs.starts[-1])

    def zones_of(self, slices: Int64Array) -> Int64Array:
        """Return the zones of slices, both as positions."""
        return np.searchsorted(self.zone_bounds, slices, "right") - 1

    @computed_once
    def nbytes(self) -> int:
        """Memory of the names and the numbers in bytes."""
        if self.is_whole:
            return self.parts[0].nbytes
        own = _OF_FILES * self.num_files + _OF_SLICES * self.num_slices
        return sum(part.nbytes for part in self.parts) + own

    @computed_once
    def file_is_log(self) -> BoolArray:
        """For each file whether it is a log file."""
        return self.file_runs.joined([part.file_is_log for part in self.parts])

    @computed_once
    def slices_of_partition(self) -> Int64Array:
        """The number of slices of each partition; slices are in the order of partitions."""
        return self._gathered([part.slices_of_partition for part in self.parts])

    @computed_once
    def file_partition(self) -> Int32Array:
        """For each file the index of its partition (ascending)."""
        return self.slice_partition[self.file_slice]

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

    def some(self, slices: BoolArray) -> FileListing:
        """Return the listing of the flagged slices only."""
        return self.at(np.flatnonzero(slices))

    def base_files_only(self) -> FileListing:
        """Return the listing of the slices with a base file, without their log files."""
        return self.with_files(~self.file_is_log) if self.has_logs else self

    def of_files(self, slices: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
        """Repeat a value of each slice for each of its files."""
        return slices if self.is_file_per_slice else slices[self.file_slice]

    @computed_once
    def every_slice(self) -> BoolArray:
        """One flag for each slice, all set; not to be written to."""
        return np.ones(self.num_slices, np.bool_)

    def slices_of_partitions(self, partitions: BoolArray) -> BoolArray:
        """Repeat the flag of each partition for each of its slices."""
        return np.repeat(partitions, self.slices_of_partition)

    def any_file_of_slice(self, files: BoolArray) -> BoolArray:
        """Return for each slice whether one of its files is flagged."""
        if self.is_file_per_slice:
            return files
        return np.logical_or.reduceat(files, self.slice_start)

    def partition_slices(self, partitions: BoolArray) -> Int64Array:
        """Return the slices of the flagged partitions, ascending."""
        return ranges(self.partition_slice_bounds, np.flatnonzero(partitions))

    @computed_once
    def zone_starts(self) -> Int64Array:
        """The first file of each zone."""
        first = self.zone_bounds[:-1]
        return first if self.is_file_per_slice else self.slice_start[first]

    def files_of(self, slices: Int64Array) -> SliceFiles:
        """Return the files of some slices, given as ascending positions."""
        if self.is_file_per_slice:
            return SliceFiles(slices, self.file_is_log[slices], np.arange(len(slices)))
        ends = np.append(self.slice_start, self.num_files)
        files = ranges(ends, slices)
        starts = np.cumsum(ends[slices + 1] - ends[slices]) - (ends[slices + 1] - ends[slices])
        return SliceFiles(files, self.file_is_log[files], starts)

    @computed_once
    def partition_paths(self) -> list[str]:
        """The partitions as texts."""
        return string_list(self.partitions)

    @computed_once
    def total_bytes(self) -> int:
        """The size of all files in bytes."""
        return int(self.file_size.sum())

    def token_bytes(self, files: Int64Array) -> Int64Array:
        """Return what some files' tokens take in a message; the files are given by positions."""
        ends = self.token_ends
        found: Int64Array = ends[files + 1] - ends[files] + _LENGTH_BYTES
        return found

    def paths(self, files: npt.NDArray[np.generic]) -> list[str]:
        """Return the paths of the chosen files (positions or flags), relative to the base path."""
        is_flags = files.dtype == np.bool_
        chosen: Int64Array = np.flatnonzero(files) if is_flags else files.astype(np.int64)
        partition = self.partitions_of(chosen)
        partitions = self.partitions.take(arrow_array(partition))
        slash = arrow_scalar("/", pa.string())
        joined = pc.binary_join_element_wise(partitions, self.names_at(chosen), slash)
        return [str(path) for path in pc.utf8_ltrim(joined, characters="/").to_pylist()]

    def at(self, slices: Int64Array) -> FileListing:
        """Return the listing of some slices only, given as ascending positions."""
        chosen = self.files_of(slices)
        used, partition = np.unique(self.slice_partition[slices], return_inverse=True)
        lengths = np.diff(np.append(chosen.starts, chosen.num_files))
        part = ListingPart(
            partitions=self.partitions.take(used),
            slice_partition=partition.astype(np.int32),
            slice_file_id=self.file_ids_at(slices),
            slice_base_instant=self.base_instants_at(slices),
            file_slice=np.repeat(np.arange(len(slices), dtype=np.int32), lengths),
            file_name=self.names_at(chosen.files),
            file_size=self.file_size[chosen.files],
            file_is_log=chosen.file_is_log,
        )
        return FileListing.of(self.instant, self.view, part)

    def with_files(self, files: BoolArray) -> FileListing:
        """Return the listing of the flagged files, and of the slices that have one."""
        slices = self.any_file_of_slice(files)
        (found,), kept = self.some(slices).parts, files[self.of_files(slices)]
        part = replace(
            found,
            file_slice=found.file_slice[kept],
            file_name=found.file_name.take(np.flatnonzero(kept)),
            file_size=found.file_size[kept],
            file_is_log=found.file_is_log[kept],
        )
        return FileListing.of(self.instant, self.view, part)

    def with_partitions(self, fresh: FileListing, replaced: frozenset[str]) -> FileListing:
        """Return a listing with some partitions of a later one in place of those that it replaces.

        Args:
            fresh: The partitions as they are now; its instant is that of the result.
            replaced: All partitions that may have changed: only the fresh listing's count.
        """
        kept = ~numpy_flags(pc.is_in(self.partitions, pa.array(sorted(replaced), pa.string())))
        parts = (*self.parts, *fresh.parts)
        part_of = np.append(self.part_of[kept], fresh.part_of + len(self.parts))
        place = np.append(self.place[kept], fresh.place)
        paths = pa.concat_arrays([self.partitions.filter(arrow_array(kept)), fresh.partitions])
        order = np.asarray(pc.array_sort_indices(paths).to_numpy(), np.int64)
        if not len(order):
            return fresh  # nothing is left
        used, part_of = np.unique(part_of[order], return_inverse=True)
        chosen = tuple(parts[number] for number in used)
        return FileListing(fresh.instant, self.view, chosen, part_of, place[order])


def text_list(texts: AnyArray) -> list[str]:
    """Return texts as a list: far faster than to_pylist, which creates a scalar for each."""
    found: list[str] = texts.to_numpy(zero_copy_only=False).tolist()
    return found

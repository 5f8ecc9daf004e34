"""A listing made of whole partitions of other listings, without copies of their texts.

A commit changes few partitions of a large table. What is known about the others stays as it is:
names are looked up in the listing that has them, and so are digests. Only numbers are copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, Int32Array, Int64Array
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.tables.listing import ZONE_SLICES, FileListing, TableView, text_list

_OF_FILES, _OF_SLICES = 4 + 8 + 1, 4
"""Bytes of the numbers of a file, and of a slice."""


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
        return found[0] if len(found) == 1 else np.concatenate(found)

    def joined_arrow(self, parts: Sequence[AnyArray]) -> AnyArray:
        """Return the rows of Arrow arrays of the parts."""
        return pa.concat_arrays([parts[part][rows] for part, rows in self.slices()])

    def taken(self, rows: Int64Array, take: Callable[[int, Int64Array], AnyArray]) -> AnyArray:
        """Return texts of some rows; `take` returns those of a part's rows."""
        of_row, places = self.places(rows)
        used = np.unique(of_row)
        if len(used) == 1:
            return take(int(used[0]), places)
        chosen = [np.flatnonzero(of_row == part) for part in used]
        texts = [take(int(part), places[own]) for part, own in zip(used, chosen, strict=True)]
        order = np.empty(len(rows), np.int64)
        order[np.concatenate(chosen or [order])] = np.arange(len(rows))
        return pa.concat_arrays(texts or [take(0, places)]).take(pa.array(order))


class JoinedListing(FileListing):
    """Whole partitions of other listings, in the order of their paths.

    Attributes:
        parts: The other listings; each has a partition in this one, and none is joined itself.
        part_of: For each partition the part that has it.
        place: For each partition its index in this part.
    """

    parts: tuple[FileListing, ...]
    part_of: Int64Array
    place: Int64Array

    def __init__(
        self,
        instant: str | None,
        view: TableView,
        parts: Sequence[FileListing],
        part_of: Int64Array,
        place: Int64Array,
    ) -> None:
        paths = [part.partitions for part in parts]
        offsets = np.cumsum([0, *map(len, paths)])
        every = pa.concat_arrays(paths)
        self.__dict__.update(
            instant=instant,
            view=view,
            parts=tuple(parts),
            part_of=part_of,
            place=place,
            partitions=every.take(pa.array(offsets[part_of] + place)),
            _digests={},
        )
        slices, files = self._runs("_partition_slice_bounds"), self._runs("partition_file_bounds")
        of_slices = self._gathered("_slices_of_partition")
        self.__dict__.update(
            slice_runs=slices,
            file_runs=files,
            _slices_of_partition=of_slices,
            file_is_log=files.joined([part.file_is_log for part in parts]),
        )

    slice_runs: Runs
    file_runs: Runs

    def __reduce__(self) -> tuple[type[JoinedListing], tuple[Any, ...]]:
        """Pickle what it is made of."""
        own = (self.instant, self.view, self.parts, self.part_of, self.place)
        return JoinedListing, own

    def _runs(self, bounds: str) -> Runs:
        """Return runs of rows of which each part has those of partition p up to bounds[p + 1]."""
        if not len(self.place):
            nothing = np.zeros(0, np.int64)
            return Runs.of(nothing, nothing, nothing)
        follows = (np.diff(self.part_of) == 0) & (np.diff(self.place) == 1)
        first = np.flatnonzero(np.append(True, ~follows))
        last = np.append(first[1:], len(self.place)) - 1
        ends = [getattr(part, bounds) for part in self.parts]
        part = self.part_of[first]
        begin = [ends[p][at] for p, at in zip(part, self.place[first], strict=True)]
        end = [ends[p][at + 1] for p, at in zip(part, self.place[last], strict=True)]
        return Runs.of(part, np.array(begin, np.int64), np.array(end, np.int64))

    def _gathered(self, name: str) -> npt.NDArray[Any]:
        """Return a number of each partition."""
        parts = [getattr(part, name) for part in self.parts]
        offsets = np.cumsum([0, *map(len, parts)])
        return np.concatenate(parts)[offsets[self.part_of] + self.place]

    @computed_once
    def num_files(self) -> int:
        """See `FileListing`."""
        return int(self.file_runs.starts[-1])

    @computed_once
    def num_slices(self) -> int:
        """See `FileListing`."""
        return int(self.slice_runs.starts[-1])

    def partitions_of(self, files: Int64Array) -> Int32Array:
        """See `FileListing`."""
        found = np.searchsorted(self.partition_file_bounds, files, "right") - 1
        return found.astype(np.int32)

    @computed_once
    def partition_file_bounds(self) -> Int64Array:
        """See `FileListing`."""
        return np.append(0, np.cumsum(self._gathered("partition_files")))

    @computed_once
    def slice_partition(self) -> Int32Array:
        """See `FileListing`; made when it is needed as a whole, as are most arrays."""
        return np.repeat(np.arange(len(self.place), dtype=np.int32), self._slices_of_partition)

    @computed_once
    def file_slice(self) -> Int32Array:
        """See `FileListing`."""
        slices, files = self.slice_runs, self.file_runs
        if self._is_file_per_slice:
            return np.arange(self.num_files, dtype=np.int32)
        moved = zip(files.slices(), slices.first.tolist(), slices.starts.tolist(), strict=False)
        found = [
            self.parts[part].file_slice[rows] + np.int32(start - first)
            for (part, rows), first, start in moved
        ]
        return np.concatenate(found or [np.zeros(0, np.int32)])

    @computed_once
    def file_size(self) -> Int64Array:
        """See `FileListing`."""
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
        """See `FileListing`."""
        return self.file_runs.joined_arrow([part.file_instants for part in self.parts])

    @computed_once
    def tokens(self) -> AnyArray:
        """See `FileListing`."""
        return self.file_runs.joined_arrow([part.tokens for part in self.parts])

    def names_at(self, files: Int64Array) -> AnyArray:
        """See `FileListing`."""
        return self.file_runs.taken(files, lambda part, rows: self.parts[part].names_at(rows))

    def tokens_at(self, files: Int64Array) -> AnyArray:
        """See `FileListing`."""
        return self.file_runs.taken(files, lambda part, rows: self.parts[part].tokens_at(rows))

    def token_texts(self, files: Int64Array) -> list[str]:
        """See `FileListing`."""
        return text_list(self.tokens_at(files))

    def file_ids_at(self, slices: Int64Array) -> AnyArray:
        """See `FileListing`."""
        return self.slice_runs.taken(slices, lambda part, rows: self.parts[part].file_ids_at(rows))

    def base_instants_at(self, slices: Int64Array) -> AnyArray:
        """See `FileListing`."""
        return self.slice_runs.taken(
            slices, lambda part, rows: self.parts[part].base_instants_at(rows)
        )

    @computed_once
    def _token_ends(self) -> Int64Array:
        lengths = self.file_runs.joined([np.diff(part._token_ends) for part in self.parts])
        return np.append(0, np.cumsum(lengths, dtype=np.int64))

    @computed_once
    def partition_token_bytes(self) -> Int64Array:
        """See `FileListing`."""
        return self._gathered("partition_token_bytes")

    def partition_tokens(self, partition: int) -> AnyArray:
        """See `FileListing`."""
        return self._part(partition).partition_tokens(int(self.place[partition]))

    def digest(self, partition: int) -> bytes:
        """See `FileListing`; cached by the part."""
        return self._part(partition).digest(int(self.place[partition]))

    def _part(self, partition: int) -> FileListing:
        return self.parts[int(self.part_of[partition])]

    @computed_once
    def partition_instants(self) -> tuple[Int32Array, AnyArray]:
        """See `FileListing`."""
        found: list[Int32Array] = []
        texts: list[AnyArray] = []
        for number, part in enumerate(self.parts):
            own = np.flatnonzero(self.part_of == number)
            here = np.full(len(part.partitions), -1, np.int32)
            here[self.place[own]] = own
            of_partition, instants = part.partition_instants
            moved = here[of_partition]
            found.append(moved[moved >= 0])
            texts.append(instants.filter(pa.array(moved >= 0)))
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
        """See `FileListing`; zones may have fewer slices."""
        runs, zones = self.slice_runs, self.zone_runs
        lengths = np.diff(zones.starts)
        run = np.repeat(np.arange(len(lengths)), lengths)
        zone = zones.first[run] + np.arange(zones.starts[-1]) - zones.starts[run]
        begin = np.maximum(zone * ZONE_SLICES, runs.first[run])
        return np.append(runs.starts[run] + begin - runs.first[run], runs.starts[-1])

    def zones_of(self, slices: Int64Array) -> Int64Array:
        """See `FileListing`."""
        return np.searchsorted(self.zone_bounds, slices, "right") - 1

    @computed_once
    def nbytes(self) -> int:
        """See `FileListing`: that of the parts and its own numbers, once they are made."""
        own = _OF_FILES * self.num_files + _OF_SLICES * self.num_slices
        return sum(part.nbytes for part in self.parts) + own


def joined_listing(
    earlier: FileListing, fresh: FileListing, replaced: frozenset[str]
) -> FileListing:
    """Return a listing with some partitions of a fresh one in place of those that it replaces.

    Args:
        earlier: The listing of an earlier instant.
        fresh: The partitions as they are now; its instant is that of the result.
        replaced: All partitions that may have changed: only the fresh listing's count.
    """
    parts, part_of, place = _made_of(earlier)
    kept = ~_flags(pc.is_in(earlier.partitions, pa.array(sorted(replaced), pa.string())))
    part_of = np.append(part_of[kept], np.full(len(fresh.partitions), len(parts)))
    place = np.append(place[kept], np.arange(len(fresh.partitions)))
    paths = pa.concat_arrays([earlier.partitions.filter(pa.array(kept)), fresh.partitions])
    order = np.asarray(pc.array_sort_indices(paths).to_numpy(), np.int64)
    if not len(order):
        return fresh  # nothing is left
    used, part_of = np.unique(part_of[order], return_inverse=True)
    every = (*parts, fresh)
    return JoinedListing(
        fresh.instant, earlier.view, [every[number] for number in used], part_of, place[order]
    )


def _made_of(listing: FileListing) -> tuple[tuple[FileListing, ...], Int64Array, Int64Array]:
    if isinstance(listing, JoinedListing):
        return listing.parts, listing.part_of, listing.place
    partitions = np.arange(len(listing.partitions))
    return (listing,), np.zeros_like(partitions), partitions


def _flags(answer: AnyArray) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = answer.to_numpy(zero_copy_only=False)
    return found

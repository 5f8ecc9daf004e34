"""Look keys and values up in an index's files: only the blocks that may hold them are read.

The shard follows from the key, and in indexes of version V2 from the value. An index of version V1
shards by the whole entry, so each shard is asked for the value's entries. Keys and values of one
question are sorted, and walk through each file once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, Int32Array, arrow_list, numpy_numbers, value_list
from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import (
    secondary_prefix,
    secondary_shard_key,
    shards,
)
from pyhudi_expr.tables.mdt.hfile.cells import Cells
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.records.metadata_records import EncodedRecords, joined_by_schema
from pyhudi_expr.tables.mdt.store.file_group import FileGroup, PrefixScan, Scan, announce
from pyhudi_expr.tables.mdt.store.hashed_records import UNLISTED
from pyhudi_expr.tables.mdt.store.index_records import (
    entries,
    group_name,
    group_names,
    group_of,
    locations,
)
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

BLOCK_BYTES = 64 << 10
"""What a look-up of one key reads of a file, at most of the time."""
_MOST_KNOWN = 100_000
"""Answers that are kept for the next question."""

T = TypeVar("T")

_NONE = np.zeros(0, np.int32)


def look_up_bytes(keys: float, whole: float) -> float:
    """Estimate the bytes that a look-up of so many keys reads of an index of `whole` bytes."""
    return min(keys * BLOCK_BYTES, whole)


def listing_groups(listing: FileListing) -> AnyArray:
    """Return the name of each slice's file group, see `index_records.group_names`."""
    return group_names(listing.partitions.take(listing.slice_partition), listing.slice_file_id)


@dataclass(frozen=True)
class KeyLookup:
    """Finds the slices of record keys. Thread safe.

    Attributes:
        mdt: The metadata table with the record index.
        groups: The name of each slice's file group.
    """

    mdt: MetadataTable
    groups: AnyArray
    _known: dict[bytes, int | None] = field(default_factory=dict)

    def slices_of(self, keys: Sequence[bytes]) -> Int32Array:
        """Return the numbers of the slices that entries of the keys name, in no order.

        -1 stands for a file group that has no slice.

        Raises:
            HudiError: The index cannot be read.
        """
        slices = self.by_key(keys)
        return _distinct(slices, keys)

    def by_key(self, keys: Sequence[bytes]) -> Mapping[bytes, int]:
        """Return the number of the slice of each key that has an entry, see `slices_of`."""
        answers = {key: self._known[key] for key in keys if key in self._known}
        fresh = [key for key in dict.fromkeys(keys) if key not in answers]
        if fresh:
            found = self._looked_up(fresh)
            answers.update({key: found.get(key) for key in fresh})
            _remember(self._known, answers)
        return {key: slice_ for key, slice_ in answers.items() if slice_ is not None}

    def _looked_up(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        owners: dict[bytes, bytes] = {}
        asked = by_shard(self.mdt.groups(RECORD_INDEX), zip(keys, keys, strict=True))
        for records in _read(self.mdt, [(group, _exact(wanted)) for group, wanted in asked]):
            owners.update(zip(records.cells.keys, value_list(locations(records)), strict=True))
        places = list(set(owners.values()))
        names = arrow_list([group_name(*group_of(place)) for place in places], pa.large_string())
        rows = numpy_numbers(pc.index_in(names, self.groups), UNLISTED).tolist()
        slices = dict(zip(places, rows, strict=True))
        return {key: slices[place] for key, place in owners.items()}


@dataclass(frozen=True)
class ValueLookup:
    """Finds the record keys of values in a secondary index, and through them slices. Thread safe.

    Attributes:
        mdt: The metadata table with the index.
        index: The index's metadata partition.
        by_value: Whether the shard follows from the value alone (version V2).
        slices_of_keys: Finds the slices of record keys, as `KeyLookup.by_key`.
    """

    mdt: MetadataTable
    index: str
    by_value: bool
    slices_of_keys: Callable[[Sequence[bytes]], Mapping[bytes, int]]
    _known: dict[bytes, Int32Array] = field(default_factory=dict)

    def slices_of(self, values: Sequence[bytes]) -> Int32Array:
        """Return the numbers of the slices with rows of these values, see `KeyLookup.slices_of`.

        Args:
            values: As the index writes them, without escapes; a NUL for null.

        Raises:
            HudiError: An index cannot be read.
        """
        answers = {value: self._known[value] for value in values if value in self._known}
        fresh = [value for value in dict.fromkeys(values) if value not in answers]
        if fresh:
            answers.update(self._looked_up(fresh))
            _remember(self._known, answers)
        return np.unique(np.concatenate([_NONE, *answers.values()]))

    def read_bytes(self, values: Sequence[bytes]) -> int:
        """Return how many bytes of the base files a look-up of the values reads.

        Values that were looked up before are known.

        Raises:
            HudiError: The index cannot be read.
        """
        total = 0
        fresh = [value for value in dict.fromkeys(values) if value not in self._known]
        for group, prefixes in self.asked(fresh):
            base, _ = group.sources
            total += 0 if base is None else base[1].prefix_bytes(prefixes)
        return total

    def _looked_up(self, values: Sequence[bytes]) -> dict[bytes, Int32Array]:
        keys: dict[bytes, list[bytes]] = {value: [] for value in values}
        asked = [(group, PrefixScan(tuple(own))) for group, own in self.asked(values)]
        for records in _read(self.mdt, asked):
            for part in entries(records):
                live = ~part.deleted
                of_value, of_key = part.values.take(live), part.keys.take(live)
                for value, key in zip(of_value.to_list(), of_key.to_list(), strict=True):
                    keys[self.asked_value(value, keys)].append(key)
        slices = self.slices_of_keys([key for own in keys.values() for key in own])
        return {value: _distinct(slices, own) for value, own in keys.items()}

    def asked_value(self, found: bytes, asked: Container[bytes]) -> bytes:
        """Return which of the asked values an entry with the value `found` is of."""
        return found

    def asked(self, values: Sequence[bytes]) -> Iterator[tuple[FileGroup, list[bytes]]]:
        """Return the shards to ask, with the prefixes of the entries to read there."""
        groups = self.mdt.groups(self.index)
        prefixes = {value: secondary_prefix(value.decode()).encode() for value in values}
        if not self.by_value:
            return ((group, sorted(prefixes.values())) for group in groups)
        hashed = ((key, prefixes[value]) for value in values for key in _hashed(value))
        return by_shard(groups, hashed)


def _hashed(value: bytes) -> set[bytes]:
    """Return what an index of version V2 may have hashed for a value."""
    text = value.decode()
    return {secondary_prefix(text).encode(), secondary_shard_key(text).encode()}


def _distinct(slices: Mapping[bytes, int], keys: Sequence[bytes]) -> Int32Array:
    """Return the distinct slices of the keys."""
    found = {slices[key] for key in keys if key in slices}
    return np.fromiter(found, np.int32, len(found))


def by_shard(
    groups: Sequence[FileGroup], hashed: Iterable[tuple[bytes, bytes]]
) -> Iterator[tuple[FileGroup, list[bytes]]]:
    """Return what to ask of each shard, given pairs of what is hashed and what is asked for."""
    pairs = list(hashed)
    number = shards(ByteStrings.of([key for key, _ in pairs]), len(groups)).tolist()
    asked: dict[int, set[bytes]] = {}
    for shard, (_, wanted) in zip(number, pairs, strict=True):
        asked.setdefault(shard, set()).add(wanted)
    announce([groups[shard] for shard in asked])
    for shard in sorted(asked):
        yield groups[shard], sorted(asked[shard])


def _read(mdt: MetadataTable, asked: Sequence[tuple[FileGroup, Scan]]) -> list[EncodedRecords]:
    """Return the newest records of each shard; those with one schema are decoded together."""

    def newest(one: tuple[FileGroup, Scan]) -> list[EncodedRecords]:
        group, ask = one
        # Few records of a block are wanted: the block's memory is free for the next one.
        return [replace(part, cells=part.cells.packed()) for part in group.newest(ask)]

    found = mdt.table.storage.at_once(newest, asked)
    return joined_by_schema(list(chain.from_iterable(found)))


def _exact(keys: Sequence[bytes]) -> Callable[[HFile], Iterator[Cells]]:
    return lambda hfile: iter([hfile.lookup(keys)])


def _remember(known: dict[bytes, T], answers: Mapping[bytes, T]) -> None:
    if len(known) + len(answers) > _MOST_KNOWN:
        known.clear()
    known.update(answers)

"""Check that each key of a record index has exactly one entry in a secondary index.

The digests of the entries are added up by the file groups of their keys.

Keys are compared by 64-bit hashes. Keys that share a hash are taken for one key with too many
entries, so their file groups are doubtful. Hashes are compared range by range, and kept on disk
until then, so memory does not grow with the index.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, AnyDictionaryArray, Int32Array, runs
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import Hashes, digests, hashes
from pyhudi_expr.tables.mdt.certificates.certificates import (
    NO_SUMS,
    EntrySums,
    ValueCertificate,
    named_groups,
)
from pyhudi_expr.tables.mdt.certificates.states import IndexState, state_of
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.index_records import entries, locations, number_flags

ROWS_IN_MEMORY = 4_000_000
"""Entries of one range that are compared at once: some 200 MB."""

_KEY = np.dtype([("hash", "<u8"), ("group", "<i4")])
ENTRY = np.dtype([("hash", "<u8"), ("low", "<u8"), ("high", "<u8")])
"""An entry of a secondary index: the hash of its record key, and both halves of its digest."""


def pair_entries(
    records: Sequence[FileGroup],
    values: Sequence[FileGroup],
    check: Callable[[], None],
    rows_in_memory: int = ROWS_IN_MEMORY,
) -> ValueCertificate:
    """Read a record index and a secondary index of the same metadata table.

    Args:
        records: The shards of the record index.
        values: The shards of the secondary index.
        check: Called for each piece of some megabytes.
        rows_in_memory: Limit of entries to compare at once.

    Raises:
        CorruptFile: An index is damaged.
    """
    stored = sum(file.size for shard in records for file in shard.stored_files)
    ranges = max(1, -(-stored // rows_in_memory))  # an entry takes more than a byte
    with tempfile.TemporaryDirectory(prefix="pyhudi-pairs-") as directory:
        keys = _Ranges(Path(directory), "keys", _KEY, ranges)
        groups = _GroupNumbers()
        for own, places in (piece for shard in records for piece in keys_of(shard)):
            check()
            rows = np.empty(len(own), _KEY)
            rows["hash"], rows["group"] = own, groups.numbers_of(places)
            keys.add(own, rows)
        named = _Ranges(Path(directory), "values", ENTRY, ranges)
        numbers_only = True
        for rows, is_number in (piece for shard in values for piece in entries_of(shard)):
            check()
            numbers_only &= is_number
            named.add(rows["hash"], rows)
        found = NO_PAIRS
        for number in range(ranges):
            rows = keys.range(number)
            places = pa.DictionaryArray.from_arrays(pa.array(rows["group"]), groups.places)
            found = found.joined(Pairs.of(rows["hash"], places, named.range(number)))
    return found.certificate(state_of(values), state_of(records), numbers_only)


@dataclass(frozen=True)
class Pairs:
    """Keys of a record index, and the entries of a secondary index that are about them.

    Attributes:
        doubtful: The locations of keys that have no entry or several.
        sums: The entries by their keys' locations; counted are those beyond one for each key.
        has_others: Whether there are other entries.
        are_told_apart: Whether no two keys have the same hash.
    """

    doubtful: AnyArray
    sums: EntrySums
    has_others: bool
    are_told_apart: bool

    @staticmethod
    def of(keys: Hashes, places: AnyDictionaryArray, named: npt.NDArray[np.void]) -> Pairs:
        """Compare some keys with all entries that are about them.

        Args:
            keys: Hashes of the keys.
            places: Their locations.
            named: Entries, see `ENTRY`.
        """
        order, order_named = np.argsort(keys), np.argsort(named["hash"])
        own, hashed = keys[order], named["hash"][order_named]
        entry = np.searchsorted(hashed, own, "left")
        count = np.searchsorted(hashed, own, "right") - entry
        same = own[1:] == own[:-1]
        is_shared = np.append(same, False) | np.append(False, same) if len(own) else same
        groups, group = places.dictionary, np.asarray(places.indices)[order]
        of_keys, owner = order_named[runs(entry, count)], np.repeat(group, count)
        size = len(groups)
        counts = np.bincount(owner, minlength=size) - np.bincount(group, minlength=size)
        sums = np.zeros((size, 2), np.uint64)
        for column, half in enumerate(("low", "high")):
            np.add.at(sums[:, column], owner, named[half][of_keys])
        return Pairs(
            groups.take(pa.array(np.unique(group[(count != 1) | is_shared]))),
            EntrySums(groups, counts, sums),
            # Entries of keys that share a hash are met more than once: then nothing is told apart.
            len(of_keys) < len(named),
            not is_shared.any(),
        )

    def joined(self, other: Pairs) -> Pairs:
        """Return these together with those of other keys."""
        return Pairs(
            pa.concat_arrays([self.doubtful, other.doubtful]).unique(),
            EntrySums.total([self.sums, other.sums]),
            self.has_others or other.has_others,
            self.are_told_apart and other.are_told_apart,
        )

    def certificate(
        self, values: IndexState, records: IndexState, numbers_only: bool
    ) -> ValueCertificate:
        """Return the certificate, if these are all keys and entries of the indexes."""
        doubtful = pa.array(named_groups(self.doubtful), pa.large_string())
        sums = EntrySums.total([self.sums.named()]) if self.are_told_apart else None
        return ValueCertificate(values, records, doubtful, numbers_only, sums, self.has_others)


NO_PAIRS = Pairs(NO_SUMS.groups, NO_SUMS, has_others=False, are_told_apart=True)
"""No keys and no entries."""


def keys_of(shard: FileGroup) -> Iterator[tuple[Hashes, AnyArray]]:
    """Return the hashes and locations of the keys in a shard of a record index, in pieces."""
    for found in shard.newest(HFile.scan):
        yield hashes(found.cells.key_strings), locations(found)


def entries_of(shard: FileGroup) -> Iterator[tuple[npt.NDArray[np.void], bool]]:
    """Return the entries in a shard of a secondary index, in pieces, see `ENTRY`.

    With each piece: whether all its values are integers in digits, or null.
    """
    for found in shard.newest(HFile.scan):
        for part in entries(found):
            live = ~part.deleted
            rows = np.empty(int(live.sum()), ENTRY)
            rows["hash"] = hashes(part.keys.take(live))
            rows["low"], rows["high"] = digests(part.records.take(live)).T
            yield rows, are_numbers(part.values.take(live))


def are_numbers(values: ByteStrings) -> bool:
    """Return whether all values are null or integers in digits."""
    return bool(pc.all(number_flags(values), min_count=0).as_py())


@dataclass
class _GroupNumbers:
    """Numbers the distinct locations in the order in which they are met."""

    places: AnyArray = field(default_factory=lambda: pa.array([], pa.binary()))

    def __len__(self) -> int:
        return len(self.places)

    def numbers_of(self, places: AnyArray) -> Int32Array:
        encoded = places.dictionary_encode()
        known = pc.index_in(encoded.dictionary, self.places)
        fresh = encoded.dictionary.filter(known.is_null())
        if len(fresh):
            self.places = pa.concat_arrays([self.places, fresh])
            known = pc.index_in(encoded.dictionary, self.places)
        numbers: Int32Array = known.to_numpy()[encoded.indices.to_numpy()]
        return numbers


class _Ranges:
    """Rows on disk, by ranges of their hashes."""

    def __init__(self, directory: Path, name: str, dtype: np.dtype, count: int) -> None:
        self._paths = [directory / f"{name}-{number}" for number in range(count)]
        self._dtype = dtype

    def add(self, own: Hashes, rows: np.ndarray) -> None:
        if len(self._paths) == 1:
            chosen = [rows]
        else:
            number = (own // np.uint64(-(-(2**64) // len(self._paths)))).astype(np.int64)
            order = np.argsort(number, kind="stable")
            edges = np.searchsorted(number[order], np.arange(1, len(self._paths)))
            chosen = np.split(rows[order], edges)
        for path, part in zip(self._paths, chosen, strict=True):
            with path.open("ab") as sink:
                part.tofile(sink)

    def range(self, number: int) -> np.ndarray:
        path = self._paths[number]
        return np.fromfile(path, self._dtype) if path.exists() else np.zeros(0, self._dtype)

"""Check that each key of a record index has exactly one entry in a secondary index.

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
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, Int32Array, Int64Array
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import Hashes, hashes
from pyhudi_expr.tables.mdt.certificates.certificates import ValueCertificate, named_groups
from pyhudi_expr.tables.mdt.certificates.states import state_of
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.index_records import entries, locations, number_flags

ROWS_IN_MEMORY = 4_000_000
"""Entries of one range that are compared at once: some 200 MB."""

_KEY = np.dtype([("hash", "<u8"), ("group", "<i4")])


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
        named = _Ranges(Path(directory), "values", np.dtype("<u8"), ranges)
        numbers_only = True
        for own, is_number in (piece for shard in values for piece in keys_of_values(shard)):
            check()
            numbers_only &= is_number
            named.add(own, own)
        doubtful = np.zeros(len(groups), np.bool_)
        for number in range(ranges):
            rows = keys.range(number)
            wrong = keys_without_one_value(rows["hash"], named.range(number))
            doubtful[rows["group"][wrong]] = True
    names = named_groups(groups.places.filter(pa.array(doubtful)))
    return ValueCertificate(
        state_of(values), state_of(records), pa.array(names, pa.large_string()), numbers_only
    )


def keys_of(shard: FileGroup) -> Iterator[tuple[Hashes, AnyArray]]:
    """Return the hashes and locations of the keys in a shard of a record index, in pieces."""
    for found in shard.newest(HFile.scan):
        yield hashes(found.cells.key_strings), locations(found)


def keys_of_values(shard: FileGroup) -> Iterator[tuple[Hashes, bool]]:
    """Return the hashes of the record keys in a shard of a secondary index, in pieces.

    With each piece: whether all its values are integers in digits, or null.
    """
    for found in shard.newest(HFile.scan):
        for part in entries(found):
            live = ~part.deleted
            yield hashes(part.keys.take(live)), are_numbers(part.values.take(live))


def keys_without_one_value(keys: Hashes, named: Hashes) -> Int64Array:
    """Return the positions of the keys that have no value or several, or share their hash.

    Args:
        keys: Hashes of record keys.
        named: The hash of the record key of each entry of the secondary index.
    """
    order = np.argsort(keys)
    own, named = keys[order], np.sort(named)
    count = np.searchsorted(named, own, "right") - np.searchsorted(named, own, "left")
    same = own[1:] == own[:-1]
    is_shared = np.append(same, False) | np.append(False, same) if len(own) else same
    found: Int64Array = order[(count != 1) | is_shared]
    return found


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

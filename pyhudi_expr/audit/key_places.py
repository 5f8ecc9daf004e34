"""`record_index`: the place of each key against the rows of the file slices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pyhudi_expr.arrays import BoolArray, Int32Array, Int64Array, string_list
from pyhudi_expr.audit.findings import Fault, Finding, Reader, Severity
from pyhudi_expr.audit.scope import MOST, AuditedRecords
from pyhudi_expr.audit.slice_keys import (
    RowReader,
    SliceKeys,
    is_among,
    joined_hashes,
    texts_of,
)
from pyhudi_expr.mdt.bytes.key_hashes import Hashes, hashes
from pyhudi_expr.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.mdt.store.record_locations import group_of, locations
from pyhudi_expr.table.hudi_names import RECORD_INDEX

ELSEWHERE = -1
"""The number of a slice that is not among the checked ones."""
_EXAMPLES = 3
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class KeyPlaces:
    """The entries of a record index, by ascending hashes of their keys.

    Attributes:
        slice: The slice that each names, by its number in `SliceKeys`; -1 for others.
    """

    key: Hashes
    slice: Int32Array

    @staticmethod
    def read(records: MetadataTable, keys: SliceKeys) -> KeyPlaces:
        """Read all entries. Raises HudiError."""
        found: list[Hashes] = []
        slices = [np.zeros(0, np.int32)]
        for part in records.newest(RECORD_INDEX):
            places = locations(part)
            groups = map(group_of, string_list(places.dictionary))
            number = np.array([keys.numbers.get(one, ELSEWHERE) for one in groups], np.int32)
            slices.append(number[np.asarray(places.indices)])
            found.append(hashes(part.cells.key_strings))
        joined = joined_hashes(found)
        order = np.argsort(joined, kind="stable")
        return KeyPlaces(joined[order], np.concatenate(slices)[order])

    def per_slice(self, count: int) -> Int64Array:
        """Return the number of entries that name each slice."""
        return np.bincount(self.slice[self.slice >= 0], minlength=count)

    def of(self, keys: Hashes) -> tuple[Int32Array, BoolArray]:
        """Return the slice of each key's entry, and whether it has one."""
        if not len(self.key):
            return np.full(len(keys), ELSEWHERE, np.int32), np.zeros(len(keys), np.bool_)
        place = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
        there = self.key[place] == keys
        return np.where(there, self.slice[place], ELSEWHERE).astype(np.int32), there


@dataclass(frozen=True)
class PlacedKeys:
    """The rows of slices, and where a record index says that they are."""

    keys: SliceKeys
    places: KeyPlaces
    is_whole: bool

    @cached_property
    def _named(self) -> tuple[Int32Array, BoolArray]:
        return self.places.of(self.keys.key)

    @cached_property
    def _pairs(self) -> Hashes:
        return np.sort(_pair(self.keys.key, self.keys.slice))

    @cached_property
    def missing(self) -> BoolArray:
        """The rows whose key has no entry."""
        return ~self._named[1]

    @cached_property
    def twice(self) -> BoolArray:
        """The rows whose key's entry names another slice that has the key as well."""
        slices, there = self._named
        other = there & (slices != self.keys.slice) & (slices >= 0)
        flags: BoolArray = other & is_among(_pair(self.keys.key, slices), self._pairs)
        return flags

    @cached_property
    def misplaced(self) -> BoolArray:
        """The rows whose key's entry names a slice that lacks it."""
        slices, there = self._named
        other = there & (slices != self.keys.slice) & ~self.twice
        return other if self.is_whole else other & (slices >= 0)

    @cached_property
    def deleted(self) -> BoolArray:
        """The entries whose key is in no row."""
        unread = np.isin(self.places.slice, list(self.keys.unread))
        lacks = ~is_among(self.places.key, np.sort(self.keys.key)) & ~unread
        return lacks if self.is_whole else lacks & (self.places.slice >= 0)

    @cached_property
    def is_trusted(self) -> BoolArray:
        """The slices about which this package trusts the index: it names as many rows as are."""
        own: BoolArray = self.places.per_slice(len(self.keys.slices)) == self.keys.rows
        return own


def _pair(keys: Hashes, slices: Int32Array) -> Hashes:
    with np.errstate(over="ignore"):
        return keys ^ (slices.astype(np.uint64) + np.uint64(1)) * _ODD


def check_record_index(
    records: AuditedRecords, rows: RowReader, keys: SliceKeys
) -> Iterator[Finding]:
    """Return what is wrong with the places of keys.

    Raises:
        HudiError: The index or a slice cannot be read.
    """
    is_whole = records.is_whole and not keys.unread
    placed = PlacedKeys(keys, KeyPlaces.read(records.records, keys), is_whole)
    for fault, flags in (
        (Fault.KEY_MISSING, placed.missing),
        (Fault.KEY_MISPLACED, placed.misplaced),
        (Fault.KEY_TWICE, placed.twice),
    ):
        yield from _of_rows(records, rows, placed, fault, flags)
    yield from _deleted(records, placed)


_FOUND = {
    Fault.KEY_MISSING: "keys have no entry",
    Fault.KEY_MISPLACED: "keys have entries of other files, which lack them",
    Fault.KEY_TWICE: "keys have the entry of another file that has them, too",
}
_EXPECTED = {
    Fault.KEY_MISSING: "an entry for each row",
    Fault.KEY_MISPLACED: "entries of this file",
    Fault.KEY_TWICE: "each key in one file",
}


def _of_rows(
    records: AuditedRecords, rows: RowReader, placed: PlacedKeys, fault: Fault, flags: BoolArray
) -> Iterator[Finding]:
    keys = placed.keys
    for number in np.unique(keys.slice[flags])[:MOST].tolist():
        own = keys.key[flags & (keys.slice == number)]
        examples = texts_of(rows, keys.slices[number], own, None, _EXAMPLES)
        ours = fault is not Fault.KEY_TWICE and bool(placed.is_trusted[number])
        yield records.finding(
            RECORD_INDEX,
            fault,
            Severity.ROWS_LOST,
            keys.path(number),
            subject=", ".join(map(repr, examples)),
            expected=_EXPECTED[fault],
            found=f"{len(own)} {_FOUND[fault]}",
            queries="those for these keys; an upsert of them writes a second row",
            readers=(Reader.HUDI, *((Reader.PYHUDI,) if ours else ())),
        )


def _deleted(records: AuditedRecords, placed: PlacedKeys) -> Iterator[Finding]:
    flags, places, keys = placed.deleted, placed.places, placed.keys
    if not flags.any():
        return
    texts = _texts(records.records, np.sort(places.key[flags]))
    for number in np.unique(places.slice[flags])[:MOST].tolist():
        own = places.key[flags & (places.slice == number)]
        gone = number == ELSEWHERE
        yield records.finding(
            RECORD_INDEX,
            Fault.KEY_DELETED,
            Severity.QUERY_FAILS if gone else Severity.SLOWER,
            records.path_of(RECORD_INDEX) if gone else keys.path(number),
            subject=", ".join(repr(texts[one]) for one in own[:_EXAMPLES].tolist() if one in texts),
            expected="no entries of rows that are not there",
            found=f"{len(own)} entries" + (" of a file group that is gone" if gone else ""),
            queries="an upsert of these keys fails"
            if gone
            else "those for these keys read the file",
        )


def _texts(records: MetadataTable, wanted: Hashes) -> dict[int, str]:
    """Return some keys by their hashes."""
    found: dict[int, str] = {}
    for part in records.newest(RECORD_INDEX):
        own = hashes(part.cells.key_strings)
        for row in np.flatnonzero(is_among(own, wanted))[:MOST].tolist():
            found[int(own[row])] = part.cells.key_strings[row].decode(errors="replace")
    return found

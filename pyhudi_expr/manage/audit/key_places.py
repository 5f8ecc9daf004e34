"""`record_index`: the place of each key against the rows; the extension's covered slices."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from pyhudi_expr.arrays import BoolArray, Int32Array, Int64Array, value_list
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.manage.audit.findings import Fault, Finding, Reader, Severity
from pyhudi_expr.manage.audit.scope import MOST, AuditedRecords, AuditedTable
from pyhudi_expr.manage.audit.slice_keys import (
    ELSEWHERE,
    EXAMPLES,
    RowFault,
    RowReader,
    SliceKeys,
    SliceNames,
    is_among,
    joined_hashes,
    key_texts,
    summarised,
    texts_of,
)
from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from pyhudi_expr.tables.mdt.bytes.keys import Hashes, hashes
from pyhudi_expr.tables.mdt.extension import COVERAGE_DIR, UNCOVERED, Extension
from pyhudi_expr.tables.mdt.store.file_group import EncodedRecords
from pyhudi_expr.tables.mdt.store.index_records import group_of, locations

COVERAGE = "coverage"


def check_coverage(
    records: AuditedRecords,
    table: AuditedTable,
    extension: Extension,
    names: SliceNames,
    rows: Int64Array,
    unread: Collection[int],
) -> Iterator[Finding]:
    """Return the covered slices that have another number of rows than the list says.

    Args:
        records: The extension.
        table: The table.
        extension: The extension, with its coverage.
        names: The covered slices.
        rows: The number of rows of each.
        unread: The numbers of slices whose rows are not known.
    """
    counted = extension.coverage.rows_of(table.table, records.slices)
    number = names.numbers_of(records.slices)
    read = ~np.isin(number, list(unread))
    wrong = (counted != UNCOVERED) & read & (rows[number] != counted)
    for row in np.flatnonzero(wrong)[:MOST].tolist():
        real = int(rows[number[row]])
        lost = bool(counted[row] < real)
        yield records.finding(
            COVERAGE,
            Fault.COVERED_ROWS_WRONG,
            Severity.ROWS_LOST if lost else Severity.SLOWER,
            names.path(int(number[row])),
            subject=records.relative(f"{records.records.metadata.base_path}/{COVERAGE_DIR}"),
            expected=f"{real} rows",
            found=f"{counted[row]} rows",
            queries="those for keys that the index lacks" if lost else "those by key read the file",
            readers=(Reader.PYHUDI,) if lost else (),
        )


_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class KeyPlaces:
    """The entries of a record index, by ascending hashes of their keys.

    Attributes:
        slice: The slice that each names, by its number in `SliceNames`; -1 for others.
    """

    key: Hashes
    slice: Int32Array

    @staticmethod
    def of(key: Hashes, slices: Int32Array) -> KeyPlaces:
        """Sort entries."""
        order = np.argsort(key, kind="stable")
        return KeyPlaces(key[order], slices[order])

    @staticmethod
    def read(parts: Iterable[EncodedRecords], numbers: Mapping[tuple[str, str], int]) -> KeyPlaces:
        """Read all entries.

        Args:
            parts: The newest record of each key.
            numbers: The number of each slice, by its partition's path and file id.

        Raises:
            HudiError: They cannot be read.
        """
        found: list[Hashes] = []
        slices = [np.zeros(0, np.int32)]
        for part in parts:
            places = locations(part).dictionary_encode()
            groups = map(group_of, value_list(places.dictionary))
            number = np.array([numbers.get(one, ELSEWHERE) for one in groups], np.int32)
            slices.append(number[np.asarray(places.indices)])
            found.append(hashes(part.cells.key_strings))
        return KeyPlaces.of(joined_hashes(found), np.concatenate(slices))

    def per_slice(self, count: int) -> Int64Array:
        """Return the number of entries that name each slice."""
        return np.bincount(self.slice[self.slice >= 0], minlength=count)

    def of_keys(self, keys: Hashes) -> tuple[Int32Array, BoolArray]:
        """Return the slice of each key's entry, and whether it has one."""
        if not len(self.key):
            return np.full(len(keys), ELSEWHERE, np.int32), np.zeros(len(keys), np.bool_)
        place = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
        there = self.key[place] == keys
        return np.where(there, self.slice[place], ELSEWHERE).astype(np.int32), there


@dataclass(frozen=True)
class PlacedKeys:
    """Rows, and where a record index says that they are.

    Attributes:
        key: The hash of each row's key.
        slice: The slice of each row.
        is_whole: Whether these are all rows that entries may be of.
    """

    key: Hashes
    slice: Int32Array
    places: KeyPlaces
    is_whole: bool

    def faults(self) -> Iterator[RowFault]:
        """Return what is wrong, slice by slice."""
        yield from summarised(Fault.KEY_MISSING, self.slice, self.key, ~self._named[1])
        yield from summarised(Fault.KEY_MISPLACED, self.slice, self.key, self._misplaced)
        yield from summarised(Fault.KEY_TWICE, self.slice, self.key, self._twice)
        places = self.places
        yield from summarised(Fault.KEY_DELETED, places.slice, places.key, self._deleted)

    @computed_once
    def _named(self) -> tuple[Int32Array, BoolArray]:
        return self.places.of_keys(self.key)

    @computed_once
    def _twice(self) -> BoolArray:
        """The rows whose key's entry names another slice that has the key as well."""
        slices, there = self._named
        other = there & (slices != self.slice) & (slices >= 0)
        pairs = np.sort(_pair(self.key, self.slice))
        flags: BoolArray = other & is_among(_pair(self.key, slices), pairs)
        return flags

    @computed_once
    def _misplaced(self) -> BoolArray:
        """The rows whose key's entry names a slice that lacks it."""
        slices, there = self._named
        other = there & (slices != self.slice) & ~self._twice
        return other if self.is_whole else other & (slices >= 0)

    @computed_once
    def _deleted(self) -> BoolArray:
        """The entries whose key is in no row."""
        lacks = ~is_among(self.places.key, np.sort(self.key))
        return lacks if self.is_whole else lacks & (self.places.slice >= 0)


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
    names = keys.names
    places = KeyPlaces.read(records.records.newest(RECORD_INDEX), names.numbers)
    placed = PlacedKeys(keys.key, keys.slice, places, records.is_whole and not keys.unread)
    trusted = places.per_slice(len(names)) == keys.rows
    faults = [one for one in placed.faults() if one.slice not in keys.unread]
    yield from place_findings(records, rows, names, with_trust(faults, trusted))


def with_trust(faults: Iterable[RowFault], trusted: BoolArray) -> Iterator[RowFault]:
    """Return faults with whether this package loses rows by them.

    `trusted` are the slices that have as many entries as rows, about which it trusts the index.
    """
    for one in faults:
        lost = one.fault in (Fault.KEY_MISSING, Fault.KEY_MISPLACED)
        yield replace(one, loses_ours=lost and one.slice >= 0 and bool(trusted[one.slice]))


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


def place_findings(
    records: AuditedRecords, rows: RowReader, names: SliceNames, faults: Iterable[RowFault]
) -> Iterator[Finding]:
    """Return the findings of faults. Raises HudiError if examples cannot be read."""
    known = list(faults)
    gone = [one for one in known if one.fault is Fault.KEY_DELETED]
    texts = key_texts(records.records, RECORD_INDEX, gone)
    for one in [one for one in known if one.fault is not Fault.KEY_DELETED][:MOST]:
        keys = np.array(one.examples, np.uint64)
        examples = texts_of(rows, names.slices[one.slice], keys, None, EXAMPLES)
        yield records.finding(
            RECORD_INDEX,
            one.fault,
            Severity.ROWS_LOST,
            names.path(one.slice),
            subject=", ".join(map(repr, examples)),
            expected=_EXPECTED[one.fault],
            found=f"{one.count} {_FOUND[one.fault]}",
            queries="those for these keys; an upsert of them writes a second row",
            readers=(Reader.HUDI, *((Reader.PYHUDI,) if one.loses_ours else ())),
        )
    for one in gone[:MOST]:
        is_gone = one.slice == ELSEWHERE
        yield records.finding(
            RECORD_INDEX,
            Fault.KEY_DELETED,
            Severity.QUERY_FAILS if is_gone else Severity.SLOWER,
            records.path_of(RECORD_INDEX) if is_gone else names.path(one.slice),
            subject=", ".join(repr(texts[key]) for key in one.examples if key in texts),
            expected="no entries of rows that are not there",
            found=f"{one.count} entries" + (" of a file group that is gone" if is_gone else ""),
            queries="an upsert of these keys fails"
            if is_gone
            else "those for these keys read the file",
        )

"""`secondary_index_*`: each row's entry of value and key against the rows of the file slices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import Int32Array
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.lookups.slice_proofs import covered_slices
from pyhudi_expr.manage.audit.findings import Fault, Finding, Reader, Severity
from pyhudi_expr.manage.audit.scope import MOST, AuditedRecords
from pyhudi_expr.manage.audit.slice_keys import (
    ELSEWHERE,
    EXAMPLES,
    RowEntries,
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
from pyhudi_expr.tables.mdt.bytes.keys import Hashes, hashes
from pyhudi_expr.tables.mdt.store.file_group import EncodedRecords
from pyhudi_expr.tables.mdt.store.index_records import entries


@dataclass(frozen=True)
class ValueEntries:
    """The entries of an index of values, as hashes of the whole entry and of its record key."""

    entry: Hashes
    key: Hashes

    @staticmethod
    def read(parts: Iterable[EncodedRecords]) -> ValueEntries:
        """Read all entries, of the newest record of each. Raises HudiError."""
        whole: list[Hashes] = []
        keys: list[Hashes] = []
        for part in parts:
            for split in entries(part):
                live = ~split.deleted
                whole.append(hashes(split.records.take(live)))
                keys.append(hashes(split.keys.take(live)))
        return ValueEntries(joined_hashes(whole), joined_hashes(keys))


@dataclass(frozen=True)
class IndexedValues:
    """Rows with their values, and the entries of an index of these.

    Attributes:
        key: The hash of each row's key.
        slice: The slice of each row.
        entry: The entry that each row should have.
        is_whole: Whether these are all rows that entries may be of.
    """

    key: Hashes
    slice: Int32Array
    entry: RowEntries
    stored: ValueEntries
    is_whole: bool

    def faults(self) -> Iterator[RowFault]:
        """Return what is wrong, slice by slice."""
        stored = self.stored
        entry = self.entry.hash
        missing = ~is_among(entry, np.sort(stored.entry))
        stale = ~is_among(stored.entry, np.sort(entry))
        order = np.argsort(self.key, kind="stable")
        ordered = self.key[order]
        there = is_among(stored.key, ordered)
        if not self.is_whole:
            stale &= there  # other entries may be of rows that were not read
        # This package trusts an index that has one entry for each key, whichever it is.
        replaced = is_among(self.key, np.sort(stored.key[stale]))
        missing &= ~self.entry.is_optional | replaced
        yield from summarised(Fault.VALUE_MISSING, self.slice, entry, missing, replaced)
        slices = np.full(len(stored.key), ELSEWHERE, np.int32)
        slices[there] = self.slice[order][np.searchsorted(ordered, stored.key[there])]
        yield from summarised(Fault.VALUE_STALE, slices, stored.entry, stale)


def check_values(
    records: AuditedRecords, partition: str, rows: RowReader, keys: SliceKeys
) -> Iterator[Finding]:
    """Return what is wrong with the entries of an index of values.

    Raises:
        HudiError: The index or a slice cannot be read.
    """
    stored = ValueEntries.read(records.records.newest(partition))
    is_whole = records.is_whole and not keys.unread
    values = IndexedValues(keys.key, keys.slice, keys.entry[partition], stored, is_whole)
    yield from value_findings(records, partition, rows, keys.names, values.faults())


def _asked_slices(records: AuditedRecords, partition: str, names: SliceNames) -> frozenset[int]:
    """Return the numbers of the slices about which this package asks an index of values.

    Raises:
        HudiError: The timeline cannot be read.
    """
    if records.store is Store.EXTENSION:
        return frozenset(range(len(names)))
    covered = covered_slices(records.records, records.slices, partition)
    return frozenset(names.numbers_of(records.slices)[covered].tolist())


def value_findings(
    records: AuditedRecords,
    partition: str,
    rows: RowReader,
    names: SliceNames,
    faults: Iterable[RowFault],
) -> Iterator[Finding]:
    """Return the findings of faults. Raises HudiError if examples cannot be read."""
    known = list(faults)
    asked = _asked_slices(records, partition, names) if known else frozenset[int]()
    stale = [one for one in known if one.fault is Fault.VALUE_STALE]
    for one in [one for one in known if one.fault is Fault.VALUE_MISSING][:MOST]:
        wanted = np.array(one.examples, np.uint64)
        texts = texts_of(rows, names.slices[one.slice], wanted, partition, EXAMPLES)
        yield records.finding(
            partition,
            Fault.VALUE_MISSING,
            Severity.ROWS_LOST,
            names.path(one.slice),
            subject=", ".join(map(repr, texts)),
            expected="an entry of value and key for each row",
            found=f"{one.count} rows have none",
            queries=f"{rows.values[partition].name} = the value of these rows",
            readers=(
                Reader.HUDI,
                *((Reader.PYHUDI,) if one.loses_ours and one.slice in asked else ()),
            ),
        )
    held = key_texts(records.records, partition, stale)
    for one in stale[:MOST]:
        yield records.finding(
            partition,
            Fault.VALUE_STALE,
            Severity.SLOWER,
            records.path_of(partition) if one.slice == ELSEWHERE else names.path(one.slice),
            subject=", ".join(repr(held[entry]) for entry in one.examples if entry in held),
            expected="no entries that no row has",
            found=f"{one.count} such entries",
            queries="those for these values read files in vain",
        )

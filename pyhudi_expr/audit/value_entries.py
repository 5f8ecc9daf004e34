"""`secondary_index_*`: each row's entry of value and key against the rows of the file slices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pyhudi_expr.arrays import BoolArray
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
from pyhudi_expr.mdt.store.secondary_keys import entries

_EXAMPLES = 3
_GONE = -1


@dataclass(frozen=True)
class ValueEntries:
    """The entries of an index of values, as hashes of the whole entry and of its record key."""

    entry: Hashes
    key: Hashes

    @staticmethod
    def read(records: MetadataTable, partition: str) -> ValueEntries:
        """Read all entries. Raises HudiError."""
        whole: list[Hashes] = []
        keys: list[Hashes] = []
        for part in records.newest(partition):
            for split in entries(part):
                live = ~split.deleted
                whole.append(hashes(split.records.take(live)))
                keys.append(hashes(split.keys.take(live)))
        return ValueEntries(joined_hashes(whole), joined_hashes(keys))


def check_values(
    records: AuditedRecords, partition: str, rows: RowReader, keys: SliceKeys
) -> Iterator[Finding]:
    """Return what is wrong with the entries of an index of values.

    Raises:
        HudiError: The index or a slice cannot be read.
    """
    stored = ValueEntries.read(records.records, partition)
    actual = keys.entry[partition]
    missing = ~is_among(actual, np.sort(stored.entry))
    stale = ~is_among(stored.entry, np.sort(actual))
    of_rows = is_among(stored.key, np.sort(keys.key))
    if not records.is_whole or keys.unread:
        stale &= of_rows  # other entries may be of rows that were not read
    yield from _missing(records, partition, rows, keys, missing, stored.key[stale])
    yield from _stale(records, partition, keys, stored, stale)


def _missing(
    records: AuditedRecords,
    partition: str,
    rows: RowReader,
    keys: SliceKeys,
    missing: BoolArray,
    stale: Hashes,
) -> Iterator[Finding]:
    # This package trusts an index that has one entry for each key, whichever it is.
    replaced = missing & is_among(keys.key, np.sort(stale))
    for number in np.unique(keys.slice[missing])[:MOST].tolist():
        own = missing & (keys.slice == number)
        texts = texts_of(
            rows, keys.slices[number], keys.entry[partition][own], partition, _EXAMPLES
        )
        ours = (Reader.PYHUDI,) if (replaced & own).any() else ()
        yield records.finding(
            partition,
            Fault.VALUE_MISSING,
            Severity.ROWS_LOST,
            keys.path(number),
            subject=", ".join(map(repr, texts)),
            expected="an entry of value and key for each row",
            found=f"{np.count_nonzero(own)} rows have none",
            queries=f"{rows.values[partition].name} = the value of these rows",
            readers=(Reader.HUDI, *ours),
        )


def _stale(
    records: AuditedRecords,
    partition: str,
    keys: SliceKeys,
    stored: ValueEntries,
    stale: BoolArray,
) -> Iterator[Finding]:
    if not stale.any():
        return
    order = np.argsort(keys.key, kind="stable")
    ordered = keys.key[order]
    own = stored.key[stale]
    there = is_among(own, ordered)
    place = np.minimum(np.searchsorted(ordered, own), max(len(ordered) - 1, 0))
    slices = np.full(len(own), _GONE, np.int64)
    slices[there] = keys.slice[order][place[there]]
    texts = _texts(records.records, partition, np.sort(stored.entry[stale]))
    for number in np.unique(slices)[:MOST].tolist():
        named = [texts[e] for e in stored.entry[stale][slices == number].tolist() if e in texts]
        yield records.finding(
            partition,
            Fault.VALUE_STALE,
            Severity.SLOWER,
            records.path_of(partition) if number == _GONE else keys.path(number),
            subject=", ".join(map(repr, named[:_EXAMPLES])),
            expected="no entries that no row has",
            found=f"{np.count_nonzero(slices == number)} such entries",
            queries="those for these values read files in vain",
        )


def _texts(records: MetadataTable, partition: str, wanted: Hashes) -> dict[int, str]:
    found: dict[int, str] = {}
    for part in records.newest(partition):
        own = hashes(part.cells.key_strings)
        for row in np.flatnonzero(is_among(own, wanted))[:MOST].tolist():
            found[int(own[row])] = part.cells.key_strings[row].decode(errors="replace")
    return found

"""Extend a certificate to a state of the index with more log blocks.

Only keys in the added blocks can have changed. They are looked up in the record index as it was;
the added blocks, which are merged last, say what they are now.

A secondary index's base files are not read. A key whose group was not doubtful had one entry. Its
group stays so if no entry of the key was removed, or another one was added: that one is of the
newest row. (An older entry may be left beside it, and finds nothing but a slice too many.) A key
that the record index did not have needs an entry that was added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array, combined
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings, concat_byte_strings
from pyhudi_expr.tables.mdt.bytes.keys import shards
from pyhudi_expr.tables.mdt.certificates.certificates import (
    RecordCertificate,
    ValueCertificate,
    named_groups,
)
from pyhudi_expr.tables.mdt.certificates.pairing import are_numbers
from pyhudi_expr.tables.mdt.certificates.states import (
    IndexState,
    ShardState,
    added_since,
    as_of,
    is_extended_by,
    state_of,
)
from pyhudi_expr.tables.mdt.hfile.cells import Cells
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.store.file_group import EncodedRecords, FileGroup, Scan
from pyhudi_expr.tables.mdt.store.index_records import deleted_flags, locations, split_keys


def extend_records(
    certificate: RecordCertificate, groups: Sequence[FileGroup]
) -> RecordCertificate | None:
    """Return the certificate for the record index as it is now; None if it cannot be extended.

    Raises:
        CorruptFile: The index is damaged.
    """
    now = state_of(groups)
    if not is_extended_by(certificate.state, now):
        return None
    changes = _place_changes(groups, certificate.state)
    before = _of_shards(groups, certificate.state, changes.keys)
    names, counts = [certificate.groups], [certificate.entries]
    for places, change in ((before, -1), (changes.places, 1)):
        found = _names(places).drop_null()
        names.append(found)
        counts.append(np.full(len(found), change, np.int64))
    table = pa.table({"group": pa.concat_arrays(names), "entries": np.concatenate(counts)})
    total = table.group_by("group").aggregate([("entries", "sum")])
    entries = np.asarray(total.column("entries_sum"), np.int64)
    return RecordCertificate(now, combined(total.column("group")), entries)


def extend_values(
    certificate: ValueCertificate, records: Sequence[FileGroup], values: Sequence[FileGroup]
) -> ValueCertificate | None:
    """Return the certificate for both indexes as they are now; None if it cannot be extended.

    Raises:
        CorruptFile: An index is damaged.
    """
    state, records_state = state_of(values), state_of(records)
    if not (
        is_extended_by(certificate.state, state)
        and is_extended_by(certificate.records, records_state)
    ):
        return None
    moved = _place_changes(records, certificate.records)
    entries = list(_entry_changes(values, certificate.state.shards))
    added = _distinct([change.added for change in entries])
    removed = _distinct([change.removed for change in entries])
    keys = _distinct([added, removed, moved.keys])
    before = _of_shards(records, certificate.records, keys)
    after = _replaced(before, keys, moved)
    was_doubtful = pc.is_in(_names(before), certificate.doubtful)
    is_new = before.is_null().to_numpy(zero_copy_only=False)
    lacks_entry = (_are_in(removed, keys) | is_new) & ~_are_in(added, keys)
    wrong = pa.array(was_doubtful.to_numpy(zero_copy_only=False) | lacks_entry)
    doubtful = [certificate.doubtful, _names(after.filter(wrong)).drop_null()]
    return ValueCertificate(
        state,
        records_state,
        pa.concat_arrays(doubtful).unique(),
        certificate.numbers_only and all(change.numbers_only for change in entries),
    )


@dataclass(frozen=True)
class _PlaceChanges:
    """The keys in log blocks that were added to a record index.

    Attributes:
        keys: Distinct keys, sorted.
        places: The location of each; null: it was deleted.
    """

    keys: ByteStrings
    places: AnyArray


@dataclass(frozen=True)
class _EntryChanges:
    """The entries in log blocks that were added to one shard of a secondary index.

    Attributes:
        added: Record keys of the entries that are there now.
        removed: Record keys of those that are not.
        numbers_only: Whether the values of the added ones are integers in digits, or null.
    """

    added: ByteStrings
    removed: ByteStrings
    numbers_only: bool


def _place_changes(records: Sequence[FileGroup], state: IndexState) -> _PlaceChanges:
    logs = [added_since(*one) for one in zip(records, state.shards, strict=True)]
    touched = list(map(_touched_keys, logs))
    places = [_places(*one, HFile.scan) for one in zip(logs, touched, strict=True)]
    keys = concat_byte_strings(touched)
    order = pc.array_sort_indices(keys.array())
    return _PlaceChanges(keys.take(order.to_numpy()), pa.concat_arrays(places).take(order))


def _entry_changes(
    values: Sequence[FileGroup], states: Sequence[ShardState]
) -> Iterator[_EntryChanges]:
    for shard, state in zip(values, states, strict=True):
        logs = added_since(shard, state)
        touched = _touched_keys(logs)
        is_live = np.zeros(len(touched), np.bool_)
        for records in logs.newest(HFile.scan):
            is_live[touched.search(records.cells.key_strings)] = ~deleted_flags(records)
        of_values, keys = split_keys(touched, f"{shard.storage.uri}, an index of values")
        yield _EntryChanges(
            keys.take(is_live), keys.take(~is_live), are_numbers(of_values.take(is_live))
        )


def _touched_keys(logs: FileGroup) -> ByteStrings:
    """Return the distinct keys of log blocks, sorted."""
    return _distinct(
        [
            piece.cells.key_strings if isinstance(piece, EncodedRecords) else ByteStrings.of(piece)
            for piece in logs.log_pieces(HFile.scan)
        ]
    )


def _distinct(parts: Sequence[ByteStrings]) -> ByteStrings:
    distinct = concat_byte_strings(parts).array().unique()
    return ByteStrings.from_arrow(distinct).sorted()


def _are_in(some: ByteStrings, keys: ByteStrings) -> BoolArray:
    """Return for each key whether it is among some, which are sorted."""
    flags: BoolArray = some.search(keys) >= 0
    return flags


def _replaced(before: AnyArray, keys: ByteStrings, changes: _PlaceChanges) -> AnyArray:
    """Return the locations of keys after changes."""
    row = changes.keys.search(keys)
    both = pa.concat_arrays([before, changes.places])
    return both.take(pa.array(np.where(row < 0, np.arange(len(keys)), len(keys) + row)))


def _of_shards(groups: Sequence[FileGroup], state: IndexState, keys: ByteStrings) -> AnyArray:
    """Return the location of each key, sorted, in a record index as it was; null: none."""
    number = shards(keys, len(groups))
    order: Int64Array = np.argsort(number, kind="stable")
    edges = np.searchsorted(number[order], np.arange(1, len(groups)))
    places = [
        _looked_up(as_of(group, shard), keys.take(rows))
        for group, shard, rows in zip(groups, state.shards, np.split(order, edges), strict=True)
    ]
    return pa.concat_arrays(places).take(pa.array(np.argsort(order)))


def _looked_up(group: FileGroup, keys: ByteStrings) -> AnyArray:
    """Return the location of each key, sorted, in one shard of a record index; null: none."""
    wanted = keys.to_list()

    def ask(hfile: HFile) -> Iterator[Cells]:
        return iter([hfile.lookup(wanted)])

    return _places(group, keys, ask) if wanted else pa.array([], pa.binary())


def _places(group: FileGroup, keys: ByteStrings, ask: Scan) -> AnyArray:
    """Return the location of each key, sorted, among the records of a scan; null: none."""
    rows: list[Int64Array] = [np.zeros(0, np.int64)]
    places: list[AnyArray] = [pa.array([], pa.binary())]
    for records in group.newest(ask):
        rows.append(keys.search(records.cells.key_strings))
        places.append(locations(records))
    found = pa.concat_arrays(places)
    position = np.full(len(keys), len(found))
    position[np.concatenate(rows)] = np.arange(len(found))
    return pa.concat_arrays([found, pa.nulls(1, pa.binary())]).take(pa.array(position))


def _names(places: AnyArray) -> AnyArray:
    """Return the names of the file groups of locations; null: no location."""
    encoded = places.dictionary_encode()
    names = pa.array(named_groups(encoded.dictionary), pa.large_string())
    return names.take(encoded.indices)

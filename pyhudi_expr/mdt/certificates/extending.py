"""Extend a certificate to a state of the index with more log blocks.

Only keys in the added blocks can have changed. Each is looked up as the index was and as it is now.
For a secondary index the number of entries of a key follows: where its group was not doubtful, the
key had one entry. A key that the record index did not have counts as one without entries; if an old
entry of it was left behind, its right one may be there beside it, and finds the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array, combined
from pyhudi_expr.mdt.bytes.byte_strings import ByteStrings, concat_byte_strings
from pyhudi_expr.mdt.bytes.key_shards import shards
from pyhudi_expr.mdt.certificates.certificates import RecordCertificate, ValueCertificate
from pyhudi_expr.mdt.certificates.counting import named_groups
from pyhudi_expr.mdt.certificates.pairing import are_numbers
from pyhudi_expr.mdt.certificates.states import (
    ShardState,
    added_since,
    as_of,
    is_extended_by,
    state_of,
)
from pyhudi_expr.mdt.hfile.cells import Cells
from pyhudi_expr.mdt.hfile.reader import HFile
from pyhudi_expr.mdt.store.file_group import EncodedRecords, FileGroup
from pyhudi_expr.mdt.store.record_locations import locations
from pyhudi_expr.mdt.store.secondary_keys import deleted_flags, split_keys


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
    names, counts = [certificate.groups], [certificate.entries]
    for shard, state in zip(groups, certificate.state.shards, strict=True):
        touched = _touched_keys(shard, state)
        for group, change in ((as_of(shard, state), -1), (shard, 1)):
            found = _names(_places(group, touched)).drop_null()
            names.append(found)
            counts.append(np.full(len(found), change, np.int64))
    table = pa.table({"group": pa.concat_arrays(names), "entries": np.concatenate(counts)})
    total = table.group_by("group").aggregate([("entries", "sum")]).combine_chunks()
    return RecordCertificate(
        now,
        combined(total.column("group")),
        np.asarray(total.column("entries_sum"), np.int64),
    )


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
    changes = list(_entry_changes(values, certificate.state.shards))
    moved = list(map(_touched_keys, records, certificate.records.shards))
    keys = _distinct([*(change.keys for change in changes), *moved])
    entries = np.zeros(len(keys), np.int64)
    for change in changes:
        np.add.at(entries, keys.search(change.keys), change.added)
    before = _names(
        _of_shards(
            [as_of(*one) for one in zip(records, certificate.records.shards, strict=True)], keys
        )
    )
    after = _names(_of_shards(records, keys))
    entries += before.is_valid().to_numpy(zero_copy_only=False)
    was_doubtful = pc.is_in(before, certificate.doubtful).to_numpy(zero_copy_only=False)
    wrong = after.filter(pa.array(was_doubtful | (entries != 1))).drop_null()
    return ValueCertificate(
        state,
        records_state,
        pa.concat_arrays([certificate.doubtful, wrong]).unique(),
        certificate.numbers_only and all(change.numbers_only for change in changes),
    )


@dataclass(frozen=True)
class _EntryChanges:
    """How the log blocks that were added to one shard change the entries of record keys.

    Attributes:
        keys: Record keys, some of them several times.
        added: 1 for an entry that was added, -1 for one that was removed, else 0.
        numbers_only: Whether the values of the touched entries are all integers in digits, or null.
    """

    keys: ByteStrings
    added: Int64Array
    numbers_only: bool


def _entry_changes(
    values: Sequence[FileGroup], states: Sequence[ShardState]
) -> Iterator[_EntryChanges]:
    for shard, state in zip(values, states, strict=True):
        touched = _touched_keys(shard, state)
        now, before = (_are_live(group, touched) for group in (shard, as_of(shard, state)))
        of_values, keys = split_keys(touched, f"{shard.storage.uri}, an index of values")
        added = now.astype(np.int64) - before.astype(np.int64)
        yield _EntryChanges(keys, added, are_numbers(of_values))


def _touched_keys(shard: FileGroup, state: ShardState) -> ByteStrings:
    """Return the distinct keys of the log blocks that were added, sorted."""
    pieces = added_since(shard, state).log_pieces(HFile.scan)
    return _distinct(
        [
            piece.cells.key_strings if isinstance(piece, EncodedRecords) else ByteStrings.of(piece)
            for piece in pieces
        ]
    )


def _distinct(parts: Sequence[ByteStrings]) -> ByteStrings:
    distinct = concat_byte_strings(parts).array().unique()
    return ByteStrings.from_arrow(distinct).sorted()


def _of_shards(groups: Sequence[FileGroup], keys: ByteStrings) -> AnyArray:
    """Return the location of each key, sorted, in the shards of a record index; null: none."""
    number = shards(keys, len(groups))
    order = np.argsort(number, kind="stable")
    edges = np.searchsorted(number[order], np.arange(1, len(groups)))
    places = [
        _places(group, keys.take(rows))
        for group, rows in zip(groups, np.split(order, edges), strict=True)
    ]
    return pa.concat_arrays(places).take(pa.array(np.argsort(order)))


def _places(group: FileGroup, keys: ByteStrings) -> AnyArray:
    """Return the location of each key, sorted, in one shard of a record index; null: none."""
    rows: list[Int64Array] = [np.zeros(0, np.int64)]
    places: list[AnyArray] = [pa.array([], pa.binary())]
    for records in _looked_up(group, keys):
        rows.append(keys.search(records.cells.key_strings))
        places.append(locations(records))
    found = pa.concat_arrays(places)
    position = np.full(len(keys), len(found))
    position[np.concatenate(rows)] = np.arange(len(found))
    return pa.concat_arrays([found, pa.nulls(1, pa.binary())]).take(pa.array(position))


def _are_live(group: FileGroup, keys: ByteStrings) -> BoolArray:
    """Return for each key, sorted, whether a shard of a secondary index has a live entry."""
    flags = np.zeros(len(keys), np.bool_)
    for records in _looked_up(group, keys):
        flags[keys.search(records.cells.key_strings)] = ~deleted_flags(records)
    return flags


def _looked_up(group: FileGroup, keys: ByteStrings) -> Iterator[EncodedRecords]:
    """Return the newest records of the keys."""
    wanted = keys.to_list()

    def ask(hfile: HFile) -> Iterator[Cells]:
        return iter([hfile.lookup(wanted)])

    return group.newest(ask) if wanted else iter(())


def _names(places: AnyArray) -> AnyArray:
    """Return the names of the file groups of locations; null: no location."""
    encoded = places.dictionary_encode()
    names = pa.array(named_groups(encoded.dictionary), pa.large_string())
    return names.take(encoded.indices)

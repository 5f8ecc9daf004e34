"""Extend a certificate to a state of the index with more log blocks.

Only keys in the added blocks can have changed. They are looked up in the record index as it was;
the added blocks, which are merged last, say what they are now.

A key of a secondary index whose group was not doubtful had one entry. Its group stays so if no
entry of the key was removed, or another one was added: that one is of the newest row. (An older
entry may be left beside it, and finds nothing but a slice too many.) A key that the record index
did not have needs an entry that was added.

The sums of its entries follow these by what was there before, which is looked up if the entries
are few. Where a key leaves a group, all of its entries leave the sum: that is known if each key of
the group has one entry, and this one is among the added blocks. In any other case, and when there
are entries of keys without a place, the sums are not known any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray, Int64Array, numpy_flags
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings, concat_byte_strings
from pyhudi_expr.tables.mdt.bytes.keys import digests, shards
from pyhudi_expr.tables.mdt.certificates.certificates import (
    EntrySums,
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
    own = digests(changes.keys)
    moved = [
        EntrySums(_names(places), np.full(len(own), change), own * change.astype(np.uint64))
        for places, change in ((before, _REMOVED), (changes.places, _ADDED))
    ]
    return RecordCertificate(now, EntrySums.total([certificate.sums, *moved]))


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
    changes = [_entry_changes(*one) for one in zip(values, certificate.state.shards, strict=True)]
    added = _distinct([one.keys.take(one.is_live) for one in changes])
    removed = _distinct([one.keys.take(~one.is_live) for one in changes])
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
        certificate.numbers_only and all(one.numbers_only for one in changes),
        _extended_sums(certificate, values, changes, keys, (_names(before), _names(after))),
        certificate.has_others,
    )


def _extended_sums(
    certificate: ValueCertificate,
    values: Sequence[FileGroup],
    changes: Sequence[_EntryChanges],
    keys: ByteStrings,
    groups: tuple[AnyArray, AnyArray],
) -> EntrySums | None:
    """Return the sums of a certificate after changes; None if they are not known.

    Args:
        certificate: The certificate.
        values: The shards of the secondary index.
        changes: Their added entries.
        keys: All keys that have changed, sorted.
        groups: The names of their groups before and after; null: they are in none.
    """
    sums, before, after = certificate.sums, *groups
    entries = sum(len(one.keys) for one in changes)
    if sums is None or certificate.has_others or entries > _MOST_LOOKED_UP:
        return None
    states = certificate.state.shards
    existed = np.concatenate(
        [
            _existed(as_of(*one[:2]), one[2].entries)
            for one in zip(values, states, changes, strict=True)
        ]
    )
    is_live = np.concatenate([one.is_live for one in changes])
    own = np.concatenate([digests(one.entries) for one in changes])
    of_key = np.concatenate([keys.search(one.keys) for one in changes])
    had_place = numpy_flags(before.is_valid())
    has_place = numpy_flags(after.is_valid())
    if (is_live & ~has_place[of_key]).any() or (existed & ~had_place[of_key]).any():
        return None
    stays = numpy_flags(pc.equal(before, after))
    left = had_place & ~stays
    had_one = np.bincount(of_key[existed], minlength=len(keys)) == 1
    of_groups = (sums.counts_of(before) == 0) & ~numpy_flags(pc.is_in(before, certificate.doubtful))
    if (left & ~(had_one & of_groups)).any():
        return None
    nothing = np.zeros((len(keys), 2), np.uint64)
    return EntrySums.total(
        [
            sums,
            *(
                EntrySums(
                    names.take(pa.array(of_key[chosen])),
                    np.full(int(chosen.sum()), change),
                    own[chosen] * change.astype(np.uint64),
                )
                for names, chosen, change in ((before, existed, _REMOVED), (after, is_live, _ADDED))
            ),
            EntrySums(before, -_REMOVED * left, nothing),
            EntrySums(after, -_ADDED * (has_place & ~stays), nothing),
        ]
    )


_ADDED, _REMOVED = np.int64(1), np.int64(-1)
_MOST_LOOKED_UP = 10_000
"""Entries of added blocks for which it is looked up whether they were there: some seconds."""


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
        entries: The entries' own keys, sorted.
        keys: Their record keys.
        is_live: Whether they are there now.
        numbers_only: Whether the values of these are integers in digits, or null.
    """

    entries: ByteStrings
    keys: ByteStrings
    is_live: BoolArray
    numbers_only: bool


def _place_changes(records: Sequence[FileGroup], state: IndexState) -> _PlaceChanges:
    logs = [added_since(*one) for one in zip(records, state.shards, strict=True)]
    touched = list(map(_touched_keys, logs))
    places = [_places(*one, HFile.scan) for one in zip(logs, touched, strict=True)]
    keys = concat_byte_strings(touched)
    order = pc.array_sort_indices(keys.array())
    return _PlaceChanges(keys.take(order.to_numpy()), pa.concat_arrays(places).take(order))


def _entry_changes(shard: FileGroup, state: ShardState) -> _EntryChanges:
    logs = added_since(shard, state)
    touched = _touched_keys(logs)
    is_live = _are_live(logs, touched, HFile.scan)
    of_values, keys = split_keys(touched, f"{shard.storage.uri}, an index of values")
    return _EntryChanges(touched, keys, is_live, are_numbers(of_values.take(is_live)))


def _existed(shard: FileGroup, wanted: ByteStrings) -> BoolArray:
    """Return whether each entry, sorted, is in a shard of a secondary index."""
    return _are_live(shard, wanted, _exactly(wanted))


def _are_live(shard: FileGroup, wanted: ByteStrings, ask: Scan) -> BoolArray:
    """Return whether each entry, sorted, is among the records of a scan, and no tombstone."""
    flags = np.zeros(len(wanted), np.bool_)
    for records in shard.newest(ask) if len(wanted) else ():
        flags[wanted.search(records.cells.key_strings)] = ~deleted_flags(records)
    return flags


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
    return _places(group, keys, _exactly(keys)) if len(keys) else pa.array([], pa.binary())


def _exactly(keys: ByteStrings) -> Scan:
    """Ask for these keys, which are sorted, alone."""
    wanted = keys.to_list()
    return lambda hfile: iter([hfile.lookup(wanted)])


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

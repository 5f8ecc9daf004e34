"""The two kinds of certificates, how they are stored, and the count of a record index's entries.

A stored certificate is one Arrow IPC stream: a table of file groups, and a JSON text with the rest
in the schema's metadata. `format` changes with the meaning of the content.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    DAMAGE_ERRORS,
    AnyArray,
    Int64Array,
    combined,
    value_list,
)
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.bytes.keys import Digests, digests
from pyhudi_expr.tables.mdt.certificates.states import IndexState, ShardState, state_of
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.index_records import group_name, group_of, locations
from pyhudi_expr.tables.parsing.budget import parse_json

_FORMAT = 2
_HEAD = b"pyhudi"

_HALVES = ("low", "high")
_DOUBTFUL = "is_doubtful"


@dataclass(frozen=True)
class EntrySums:
    """Entries of an index, by the file group that the record index has their keys in.

    Attributes:
        groups: Names of file groups (`group_names`), in no order.
        counts: For each of them, a number: see who has the sums.
        digests: For each of them, the sum of the digests of its entries (`keys.digests`), of shape
            (groups, 2).
    """

    groups: AnyArray
    counts: Int64Array
    digests: Digests

    @staticmethod
    def total(parts: Sequence[EntrySums]) -> EntrySums:
        """Add sums up. Their groups need not be distinct; those of null do not count."""
        table = pa.concat_tables([part.table for part in parts])
        numbers = ("count", *_HALVES)
        grouped = table.filter(pc.is_valid(table.column("group"))).group_by("group")
        total = grouped.aggregate([(name, "sum") for name in numbers])
        sums = {name: total.column(f"{name}_sum") for name in numbers}
        return EntrySums.of(pa.table({"group": total.column("group"), **sums}))

    @staticmethod
    def of(table: pa.Table) -> EntrySums:
        """Return the sums of a `table`."""
        halves = [table.column(name).to_numpy() for name in _HALVES]
        counts = np.asarray(table.column("count").to_numpy(), np.int64)
        return EntrySums(combined(table.column("group")), counts, np.stack(halves, axis=1))

    @property
    def table(self) -> pa.Table:
        """A row for each group, with its count and both halves of its digest."""
        halves = dict(zip(_HALVES, self.digests.T.copy(), strict=True))
        return pa.table({"group": self.groups, "count": self.counts, **halves})

    def named(self) -> EntrySums:
        """Return the sums of groups that are given by their locations, by names."""
        return replace(self, groups=pa.array(named_groups(self.groups), pa.large_string()))

    def counts_of(self, names: AnyArray) -> Int64Array:
        """Return the count of each group, given by name."""
        return np.append(self.counts, 0)[self._rows_of(names)]

    def digests_of(self, names: AnyArray) -> Digests:
        """Return the sum of the digests of each group, given by name; of shape (names, 2)."""
        return np.append(self.digests, np.zeros((1, 2), np.uint64), axis=0)[self._rows_of(names)]

    def _rows_of(self, names: AnyArray) -> Int64Array:
        rows: Int64Array = pc.fill_null(pc.index_in(names, self.groups), -1).to_numpy()
        return rows


NO_SUMS = EntrySums(pa.array([], pa.binary()), np.zeros(0, np.int64), np.zeros((0, 2), np.uint64))
"""The sums of no entries, by location."""


@dataclass(frozen=True)
class RecordCertificate:
    """What all entries of a record index say.

    Attributes:
        state: The state that it is about.
        sums: The keys whose entries name each file group; counted are these entries.
    """

    state: IndexState
    sums: EntrySums

    def encoded(self) -> bytes:
        """Return the certificate as bytes for `decoded_records`."""
        return _encoded(self.sums.table, {"state": _state_json(self.state)})


@dataclass(frozen=True)
class ValueCertificate:
    """What all entries of a secondary index say, together with those of its record index.

    Attributes:
        state: The state of the secondary index that it is about.
        records: The state of the record index.
        doubtful: Names of the file groups with a key that has no entry in the secondary index, or
            several.
        numbers_only: Whether all values are integers in digits, or null.
        sums: The entries of each file group; counted are those beyond one for each of its keys.
            None if they are not known.
        has_others: Whether there are entries of keys that the record index does not have.
    """

    state: IndexState
    records: IndexState
    doubtful: AnyArray
    numbers_only: bool
    sums: EntrySums | None
    has_others: bool

    def encoded(self) -> bytes:
        """Return the certificate as bytes for `decoded_values`."""
        head = {
            "values": _state_json(self.state),
            "records": _state_json(self.records),
            "numbers_only": self.numbers_only,
            "has_sums": self.sums is not None,
            "has_others": self.has_others,
        }
        size = len(self.doubtful)
        doubtful = EntrySums(
            self.doubtful, np.zeros(size, np.int64), np.zeros((size, 2), np.uint64)
        )
        parts = [
            (sums.table, sums is doubtful) for sums in (doubtful, self.sums) if sums is not None
        ]
        flagged = [
            table.append_column(_DOUBTFUL, pa.array(np.full(len(table), flag)))
            for table, flag in parts
        ]
        return _encoded(pa.concat_tables(flagged), head)


def decoded_records(content: bytes, file: str) -> RecordCertificate:
    """Parse a certificate of a record index. Raises CorruptFile."""
    table, head = _decoded(content, file)
    try:
        return RecordCertificate(_state(head["state"]), EntrySums.of(table))
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFile(file, f"not a certificate of a record index: {error!r}") from error


def decoded_values(content: bytes, file: str) -> ValueCertificate:
    """Parse a certificate of a secondary index. Raises CorruptFile."""
    table, head = _decoded(content, file)
    try:
        is_doubtful = table.column(_DOUBTFUL)
        sums = EntrySums.of(table.filter(pc.invert(is_doubtful)))
        return ValueCertificate(
            _state(head["values"]),
            _state(head["records"]),
            combined(table.filter(is_doubtful).column("group")),
            bool(head["numbers_only"]),
            sums if head["has_sums"] else None,
            bool(head["has_others"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFile(file, f"not a certificate of a secondary index: {error!r}") from error


def _encoded(table: pa.Table, head: dict[str, Any]) -> bytes:
    text = json.dumps({"format": _FORMAT, **head}, sort_keys=True).encode()
    sink = pa.BufferOutputStream()
    schema = table.schema.with_metadata({_HEAD: text})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        writer.write_table(table.cast(schema).combine_chunks())
    return sink.getvalue().to_pybytes()


def _decoded(content: bytes, file: str) -> tuple[pa.Table, dict[str, Any]]:
    try:
        table = pa.ipc.open_stream(pa.BufferReader(content)).read_all()
        head = parse_json((table.schema.metadata or {})[_HEAD], file)
    except (KeyError, *DAMAGE_ERRORS) as error:
        raise CorruptFile(file, f"not a certificate: {error!r}") from error
    if head.get("format") != _FORMAT:
        raise CorruptFile(file, f"a certificate of format {head.get('format')}, not {_FORMAT}")
    return table, head


def _state_json(state: IndexState) -> list[Any]:
    return [[*shard.base, shard.logs, shard.blocks] for shard in state.shards]


def _state(shards: list[Any]) -> IndexState:
    return IndexState(
        tuple(
            ShardState(
                (path, size),
                tuple((log, length, valid) for log, length, valid in logs),
                tuple(blocks),
            )
            for path, size, logs, blocks in shards
        )
    )


#: Rows of sums that are held before they are added up.
_MOST_SUMS = 1_000_000


def count_entries(groups: Sequence[FileGroup], check: Callable[[], None]) -> RecordCertificate:
    """Read a whole record index, some megabytes at a time.

    Args:
        groups: Its shards.
        check: Called for each piece.

    Raises:
        CorruptFile: The index is damaged.
    """
    held: list[EntrySums] = [NO_SUMS]
    for shard in groups:
        for records in shard.newest(HFile.scan):
            check()
            digest = digests(records.cells.key_strings)
            one = EntrySums(locations(records), np.ones(len(digest), np.int64), digest)
            held.append(EntrySums.total([one]))
            if sum(len(sums.groups) for sums in held) > _MOST_SUMS:
                held = [EntrySums.total(held)]
    return RecordCertificate(state_of(groups), EntrySums.total([EntrySums.total(held).named()]))


def named_groups(places: AnyArray) -> list[str]:
    """Return the names of the file groups of locations."""
    return [group_name(*group_of(place)) for place in value_list(places)]

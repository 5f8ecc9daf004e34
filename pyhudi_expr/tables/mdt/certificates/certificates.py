"""The two kinds of certificates, how they are stored, and the count of a record index's entries.

A stored certificate is one Arrow IPC stream: a table of file groups, and a JSON text with the rest
in the schema's metadata. `format` changes with the meaning of the content.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import DAMAGE_ERRORS, AnyArray, Int64Array, combined, value_list
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.certificates.states import IndexState, ShardState, state_of
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.index_records import group_name, group_of, locations
from pyhudi_expr.tables.parsing.budget import parse_json

_FORMAT = 1
_HEAD = b"pyhudi"


@dataclass(frozen=True)
class RecordCertificate:
    """What all entries of a record index say.

    Attributes:
        state: The state that it is about.
        groups: Names of the file groups that entries name (`group_names`), in no order.
        entries: For each of them, the number of entries that name it.
    """

    state: IndexState
    groups: AnyArray
    entries: Int64Array

    def encoded(self) -> bytes:
        """Return the certificate as bytes for `decoded_records`."""
        table = pa.table({"group": self.groups, "entries": self.entries})
        return _encoded(table, {"state": _state_json(self.state)})

    def entries_of(self, names: AnyArray) -> Int64Array:
        """Return for each file group, given by name, how many entries name it."""
        return _looked_up(self.groups, self.entries, names)


@dataclass(frozen=True)
class ValueCertificate:
    """What all entries of a secondary index say, together with those of its record index.

    Attributes:
        state: The state of the secondary index that it is about.
        records: The state of the record index.
        doubtful: Names of the file groups with a key that has no entry in the secondary index, or
            several.
        numbers_only: Whether all values are integers in digits, or null.
    """

    state: IndexState
    records: IndexState
    doubtful: AnyArray
    numbers_only: bool

    def encoded(self) -> bytes:
        """Return the certificate as bytes for `decoded_values`."""
        head = {
            "state": _state_json(self.state),
            "records": _state_json(self.records),
            "numbers_only": self.numbers_only,
        }
        return _encoded(pa.table({"group": self.doubtful}), head)


def decoded_records(content: bytes, file: str) -> RecordCertificate:
    """Parse a certificate of a record index. Raises CorruptFile."""
    table, head = _decoded(content, file)
    try:
        entries = table.column("entries").to_numpy()
        return RecordCertificate(_state(head["state"]), combined(table.column("group")), entries)
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFile(file, f"not a certificate of a record index: {error!r}") from error


def decoded_values(content: bytes, file: str) -> ValueCertificate:
    """Parse a certificate of a secondary index. Raises CorruptFile."""
    table, head = _decoded(content, file)
    try:
        return ValueCertificate(
            _state(head["state"]),
            _state(head["records"]),
            combined(table.column("group")),
            bool(head["numbers_only"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFile(file, f"not a certificate of a secondary index: {error!r}") from error


def _looked_up(names: AnyArray, numbers: Int64Array, wanted: AnyArray) -> Int64Array:
    import pyarrow.compute as pc

    row = pc.fill_null(pc.index_in(wanted, names), -1).to_numpy()
    return np.append(numbers, 0)[row]


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


#: Rows of counts that are held before they are added up.
_MOST_COUNTS = 1_000_000


def count_entries(groups: Sequence[FileGroup], check: Callable[[], None]) -> RecordCertificate:
    """Read a whole record index, some megabytes at a time.

    Args:
        groups: Its shards.
        check: Called for each piece.

    Raises:
        CorruptFile: The index is damaged.
    """
    held: list[pa.Table] = []
    for shard in groups:
        for records in shard.newest(HFile.scan):
            check()
            held.append(_counted(pa.table({"place": locations(records)}), ("place", "count")))
            if sum(map(len, held)) > _MOST_COUNTS:
                held = [_summed(held)]
    total = _summed(held)
    names = pa.array(named_groups(combined(total.column("place"))), pa.large_string())
    return RecordCertificate(state_of(groups), names, np.asarray(total.column("count"), np.int64))


def named_groups(places: AnyArray) -> list[str]:
    """Return the names of the file groups of locations."""
    return [group_name(*group_of(place)) for place in value_list(places)]


def _summed(parts: Sequence[pa.Table]) -> pa.Table:
    if not parts:
        return pa.table({"place": pa.array([], pa.binary()), "count": pa.array([], pa.int64())})
    return _counted(pa.concat_tables(parts), ("count", "sum"))


def _counted(table: pa.Table, aggregate: tuple[str, Literal["count", "sum"]]) -> pa.Table:
    found = table.group_by("place").aggregate([aggregate])
    return pa.table({"place": found.column("place"), "count": found.column("_".join(aggregate))})

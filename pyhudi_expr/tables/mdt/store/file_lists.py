"""The partition `files`: the data table's files, as columns.

A record lists the files of one partition (its key), or the partitions themselves (RFC-15). Log
files add and delete: an entry's last mention is valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    BoolArray,
    Int64Array,
    arrow_array,
    arrow_list,
    arrow_nulls,
    combined,
    dictionary_of,
    numpy_flags,
    numpy_numbers,
    string_list,
)
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.listing import StoredFiles
from pyhudi_expr.tables.mdt.avro_decoding import Column, Entries, Numbers, Struct, Union
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import ALL_PARTITIONS, ROOT_PARTITION, partition_key
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.records.metadata_records import Payload, joined_by_schema
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.file_group import (
    EncodedRecords,
    FileGroup,
    KeyLookup,
    Scan,
    all_cells,
)
from pyhudi_expr.tables.parsing.budget import iter_unordered

_LISTS = "filesystemMetadata"


def stored_files(groups: Sequence[FileGroup], cache: DiskCache | None = None) -> StoredFiles:
    """Return all files of the data table from the file groups of `files`.

    Raises:
        CorruptFile: A file group is damaged.
    """
    try:
        return _stored(_mentions(_tables(group, cache) for group in groups))
    except _UnusualError:
        # Damaged or unusual: reading record by record finds the files, or reports the damage.
        return _one_by_one(groups)


def stored_files_of(groups: Sequence[FileGroup], partitions: Iterable[str]) -> StoredFiles | None:
    """Return the files of some partitions only; None if their records are not of the usual form.

    Raises:
        CorruptFile: A file group is damaged.
    """
    keys = {ALL_PARTITIONS, *map(partition_key, partitions)}
    ask = KeyLookup(ByteStrings.of([key.encode() for key in keys]).sorted())
    try:
        return _stored(_mentions(_tables_of(group, ask) for group in groups))
    except _UnusualError:
        return None


def mentioned_partitions(records: EncodedRecords | list[bytes]) -> frozenset[str] | None:
    """Return the partitions that a log block is about; None if it is not of the usual form."""
    if not isinstance(records, EncodedRecords):
        return None if records else frozenset()
    try:
        table = _table(records)
    except _UnusualError:
        return None
    listed = pc.equal(table.column("key"), ALL_PARTITIONS)
    names = table.column("name").filter(listed)
    keys = records.cells.key_strings.texts()
    found = {*string_list(keys), *string_list(names)} - {ALL_PARTITIONS}
    return frozenset("" if name == ROOT_PARTITION else name for name in found)


@dataclass(frozen=True)
class _Mentions:
    """Mentions of files (or partitions) in records, in merge order, as parallel columns.

    Attributes:
        keys: Distinct record keys, and whether each has several records.
        key: For each mention the position of its record's key among them.
    """

    keys: list[str]
    is_repeated: BoolArray
    key: Int64Array
    name: AnyArray
    size: Int64Array
    is_deleted: BoolArray


@dataclass(frozen=True)
class _Present:
    """For each existing file the row of its last mention, and its largest size since a deletion."""

    row: Int64Array
    size: Int64Array


def _mentions(found: Iterable[Iterator[pa.Table]]) -> _Mentions:
    """Read all mentions of groups. Raises _UnusualError if records must be read one by one."""
    numbers: dict[str, int] = {}
    records: list[int] = []
    keys: list[Int64Array] = []
    tables: list[pa.Table] = []
    for of_group in found:
        for table in of_group:
            own = dictionary_of(table.column("key"))
            # A record without entries counts as well, so it is identified by its number.
            distinct = [
                numbers.setdefault(key, len(numbers)) for key in string_list(own.dictionary)
            ]
            records.extend(distinct)
            keys.append(np.array(distinct, np.int64)[numpy_numbers(own.indices)])
            tables.append(table.drop_columns(["key"]))
    every = pa.concat_tables(tables or [_NOTHING])
    return _Mentions(
        list(numbers),
        np.bincount(np.array(records, np.int64), minlength=len(numbers)) > 1,
        np.concatenate([np.zeros(0, np.int64), *keys]),
        combined(every.column("name")),
        numpy_numbers(combined(every.column("size"))),
        numpy_flags(combined(every.column("is_deleted"))),
    )


_NOTHING = pa.table(
    {
        "name": arrow_nulls(0, pa.string()),
        "size": arrow_nulls(0, pa.int64()),
        "is_deleted": arrow_nulls(0, pa.bool_()),
    }
)
#: Changes whenever the columns or their meaning change.
_LAYOUT = 1


def _tables(group: FileGroup, cache: DiskCache | None) -> Iterator[pa.Table]:
    """Return the mentions in each file of the group, in merge order."""
    # Without log files the listing itself is kept, and nothing reads the base file again.
    is_read_again = cache is not None and bool(group.logs)
    identity = group.base_identity(f"files {_LAYOUT}") if is_read_again else None

    def base() -> pa.Table:
        # In order, as there is one source: the next piece is read while one is decoded.
        pieces = iter_unordered([group.base_records(HFile.scan)])
        tables = [_table(records) for records in pieces]
        return pa.concat_tables(tables).unify_dictionaries() if tables else pa.table({})

    found = (
        [base()] if cache is None or identity is None else cache.tables(identity, lambda: [base()])
    )
    yield from (table for table in found if table.num_columns)
    yield from _log_tables(group, HFile.scan)


def _tables_of(group: FileGroup, ask: Scan) -> Iterator[pa.Table]:
    """Return the mentions in some of the records, in merge order."""
    yield from map(_table, group.base_records(ask))
    yield from _log_tables(group, ask)


def _log_tables(group: FileGroup, ask: Scan) -> Iterator[pa.Table]:
    answers = group.log_records(ask)
    if any(isinstance(answer, list) and answer for answer in answers):
        raise _UnusualError
    found = [one for one in answers if isinstance(one, EncodedRecords) and len(one.cells)]
    # Neighbours of one schema are decoded at once, which takes no longer than one of them.
    for _, alike in groupby(found, lambda records: records.schema):
        yield from map(_table, joined_by_schema([*alike]))


def _table(records: EncodedRecords) -> pa.Table:
    """Return one row for each mention; the key is a dictionary of all records' keys."""
    try:
        rows, entries = _entries(records.columns(frozenset({_LISTS})).fields[_LISTS])
        info = _struct(entries.value)
        keys = records.cells.key_strings.texts()
        return pa.table(
            {
                "key": pa.DictionaryArray.from_arrays(arrow_array(rows.astype(np.int32)), keys),
                "name": entries.key.values.texts(),
                "size": arrow_array(_numbers(info["size"]).astype(np.int64)),
                "is_deleted": arrow_array(_numbers(info["isDeleted"]).astype(np.bool_)),
            }
        )
    except (HudiError, KeyError, pa.ArrowInvalid) as error:
        raise _UnusualError from error


class _UnusualError(ValueError):
    """The records do not have the usual form."""


def _entries(column: Column) -> tuple[Int64Array, Entries]:
    """Return all entries of the records' maps, and the records that they belong to."""
    if isinstance(column, Entries):
        return column.rows, column
    if not isinstance(column, Union) or len(column.branches) != 1:
        raise _UnusualError
    branch = column.branches[0]
    if not isinstance(branch.column, Entries):
        raise _UnusualError
    return branch.rows[branch.column.rows], branch.column


def _struct(column: Column) -> dict[str, Column]:
    if not isinstance(column, Struct):
        raise _UnusualError
    return column.fields


def _numbers(column: Column) -> npt.NDArray[Any]:
    if not isinstance(column, Numbers):
        raise _UnusualError
    return column.values


def _stored(mentions: _Mentions) -> StoredFiles:
    present = _present(mentions)
    number = {key: position for position, key in enumerate(mentions.keys)}
    key = mentions.key[present.row]
    of_list = key == number.get(ALL_PARTITIONS, -1)
    partitions = mentions.name.take(arrow_array(present.row[of_list])).to_pylist()
    position = np.full(len(mentions.keys), -1, np.int32)
    for place, partition in enumerate(partitions):
        if partition in number:
            position[number[partition]] = place
    partition = position[key]
    listed = ~of_list & (partition >= 0)
    paths = ["" if name == ROOT_PARTITION else name for name in partitions]
    return StoredFiles(
        partitions=arrow_list(paths, pa.string()),
        partition=partition[listed],
        name=_taken(mentions.name, present.row[listed]),
        size=present.size[listed],
    )


def _taken(names: AnyArray, rows: Int64Array) -> AnyArray:
    """Return the names of rows; without a copy for a range of them."""
    first = int(rows[0]) if len(rows) else 0
    if np.array_equal(rows, np.arange(first, first + len(rows))):
        return names.slice(first, len(rows))
    return names.take(arrow_array(rows))


def _present(mentions: _Mentions) -> _Present:
    again = mentions.is_repeated[mentions.key]
    alone = np.flatnonzero(~again & ~mentions.is_deleted)
    merged = _merged(mentions, np.flatnonzero(again))
    return _Present(
        np.concatenate([alone, merged.row]), np.concatenate([mentions.size[alone], merged.size])
    )


def _merged(mentions: _Mentions, rows: Int64Array) -> _Present:
    """Merge the mentions in these rows."""
    if not len(rows):
        return _Present(rows, rows)
    names = mentions.name.take(arrow_array(rows)).dictionary_encode()
    name = numpy_numbers(names.indices).astype(np.int64)
    entry = mentions.key[rows] * len(names.dictionary) + name
    order = np.argsort(entry, kind="stable")
    ordered, deleted = entry[order], mentions.is_deleted[rows][order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    lengths = np.diff(np.append(starts, len(ordered)))
    place = np.arange(len(ordered))
    last_deletion = np.maximum.reduceat(np.where(deleted, place, -1), starts)
    counts = place > np.repeat(last_deletion, lengths)
    size = np.maximum.reduceat(np.where(counts, mentions.size[rows][order], 0), starts)
    lasts = starts + lengths - 1
    kept = ~deleted[lasts]
    return _Present(rows[order[lasts[kept]]], size[kept])


def _one_by_one(groups: Sequence[FileGroup]) -> StoredFiles:
    by_key: dict[str, Payload] = {}
    for group in groups:
        for key, found in group.read(all_cells).items():
            by_key[key.decode(errors="replace")] = found
    listed = (by_key.pop(ALL_PARTITIONS, None) or {}).get(_LISTS) or {}
    partitions = [name for name, info in listed.items() if not info["isDeleted"]]
    files = [
        (number, name, info["size"])
        for number, partition in enumerate(partitions)
        for name, info in ((by_key.get(partition) or {}).get(_LISTS) or {}).items()
        if not info["isDeleted"]
    ]
    paths = ["" if partition == ROOT_PARTITION else partition for partition in partitions]
    return StoredFiles(
        partitions=arrow_list(paths, pa.string()),
        partition=np.array([number for number, _, _ in files], np.int32),
        name=pa.array([name for _, name, _ in files], pa.string()),
        size=np.array([size for _, _, size in files], np.int64),
    )

"""Keys of secondary indexes as columns: `esc(secondary value) + "$" + esc(record key)` (RFC-77)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, BoolArray
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.avro.schema import Column, Numbers, Struct, Union
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings, concat_byte_strings
from pyhudi_expr.tables.mdt.bytes.keys import split_secondary_key
from pyhudi_expr.tables.mdt.records.metadata_records import is_deleted
from pyhudi_expr.tables.mdt.store.file_group import EncodedRecords
from pyhudi_expr.tables.parsing.avro_schemas import UndecodedError

NULL_VALUE = b"\0"
"""What stands for a null secondary value."""

_SECONDARY = "SecondaryIndexMetadata"


@dataclass(frozen=True)
class SecondaryEntries:
    """Entries as parallel columns.

    Attributes:
        records: The records' own keys.
        values: The secondary values, unescaped.
        keys: The record keys, unescaped.
        deleted: Whether the record is a tombstone.
    """

    records: ByteStrings
    values: ByteStrings
    keys: ByteStrings
    deleted: BoolArray

    def __len__(self) -> int:
        return len(self.records)


def entries(records: EncodedRecords) -> list[SecondaryEntries]:
    """Return the entries of the records, in no order.

    Nearly all keys have no escape, and are split in place; the others come as a separate part.

    Raises:
        CorruptFile: The records are damaged.
    """
    deleted, every = deleted_flags(records), records.cells.key_strings
    texts = every.array()
    escaped = np.asarray(pc.find_substring(texts, b"\\").to_numpy() >= 0)
    plain = every.take(~escaped)
    parts = [
        SecondaryEntries(
            plain, *_split(plain, texts.filter(pa.array(~escaped)), records.file), deleted[~escaped]
        )
    ]
    if escaped.any():
        others = every.take(escaped)
        parts.append(SecondaryEntries(others, *_unescaped(others, records.file), deleted[escaped]))
    return [part for part in parts if len(part)]


def split_keys(keys: ByteStrings, file: str) -> tuple[ByteStrings, ByteStrings]:
    """Return the values and record keys of entries' keys, in their order.

    Args:
        keys: The keys.
        file: Where they are from, for errors.

    Raises:
        CorruptFile: They are no keys of a secondary index.
    """
    texts = keys.array()
    escaped = np.asarray(pc.find_substring(texts, b"\\").to_numpy() >= 0)
    plain = _split(keys.take(~escaped), texts.filter(pa.array(~escaped)), file)
    others = _unescaped(keys.take(escaped), file)
    position = np.argsort(np.argsort(escaped, kind="stable"), kind="stable")
    values, record_keys = (
        concat_byte_strings(parts).take(position) for parts in zip(plain, others, strict=True)
    )
    return values, record_keys


def _split(keys: ByteStrings, texts: AnyArray, file: str) -> tuple[ByteStrings, ByteStrings]:
    if (pc.count_substring(texts, b"$").to_numpy() != 1).any():
        raise CorruptFile(file, "not the keys of a secondary index")
    middle = keys.start + pc.find_substring(texts, b"$").to_numpy()
    return (
        ByteStrings(keys.data, keys.start, middle),
        ByteStrings(keys.data, middle + 1, keys.end),
    )


def _unescaped(keys: ByteStrings, file: str) -> tuple[ByteStrings, ByteStrings]:
    try:
        pairs = [split_secondary_key(key.decode()) for key in keys.to_list()]
    except ValueError as error:
        raise CorruptFile(file, str(error)) from error
    return (
        ByteStrings.of([NULL_VALUE if value is None else value.encode() for value, _ in pairs]),
        ByteStrings.of([key.encode() for _, key in pairs]),
    )


def deleted_flags(records: EncodedRecords) -> BoolArray:
    """Return for each record whether it is a tombstone. Raises CorruptFile."""
    try:
        return _flags(records.columns().fields[_SECONDARY], len(records.cells))
    except UndecodedError:
        # Reading record by record reports the damage.
        return np.array([is_deleted(payload) for payload in records.decoded()], np.bool_)


def _flags(column: Column, size: int) -> BoolArray:
    match column:
        case Union(branches=(branch,)) if len(branch.rows) == size:
            match branch.column:
                case Struct(fields={"isDeleted": Numbers(values=flags)}):
                    found: BoolArray = flags.astype(np.bool_)
                    return found
    if not size:
        return np.zeros(0, np.bool_)
    raise UndecodedError("a record of a secondary index without its part")

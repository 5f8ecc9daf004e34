"""Records of key indexes as columns: places of keys, and values with their keys (RFC-77).

A file group's id is a UUID, stored as two longs, in most tables with a number behind it; or, by
another encoding, a text (Hudi's `HoodieRecordIndexInfo`). Entries also have an instant, which is
that of the key's first write and does not identify the file slice.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    BoolArray,
    arrow_array,
    arrow_buffer,
    arrow_list,
    arrow_scalar,
    numpy_numbers,
)
from pyhudi_expr.errors import CorruptFile, HudiError
from pyhudi_expr.expr.domains import Kind, float_ordinals, kind_of, type_widens
from pyhudi_expr.tables.file_slices import GroupId
from pyhudi_expr.tables.mdt.avro_decoding import Column, Numbers, Struct, Texts, Union
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings, concat_byte_strings
from pyhudi_expr.tables.mdt.bytes.keys import split_secondary_key
from pyhudi_expr.tables.mdt.records.metadata_records import Payload, is_deleted
from pyhudi_expr.tables.mdt.store.file_group import EncodedRecords
from pyhudi_expr.tables.parsing.avro_schemas import UndecodedError

_LOCATION = "recordIndexMetadata"
_UUID_ENCODING = 0
_NO_FILE_INDEX = -1

_PACKED = np.dtype([("is_text", "u1"), ("high", "<i8"), ("low", "<i8"), ("index", "<i4")])
_IDS = struct.Struct("<?qqi")
#: The bytes of a UUID's words in `_IDS`, the most significant first.
_HIGH, _LOW = slice(8, 0, -1), slice(16, 8, -1)
_IS_TEXT = b"\1"
_SEPARATOR = b"\0"


def locations(records: EncodedRecords) -> AnyArray:
    """Return each record's location as a binary array; equal groups have equal bytes.

    `group_of` decodes a location. There are few distinct ones, so this decodes none.

    Raises:
        CorruptFile: The records are damaged.
    """
    try:
        return _from_columns(records.columns(), len(records.cells))
    except UndecodedError:
        payloads = records.decoded()
    try:
        return arrow_list([_place(payload[_LOCATION]) for payload in payloads], pa.binary())
    except (KeyError, TypeError, struct.error) as error:
        raise CorruptFile(records.file, f"a record without a location: {error!r}") from error


def group_of(place: bytes) -> GroupId:
    """Return the partition path and the file id of a location."""
    if place[:1] == _IS_TEXT:
        text, _, partition = place[1:].partition(_SEPARATOR)
        return partition.decode(), text.decode()
    _, _, _, index = _IDS.unpack_from(place)
    digits = (place[_HIGH] + place[_LOW]).hex()
    uuid = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    file_id = uuid if index == _NO_FILE_INDEX else f"{uuid}-{index}"
    return place[_IDS.size :].decode(), file_id


def group_names(partitions: AnyArray, file_ids: AnyArray) -> AnyArray:
    """Return the names of file groups: the partition's path, a NUL character and the file id."""
    text = pa.large_string()
    return pc.binary_join_element_wise(
        partitions.cast(text), file_ids.cast(text), arrow_scalar("\0", text)
    )


def group_name(partition: str, file_id: str) -> str:
    """Return the name of one file group, see `group_names`."""
    return f"{partition}\0{file_id}"


def _place(location: Payload) -> bytes:
    partition = (location["partitionName"] or "").encode()
    if location.get("fileIdEncoding", _UUID_ENCODING) != _UUID_ENCODING:
        return _IS_TEXT + location["fileId"].encode() + _SEPARATOR + partition
    ids = (location[name] for name in ("fileIdHighBits", "fileIdLowBits", "fileIndex"))
    return _IDS.pack(False, *ids) + partition


def _from_columns(columns: Struct, size: int) -> AnyArray:
    entries = _struct(_without_nulls(columns.fields[_LOCATION], size)).fields
    encoding = entries.get("fileIdEncoding")
    if encoding is not None and (_numbers(encoding, size) != _UUID_ENCODING).any():
        raise UndecodedError("file ids that are texts are left to the reader of single records")
    packed = np.zeros(size, _PACKED)
    packed["high"] = _numbers(entries["fileIdHighBits"], size)
    packed["low"] = _numbers(entries["fileIdLowBits"], size)
    packed["index"] = _numbers(entries["fileIndex"], size)
    ids = pa.Array.from_buffers(pa.binary(_PACKED.itemsize), size, [None, arrow_buffer(packed)])
    partitions = _texts(entries["partitionName"], size)
    return pc.binary_join_element_wise(ids.cast(pa.binary()), partitions.cast(pa.binary()), b"")


def _without_nulls(column: Column, size: int) -> Column:
    """Return a column without nulls: the one branch of an optional field."""
    if not isinstance(column, Union):
        return column
    if len(column.branches) != 1 or len(column.branches[0].rows) != size:
        raise UndecodedError("a record without a location")
    return column.branches[0].column


def _struct(column: Column) -> Struct:
    if not isinstance(column, Struct):
        raise UndecodedError("a location is not a record")
    return column


def _numbers(column: Column, size: int) -> npt.NDArray[Any]:
    found = _without_nulls(column, size)
    if not isinstance(found, Numbers):
        raise UndecodedError("a part of a location is not a number")
    return found.values


def _texts(column: Column, size: int) -> AnyArray:
    found = _without_nulls(column, size)
    if not isinstance(found, Texts):
        raise UndecodedError("a partition is not a text")
    return found.values.array()


NULL_VALUE = b"\0"
"""What stands for a null secondary value."""

_SECONDARY = "SecondaryIndexMetadata"
_MOST_DIGITS = 76


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
    escaped = numpy_numbers(pc.find_substring(texts, b"\\")) >= 0
    plain = every.take(~escaped)
    parts = [
        SecondaryEntries(
            plain,
            *_split(plain, texts.filter(arrow_array(~escaped)), records.file),
            deleted[~escaped],
        )
    ]
    if escaped.any():
        others = every.take(escaped)
        parts.append(SecondaryEntries(others, *_unescaped(others, records.file), deleted[escaped]))
    return [part for part in parts if len(part)]


def number_flags(values: ByteStrings) -> AnyArray:
    """Return for each value of a secondary index whether it is null or an integer in digits."""
    texts = values.array().cast(pa.large_string())
    digits = pc.ascii_is_decimal(pc.utf8_ltrim(texts, "-"))
    return pc.or_(digits, pc.equal(texts, NULL_VALUE.decode()))


def split_keys(keys: ByteStrings, file: str) -> tuple[ByteStrings, ByteStrings]:
    """Return the values and record keys of entries' keys, in their order.

    Args:
        keys: The keys.
        file: Where they are from, for errors.

    Raises:
        CorruptFile: They are no keys of a secondary index.
    """
    texts = keys.array()
    escaped = numpy_numbers(pc.find_substring(texts, b"\\")) >= 0
    plain = _split(keys.take(~escaped), texts.filter(arrow_array(~escaped)), file)
    others = _unescaped(keys.take(escaped), file)
    position = np.argsort(np.argsort(escaped, kind="stable"), kind="stable")
    values, record_keys = (
        concat_byte_strings(parts).take(position) for parts in zip(plain, others, strict=True)
    )
    return values, record_keys


def joined_keys(values: ByteStrings, keys: ByteStrings) -> ByteStrings:
    """Return the keys of entries with these values and record keys: what `split_keys` splits."""
    separator = arrow_scalar(b"$", pa.large_binary())
    joined = pc.binary_join_element_wise(_escaped(values), _escaped(keys), separator)
    return ByteStrings.from_arrow(joined)


def _escaped(texts: ByteStrings) -> AnyArray:
    """Return texts as `keys.escape` does each."""
    found = texts.array()
    for character in (b"\\", b"$"):
        found = pc.replace_substring(found, character, b"\\" + character)
    return found


def _split(keys: ByteStrings, texts: AnyArray, file: str) -> tuple[ByteStrings, ByteStrings]:
    if (numpy_numbers(pc.count_substring(texts, b"$")) != 1).any():
        raise CorruptFile(file, "not the keys of a secondary index")
    middle = keys.start + numpy_numbers(pc.find_substring(texts, b"$"))
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


def value_texts(values: AnyArray, type_: pa.DataType, label: str) -> AnyArray:
    """Return the values as texts; nulls stay null.

    Args:
        values: The values; a file may hold a narrower type.
        type_: The type of the table's column.
        label: The column, for messages.

    Raises:
        HudiError: The text of the type depends on the writer.
    """
    text = pa.string()
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), text)
    if not type_widens(values.type, type_):
        raise HudiError(f"{label} of type {values.type} cannot be indexed as {type_}")
    if pa.types.is_date32(type_) and pa.types.is_date32(values.type):
        return values.view(pa.int32()).cast(text)
    if pa.types.is_timestamp(type_) and pa.types.is_timestamp(values.type):
        same_unit = values.cast(pa.timestamp(type_.unit, values.type.tz))
        return same_unit.view(pa.int64()).cast(text)
    if pa.types.is_decimal(type_) and pa.types.is_decimal(values.type):
        return _unscaled(values.cast(type_))
    if kind_of(type_) is Kind.FLOAT and values.type == type_:
        numbers = float_ordinals(values.fill_null(0.0).to_numpy(zero_copy_only=False))
        return pa.array(numbers, mask=values.is_null().to_numpy(zero_copy_only=False)).cast(text)
    if kind_of(type_) is kind_of(values.type) is Kind.BINARY:
        return pa.array([None if v is None else v.hex() for v in values.to_pylist()], text)
    for is_kind in (pa.types.is_integer, pa.types.is_boolean, _is_text):
        if is_kind(type_) and is_kind(values.type):
            return values.cast(text)
    raise HudiError(f"{label} of type {values.type} cannot have a secondary index")


def _unscaled(values: AnyArray) -> AnyArray:
    """Return decimals as their unscaled integers in digits, for the extension only."""
    wide = values.cast(pa.decimal256(_MOST_DIGITS, values.type.scale))
    whole = pa.decimal256(_MOST_DIGITS, 0)
    same = pa.Array.from_buffers(whole, len(wide), wide.buffers(), offset=wide.offset)
    return same.cast(pa.string())


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))

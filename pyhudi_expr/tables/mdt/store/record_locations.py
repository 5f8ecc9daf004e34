"""Records of `record_index` as columns: each key's partition and file group.

A file group's id is a UUID, stored as two longs, in most tables with a number behind it; or, by
another encoding, a text (Hudi's `HoodieRecordIndexInfo`). Entries also have an instant, which is
that of the key's first write and does not identify the file slice.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, arrow_buffer
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.file_slices import GroupId
from pyhudi_expr.tables.mdt.avro.schema import Column, Numbers, Struct, Texts, Union
from pyhudi_expr.tables.mdt.records.metadata_records import Payload
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
        return pa.array([_place(payload[_LOCATION]) for payload in payloads], pa.binary())
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

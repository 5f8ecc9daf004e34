"""Records of `record_index` as columns: each key's partition and file group.

A file group's id is a UUID, stored as two longs, in most tables with a number behind it; or, by
another encoding, a text (Hudi's `HoodieRecordIndexInfo`). Entries also have an instant, which is
that of the key's first write and does not identify the file slice.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, AnyDictionaryArray, arrow_buffer, value_list
from pyhudi_expr.mdt.avro.schema import Column, Numbers, Struct, Texts, UndecodedError, Union
from pyhudi_expr.mdt.records.metadata_records import Payload
from pyhudi_expr.mdt.store.file_group import EncodedRecords
from pyhudi_expr.table.errors import CorruptFile
from pyhudi_expr.table.file_slices import GroupId

_LOCATION = "recordIndexMetadata"
_UUID_ENCODING = 0
_NO_FILE_INDEX = -1
_PACKED = np.dtype([("high", "<i8"), ("low", "<i8"), ("index", "<i4"), ("partition", "<i4")])
_WORD = 2**64

_SEPARATOR = "\0"


def locations(records: EncodedRecords) -> AnyDictionaryArray:
    """Return each record's location, as a dictionary array of texts for `group_of`.

    Raises:
        CorruptFile: The records are damaged.
    """
    try:
        return _from_columns(records.columns(), len(records.cells))
    except UndecodedError:
        payloads = records.decoded()
    try:
        places = [_place(*_group(payload[_LOCATION])) for payload in payloads]
    except (KeyError, TypeError) as error:
        raise CorruptFile(records.file, f"a record without a location: {error!r}") from error
    return pa.array(places, pa.string()).dictionary_encode()


def group_of(place: str) -> GroupId:
    """Return the partition path and the file id of a location."""
    partition, _, file_id = place.partition(_SEPARATOR)
    return partition, file_id


def _place(partition: str, file_id: str) -> str:
    return f"{partition}{_SEPARATOR}{file_id}"


def _group(location: Payload) -> GroupId:
    partition = location["partitionName"] or ""
    if location.get("fileIdEncoding", _UUID_ENCODING) != _UUID_ENCODING:
        return partition, location["fileId"]
    return partition, _file_id(
        location["fileIdHighBits"], location["fileIdLowBits"], location["fileIndex"]
    )


def _file_id(high: int, low: int, index: int) -> str:
    uuid = str(UUID(int=(high % _WORD) << 64 | low % _WORD))
    return uuid if index == _NO_FILE_INDEX else f"{uuid}-{index}"


def _from_columns(columns: Struct, size: int) -> AnyDictionaryArray:
    entries = _struct(_without_nulls(columns.fields[_LOCATION], size)).fields
    encoding = entries.get("fileIdEncoding")
    if encoding is not None and (_numbers(encoding, size) != _UUID_ENCODING).any():
        raise UndecodedError("file ids that are texts are left to the reader of single records")
    partitions = _texts(entries["partitionName"], size).dictionary_encode()
    packed = np.empty(size, _PACKED)
    packed["high"] = _numbers(entries["fileIdHighBits"], size)
    packed["low"] = _numbers(entries["fileIdLowBits"], size)
    packed["index"] = _numbers(entries["fileIndex"], size)
    packed["partition"] = partitions.indices.to_numpy()
    distinct = pa.Array.from_buffers(
        pa.binary(_PACKED.itemsize), size, [None, arrow_buffer(packed)]
    ).dictionary_encode()
    names = [name.decode() for name in value_list(partitions.dictionary)]
    places = [
        _place(names[partition], _file_id(high, low, index))
        for high, low, index, partition in np.frombuffer(
            b"".join(value_list(distinct.dictionary)), _PACKED
        ).tolist()
    ]
    return pa.DictionaryArray.from_arrays(distinct.indices, pa.array(places, pa.string()))


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

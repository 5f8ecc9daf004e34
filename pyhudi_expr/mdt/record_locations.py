"""Records of `record_index` as columns: each key's partition and file group.

A file group's id is a UUID, given as two longs, and in most tables a number behind it; or, by
another encoding, a text (Hudi's `HoodieRecordIndexInfo`). Entries also name an instant, which is
that of the key's first write and says nothing about the file slice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi_expr.mdt.avro_schema import Column, Numbers, Struct, Texts, UndecodedError, Union
from pyhudi_expr.mdt.file_group import EncodedRecords
from pyhudi_expr.mdt.records import Payload
from pyhudi_expr.table.errors import CorruptFile
from pyhudi_expr.table.file_slices import GroupId

_LOCATION = "recordIndexMetadata"
_UUID_ENCODING = 0
_NO_FILE_INDEX = -1
_PACKED = np.dtype([("high", "<i8"), ("low", "<i8"), ("index", "<i4"), ("partition", "<i4")])
_WORD = 2**64

Positions = npt.NDArray[np.int32]


@dataclass
class Places:
    """The file groups that entries name, numbered as they come."""

    groups: list[GroupId] = field(default_factory=list)
    _number: dict[GroupId, int] = field(default_factory=dict, repr=False)

    def number(self, group: GroupId) -> int:
        """The group's number."""
        known = self._number.setdefault(group, len(self.groups))
        if known == len(self.groups):
            self.groups.append(group)
        return known


def places_of(records: EncodedRecords, places: Places) -> Positions:
    """For each record the number of its file group. Raises CorruptFile."""
    try:
        return _from_columns(records.columns(), len(records.cells), places)
    except UndecodedError:
        payloads = records.decoded()
    try:
        numbers = [places.number(_group(payload[_LOCATION])) for payload in payloads]
    except (KeyError, TypeError) as error:
        raise CorruptFile(records.file, f"a record without a location: {error!r}") from error
    return np.array(numbers, np.int32)


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


def _from_columns(columns: Struct, size: int, places: Places) -> Positions:
    if not size:
        return np.zeros(0, np.int32)
    entries = _struct(_whole(columns.fields[_LOCATION], size)).fields
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
        pa.binary(_PACKED.itemsize), size, [None, pa.py_buffer(packed)]
    ).dictionary_encode()
    names = [name.decode() for name in partitions.dictionary.to_pylist()]
    numbers = [
        places.number((names[partition], _file_id(high, low, index)))
        for high, low, index, partition in np.frombuffer(
            b"".join(distinct.dictionary.to_pylist()), _PACKED
        ).tolist()
    ]
    found: Positions = np.array(numbers, np.int32)[distinct.indices.to_numpy()]
    return found


def _whole(column: Column, size: int) -> Any:
    """A column without nulls: of an optional field, its one branch."""
    if not isinstance(column, Union):
        return column
    if len(column.branches) != 1 or len(column.branches[0].rows) != size:
        raise UndecodedError("a record without a location")
    return column.branches[0].column


def _struct(column: Column) -> Struct:
    if not isinstance(column, Struct):
        raise UndecodedError("a location is no record")
    return column


def _numbers(column: Column, size: int) -> npt.NDArray[Any]:
    found = _whole(column, size)
    if not isinstance(found, Numbers):
        raise UndecodedError("a part of a location is no number")
    return found.values


def _texts(column: Column, size: int) -> Any:
    found = _whole(column, size)
    if not isinstance(found, Texts):
        raise UndecodedError("a partition is no text")
    return found.values.array()

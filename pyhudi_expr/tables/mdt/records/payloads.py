"""Encode payloads of the metadata table's records by the schema of Hudi 1.1 and later.

Names, types and their order are those of Hudi's `HoodieMetadataRecord`, without documentation.

A record's key is the row of its HFile cell; the payload's own stays empty, as in Hudi's files.
Hudi's compaction adds the file's name to the records that it merges; nothing reads it.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

import fastavro

from pyhudi_expr.tables.hudi_names import META_COLUMNS
from pyhudi_expr.tables.mdt.records.metadata_records import (
    BLOOM_FILTER,
    FILE_LIST,
    PARTITION_LIST,
    RECORD_INDEX,
    SECONDARY_INDEX,
    Payload,
)
from pyhudi_expr.tables.mdt.records.value_types import Bound, ValueType
from pyhudi_expr.tables.parsing.avro_schemas import AvroSchema

# Makes Avro's Java readers return Strings, as in Hudi's own files.
_STRING = {"type": "string", "avro.java.string": "String"}


def _field(name: str, kind: AvroSchema, **default: AvroSchema) -> dict[str, Any]:
    return {"name": name, "type": kind, **default}


def _optional(name: str, kind: AvroSchema) -> dict[str, Any]:
    return _field(name, ["null", kind], default=None)


def _record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _wrapper(name: str, kind: AvroSchema) -> dict[str, Any]:
    return _record(name, _field("value", kind))


_SIMPLE_WRAPPERS = (
    _wrapper("BooleanWrapper", "boolean"),
    _wrapper("IntWrapper", "int"),
    _wrapper("LongWrapper", "long"),
    _wrapper("FloatWrapper", "float"),
    _wrapper("DoubleWrapper", "double"),
    _wrapper("BytesWrapper", "bytes"),
    _wrapper("StringWrapper", _STRING),
    _wrapper("DateWrapper", "int"),
    _wrapper(
        "DecimalWrapper",
        {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15},
    ),
    _wrapper("TimeMicrosWrapper", {"type": "long", "logicalType": "time-micros"}),
    _wrapper("TimestampMicrosWrapper", "long"),
    _wrapper("LocalDateWrapper", "int"),
)
_WRAPPER_NAMES = [wrapper["name"] for wrapper in _SIMPLE_WRAPPERS]
_ARRAY_WRAPPER = _record(
    "ArrayWrapper",
    _optional("wrappedValues", {"type": "array", "items": ["null", *_WRAPPER_NAMES]}),
)

_FILE_INFO = _record(
    "HoodieMetadataFileInfo", _field("size", "long"), _field("isDeleted", "boolean")
)
_BLOOM_FILTER = _record(
    "HoodieMetadataBloomFilter",
    _field("type", _STRING),
    _field("timestamp", _STRING),
    _field("bloomFilter", "bytes"),
    _field("isDeleted", "boolean"),
)
_COLUMN_STATS = _record(
    "HoodieMetadataColumnStats",
    _optional("fileName", _STRING),
    _optional("columnName", _STRING),
    _field("minValue", ["null", *_SIMPLE_WRAPPERS, _ARRAY_WRAPPER], default=None),
    # A named type is written out at its first use.
    _field("maxValue", ["null", *_WRAPPER_NAMES, "ArrayWrapper"], default=None),
    _optional("valueCount", "long"),
    _optional("nullCount", "long"),
    _optional("totalSize", "long"),
    _optional("totalUncompressedSize", "long"),
    _field("isDeleted", "boolean"),
    _field("isTightBound", "boolean", default=False),
    _optional(
        "valueType",
        _record(
            "HoodieValueTypeInfo",
            _field("typeOrdinal", "int"),
            _optional("additionalInfo", _STRING),
        ),
    ),
)
_RECORD_INDEX = _record(
    "HoodieRecordIndexInfo",
    _optional("partitionName", _STRING),
    _optional("fileIdHighBits", "long"),
    _optional("fileIdLowBits", "long"),
    _optional("fileIndex", "int"),
    _optional("fileId", _STRING),
    _optional("instantTime", "long"),
    _field("fileIdEncoding", "int", default=0),
    _optional("position", "long"),
)
_SECONDARY_INDEX = _record("HoodieSecondaryIndexInfo", _field("isDeleted", "boolean"))

RECORD_SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "HoodieMetadataRecord",
        "namespace": "org.apache.hudi.avro.model",
        "fields": [
            *(_optional(name, "string") for name in META_COLUMNS),
            _field("key", _STRING),
            _field("type", "int"),
            _field(
                "filesystemMetadata",
                ["null", {"type": "map", "values": _FILE_INFO, "avro.java.string": "String"}],
            ),
            _optional("BloomFilterMetadata", _BLOOM_FILTER),
            _optional("ColumnStatsMetadata", _COLUMN_STATS),
            _optional("recordIndexMetadata", _RECORD_INDEX),
            _optional("SecondaryIndexMetadata", _SECONDARY_INDEX),
        ],
    }
)
"""HoodieMetadataRecord, as JSON."""


_NAMESPACE = "org.apache.hudi.avro.model."
_UUID_ENCODING, _TEXT_ENCODING = 0, 1
_NO_FILE_INDEX = -1
_NO_BITS = 0
_LARGEST_FILE_INDEX = 2**31 - 1


@dataclass(frozen=True)
class Statistics:
    """The statistics of one column in a file or partition.

    Attributes:
        described: The file's name or the partition's path.
        bounds: Minimum and maximum; None if there is no value.
        size: Bytes of the column's chunks.
        uncompressed_size: Bytes of the column's chunks, uncompressed.
        is_tight: Whether Hudi may replace older bounds by these instead of uniting them.
    """

    described: str
    column: str
    value_type: ValueType
    bounds: tuple[Bound, Bound] | None
    value_count: int
    null_count: int
    size: int
    uncompressed_size: int
    is_tight: bool


def encoded(payload: Payload) -> bytes:
    """Encode any record, as `metadata_records.decode` returns it."""
    target = io.BytesIO()
    fastavro.schemaless_writer(target, _record_schema(), payload)
    return target.getvalue()


@cache
def _record_schema() -> AvroSchema:
    return fastavro.parse_schema(_without_logical_types(json.loads(RECORD_SCHEMA)))


def _without_logical_types(node: AvroSchema) -> AvroSchema:
    """Remove logical types: values stay exact and in range if the library does not convert them."""
    if isinstance(node, dict):
        return {k: _without_logical_types(v) for k, v in node.items() if k != "logicalType"}
    if isinstance(node, list):
        return [_without_logical_types(item) for item in node]
    return node


def partition_list(added: Iterable[str], deleted: Iterable[str] = ()) -> bytes:
    """Encode the record of all partitions, or of changes among them; keys are partitions."""
    return _listed(PARTITION_LIST, dict.fromkeys(added, 0), deleted)


def file_list(sizes: Mapping[str, int], deleted: Iterable[str] = ()) -> bytes:
    """Encode a partition's files by name with their sizes in bytes, or changes among them."""
    return _listed(FILE_LIST, sizes, deleted)


def _listed(kind: int, sizes: Mapping[str, int], deleted: Iterable[str]) -> bytes:
    files = {name: {"size": size, "isDeleted": False} for name, size in sizes.items()}
    files |= {name: {"size": 0, "isDeleted": True} for name in deleted}
    return encoded({**_empty_record(), "type": kind, "filesystemMetadata": files})


def statistics(kind: int, stats: Statistics) -> bytes:
    """Encode an entry of column_stats or partition_stats.

    Args:
        kind: `metadata_records.COLUMN_STATS` or `PARTITION_STATS`.
        stats: The statistics.
    """
    type_ = stats.value_type
    low, high = stats.bounds or (None, None)
    value_type = (
        _NAMESPACE + "HoodieValueTypeInfo",
        {
            "typeOrdinal": type_.ordinal,
            "additionalInfo": type_.info,
        },
    )
    content = {
        "fileName": stats.described,
        "columnName": stats.column,
        "minValue": type_.wrapped(low),
        "maxValue": type_.wrapped(high),
        "valueCount": stats.value_count,
        "nullCount": stats.null_count,
        "totalSize": stats.size,
        "totalUncompressedSize": stats.uncompressed_size,
        "isDeleted": False,
        "isTightBound": stats.is_tight,
        "valueType": None if type_.ordinal is None else value_type,
    }
    # With the name of its type the encoder need not try the union's branches.
    part = _NAMESPACE + "HoodieMetadataColumnStats", content
    return encoded({**_empty_record(), "type": kind, "ColumnStatsMetadata": part})


def bloom_filter(kind: str, instant: str, content: bytes) -> bytes:
    """Encode a file's Bloom filter: its kind (SIMPLE or DYNAMIC) and its serialised text."""
    found = {"type": kind, "timestamp": instant, "bloomFilter": content, "isDeleted": False}
    return encoded({**_empty_record(), "type": BLOOM_FILTER, "BloomFilterMetadata": found})


def location(partition: str, file_id: str, instant_ms: int) -> bytes:
    """Encode the location of a record key, with the milliseconds since the epoch of its write."""
    content = {"partitionName": partition, "instantTime": instant_ms, **_file_id(file_id)}
    return encoded({**_empty_record(), "type": RECORD_INDEX, "recordIndexMetadata": content})


def _file_id(file_id: str) -> dict[str, Any]:
    """Return a UUID, with or without a number behind it, as numbers; other ids as they are."""
    uuid, index = _uuid_and_index(file_id)
    if uuid is None:
        bits, encoding, text = (_NO_BITS, _NO_BITS), _TEXT_ENCODING, file_id
    else:
        halves = uuid.bytes[:8], uuid.bytes[8:]
        high, low = (int.from_bytes(half, "big", signed=True) for half in halves)
        bits, encoding, text = (high, low), _UUID_ENCODING, ""
    return {
        "fileIdHighBits": bits[0],
        "fileIdLowBits": bits[1],
        "fileIndex": index,
        "fileId": text,
        "fileIdEncoding": encoding,
    }


def _uuid_and_index(file_id: str) -> tuple[UUID | None, int]:
    uuid, index = file_id[:36], file_id[36:]
    number = _NO_FILE_INDEX
    if index:
        digits = index[1:]
        if index[0] != "-" or not digits.isdecimal() or str(int(digits)) != digits:
            return None, _NO_FILE_INDEX
        number = int(digits)
    try:
        found = UUID(uuid)
    except ValueError:
        return None, _NO_FILE_INDEX
    is_whole = str(found) == uuid and number <= _LARGEST_FILE_INDEX
    return (found, number) if is_whole else (None, _NO_FILE_INDEX)


@cache
def secondary_entry() -> bytes:
    """Encode an entry of a secondary index, whose content is its key."""
    return _secondary(False)


@cache
def secondary_tombstone() -> bytes:
    """Encode the tombstone of an entry of a secondary index."""
    return _secondary(True)


def _secondary(is_deleted: bool) -> bytes:
    content = {"isDeleted": is_deleted}
    return encoded({**_empty_record(), "type": SECONDARY_INDEX, "SecondaryIndexMetadata": content})


def _empty_record() -> Payload:
    return {"key": "", "filesystemMetadata": None}

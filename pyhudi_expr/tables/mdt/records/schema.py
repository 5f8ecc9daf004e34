"""The Avro schema of the metadata table's records as Hudi 1.1 and later write it (version 9).

Names, types and their order are those of Hudi's `HoodieMetadataRecord`, without documentation.
"""

from __future__ import annotations

import json
from typing import Any

from pyhudi_expr.tables.hudi_names import META_COLUMNS
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

"""Our payloads equal those of Apache Hudi in the golden tables, byte for byte.

These differences are excluded:

* records that a compaction wrote contain the name of their file (`_hoodie_file_name`);
* Hudi orders the names in a list of files by their hashes; ours are compared in that order;
* fields that a version of Hudi does not have yet are missing at a record's end.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.log_files import BlockKind, LogFile
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.metadata_records import (
    BLOOM_FILTER,
    COLUMN_STATS,
    FILE_LIST,
    PARTITION_LIST,
    PARTITION_STATS,
    RECORD_INDEX,
    SECONDARY_INDEX,
    Payload,
    decode,
    wrapper_name,
)
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.records.value_types import ValueType, signed_bytes, value_type
from pyhudi_expr.tables.mdt.store.file_group import all_cells
from tests.tables.mdt.records.tombstones import deleted_bloom_filter, deleted_statistics

TABLES = [
    "cow_v9_timebasedkeygen_nonhivestyle",
    "cow_v9_txns_simple_meta",
    "mor_v6_metadata_pending_compaction",
    "mor_v8_metadata_pending_compaction",
    "mor_v9_txns_simple_meta",
]


@pytest.mark.parametrize("table", TABLES)
def test_payloads_equal_those_of_hudi(golden: Mapping[str, Path], table: str) -> None:
    kinds = set()
    for schema, value in _values(golden[table] / ".hoodie" / "metadata"):
        (payload,) = decode(schema, [value], table)
        if payload["_hoodie_file_name"] is None:
            kinds.add(payload["type"])
            own = _rebuilt(payload)
            assert own.startswith(value)
            assert set(own[len(value) :]) <= {0}
    assert {PARTITION_LIST, FILE_LIST} <= kinds


def _values(metadata: Path) -> Iterator[tuple[str, bytes]]:
    """The schema and the payload of each record, of base files and of log blocks."""
    for path in sorted(metadata.rglob("*.hfile")):
        yield from _of_hfile(path.read_bytes(), path.name)
    for path in sorted(metadata.rglob(".*.log.*")):
        content = path.read_bytes()
        log = LogFile(_Memory(content), len(content), path.name)
        for block in log.blocks:
            if block.kind is BlockKind.HFILE:
                yield from _of_hfile(log.content(block), path.name)


def _of_hfile(content: bytes, name: str) -> Iterator[tuple[str, bytes]]:
    hfile = HFile(_Memory(content), len(content), name)
    for value in all_cells(hfile).values:
        yield hfile.schema, value


def _rebuilt(payload: Payload) -> bytes:
    match payload["type"]:
        case kind if kind in (PARTITION_LIST, FILE_LIST):
            files = payload["filesystemMetadata"]
            sizes = {name: info["size"] for name, info in files.items() if not info["isDeleted"]}
            deleted = [name for name, info in files.items() if info["isDeleted"]]
            if list(files) != [*sizes, *deleted]:
                return payloads.encoded(payload)
            if kind == PARTITION_LIST:
                return payloads.partition_list(sizes, deleted)
            return payloads.file_list(sizes, deleted)
        case kind if kind in (COLUMN_STATS, PARTITION_STATS):
            return _statistics(kind, payload["ColumnStatsMetadata"])
        case kind if kind == RECORD_INDEX:
            place = payload["recordIndexMetadata"]
            uuid = signed_uuid(place["fileIdHighBits"], place["fileIdLowBits"])
            index = place["fileIndex"]
            file_id = place["fileId"] or (uuid if index < 0 else f"{uuid}-{index}")
            return payloads.location(place["partitionName"], file_id, place["instantTime"])
        case kind if kind == SECONDARY_INDEX:
            if payload["SecondaryIndexMetadata"]["isDeleted"]:
                return payloads.secondary_tombstone()
            return payloads.secondary_entry()
        case kind if kind == BLOOM_FILTER:
            found = payload["BloomFilterMetadata"]
            if found["isDeleted"]:
                return deleted_bloom_filter(found["type"], found["timestamp"])
            return payloads.bloom_filter(found["type"], found["timestamp"], found["bloomFilter"])
    raise AssertionError(payload["type"])


def _statistics(kind: int, entry: dict[str, Any]) -> bytes:
    if entry["isDeleted"]:
        return deleted_statistics(kind, entry["fileName"], entry["columnName"])
    low, high = entry["minValue"], entry["maxValue"]
    type_info = entry.get("valueType") or {}
    wrapper = "LongWrapper" if low is None else wrapper_name(low)
    type_ = ValueType(wrapper, type_info.get("typeOrdinal"), type_info.get("additionalInfo"))
    return payloads.statistics(
        kind,
        payloads.Statistics(
            described=entry["fileName"],
            column=entry["columnName"],
            value_type=type_,
            bounds=None if low is None else (_bound(type_, low), _bound(type_, high)),
            value_count=entry["valueCount"],
            null_count=entry["nullCount"],
            size=entry["totalSize"],
            uncompressed_size=entry["totalUncompressedSize"],
            is_tight=entry.get("isTightBound", False),
        ),
    )


def _bound(type_: ValueType, wrapped: Any) -> Any:
    value = wrapped[1]["value"]
    if type_.is_decimal:
        return int.from_bytes(value, "big", signed=True)
    return value.encode() if isinstance(value, str) else value


def signed_uuid(high: int, low: int) -> str:
    """Java's text of a UUID with these bits."""
    digits = f"{high % 2**64:016x}{low % 2**64:016x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


@pytest.mark.parametrize(
    ("file_id", "encoding"),
    [
        ("43e46d6e-cae2-4146-8c62-cc27b4760505-0", 0),
        ("43e46d6e-cae2-4146-8c62-cc27b4760505", 0),
        ("00000002-cae2-4146-8c62-cc27b4760505-12", 0),
        ("43e46d6e-cae2-4146-8c62-cc27b4760505-01", 1),
        ("43e46d6e-cae2-4146-8c62-cc27b4760505-99999999999", 1),
        ("43E46D6E-cae2-4146-8c62-cc27b4760505-0", 1),
        ("bucket-7", 1),
    ],
)
def test_a_file_id_that_is_no_uuid_is_stored_as_text(file_id: str, encoding: int) -> None:
    value = payloads.location("p=1", file_id, 1_700_000_000_000)
    (found,) = decode(RECORD_SCHEMA, [value], "payload")
    place = found["recordIndexMetadata"]
    assert place["fileIdEncoding"] == encoding
    assert place["fileId"] == (file_id if encoding else "")
    if not encoding:
        uuid = signed_uuid(place["fileIdHighBits"], place["fileIdLowBits"])
        assert file_id.startswith(uuid)
        assert file_id[36:] in ("", f"-{place['fileIndex']}")


@pytest.mark.parametrize("number", [0, 1, -1, 127, 128, -128, -129, 10**37, -(10**37)])
def test_decimals_take_as_few_bytes_as_they_need(number: int) -> None:
    content = signed_bytes(number)
    assert int.from_bytes(content, "big", signed=True) == number
    if len(content) > 1:
        shorter = len(content) - 1
        assert not -(2 ** (8 * shorter - 1)) <= number < 2 ** (8 * shorter - 1)


@pytest.mark.parametrize(
    ("type_", "v1", "v2"),
    [
        (pa.decimal128(10, 2), "DecimalWrapper", "BytesWrapper"),
        (pa.decimal128(25, 4), None, "BytesWrapper"),
        (pa.decimal128(38, 16), None, "BytesWrapper"),
        (pa.date32(), "DateWrapper", "IntWrapper"),
        (pa.timestamp("us", "UTC"), "LongWrapper", "LongWrapper"),
        (pa.list_(pa.int32()), None, None),
    ],
)
def test_wrappers_depend_on_the_index_version(type_: pa.DataType, v1: str | None, v2: str) -> None:
    for version, wrapper in (("V1", v1), ("V2", v2)):
        found = value_type(type_, version)
        assert (found.wrapper if found else None) == wrapper


class _Memory:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def read_at(self, nbytes: int, offset: int) -> bytes:
        return self._content[offset : offset + nbytes]

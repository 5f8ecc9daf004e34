"""Records of the metadata table: as they are stored, decoded, and merged.

Merging follows Hudi's `HoodieMetadataPayload`, with one difference: where Hudi would widen bounds
with an entry that cannot be trusted, the merged entry has no bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow.compute as pc

from pyhudi_expr.arrays import arrow_array, numpy_numbers
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables.mdt.avro_columns import decode_columns
from pyhudi_expr.tables.mdt.avro_decoding import Struct
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings, concat_byte_strings
from pyhudi_expr.tables.mdt.hfile.cells import Cells, concat_cells
from pyhudi_expr.tables.parsing.avro_schemas import AvroValue, UndecodedError
from pyhudi_expr.tables.parsing.avro_values import RecordReader, record_reader, with_name
from pyhudi_expr.tables.parsing.budget import parse_json


@dataclass(frozen=True)
class EncodedRecords:
    """Cells of one file whose values are still Avro, written with `schema` (JSON)."""

    file: str
    schema: str
    cells: Cells

    @staticmethod
    def none() -> EncodedRecords:
        """Return no records, of no file."""
        return EncodedRecords("", '"null"', Cells())

    def decoded(self) -> list[Payload]:
        """Decode the values, which must not be changed. Raises CorruptFile."""
        return self._decoded

    @computed_once
    def _decoded(self) -> list[Payload]:
        return decode(self.schema, self.cells.values, self.file)

    def columns(self, selected: frozenset[str] | None = None) -> Struct:
        """Decode the values by columns, see `mdt.avro_columns`. Raises CorruptFile."""
        try:
            return decode_columns(self.schema, self.cells.value_strings, selected)
        except UndecodedError as error:
            raise CorruptFile(self.file, f"a record cannot be decoded: {error}") from error

    def split(self, keys: ByteStrings) -> tuple[EncodedRecords, EncodedRecords]:
        """Return the records without those of the keys (sorted), and those."""
        if not len(keys):
            return self, EncodedRecords.none()
        chosen = keys.search(self.cells.key_strings) >= 0
        if not chosen.any():
            return self, EncodedRecords.none()
        own = (self.file, self.schema)
        return (
            EncodedRecords(*own, self.cells.take(~chosen)),
            EncodedRecords(*own, self.cells.take(chosen)),
        )


def apart(
    answers: Sequence[EncodedRecords | list[bytes]],
) -> tuple[list[EncodedRecords], list[EncodedRecords | list[bytes]]]:
    """Return the records whose keys occur once in records and deleted keys, and what is left."""
    own = [_keys_of(answer) for answer in answers]
    counted = pc.value_counts(concat_byte_strings([ByteStrings.none(), *own]).array())
    again = arrow_array(numpy_numbers(counted.field("counts")) > 1)
    repeated = ByteStrings.from_arrow(counted.field("values").filter(again)).sorted()
    alone: list[EncodedRecords] = []
    left: list[EncodedRecords | list[bytes]] = []
    for answer in answers:
        if isinstance(answer, EncodedRecords):
            single, answer = answer.split(repeated)
            if len(single.cells):
                alone.append(single)
        left.append(answer)
    return joined_by_schema(alone), left


def _keys_of(answer: EncodedRecords | list[bytes]) -> ByteStrings:
    return ByteStrings.of(answer) if isinstance(answer, list) else answer.cells.key_strings


def joined_by_schema(parts: Sequence[EncodedRecords]) -> list[EncodedRecords]:
    """Return the same records in one part for each schema: decoding a part takes its time.

    Errors then name all files of a part.
    """
    by_schema: dict[str, list[EncodedRecords]] = {}
    for part in parts:
        by_schema.setdefault(part.schema, []).append(part)
    return [
        EncodedRecords(
            ", ".join(dict.fromkeys(part.file for part in own)),
            schema,
            concat_cells([part.cells for part in own]),
        )
        for schema, own in by_schema.items()
    ]


Payload = dict[str, Any]
"""A decoded HoodieMetadataRecord. Logical types are left raw: dates and times as integers,
decimals as big-endian unscaled bytes. A value of a wrapper union is (record name, {"value": v})."""

PARTITION_LIST, FILE_LIST, COLUMN_STATS, BLOOM_FILTER = 1, 2, 3, 4
RECORD_INDEX, PARTITION_STATS, SECONDARY_INDEX = 5, 6, 7

_STATS_KINDS = frozenset({COLUMN_STATS, PARTITION_STATS})
_LIST_KINDS = frozenset({PARTITION_LIST, FILE_LIST})
_TEXT_WRAPPERS = frozenset({"StringWrapper", "BytesWrapper"})
_FLOAT_WRAPPERS = frozenset({"FloatWrapper", "DoubleWrapper"})
_DECIMAL_TYPE = 10

_FILES, _STATS = "filesystemMetadata", "ColumnStatsMetadata"
_BLOOM, _SECONDARY = "BloomFilterMetadata", "SecondaryIndexMetadata"


def decode(schema: str, values: Sequence[bytes], file: str) -> list[Payload]:
    """Decode Avro values written with the schema (JSON); `file` names them in CorruptFile."""
    try:
        reader = _reader(schema)
    except (ValueError, CorruptFile) as error:
        raise CorruptFile(file, f"a record cannot be decoded: {error}") from error
    return [reader.read(value, file) for value in values]


@lru_cache(maxsize=64)
def _reader(schema: str) -> RecordReader:
    return record_reader(parse_json(schema, "its schema"), of_branch=with_name)


def is_deleted(payload: Payload) -> bool:
    """Return whether the record is a tombstone."""
    for part in (_STATS, _BLOOM, _SECONDARY):
        content = payload.get(part)
        if content is not None:
            return bool(content["isDeleted"])
    return False


def merge(old: Payload, new: Payload, file: str) -> Payload:
    """Merge two records of a key. Raises CorruptFile if they are of different kinds."""
    kind = new["type"]
    if old["type"] != kind:
        raise CorruptFile(file, f"one key has records of the kinds {old['type']} and {kind}")
    if kind in _LIST_KINDS:
        return {**new, _FILES: _merge_files(old.get(_FILES) or {}, new.get(_FILES) or {})}
    if kind in _STATS_KINDS:
        return {**new, _STATS: _merge_stats(old[_STATS], new[_STATS])}
    return new


def _merge_files(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Merge file lists: a deletion removes a known entry, else it is kept; sizes only grow."""
    merged = dict(old)
    for name, info in new.items():
        known = merged.get(name)
        if known is None or (info["isDeleted"] and known["isDeleted"]):
            merged[name] = info
        elif info["isDeleted"]:
            del merged[name]
        else:
            merged[name] = {"size": max(info["size"], known["size"]), "isDeleted": False}
    return merged


def _merge_stats(old: Payload, new: Payload) -> Payload:
    """Return the newer entry if either is a deletion or it is exact, else the union of both."""
    if old["isDeleted"] or new["isDeleted"] or new.get("isTightBound"):
        return new
    counts = {
        name: None if old[name] is None or new[name] is None else old[name] + new[name]
        for name in ("valueCount", "nullCount", "totalSize", "totalUncompressedSize")
    }
    bounds = _merge_bounds(old, new)
    if bounds is None:
        unknown = dict.fromkeys(("minValue", "maxValue", "valueCount", "nullCount"))
        return {**new, **counts, **unknown}
    return {**new, **counts, "minValue": bounds[0], "maxValue": bounds[1]}


def _merge_bounds(old: Payload, new: Payload) -> tuple[Any, Any] | None:
    """Return the union of two ranges; None if one of them is unknown."""
    if _is_suspect(old) or _is_suspect(new):
        return None
    ranges = [
        (stats["minValue"], stats["maxValue"])
        for stats in (old, new)
        if stats["minValue"] is not None and stats["maxValue"] is not None
    ]
    if len(ranges) == 2:
        wrappers = {bound[0] for pair in ranges for bound in pair}
        types = {_type_ordinal(old), _type_ordinal(new)}
        if len(wrappers) > 1 or len(types) > 1:
            return None
        is_decimal = types == {_DECIMAL_TYPE} or wrapper_name(ranges[0][0]) == "DecimalWrapper"
        least = min((pair[0] for pair in ranges), key=lambda bound: _order(bound, is_decimal))
        greatest = max((pair[1] for pair in ranges), key=lambda bound: _order(bound, is_decimal))
        return least, greatest
    if not ranges:
        return None, None
    # The side without bounds must hold nulls only. Hudi also writes this for texts that it could
    # not bound, so "all null" beside a text's bounds is not trusted.
    wrapper = wrapper_name(ranges[0][0])
    empty = old if old["minValue"] is None or old["maxValue"] is None else new
    all_null = empty["valueCount"] is not None and empty["valueCount"] == empty["nullCount"]
    if empty["valueCount"] == 0 or (all_null and wrapper not in _TEXT_WRAPPERS):
        return ranges[0]
    return None


def _is_suspect(stats: Payload) -> bool:
    """Return whether a float's range is [0.0, 0.0], as Hudi writes it for a file with NaN."""
    bounds = (stats["minValue"], stats["maxValue"])
    if any(bound is None or wrapper_name(bound) not in _FLOAT_WRAPPERS for bound in bounds):
        return False
    return all(not bound[1]["value"] or bound[1]["value"] != bound[1]["value"] for bound in bounds)


def _order(bound: tuple[str, Payload], is_decimal: bool) -> AvroValue:
    """Return a sort key. Python compares texts by code points, the order of their UTF-8 bytes."""
    value = bound[1]["value"]
    return int.from_bytes(value, "big", signed=True) if is_decimal else value


def wrapper_name(bound: tuple[str, Payload]) -> str:
    """Return the wrapper's name without its namespace, such as "LongWrapper"."""
    return _simple_name(bound[0])


@lru_cache(maxsize=256)
def _simple_name(full_name: str) -> str:
    return full_name.rpartition(".")[2]


def _type_ordinal(stats: Payload) -> int | None:
    value_type = stats.get("valueType")
    return value_type["typeOrdinal"] if value_type else None

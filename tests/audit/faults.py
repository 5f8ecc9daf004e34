"""Faults that are put into a table's metadata, one at a time."""

from __future__ import annotations

import base64
import io
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from pyhudi_expr.audit.findings import Fault, Reader
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.mdt.bytes.keys import (
    bloom_filter_key,
    column_stats_key,
    partition_stats_key,
    secondary_key,
)
from pyhudi_expr.mdt.extension.changes import Extension
from pyhudi_expr.mdt.hfile import writer as hfile_writer
from pyhudi_expr.mdt.records import payloads
from pyhudi_expr.mdt.records.bloom_filter import SIMPLE, FilterBuilder
from pyhudi_expr.mdt.records.metadata_records import Payload, decode
from pyhudi_expr.mdt.records.schema import RECORD_SCHEMA
from pyhudi_expr.mdt.store.compaction import compact_group
from pyhudi_expr.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.table.hudi_names import (
    COLUMN_STATS,
    FILES,
    METADATA_DIR,
    PARTITION_STATS,
    RECORD_INDEX,
    RECORD_KEY,
)
from tests.audit.living_table import (
    BLOOMS,
    BY_NAME,
    BY_NUMBER,
    LOWERED,
    LOWERED_FILTER,
    Group,
    LivingTable,
    shard_of,
)
from tests.indexing import sparkless_indexes

Records = dict[bytes, Payload]
_WRAPPER = "org.apache.hudi.avro.model."
_HUDI, _OURS = Reader.HUDI, Reader.PYHUDI
EXTENSION_VALUES = "secondary_index_by_name"


@dataclass(frozen=True)
class Expected:
    """What an audit has to find.

    Attributes:
        file: A part of the file's path.
        readers: Whose queries lose rows.
        along: Further findings that follow from the fault: partition and kind.
    """

    partition: str
    fault: Fault
    file: str
    readers: tuple[Reader, ...] = ()
    store: Store = Store.HUDI
    along: tuple[tuple[str, Fault], ...] = ()


Seed = Callable[[LivingTable], Expected]
FAULTS: dict[str, Seed] = {}


def fault(seed: Seed) -> Seed:
    FAULTS[seed.__name__] = seed
    return seed


# ---- tampering


@contextmanager
def tampered(table: LivingTable, partition: str, store: Store = Store.HUDI) -> Iterator[Records]:
    """All records of a metadata partition, to be changed: they are written back to its files."""
    records = opened(table, store)
    groups = records.groups(partition)
    found: Records = {}
    of_group: dict[bytes, int] = {}
    for number, group in enumerate(groups):
        for keys, values in compact_group(group):
            decoded = decode(RECORD_SCHEMA, values.to_list(), partition)
            found |= dict(zip(keys.to_list(), decoded, strict=True))
            of_group |= dict.fromkeys(keys.to_list(), number)
    yield found
    for number, group in enumerate(groups):
        cells = sorted(
            (key, payloads.encoded(payload))
            for key, payload in found.items()
            if of_group.get(key, _shard(partition, key, len(groups))) == number
        )
        content = io.BytesIO()
        hfile_writer.write(content, cells, RECORD_SCHEMA)
        assert group.base is not None
        assert not [log for log, _ in group.logs if not log.path.endswith("0-0-0")]
        records.metadata.storage.write(group.base.path, content.getvalue())


def opened(table: LivingTable, store: Store = Store.HUDI) -> MetadataTable:
    if store is Store.EXTENSION:
        extension = Extension.open(table.open())
        assert extension is not None
        return extension.records
    found = MetadataTable.open(table.open())
    assert found is not None
    return found


def _shard(partition: str, key: bytes, count: int) -> int:
    return 0 if count == 1 else shard_of(partition, key)


@contextmanager
def stats_of(table: LivingTable, group: Group, column: str) -> Iterator[Payload]:
    """The statistics of a column in a group's file."""
    with tampered(table, COLUMN_STATS) as records:
        key = column_stats_key(column, group.part, group.name).encode()
        yield records[key]["ColumnStatsMetadata"]


@contextmanager
def stats_of_part(table: LivingTable, column: str) -> Iterator[Payload]:
    """The statistics of a column in the partition `a`."""
    with tampered(table, PARTITION_STATS) as records:
        yield records[partition_stats_key(column, "a").encode()]["ColumnStatsMetadata"]


def value(stats: Payload, end: str) -> Any:
    return stats[end][1]["value"]


def put(stats: Payload, end: str, changed: Any, wrapper: str = "") -> None:
    """Set a bound."""
    name = f"{_WRAPPER}{wrapper}" if wrapper else stats[end][0]
    stats[end] = (name, {"value": changed})


def first(table: LivingTable) -> Group:
    """The first file: it has values of all kinds, nulls, NaN, and texts beyond ASCII."""
    return next(iter(table.groups.values()))


def last(table: LivingTable) -> Group:
    """A file of another partition: it has neither nulls nor NaN."""
    return list(table.groups.values())[-1]


def metadata_file(table: LivingTable, partition: str, store: Store = Store.HUDI) -> Path:
    """The base file of the partition's first file group."""
    records = opened(table, store)
    base = records.groups(partition)[0].base
    assert base is not None
    return Path(records.metadata.base_path) / base.path


def stats_fault(
    name: Fault, group: Group, *readers: Reader, along: tuple[tuple[str, Fault], ...] = ()
) -> Expected:
    return Expected(COLUMN_STATS, name, group.name, readers, along=along)


def part_fault(name: Fault, *readers: Reader) -> Expected:
    return Expected(PARTITION_STATS, name, "a", readers)


# ---- the partition `files`


@fault
def a_file_is_listed_that_is_not_there(table: LivingTable) -> Expected:
    name = "00000000-0000-4000-8000-000000000000-0_0-9-0_20260101000001000.parquet"
    with tampered(table, FILES) as records:
        records[b"a"]["filesystemMetadata"][name] = {"size": 5, "isDeleted": False}
    return Expected(FILES, Fault.FILE_GONE, name)


@fault
def a_file_is_not_listed(table: LivingTable) -> Expected:
    group = first(table)
    with tampered(table, FILES) as records:
        del records[b"a"]["filesystemMetadata"][group.name]
    return Expected(FILES, Fault.FILE_NOT_LISTED, group.name, (_HUDI, _OURS))


@fault
def a_size_is_too_small(table: LivingTable) -> Expected:
    group = first(table)
    with tampered(table, FILES) as records:
        records[b"a"]["filesystemMetadata"][group.name]["size"] -= 100
    return Expected(FILES, Fault.SIZE_WRONG, group.name, (_HUDI, _OURS))


@fault
def a_size_is_too_large(table: LivingTable) -> Expected:
    group = first(table)
    with tampered(table, FILES) as records:
        records[b"a"]["filesystemMetadata"][group.name]["size"] += 100
    return Expected(FILES, Fault.SIZE_WRONG, group.name)


@fault
def a_partition_is_not_listed(table: LivingTable) -> Expected:
    with tampered(table, FILES) as records:
        del records[b"__all_partitions__"]["filesystemMetadata"]["a"]
    return Expected(FILES, Fault.PARTITION_NOT_LISTED, "a", (_HUDI, _OURS))


@fault
def a_partition_has_no_list_of_files(table: LivingTable) -> Expected:
    with tampered(table, FILES) as records:
        del records[b"b"]
    return Expected(FILES, Fault.FILE_NOT_LISTED, last(table).name, (_HUDI, _OURS))


@fault
def a_file_was_deleted_by_hand(table: LivingTable) -> Expected:
    group = first(table)
    (table.path / group.part / group.name).unlink()
    along = (
        (RECORD_INDEX, Fault.KEY_DELETED),
        (BY_NAME, Fault.VALUE_STALE),
        (BY_NUMBER, Fault.VALUE_STALE),
    )
    return Expected(FILES, Fault.FILE_GONE, group.name, along=along)


# ---- column_stats


@fault
def a_minimum_is_too_high(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "id") as stats:
        put(stats, "minValue", value(stats, "minValue") + 1)
    return stats_fault(Fault.RANGE_TOO_NARROW, first(table), _HUDI, _OURS)


@fault
def a_maximum_of_texts_is_too_low(table: LivingTable) -> Expected:
    with stats_of(table, last(table), "name") as stats:
        put(stats, "maxValue", value(stats, "minValue"))
    return stats_fault(Fault.RANGE_TOO_NARROW, last(table), _HUDI, _OURS)


@fault
def a_maximum_of_decimals_is_too_low(table: LivingTable) -> Expected:
    with stats_of(table, last(table), "amount") as stats:
        put(stats, "maxValue", value(stats, "minValue"))
    return stats_fault(Fault.RANGE_TOO_NARROW, last(table), _HUDI, _OURS)


@fault
def a_minimum_of_dates_is_too_high(table: LivingTable) -> Expected:
    with stats_of(table, last(table), "born") as stats:
        put(stats, "minValue", value(stats, "maxValue"))
    return stats_fault(Fault.RANGE_TOO_NARROW, last(table), _HUDI, _OURS)


@fault
def a_range_of_floats_is_too_narrow(table: LivingTable) -> Expected:
    with stats_of(table, last(table), "score") as stats:
        put(stats, "minValue", value(stats, "maxValue"))
    return stats_fault(Fault.RANGE_TOO_NARROW, last(table), _HUDI, _OURS)


@fault
def a_minimum_is_too_low(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "id") as stats:
        put(stats, "minValue", -1000)
    return stats_fault(Fault.RANGE_TOO_WIDE, first(table))


@fault
def a_maximum_of_texts_is_too_high(table: LivingTable) -> Expected:
    with stats_of(table, last(table), "name") as stats:
        put(stats, "maxValue", "zzz")
    return stats_fault(Fault.RANGE_TOO_WIDE, last(table))


@fault
def bounds_are_inverted(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "id") as stats:
        stats["minValue"], stats["maxValue"] = stats["maxValue"], stats["minValue"]
    return stats_fault(Fault.RANGE_INVERTED, first(table), _HUDI)


@fault
def nan_made_the_range_zeros(table: LivingTable) -> Expected:
    """As apache/hudi issue 18754."""
    with stats_of(table, first(table), "score") as stats:
        put(stats, "minValue", 0.0)
        put(stats, "maxValue", 0.0)
    return stats_fault(Fault.RANGE_WITHOUT_NAN, first(table), _HUDI)


@fault
def long_texts_are_called_nulls(table: LivingTable) -> Expected:
    """As apache/hudi issue 18755."""
    with stats_of(table, first(table), "name") as stats:
        stats["minValue"] = stats["maxValue"] = None
        stats["nullCount"] = stats["valueCount"]
    return stats_fault(Fault.VALUES_CALLED_NULLS, first(table), _HUDI)


@fault
def a_range_is_missing(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "id") as stats:
        stats["minValue"] = stats["maxValue"] = None
    return stats_fault(Fault.RANGE_MISSING, first(table), _HUDI)


@fault
def a_range_is_of_another_type(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "id") as stats:
        put(stats, "minValue", "1", "StringWrapper")
        put(stats, "maxValue", "9", "StringWrapper")
    return stats_fault(Fault.RANGE_OF_OTHER_TYPE, first(table))


@fault
def nulls_are_denied(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "intField") as stats:
        stats["nullCount"] = 0
    return stats_fault(Fault.NULLS_DENIED, first(table), _HUDI, _OURS)


@fault
def a_null_count_is_too_high(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "intField") as stats:
        stats["nullCount"] += 1
    return stats_fault(Fault.NULL_COUNT_WRONG, first(table))


@fault
def all_values_are_counted_as_nulls_beside_a_range(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "id") as stats:
        stats["nullCount"] = stats["valueCount"]
    return stats_fault(Fault.NULL_COUNT_WRONG, first(table), _HUDI)


@fault
def a_value_count_is_too_high(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "id") as stats:
        stats["valueCount"] += 1
    return stats_fault(Fault.VALUE_COUNT_WRONG, first(table))


@fault
def keys_are_counted_too_low(table: LivingTable) -> Expected:
    """By this count a record index is trusted."""
    with stats_of(table, first(table), RECORD_KEY) as stats:
        stats["valueCount"] -= 1
    return stats_fault(Fault.VALUE_COUNT_WRONG, first(table), _OURS)


@fault
def statistics_are_missing(table: LivingTable) -> Expected:
    group = first(table)
    with tampered(table, COLUMN_STATS) as records:
        del records[column_stats_key("born", group.part, group.name).encode()]
    return stats_fault(Fault.ENTRY_MISSING, group)


@fault
def statistics_name_another_file(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "id") as stats:
        stats["fileName"] = last(table).name
    return stats_fault(Fault.OTHER_FILE_NAMED, first(table), _HUDI, _OURS)


@fault
def statistics_name_another_column(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "id") as stats:
        stats["columnName"] = "born"
    return stats_fault(Fault.OTHER_COLUMN_NAMED, first(table), _HUDI)


@fault
def a_maximum_of_texts_is_that_of_utf16(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "name") as stats:
        put(stats, "maxValue", "\uff5e")
    return stats_fault(Fault.RANGE_IN_UTF16_ORDER, first(table), _HUDI)


# ---- partition_stats


@fault
def a_partitions_minimum_is_too_high(table: LivingTable) -> Expected:
    with stats_of_part(table, "id") as stats:
        put(stats, "minValue", value(stats, "maxValue"))
    return part_fault(Fault.RANGE_TOO_NARROW, _HUDI, _OURS)


@fault
def a_partitions_maximum_is_too_low(table: LivingTable) -> Expected:
    with stats_of_part(table, "id") as stats:
        put(stats, "maxValue", value(stats, "maxValue") - 1)
    return part_fault(Fault.RANGE_TOO_NARROW, _HUDI, _OURS)


@fault
def a_partitions_texts_are_in_utf16_order(table: LivingTable) -> Expected:
    with stats_of_part(table, "name") as stats:
        put(stats, "maxValue", "\uff5e")
    return part_fault(Fault.RANGE_IN_UTF16_ORDER, _HUDI)


@fault
def a_partitions_range_has_no_nan(table: LivingTable) -> Expected:
    with stats_of_part(table, "score") as stats:
        put(stats, "minValue", 0.0)
        put(stats, "maxValue", 0.0)
    return part_fault(Fault.RANGE_WITHOUT_NAN, _HUDI)


@fault
def a_partitions_nulls_are_denied(table: LivingTable) -> Expected:
    with stats_of_part(table, "intField") as stats:
        stats["nullCount"] = 0
    return part_fault(Fault.NULLS_DENIED, _HUDI)


@fault
def a_partitions_values_are_called_nulls(table: LivingTable) -> Expected:
    with stats_of_part(table, "name") as stats:
        stats["minValue"] = stats["maxValue"] = None
        stats["nullCount"] = stats["valueCount"]
    return part_fault(Fault.VALUES_CALLED_NULLS, _HUDI)


@fault
def a_partitions_bounds_are_inverted(table: LivingTable) -> Expected:
    with stats_of_part(table, "id") as stats:
        stats["minValue"], stats["maxValue"] = stats["maxValue"], stats["minValue"]
    return part_fault(Fault.RANGE_INVERTED, _HUDI)


@fault
def a_partitions_statistics_are_missing(table: LivingTable) -> Expected:
    with tampered(table, PARTITION_STATS) as records:
        del records[partition_stats_key("id", "a").encode()]
    return part_fault(Fault.ENTRY_MISSING)


# ---- record_index


def key_in(group: Group) -> bytes:
    return str(next(iter(group.rows))).encode()


@fault
def a_key_is_missing(table: LivingTable) -> Expected:
    with tampered(table, RECORD_INDEX) as records:
        del records[key_in(first(table))]
    return Expected(RECORD_INDEX, Fault.KEY_MISSING, first(table).name, (_HUDI,))


@fault
def a_key_is_placed_in_another_file(table: LivingTable) -> Expected:
    with tampered(table, RECORD_INDEX) as records:
        records[key_in(first(table))] = records[key_in(last(table))]
    return Expected(RECORD_INDEX, Fault.KEY_MISPLACED, first(table).name, (_HUDI,))


@fault
def a_key_is_placed_in_a_file_group_that_is_gone(table: LivingTable) -> Expected:
    with tampered(table, RECORD_INDEX) as records:
        place = records[key_in(first(table))]["recordIndexMetadata"]
        place["fileIdLowBits"] ^= 1
    return Expected(RECORD_INDEX, Fault.KEY_MISPLACED, first(table).name, (_HUDI,))


@fault
def two_keys_have_each_others_places(table: LivingTable) -> Expected:
    """Each file has as many entries as rows, so the index is trusted."""
    with tampered(table, RECORD_INDEX) as records:
        one, other = key_in(first(table)), key_in(last(table))
        records[one], records[other] = records[other], records[one]
    return Expected(RECORD_INDEX, Fault.KEY_MISPLACED, first(table).name, (_HUDI, _OURS))


@fault
def a_deleted_key_has_a_place(table: LivingTable) -> Expected:
    with tampered(table, RECORD_INDEX) as records:
        records[b"4711"] = records[key_in(first(table))]
    return Expected(RECORD_INDEX, Fault.KEY_DELETED, first(table).name)


@fault
def a_deleted_key_has_a_place_in_a_group_that_is_gone(table: LivingTable) -> Expected:
    with tampered(table, RECORD_INDEX) as records:
        gone = payloads.location("a", "00000000-0000-4000-8000-000000000000-0", 0)
        (records[b"4711"],) = decode(RECORD_SCHEMA, [gone], "")
    return Expected(RECORD_INDEX, Fault.KEY_DELETED, RECORD_INDEX)


@fault
def a_key_is_in_the_wrong_file_group_of_the_index(table: LivingTable) -> Expected:
    return _in_wrong_shard(table, RECORD_INDEX)


def _in_wrong_shard(table: LivingTable, partition: str) -> Expected:
    with tampered(table, partition) as records:
        content = dict(records)
        key = next(key for key in content if shard_of(partition, key) == 1)
        moved = records.pop(key)
    # Written by a second tampering, which leaves it where it finds it.
    path = metadata_file(table, partition)
    group = opened(table).groups(partition)[0]
    cells = {
        key: value
        for keys, values in compact_group(group)
        for key, value in zip(keys.to_list(), values.to_list(), strict=True)
    }
    sink = io.BytesIO()
    own = sorted({**cells, key: payloads.encoded(moved)}.items())
    hfile_writer.write(sink, own, RECORD_SCHEMA)
    path.write_bytes(sink.getvalue())
    return Expected(partition, Fault.WRONG_SHARD, path.name, (_HUDI, _OURS))


@fault
def a_key_is_stored_twice(table: LivingTable) -> Expected:
    """A bulk insert does not look keys up: the entry names the last file."""
    group = first(table)
    again = Group("b", "99999999-0000-4000-8000-000000000000-0", dict(list(group.rows.items())[:1]))
    table.groups[again.file_id] = again
    table._commit([again])
    table.compact_metadata()
    return Expected(RECORD_INDEX, Fault.KEY_TWICE, group.name, (_HUDI,))


# ---- secondary indexes


def entry_in(group: Group, column: str) -> bytes:
    key, row = next(iter(group.rows.items()))
    text = None if row[column] is None else str(row[column])
    return secondary_key(text, str(key)).encode()


@fault
def a_value_is_missing(table: LivingTable) -> Expected:
    with tampered(table, BY_NAME) as records:
        del records[entry_in(first(table), "name")]
    return Expected(BY_NAME, Fault.VALUE_MISSING, first(table).name, (_HUDI,))


@fault
def a_null_is_missing(table: LivingTable) -> Expected:
    group = first(table)
    key = next(key for key, row in group.rows.items() if row["intField"] is None)
    with tampered(table, BY_NUMBER) as records:
        del records[secondary_key(None, str(key)).encode()]
    return Expected(BY_NUMBER, Fault.VALUE_MISSING, group.name, (_HUDI,))


@fault
def an_old_value_is_left(table: LivingTable) -> Expected:
    with tampered(table, BY_NAME) as records:
        any_entry = next(iter(records.values()))
        key = key_in(first(table)).decode()
        records[secondary_key("an old name", key).encode()] = any_entry
    return Expected(BY_NAME, Fault.VALUE_STALE, first(table).name)


@fault
def a_value_of_a_deleted_row_is_left(table: LivingTable) -> Expected:
    with tampered(table, BY_NAME) as records:
        records[secondary_key("a name", "4711").encode()] = next(iter(records.values()))
    return Expected(BY_NAME, Fault.VALUE_STALE, BY_NAME)


@fault
def a_value_is_tampered_with(table: LivingTable) -> Expected:
    """The key has one entry, so the index is trusted."""
    with tampered(table, BY_NAME) as records:
        entry = records.pop(entry_in(first(table), "name"))
        records[secondary_key("tampered", key_in(first(table)).decode()).encode()] = entry
    along = ((BY_NAME, Fault.VALUE_STALE),)
    return Expected(BY_NAME, Fault.VALUE_MISSING, first(table).name, (_HUDI, _OURS), along=along)


@fault
def a_value_is_in_the_wrong_file_group_of_the_index(table: LivingTable) -> Expected:
    return _in_wrong_shard(table, BY_NAME)


# ---- Bloom filters, expression indexes


def _filter_of(table: LivingTable, partition: str, group: Group) -> bytes:
    return bloom_filter_key(group.part, group.name).encode()


def _made_of(*texts: str) -> bytes:
    builder = FilterBuilder(max(len(texts), 1))
    builder.add(ByteStrings.of([text.encode() for text in texts]))
    return builder.text()


def _with_filter(table: LivingTable, partition: str, content: bytes, kind: str = SIMPLE) -> None:
    with tampered(table, partition) as records:
        found = records[_filter_of(table, partition, first(table))]["BloomFilterMetadata"]
        found["bloomFilter"], found["type"] = content, kind


@fault
def a_filter_lacks_a_key(table: LivingTable) -> Expected:
    keys = [str(key) for key in first(table).rows]
    _with_filter(table, BLOOMS, _made_of(*keys[1:]))
    return Expected(BLOOMS, Fault.FILTER_LACKS_KEYS, first(table).name, (_HUDI, _OURS))


@fault
def a_filter_is_that_of_another_file(table: LivingTable) -> Expected:
    with tampered(table, BLOOMS) as records:
        other = records[_filter_of(table, BLOOMS, last(table))]
        records[_filter_of(table, BLOOMS, first(table))] = other
    return Expected(BLOOMS, Fault.FILTER_LACKS_KEYS, first(table).name, (_HUDI, _OURS))


@fault
def a_filter_is_empty(table: LivingTable) -> Expected:
    _with_filter(table, BLOOMS, _made_of())
    return Expected(BLOOMS, Fault.FILTER_LACKS_KEYS, first(table).name, (_HUDI,))


@fault
def a_filter_is_damaged(table: LivingTable) -> Expected:
    _with_filter(table, BLOOMS, base64.b64encode(b"no filter"))
    return Expected(BLOOMS, Fault.FILTER_UNREADABLE, first(table).name)


@fault
def a_filter_is_of_an_unknown_kind(table: LivingTable) -> Expected:
    _with_filter(table, BLOOMS, _made_of("1"), "CUCKOO")
    return Expected(BLOOMS, Fault.FILTER_UNREADABLE, first(table).name)


@fault
def a_filter_is_missing(table: LivingTable) -> Expected:
    with tampered(table, BLOOMS) as records:
        del records[_filter_of(table, BLOOMS, first(table))]
    return Expected(BLOOMS, Fault.ENTRY_MISSING, first(table).name)


@fault
def a_function_has_results_outside_its_range(table: LivingTable) -> Expected:
    group = last(table)
    with tampered(table, LOWERED) as records:
        stats = records[column_stats_key("name", group.part, group.name).encode()]
        put(stats["ColumnStatsMetadata"], "maxValue", "a")
        put(stats["ColumnStatsMetadata"], "minValue", "")
    return Expected(LOWERED, Fault.RESULT_OUTSIDE_RANGE, group.name, (_HUDI, _OURS))


@fault
def statistics_of_a_function_are_missing(table: LivingTable) -> Expected:
    group = first(table)
    with tampered(table, LOWERED) as records:
        del records[column_stats_key("name", group.part, group.name).encode()]
    return Expected(LOWERED, Fault.ENTRY_MISSING, group.name)


@fault
def a_functions_filter_lacks_a_result(table: LivingTable) -> Expected:
    _with_filter(table, LOWERED_FILTER, _made_of("something else"))
    return Expected(LOWERED_FILTER, Fault.FILTER_LACKS_KEYS, first(table).name, (_HUDI, _OURS))


# ---- whole partitions and files


@fault
def a_definition_is_missing(table: LivingTable) -> Expected:
    path = table.path / ".hoodie" / ".index_defs" / "index.json"
    content = json.loads(path.read_text())
    del content["indexDefinitions"][BY_NUMBER]
    path.write_text(json.dumps(content))
    return Expected(BY_NUMBER, Fault.DEFINITION_MISSING, "index.json")


@fault
def a_block_of_an_hfile_is_damaged(table: LivingTable) -> Expected:
    path = metadata_file(table, RECORD_INDEX)
    content = bytearray(path.read_bytes())
    content[60:70] = bytes(10)
    path.write_bytes(content)
    return Expected(RECORD_INDEX, Fault.UNREADABLE, path.name)


@fault
def an_hfile_is_truncated(table: LivingTable) -> Expected:
    path = metadata_file(table, COLUMN_STATS)
    path.write_bytes(path.read_bytes()[:-1000])
    return Expected(COLUMN_STATS, Fault.UNREADABLE, path.name)


@fault
def a_log_block_is_damaged(table: LivingTable) -> Expected:
    table.insert("a", [900])
    logs = sorted((table.path / METADATA_DIR / BY_NAME).glob(".*.log.*"))
    path = max(logs, key=lambda log: log.name.split("_")[-2])
    content = bytearray(path.read_bytes())
    content[8:14] = b"\xff" * 6
    path.write_bytes(content)
    return Expected(BY_NAME, Fault.UNREADABLE, path.name)


@fault
def a_record_cannot_be_decoded(table: LivingTable) -> Expected:
    path = metadata_file(table, BY_NUMBER)
    cells = [(f"{n}${n}".encode(), b"\xff\xff") for n in range(3)]
    sink = io.BytesIO()
    hfile_writer.write(sink, cells, RECORD_SCHEMA)
    path.write_bytes(sink.getvalue())
    return Expected(BY_NUMBER, Fault.UNREADABLE, path.name)


@fault
def the_directory_of_a_partition_is_gone(table: LivingTable) -> Expected:
    shutil.rmtree(table.path / METADATA_DIR / BLOOMS)
    return Expected(BLOOMS, Fault.PARTITION_MISSING, BLOOMS)


@fault
def a_file_group_of_an_index_is_gone(table: LivingTable) -> Expected:
    for path in (table.path / METADATA_DIR / RECORD_INDEX).glob("*record-index-0000-0_*"):
        path.unlink()
    return Expected(RECORD_INDEX, Fault.PARTITION_MISSING, RECORD_INDEX)


@fault
def the_metadata_table_lacks_a_commit(table: LivingTable) -> Expected:
    table._metadata_commit = lambda instant, cells: None  # type: ignore[method-assign]
    table.insert("c", [950, 951])
    found = Expected("all", Fault.LAGGING, METADATA_DIR, (_HUDI,))
    along = (
        (FILES, Fault.PARTITION_NOT_LISTED),
        (COLUMN_STATS, Fault.ENTRY_MISSING),
        (PARTITION_STATS, Fault.ENTRY_MISSING),
        (RECORD_INDEX, Fault.KEY_MISSING),
        (BY_NAME, Fault.VALUE_MISSING),
        (BY_NUMBER, Fault.VALUE_MISSING),
        (BLOOMS, Fault.ENTRY_MISSING),
        (LOWERED, Fault.ENTRY_MISSING),
        (LOWERED_FILTER, Fault.ENTRY_MISSING),
    )
    return replace(found, along=along)


@fault
def a_data_file_is_truncated(table: LivingTable) -> Expected:
    group = first(table)
    path = table.path / group.part / group.name
    path.write_bytes(path.read_bytes()[:200])
    along = ((FILES, Fault.SIZE_WRONG),)
    return Expected(FILES, Fault.UNREADABLE, group.name, along=along)


# ---- the extension


def _in_extension(partition: str, name: Fault, file: str, *readers: Reader) -> Expected:
    return Expected(partition, name, file, readers, Store.EXTENSION)


def _extended(table: LivingTable) -> None:
    sparkless_indexes.create_by_name(str(table.path))


@contextmanager
def _covered_rows(table: LivingTable) -> Iterator[np.ndarray]:
    """The numbers of rows in the list of covered slices."""
    _extended(table)
    extension = Extension.open(table.open())
    assert extension is not None
    slices = extension.coverage.slices
    rows = np.array(slices.column("rows")).copy()
    yield rows
    at = slices.schema.get_field_index("rows")
    changed = slices.set_column(at, slices.schema.field("rows"), pa.array(rows))
    content = replace(extension.coverage, slices=changed).content()
    folder = table.path / ".hoodie" / "pyhudi" / "metadata" / ".hoodie" / "coverage"
    (path,) = folder.glob("*.parquet")
    path.write_bytes(content)


@fault
def the_extension_counts_too_few_rows(table: LivingTable) -> Expected:
    with _covered_rows(table) as rows:
        rows[:] -= 1
    return _in_extension("coverage", Fault.COVERED_ROWS_WRONG, first(table).name, _OURS)


@fault
def the_extension_counts_too_many_rows(table: LivingTable) -> Expected:
    with _covered_rows(table) as rows:
        rows[:] += 1
    return _in_extension("coverage", Fault.COVERED_ROWS_WRONG, first(table).name)


@fault
def the_extension_lacks_a_key(table: LivingTable) -> Expected:
    _extended(table)
    with tampered(table, RECORD_INDEX, Store.EXTENSION) as records:
        del records[key_in(first(table))]
    return _in_extension(RECORD_INDEX, Fault.KEY_MISSING, first(table).name)


@fault
def the_extension_has_another_value(table: LivingTable) -> Expected:
    _extended(table)
    with tampered(table, EXTENSION_VALUES, Store.EXTENSION) as records:
        entry = records.pop(entry_in(first(table), "name"))
        records[secondary_key("tampered", key_in(first(table)).decode()).encode()] = entry
    found = _in_extension(EXTENSION_VALUES, Fault.VALUE_MISSING, first(table).name, _OURS)
    return replace(found, along=((EXTENSION_VALUES, Fault.VALUE_STALE),))


@fault
def the_extension_lacks_a_value(table: LivingTable) -> Expected:
    _extended(table)
    with tampered(table, EXTENSION_VALUES, Store.EXTENSION) as records:
        del records[entry_in(first(table), "name")]
    return _in_extension(EXTENSION_VALUES, Fault.VALUE_MISSING, first(table).name)


@fault
def a_file_of_the_extension_is_damaged(table: LivingTable) -> Expected:
    _extended(table)
    path = metadata_file(table, EXTENSION_VALUES, Store.EXTENSION)
    path.write_bytes(path.read_bytes()[:50])
    return _in_extension(EXTENSION_VALUES, Fault.UNREADABLE, path.name)


def healthy(path: Path) -> LivingTable:
    """The table that faults are put into: two partitions, three files, one MDT file for a group."""
    table = LivingTable(path, Random(27))
    table.begin({"a": [[1, 2, 3, 4], [5, 6, 7]], "b": [[8, 9, 10]]})
    one, other = first(table), last(table)
    keys = list(one.rows)
    one.rows[keys[0]] |= {"name": "😀", "score": float("nan"), "intField": None}
    one.rows[keys[1]] |= {"name": "\uff5e", "score": -1.5, "intField": 7}
    for key, each in other.rows.items():
        each |= {"name": f"Name {key}", "score": key / 4, "intField": key}
        each |= {"amount": Decimal(key), "born": date(2000, 1, key)}
    table._commit([one, other])
    table.clean()
    table.compact_metadata()
    return table

"""Faults of `files`, of Bloom filters, and of expression indexes."""

from __future__ import annotations

import base64

from pyhudi_expr.manage.audit.findings import Fault
from pyhudi_expr.tables.hudi_names import (
    FILES,
    RECORD_INDEX,
)
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import (
    bloom_filter_key,
    column_stats_key,
)
from pyhudi_expr.tables.mdt.records.bloom_filter import SIMPLE, FilterBuilder
from tests.manage.audit.living_rows import (
    BLOOMS,
    BY_NAME,
    BY_NUMBER,
    LOWERED,
    LOWERED_FILTER,
    Group,
)
from tests.manage.audit.living_table import LivingTable
from tests.manage.audit.seeding import (
    HUDI,
    OURS,
    Expected,
    fault,
    first,
    last,
    put,
    tampered,
)


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
    return Expected(FILES, Fault.FILE_NOT_LISTED, group.name, (HUDI, OURS))


@fault
def a_size_is_too_small(table: LivingTable) -> Expected:
    group = first(table)
    with tampered(table, FILES) as records:
        records[b"a"]["filesystemMetadata"][group.name]["size"] -= 100
    return Expected(FILES, Fault.SIZE_WRONG, group.name, (HUDI, OURS))


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
    return Expected(FILES, Fault.PARTITION_NOT_LISTED, "a", (HUDI, OURS))


@fault
def a_partition_has_no_list_of_files(table: LivingTable) -> Expected:
    with tampered(table, FILES) as records:
        del records[b"b"]
    return Expected(FILES, Fault.FILE_NOT_LISTED, last(table).name, (HUDI, OURS))


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
    return Expected(BLOOMS, Fault.FILTER_LACKS_KEYS, first(table).name, (HUDI, OURS))


@fault
def a_filter_is_that_of_another_file(table: LivingTable) -> Expected:
    with tampered(table, BLOOMS) as records:
        other = records[_filter_of(table, BLOOMS, last(table))]
        records[_filter_of(table, BLOOMS, first(table))] = other
    return Expected(BLOOMS, Fault.FILTER_LACKS_KEYS, first(table).name, (HUDI, OURS))


@fault
def a_filter_is_empty(table: LivingTable) -> Expected:
    _with_filter(table, BLOOMS, _made_of())
    return Expected(BLOOMS, Fault.FILTER_LACKS_KEYS, first(table).name, (HUDI,))


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
    return Expected(LOWERED, Fault.RESULT_OUTSIDE_RANGE, group.name, (HUDI, OURS))


@fault
def statistics_of_a_function_are_missing(table: LivingTable) -> Expected:
    group = first(table)
    with tampered(table, LOWERED) as records:
        del records[column_stats_key("name", group.part, group.name).encode()]
    return Expected(LOWERED, Fault.ENTRY_MISSING, group.name)


@fault
def a_functions_filter_lacks_a_result(table: LivingTable) -> Expected:
    _with_filter(table, LOWERED_FILTER, _made_of("something else"))
    return Expected(LOWERED_FILTER, Fault.FILTER_LACKS_KEYS, first(table).name, (HUDI, OURS))

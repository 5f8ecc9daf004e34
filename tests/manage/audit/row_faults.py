"""Faults of `record_index` and of secondary indexes."""

from __future__ import annotations

import io

from pyhudi_expr.manage.audit.findings import Fault
from pyhudi_expr.tables.hudi_names import (
    RECORD_INDEX,
)
from pyhudi_expr.tables.mdt.bytes.keys import (
    secondary_key,
)
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.metadata_records import decode
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.compaction import compact_group
from tests.manage.audit.living_metadata import shard_of
from tests.manage.audit.living_rows import BY_NAME, BY_NUMBER, Group
from tests.manage.audit.living_table import LivingTable
from tests.manage.audit.seeding import (
    HUDI,
    OURS,
    Expected,
    entry_in,
    fault,
    first,
    key_in,
    last,
    metadata_file,
    opened,
    tampered,
)


@fault
def a_key_is_missing(table: LivingTable) -> Expected:
    with tampered(table, RECORD_INDEX) as records:
        del records[key_in(first(table))]
    return Expected(RECORD_INDEX, Fault.KEY_MISSING, first(table).name, (HUDI,))


@fault
def a_key_is_placed_in_another_file(table: LivingTable) -> Expected:
    with tampered(table, RECORD_INDEX) as records:
        records[key_in(first(table))] = records[key_in(last(table))]
    return Expected(RECORD_INDEX, Fault.KEY_MISPLACED, first(table).name, (HUDI,))


@fault
def a_key_is_placed_in_a_file_group_that_is_gone(table: LivingTable) -> Expected:
    with tampered(table, RECORD_INDEX) as records:
        place = records[key_in(first(table))]["recordIndexMetadata"]
        place["fileIdLowBits"] ^= 1
    return Expected(RECORD_INDEX, Fault.KEY_MISPLACED, first(table).name, (HUDI,))


@fault
def two_keys_have_each_others_places(table: LivingTable) -> Expected:
    """Each file has as many entries as rows, so the index is trusted."""
    with tampered(table, RECORD_INDEX) as records:
        one, other = key_in(first(table)), key_in(last(table))
        records[one], records[other] = records[other], records[one]
    return Expected(RECORD_INDEX, Fault.KEY_MISPLACED, first(table).name, (HUDI, OURS))


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
    return Expected(partition, Fault.WRONG_SHARD, path.name, (HUDI, OURS))


@fault
def a_key_is_stored_twice(table: LivingTable) -> Expected:
    """A bulk insert does not look keys up: the entry names the last file."""
    group = first(table)
    again = Group("b", "99999999-0000-4000-8000-000000000000-0", dict(list(group.rows.items())[:1]))
    table.groups[again.file_id] = again
    table._commit([again])
    table.compact_metadata()
    return Expected(RECORD_INDEX, Fault.KEY_TWICE, group.name, (HUDI,))


@fault
def a_value_is_missing(table: LivingTable) -> Expected:
    with tampered(table, BY_NAME) as records:
        del records[entry_in(first(table), "name")]
    return Expected(BY_NAME, Fault.VALUE_MISSING, first(table).name, (HUDI,))


@fault
def a_null_is_missing(table: LivingTable) -> Expected:
    group = first(table)
    key = next(key for key, row in group.rows.items() if row["intField"] is None)
    with tampered(table, BY_NUMBER) as records:
        del records[secondary_key(None, str(key)).encode()]
    return Expected(BY_NUMBER, Fault.VALUE_MISSING, group.name, (HUDI,))


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
    return Expected(BY_NAME, Fault.VALUE_MISSING, first(table).name, (HUDI, OURS), along=along)


@fault
def a_value_is_in_the_wrong_file_group_of_the_index(table: LivingTable) -> Expected:
    return _in_wrong_shard(table, BY_NAME)

"""Faults of `column_stats` and `partition_stats`."""

from __future__ import annotations

from pyhudi_expr.manage.audit.findings import Fault
from pyhudi_expr.tables.hudi_names import (
    COLUMN_STATS,
    PARTITION_STATS,
    RECORD_KEY,
)
from pyhudi_expr.tables.mdt.bytes.keys import (
    column_stats_key,
    partition_stats_key,
)
from tests.manage.audit.living_table import LivingTable
from tests.manage.audit.seeding import (
    HUDI,
    OURS,
    Expected,
    fault,
    first,
    last,
    part_fault,
    put,
    stats_fault,
    stats_of,
    stats_of_part,
    tampered,
    value,
)


@fault
def a_minimum_is_too_high(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "id") as stats:
        put(stats, "minValue", value(stats, "minValue") + 1)
    return stats_fault(Fault.RANGE_TOO_NARROW, first(table), HUDI, OURS)


@fault
def a_maximum_of_texts_is_too_low(table: LivingTable) -> Expected:
    with stats_of(table, last(table), "name") as stats:
        put(stats, "maxValue", value(stats, "minValue"))
    return stats_fault(Fault.RANGE_TOO_NARROW, last(table), HUDI, OURS)


@fault
def a_maximum_of_decimals_is_too_low(table: LivingTable) -> Expected:
    with stats_of(table, last(table), "amount") as stats:
        put(stats, "maxValue", value(stats, "minValue"))
    return stats_fault(Fault.RANGE_TOO_NARROW, last(table), HUDI, OURS)


@fault
def a_minimum_of_dates_is_too_high(table: LivingTable) -> Expected:
    with stats_of(table, last(table), "born") as stats:
        put(stats, "minValue", value(stats, "maxValue"))
    return stats_fault(Fault.RANGE_TOO_NARROW, last(table), HUDI, OURS)


@fault
def a_range_of_floats_is_too_narrow(table: LivingTable) -> Expected:
    with stats_of(table, last(table), "score") as stats:
        put(stats, "minValue", value(stats, "maxValue"))
    return stats_fault(Fault.RANGE_TOO_NARROW, last(table), HUDI, OURS)


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
    return stats_fault(Fault.RANGE_INVERTED, first(table), HUDI)


@fault
def nan_made_the_range_zeros(table: LivingTable) -> Expected:
    """As apache/hudi issue 18754."""
    with stats_of(table, first(table), "score") as stats:
        put(stats, "minValue", 0.0)
        put(stats, "maxValue", 0.0)
    return stats_fault(Fault.RANGE_WITHOUT_NAN, first(table), HUDI)


@fault
def long_texts_are_called_nulls(table: LivingTable) -> Expected:
    """As apache/hudi issue 18755."""
    with stats_of(table, first(table), "name") as stats:
        stats["minValue"] = stats["maxValue"] = None
        stats["nullCount"] = stats["valueCount"]
    return stats_fault(Fault.VALUES_CALLED_NULLS, first(table), HUDI)


@fault
def a_range_is_missing(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "id") as stats:
        stats["minValue"] = stats["maxValue"] = None
    return stats_fault(Fault.RANGE_MISSING, first(table), HUDI)


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
    return stats_fault(Fault.NULLS_DENIED, first(table), HUDI, OURS)


@fault
def a_null_count_is_too_high(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "intField") as stats:
        stats["nullCount"] += 1
    return stats_fault(Fault.NULL_COUNT_WRONG, first(table))


@fault
def all_values_are_counted_as_nulls_beside_a_range(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "id") as stats:
        stats["nullCount"] = stats["valueCount"]
    return stats_fault(Fault.NULL_COUNT_WRONG, first(table), HUDI)


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
    return stats_fault(Fault.VALUE_COUNT_WRONG, first(table), OURS)


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
    return stats_fault(Fault.OTHER_FILE_NAMED, first(table), HUDI, OURS)


@fault
def statistics_name_another_column(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "id") as stats:
        stats["columnName"] = "born"
    return stats_fault(Fault.OTHER_COLUMN_NAMED, first(table), HUDI)


@fault
def a_maximum_of_texts_is_that_of_utf16(table: LivingTable) -> Expected:
    with stats_of(table, first(table), "name") as stats:
        put(stats, "maxValue", "\uff5e")
    return stats_fault(Fault.RANGE_IN_UTF16_ORDER, first(table), HUDI)


@fault
def a_partitions_minimum_is_too_high(table: LivingTable) -> Expected:
    with stats_of_part(table, "id") as stats:
        put(stats, "minValue", value(stats, "maxValue"))
    return part_fault(Fault.RANGE_TOO_NARROW, HUDI)


@fault
def a_tracked_partitions_maximum_is_too_low(table: LivingTable) -> Expected:
    """All its files are later than the statistics; those of the other tables are older."""
    table.update(
        [key for group in table.groups.values() if group.part == "a" for key in group.rows]
    )
    table.compact_metadata()
    with stats_of_part(table, "id") as stats:
        put(stats, "maxValue", value(stats, "maxValue") - 1)
    return part_fault(Fault.RANGE_TOO_NARROW, HUDI, OURS)


@fault
def a_partitions_texts_are_in_utf16_order(table: LivingTable) -> Expected:
    with stats_of_part(table, "name") as stats:
        put(stats, "maxValue", "\uff5e")
    return part_fault(Fault.RANGE_IN_UTF16_ORDER, HUDI)


@fault
def a_partitions_range_has_no_nan(table: LivingTable) -> Expected:
    with stats_of_part(table, "score") as stats:
        put(stats, "minValue", 0.0)
        put(stats, "maxValue", 0.0)
    return part_fault(Fault.RANGE_WITHOUT_NAN, HUDI)


@fault
def a_partitions_nulls_are_denied(table: LivingTable) -> Expected:
    with stats_of_part(table, "intField") as stats:
        stats["nullCount"] = 0
    return part_fault(Fault.NULLS_DENIED, HUDI)


@fault
def a_partitions_values_are_called_nulls(table: LivingTable) -> Expected:
    with stats_of_part(table, "name") as stats:
        stats["minValue"] = stats["maxValue"] = None
        stats["nullCount"] = stats["valueCount"]
    return part_fault(Fault.VALUES_CALLED_NULLS, HUDI)


@fault
def a_partitions_bounds_are_inverted(table: LivingTable) -> Expected:
    with stats_of_part(table, "id") as stats:
        stats["minValue"], stats["maxValue"] = stats["maxValue"], stats["minValue"]
    return part_fault(Fault.RANGE_INVERTED, HUDI)


@fault
def a_partitions_statistics_are_missing(table: LivingTable) -> Expected:
    with tampered(table, PARTITION_STATS) as records:
        del records[partition_stats_key("id", "a").encode()]
    return part_fault(Fault.ENTRY_MISSING)

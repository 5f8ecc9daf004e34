"""Our entries equal those that Apache Hudi wrote, key by key and field by field.

The golden tables have versions 6, 8 and 9, copy on write and merge on read, after updates, deletes
and, in some, clustering. The differences, and why:

* Hudi still has entries of files that are no longer in the snapshot;
* `record_index` records when a key was first written, ours when its file slice was: nobody reads it
  (and the zone of the tables of version 9, which were written in local time, is unknown);
* `partition_stats` includes files that clustering replaced. The bounds are the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from devtools.matrix import Matrices, Partitioning
from devtools.tables import TableType
from pyhudi_expr.errors import HudiError
from pyhudi_expr.spark.entries import entries, entries_of_each
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.mdt.bytes.keys import (
    bloom_filter_key,
    column_stats_key,
    expression_partition_stats_key,
    shard,
    split_secondary_key,
)
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition, index_definitions
from pyhudi_expr.tables.mdt.records.metadata_records import Payload, decode
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing

pytestmark = pytest.mark.spark

_V9 = ("cow_v9_txns_simple_meta", "mor_v9_txns_simple_meta")
_OLDER = ("mor_v8_metadata_pending_compaction", "mor_v6_metadata_pending_compaction")
_PARTS = ("BloomFilterMetadata", "ColumnStatsMetadata", "recordIndexMetadata")
_SHARDS = 3


@dataclass(frozen=True)
class Compared:
    """An index's records by key, ours and Hudi's, and the snapshot of ours."""

    ours: Mapping[str, Payload]
    hudis: Mapping[str, Payload]
    listing: FileListing


def compared(spark: SparkSession, path: Path, index: str) -> Compared:
    metadata = MetadataTable.open(HudiTable.open(str(path)))
    assert metadata is not None
    listing = current_listing(metadata.table, metadata, TableView.SNAPSHOT)
    ours = built(spark, metadata.table, listing, definition_of(metadata, index))
    found = metadata.scan(index)
    hudis = {
        key: payload
        for key, record in zip(found.keys, found.payloads, strict=True)
        if (payload := _plain(record))
    }
    return Compared(ours, hudis, listing)


def definition_of(metadata: MetadataTable, index: str) -> IndexDefinition:
    """The index's definition; Hudi stores none for some kinds."""
    known = index_definitions(metadata.table)
    if index in known:
        return known[index]
    found = metadata.statistics("column_stats", [""]).column_name.unique().to_pylist()
    version = "V2" if metadata.table.properties.version == 9 else "V1"
    return IndexDefinition(index, index, "", tuple(found), {}, version)


def built(
    spark: SparkSession, table: HudiTable, listing: FileListing, definition: IndexDefinition
) -> dict[str, Payload]:
    """The index's entries by key. Asserts that each exists once, and in its shard."""
    found: dict[str, Payload] = {}
    for row in entries(spark, table, listing, definition, _SHARDS).collect():
        key = bytes(row.key).decode()
        assert key not in found
        stored_key = key
        if definition.name.startswith("secondary_index_") and definition.version != "V1":
            stored_key = f"{split_secondary_key(key)[0] or ''}$"
        assert row.shard == shard(stored_key, _SHARDS)
        (found[key],) = map(_plain, decode(RECORD_SCHEMA, [bytes(row.value)], key))
    return found


def _plain(record: Payload) -> Payload:
    """A record without columns and parts that are empty; NaN as text, which equals itself."""
    return {
        name: _comparable(value)
        for name, value in record.items()
        if value is not None and not name.startswith("_hoodie_")
    }


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        # Older versions of Hudi lack some fields.
        return {k: _comparable(v) for k, v in value.items() if v is not None}
    if isinstance(value, tuple):
        return tuple(map(_comparable, value))
    return repr(value) if isinstance(value, float) else value


@pytest.mark.parametrize("table", [*_V9, *_OLDER])
def test_column_stats_equal_those_of_hudi(
    spark: SparkSession, golden: Mapping[str, Path], table: str
) -> None:
    found = compared(spark, golden[table], "column_stats")
    assert {key: found.hudis.get(key) for key in found.ours} == found.ours
    columns = {payload["ColumnStatsMetadata"]["columnName"] for payload in found.hudis.values()}
    assert found.ours.keys() == {
        column_stats_key(column, partition, name)
        for column in columns
        for partition, name, _ in files(found.listing)
    }


@pytest.mark.parametrize("table", _OLDER)
def test_bloom_filters_equal_those_of_hudi(
    spark: SparkSession, golden: Mapping[str, Path], table: str
) -> None:
    found = compared(spark, golden[table], "bloom_filters")
    assert {key: found.hudis.get(key) for key in found.ours} == found.ours
    assert found.ours.keys() == {bloom_filter_key(*file) for file in base_files(found.listing)}


@pytest.mark.parametrize("table", [*_V9, *_OLDER])
def test_record_index_equals_that_of_hudi(
    spark: SparkSession, golden: Mapping[str, Path], table: str
) -> None:
    found = compared(spark, golden[table], "record_index")
    if table in _V9:
        for record in (*found.ours.values(), *found.hudis.values()):
            del record["recordIndexMetadata"]["instantTime"]
    assert found.ours
    assert found.ours == found.hudis


@pytest.mark.smoke("merchant_idx-mor")
@pytest.mark.parametrize("table", _V9)
@pytest.mark.parametrize("index", ["merchant_idx", "txn_date_idx"])
def test_secondary_index_equals_that_of_hudi(
    spark: SparkSession, golden: Mapping[str, Path], table: str, index: str
) -> None:
    found = compared(spark, golden[table], f"secondary_index_{index}")
    assert found.ours
    assert found.ours == found.hudis


def test_decimals_are_formatted_without_their_point(
    spark: SparkSession, golden: Mapping[str, Path]
) -> None:
    table = HudiTable.open(str(golden[_V9[0]]))
    rows = spark.read.format("hudi").load(str(golden[_V9[0]])).select("txn_id", "amount").collect()
    name = "secondary_index_amount"
    definition = IndexDefinition(name, "secondary_index", "identity", ("amount",), {}, "V2")
    found = built(spark, table, table.listing(), definition)
    assert sorted(found) == sorted(f"{row.amount.scaleb(2):f}${row.txn_id}" for row in rows)


@pytest.mark.parametrize("table", [*_V9, _OLDER[0]])
def test_partition_stats_equal_those_of_hudi(
    spark: SparkSession, golden: Mapping[str, Path], table: str
) -> None:
    found = compared(spark, golden[table], "partition_stats")
    assert found.ours
    counts = ("valueCount", "nullCount", "totalSize", "totalUncompressedSize")
    for records in (found.ours, found.hudis):
        for record in records.values():
            for count in counts:
                del record["ColumnStatsMetadata"][count]
    assert found.ours == found.hudis


def test_statistics_of_files_and_partitions_share_one_read(
    spark: SparkSession, golden: Mapping[str, Path]
) -> None:
    metadata = MetadataTable.open(HudiTable.open(str(golden[_V9[1]])))
    assert metadata is not None
    table, listing = metadata.table, current_listing(metadata.table, metadata, TableView.SNAPSHOT)
    columns = definition_of(metadata, "column_stats")
    definitions = [(columns, 2), (replace(columns, name="partition_stats"), 1)]
    together = entries_of_each(spark, table, listing, definitions)
    for (((definition, shards),), frame), expected in zip(together, definitions, strict=True):
        assert (definition, shards) == expected
        alone = entries(spark, table, listing, definition, shards)
        assert sorted(frame.collect()) == sorted(alone.collect())


def test_keys_and_values_share_one_read(spark: SparkSession, golden: Mapping[str, Path]) -> None:
    table = HudiTable.open(str(golden[_V9[0]]))
    records = IndexDefinition("record_index", "record_index", "", (), {}, "V1")
    columns = ("merchant_name", "amount")
    values = IndexDefinition("secondary_index_i", "secondary_index", "identity", columns, {}, "V2")
    partitions = [(records, 3), (values, 2)]
    ((together, frame),) = entries_of_each(spark, table, table.listing(), partitions)
    assert together == partitions
    alone = [entries(spark, table, table.listing(), *one).collect() for one in partitions]
    counted_through = [*alone[0], *(row.asDict() | {"shard": row.shard + 3} for row in alone[1])]
    assert sorted(tuple(row) for row in frame.collect()) == sorted(
        tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in counted_through
    )


@pytest.mark.long
def test_every_type_equals_hudi_where_hudi_is_right(
    spark: SparkSession, matrices: Matrices
) -> None:
    """For each file either equal to Hudi, or right where Hudi is not: for files with NaN, and for
    all-null integers, Hudi stores zeros.
    """
    matrix = matrices.get(TableType.COW, 9, Partitioning.HIVE)
    found = compared(spark, matrix.table.path, "column_stats")
    differing = {key for key, payload in found.ours.items() if found.hudis[key] != payload}
    for key in differing:
        ours, hudis = (side[key]["ColumnStatsMetadata"] for side in (found.ours, found.hudis))
        assert {hudis["minValue"][1]["value"], hudis["maxValue"][1]["value"]} <= {0, "0.0", "-0.0"}
        if ours["columnName"] in ("f", "d"):
            assert ours["maxValue"][1]["value"] == "nan"
        else:
            assert "minValue" not in ours
            assert ours["nullCount"] == ours["valueCount"]
    assert {found.ours[key]["ColumnStatsMetadata"]["columnName"] for key in differing} == {
        *("f", "d", "n", "none")
    }


@pytest.mark.long
def test_partitions_are_bounded_by_their_rows(spark: SparkSession, matrices: Matrices) -> None:
    matrix = matrices.get(TableType.COW, 9, Partitioning.HIVE)
    records = compared(spark, matrix.table.path, "partition_stats").ours
    stats = [record["ColumnStatsMetadata"] for record in records.values()]
    bounds = {
        (entry["fileName"], entry["columnName"]): tuple(
            entry[side][1]["value"] for side in ("minValue", "maxValue")
        )
        for entry in stats
        if "minValue" in entry
    }
    nulls = {(entry["fileName"], entry["columnName"]): entry["nullCount"] for entry in stats}
    for partition in range(4):
        rows = [row for row in matrix.rows if row["q"] == partition]
        for column in ("i", "l", "s", "u", "n", "dec38", "f", "d", "none"):
            values = [row[column] for row in rows if row[column] is not None]
            place = (f"q={partition}", column)
            assert nulls[place] == len(rows) - len(values)
            if values:
                low, high = min(values, key=_rank), max(values, key=_rank)
                assert bounds[place] == (_stored(low), _stored(high))
            else:
                assert place not in bounds


def _rank(value: Any) -> Any:
    """Orders texts by their UTF-8 bytes, NaN above all."""
    if isinstance(value, str):
        return value.encode()
    return (value != value, 0 if value != value else value) if isinstance(value, float) else value


def _stored(value: Any) -> Any:
    if isinstance(value, Decimal):
        unscaled = int(value.scaleb(10, Context(prec=38)))
        magnitude = unscaled if unscaled >= 0 else ~unscaled
        return unscaled.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)
    return repr(value) if isinstance(value, float) else value


@pytest.mark.long
@pytest.mark.parametrize(
    ("function", "options", "field", "apply"),
    [
        ("hour", {}, "ts", lambda moment: moment.hour),
        ("date_add", {"days": "3"}, "dt", lambda day: (day - date(1970, 1, 1)).days + 3),
        ("upper", {}, "st.b", str.upper),
        ("abs", {}, "dec38", Decimal.copy_abs),
    ],
)
def test_expressions_are_bounded_by_their_values(
    spark: SparkSession,
    matrices: Matrices,
    function: str,
    options: Mapping[str, str],
    field: str,
    apply: Callable[[Any], Any],
) -> None:
    matrix = matrices.get(TableType.COW, 9, Partitioning.HIVE)
    table = HudiTable.open(str(matrix.table.path))
    listing = table.listing()
    options = {"expr": function, **options}
    definition = IndexDefinition("expr_index_x", "column_stats", function, (field,), options, "V2")
    found = built(spark, table, listing, definition)
    for partition in range(4):
        key = expression_partition_stats_key(field, f"q={partition}")
        of_partition = found[key]["ColumnStatsMetadata"]
        rows = [_field(row, field) for row in matrix.rows if row["q"] == partition]
        values = [apply(value) for value in rows if value is not None]
        assert _values_of(of_partition) == (_stored(min(values)), _stored(max(values)))
        assert of_partition["valueCount"] == len(values)
        assert of_partition["nullCount"] == len(rows) - len(values)
        of_files = [
            found[column_stats_key(field, path, name)]["ColumnStatsMetadata"]
            for path, name in base_files(listing)
            if path == f"q={partition}"
        ]
        for count in ("valueCount", "nullCount", "totalSize"):
            assert sum(entry[count] for entry in of_files) == of_partition[count]
        ends = [_values_of(entry) for entry in of_files]
        if function != "abs":  # whose bytes have no order
            assert min(ends)[0] == _values_of(of_partition)[0]
            assert max(end[1] for end in ends) == _values_of(of_partition)[1]


def _field(row: Any, name: str) -> Any:
    root, _, inner = name.partition(".")
    return row[root][inner] if inner and row[root] is not None else row[root]


def _values_of(entry: Payload) -> tuple[Any, Any]:
    return entry["minValue"][1]["value"], entry["maxValue"][1]["value"]


@pytest.mark.parametrize(
    "table",
    ["cow_v6_simplekeygen_hivestyle_no_metafields", "cow_v8_simplekeygen_hivestyle_no_metafields"],
)
def test_virtual_keys_are_recomputed(
    spark: SparkSession, golden: Mapping[str, Path], table: str
) -> None:
    opened = HudiTable.open(str(golden[table]))
    listing = opened.listing()
    definition = IndexDefinition("record_index", "record_index", "", (), {}, "V1")
    found = built(spark, opened, listing, definition)
    (field,) = opened.properties.record_key_fields
    rows = spark.read.format("hudi").load(str(golden[table])).select(field).collect()
    assert sorted(found) == sorted(str(row[0]) for row in rows)


@pytest.mark.smoke("secondary_index")
@pytest.mark.parametrize(
    ("name", "field", "reason"),
    [
        ("column_stats", "nowhere", "there is no column 'nowhere'"),
        ("column_stats", "arr", "needs a scalar column"),
        ("column_stats", "st", "needs a scalar column"),
        ("secondary_index_x", "m", "needs a scalar column"),
        ("unheard_of", "id", "there is no index 'unheard_of'"),
        ("expr_index_x", "id", "is of no kind that is known"),
    ],
)
def test_columns_that_cannot_be_indexed(
    spark: SparkSession, matrices: Matrices, name: str, field: str, reason: str
) -> None:
    path = matrices.get(TableType.COW, 9, Partitioning.HIVE).table.path
    table = HudiTable.open(str(path))
    definition = IndexDefinition(name, name, "", (field,), {}, "V2")
    with pytest.raises(HudiError, match=reason):
        entries(spark, table, table.listing(), definition, 1)


def files(listing: FileListing) -> list[tuple[Any, Any, bool]]:
    """Partition path and name of each file, and whether it is a log file."""
    return [
        (listing.partitions[partition].as_py(), name, is_log)
        for partition, name, is_log in zip(
            listing.file_partition.tolist(),
            listing.file_name.to_pylist(),
            listing.file_is_log.tolist(),
            strict=True,
        )
    ]


def base_files(listing: FileListing) -> list[tuple[Any, Any]]:
    """Partition path and name of each base file."""
    return [(partition, name) for partition, name, is_log in files(listing) if not is_log]

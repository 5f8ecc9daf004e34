"""Expression indexes built by Hudi lose no row, and prune what only they can prune."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.spark import session_settings
from devtools.tables import TableSpec, TableType, create
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.manage.advice.query_history import read_queries
from pyhudi_expr.manage.advice.ranking import advise
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.entries import entries
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.index_definitions import index_definitions
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from tests.index.prune.matching_slices import assert_no_row_lost, read, request
from tests.marks import long

pytestmark = pytest.mark.spark

ROWS = """
select id, cast(id as int) as x, repeat('ab', cast(id div 10 as int)) || 'Name_' || id as s,
  timestamp'2020-01-01 00:30:00' + make_interval(0, 0, 0, 0, cast(id div 10 as int) * 5) as ts,
  timestamp_ntz'2020-01-01 00:30:00' + make_interval(0, 0, 0, cast(id % 10 as int),
    cast(id div 10 as int) * 3) as clock,
  concat('k', if(id = 33, 'é', id * 7919 % 1000)) as k
from range(0, 80, 1, 8)
"""
INDEXES = (
    "long on {} using column_stats(s) options(expr='length')",
    "low on {} using column_stats(s) options(expr='lower')",
    "clock on {} using column_stats(clock) options(expr='hour')",
    "hours on {} using column_stats(ts) options(expr='hour')",
    "up on {} using bloom_filters(s) options(expr='upper')",
    "keys on {} using bloom_filters(k) options(expr='identity')",
)
#: The maximum number of the eight files that are kept, before the update.
KEPT = {
    "length(s) = 6": 1,
    "length(s) + 1 > 21": 1,
    "NOT (length(s) >= 9)": 2,
    "length(s) IS NULL": 8,
    "lower(s) = 'name_5'": 1,
    "lower(s) LIKE 'ababname_2%'": 1,
    "lower(s) < 'ababab'": 5,
    "hour(clock) = 3": 1,
    "hour(clock) IN (3, 6, 7)": 2,
    "hour(clock) + 1 = 2": 0,
    "hour(ts) = 5": 1,
    "hour(ts) = 19": 0,
    "hour(ts) = 0": 1,
    "upper(s) = 'NAME_5'": 1,
    "upper(s) = 'nothing'": 0,
    "k = 'k919'": 2,
    "k = 'ké'": 8,
    "k IN ('k7', 'k919')": 3,
    "length(s) = 6 AND lower(s) = 'name_99'": 0,
    "length(s) = 6 OR x = 71": 2,
}


@pytest.mark.parametrize(
    ("type", "version"), [(TableType.COW, 9), (TableType.MOR, 9), long(TableType.COW, 8)]
)
def test_expression_indexes_lose_no_row_and_prune(
    spark: SparkSession, tmp_path: Path, type: TableType, version: int
) -> None:
    name = f"expressions_{type.name.lower()}_{version}"
    columns = ("id", "x", "ts")
    table = create(spark.sql(ROWS), TableSpec(name, type, version, stats_columns=columns), tmp_path)
    spark.sql(f"drop table if exists {name}")
    spark.sql(f"create table {name} using hudi location '{table.path}'")
    locks = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
    settings = {"hoodie.write.lock.provider": locks}
    # The index does not record the zone of its hours.
    with session_settings(spark, {**settings, "spark.sql.session.timeZone": "America/New_York"}):
        for index in INDEXES:
            spark.sql(f"create index {index.format(name)}")

    pruner = Pruner(PruneOptions())
    kept = assert_no_row_lost(pruner, table.path, read(spark, table.path), KEPT)
    assert {text: n for text, n in kept.items() if n > KEPT[text]} == {}
    explained = pruner.prune(str(table.path), request("hour(ts) = 19")).explain()
    assert "expr_index_hours" not in {answer.index for answer in explained.answers}
    explained = pruner.prune(str(table.path), request("length(s) = 6")).explain()
    assert {answer.index: answer.files for answer in explained.answers}["expr_index_long"] == 7
    assert_built_alike(spark, table.path, "expr_index_up")
    assert_not_advised(str(table.path))
    # Without it, Hudi's writers fail to update the ranges of functions.
    assert writer_options(str(table.path))["hoodie.embed.timeline.server"] == "true"


def assert_not_advised(path: str) -> None:
    """The advisor detects existing indexes."""
    queries = read_queries("length(s) = 6; lower(s) = 'name_5'; upper(s) = 'NAME_5'")
    advice = advise(path, queries.queries)
    considered = {each.candidate for each in (*advice.recommendations, *advice.passed_over)}
    assert {(each.function, each.kind) for each in considered} >= {
        ("length", "bloom_filters"),
        ("lower", "bloom_filters"),
        ("upper", "column_stats"),
    }
    built = {("length", "column_stats"), ("lower", "column_stats"), ("upper", "bloom_filters")}
    assert not built & {(each.function, each.kind) for each in considered}


def assert_built_alike(spark: SparkSession, path: Path, name: str) -> None:
    """The filters that we build have the same keys as Hudi's."""
    table = HudiTable.open(str(path))
    metadata = MetadataTable.open(table)
    assert metadata is not None
    definition = index_definitions(table)[name]
    ours = entries(spark, table, table.listing(), definition, 1).select("key").collect()
    assert sorted(bytes(row.key).decode() for row in ours) == sorted(metadata.scan(name).keys)

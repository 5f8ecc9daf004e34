"""A build is killed, and Hudi writes to the table before the next build.

The state at that moment is left as it is: partitions in flight, with an action and perhaps a delta
commit that nobody completes. Hudi's writers upsert, delete, compact and clean; the next build
continues, or starts again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert
from pyhudi_expr.index.catalog.status import State
from pyhudi_expr.spark import writer_options
from pyhudi_expr.spark.builds.verification import verify
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.tables.hudi_table import HudiTable as OpenedTable
from tests.spark.builds.test_hudi_reads_indexes import (
    LAYOUTS,
    STATEMENTS,
    Layout,
    assert_same_rows,
    rows,
    statuses_of,
    with_options,
)

pytestmark = [pytest.mark.spark, pytest.mark.long]

_ROWS, _FILES = 400, 2
_PREDICATES = ("id = '123'", "city IN ('c3', 'new') AND ts > 20")
_ENABLED = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
}
_SERVICES = {
    "hoodie.metadata.compact.max.delta.commits": "1",
    "hoodie.clean.automatic": "true",
    "hoodie.clean.commits.retained": "1",
}
_COMPACTS = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
_COW, _MOR, _OLD = LAYOUTS
_KILLED_AT = {
    "inflight": r"/hoodie\.properties$",
    "committing": r"/metadata/.*\.deltacommit\.inflight$",
    "committed": r"/metadata/.*\.deltacommit$",
    "complete": r"/pyhudi/indexes\.json$",
}
"""The last file that is changed before the build is killed."""
_CASES = [
    (_COW, "city", _ENABLED, "inflight"),
    (_COW, "city", _ENABLED, "committed"),
    (_COW, "ranges", {}, "complete"),
    (_MOR, "city", {}, "committing"),
    (_OLD, "keys", _ENABLED, "committed"),
]
"""The table, the index, the settings of Hudi's writers, and where the build is killed."""


@pytest.mark.parametrize(("layout", "name", "enabled", "killed_at"), _CASES)
def test_hudi_writes_after_a_killed_build(
    spark: SparkSession,
    table_root: Path,
    kill_after_writing: Callable[[Callable[[], None], str], None],
    layout: Layout,
    name: str,
    enabled: dict[str, str],
    killed_at: str,
) -> None:
    spec = TableSpec(
        f"dead-{layout.name}-{name}-{killed_at}",
        layout.type,
        layout.version,
        ordering="ts",
        partitions=("p",),
        stats_columns=None,
    )
    table = create(rows(spark, 0, _ROWS, 1, _FILES), spec, table_root)
    create_index = STATEMENTS[name].format(path=table.path)
    kill_after_writing(lambda: execute(spark, create_index), _KILLED_AT[killed_at])
    for leftover in table.path.glob(".hoodie/**/lock"):
        leftover.unlink()  # as if its owner's lock had expired
    assert (State.ACTIVE in {one.state for one in statuses_of(str(table.path))}) == (
        killed_at == "complete"
    )
    hudi_writes(spark, table, enabled)
    execute(spark, create_index.replace("INDEX", "INDEX IF NOT EXISTS", 1))
    # If it was complete, Hudi may have deleted it.
    execute(spark, f"REFRESH INDEX {name} ON '{table.path}'")
    assert_index_is_right(spark, table, name)


def hudi_writes(spark: SparkSession, table: HudiTable, enabled: dict[str, str]) -> None:
    """Upserts, deletes, compacts and cleans; nothing is lost."""
    writer = with_options(table, enabled)
    changed = rows(spark, 0, 60, 20, 1, city="new").selectExpr(
        "id", "ts + 100000 AS ts", "p", "city", "d", "day"
    )
    upsert(writer, changed)
    assert_same_rows(spark, table, _PREDICATES)
    delete(writer, rows(spark, 5, 60, 20, 1))
    compacts = _COMPACTS if table.spec.type is TableType.MOR else {}
    upsert(with_options(writer, {**_SERVICES, **compacts}), rows(spark, 7, 60, 20, 1, city="c3"))
    assert_same_rows(spark, table, _PREDICATES)


def assert_index_is_right(spark: SparkSession, table: HudiTable, name: str) -> None:
    """The index exists, is complete, and stays right."""
    path = str(table.path)
    (status,) = [one for one in statuses_of(path) if one.name == name]
    assert status.state is State.ACTIVE
    opened = OpenedTable.open(path)
    assert not opened.properties.metadata_partitions_inflight
    assert not [
        i for i in opened.timeline.instants if i.action == "indexing" and not i.is_completed
    ]
    assert all(one.is_right for one in verify(spark, opened, status))
    upsert(with_options(table, writer_options(path)), rows(spark, 9, 60, 20, 1, city="new"))
    assert_same_rows(spark, table, _PREDICATES)

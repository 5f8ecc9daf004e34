"""Tables with a history of commits, and the rows that Hudi's Spark reader finds in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert
from pyhudi_expr.table.hudi_table import HudiTable as OpenTable
from tests.hive.query_results import Rows

COLUMNS = ("id", "v", "name", "ts", "p")
FILES_AT_FIRST = 8


@dataclass(frozen=True)
class History:
    """A table and its commits.

    Attributes:
        table: The table as it is now.
        instants: The requested times of its commits, in order, by what they did.
        completed: Their completion times; of tables of version 6 the requested times.
    """

    table: HudiTable
    instants: Mapping[str, str]
    completed: Mapping[str, str]

    @property
    def name(self) -> str:
        """The table's name."""
        return self.table.name


CHANGES = ("inserted", "late", "updated", "deleted", "added", "widened", "last")
"""In the order of the field that decides between two versions of a record: late is too late."""


def rows_of(spark: SparkSession, ids: range, change: str, files: int = 1) -> DataFrame:
    """Rows with consecutive ids in a file each, `files` in each of two partitions."""
    return spark.range(ids.start, ids.stop, ids.step, files).selectExpr(
        "id",
        f"int(id * 10 + {CHANGES.index(change)}) AS v",
        f"concat('{change}', '_', id) AS name",
        "timestamp_seconds(id * 3600 + 1700000000) AS ts",
        "concat('p', id % 2) AS p",
    )


def write_history(
    spark: SparkSession,
    parent: Path,
    type_: TableType,
    version: int,
    *,
    name: str = "history",
    extra: Mapping[str, str] | None = None,
) -> History:
    """Writes a table by inserts, updates, an update that is too late, deletes, more inserts, a new
    column and, if it has log files, their compaction.
    """
    own = f"{name}_{type_.name.lower()}_{version}"
    spec = TableSpec(own, type_, version, ordering="v", partitions=("p",), extra=extra or {})
    table = create(rows_of(spark, range(80), "inserted", FILES_AT_FIRST // 2), spec, parent)
    upsert(table, rows_of(spark, range(5, 60, 7), "updated"))
    upsert(table, rows_of(spark, range(5, 40, 7), "late"))
    delete(table, rows_of(spark, range(0, 40, 13), "deleted"))
    upsert(table, rows_of(spark, range(100, 120), "added"))
    wider = rows_of(spark, range(1, 110, 9), "widened").selectExpr("*", MORE)
    upsert(table, wider)
    names = ["inserted", "updated", "late", "deleted", "added", "widened"]
    if type_ is TableType.MOR:
        compacting = replace(spec, extra={**spec.extra, **COMPACTING})
        upsert(
            HudiTable(compacting, table.uri, wider.schema),
            rows_of(spark, range(2, 9), "last").selectExpr("*", MORE),
        )
        names += ["last", "compacted"]
    now = HudiTable(spec, table.uri, wider.schema)
    writes = OpenTable.open(str(now.path)).timeline.writes
    assert len(writes) == len(names)
    return History(
        now,
        {name: instant.requested for name, instant in zip(names, writes, strict=True)},
        {
            name: instant.completed or instant.requested
            for name, instant in zip(names, writes, strict=True)
        },
    )


MORE = "nullif(int(id + 1000), -1) AS extra"
"""The new column; it is nullable, as Hudi asks of new columns."""

COMPACTING = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}


def spark_rows(
    spark: SparkSession,
    table: HudiTable,
    columns: str,
    options: Mapping[str, str],
    where: str = "TRUE",
) -> Rows:
    """The rows that Hudi's Spark reader finds with these options, in an order by their texts.

    It does not skip files, as it would lose rows of LIKE.
    """
    unskipped = {"hoodie.enable.data.skipping": "false", "hoodie.metadata.enable": "false"}
    frame = spark.read.format("hudi").options(**unskipped, **options).load(str(table.path))
    found = frame.where(where).selectExpr(*columns.split(", ")).collect()
    return sorted((tuple(row) for row in found), key=repr)

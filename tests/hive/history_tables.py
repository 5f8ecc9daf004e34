"""Tables with a history of commits, and the rows that Hudi's Spark reader finds in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from devtools.shared import written_once
from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert
from pyhudi_expr.tables.hudi_table import HudiTable as OpenTable
from tests.hive.query_results import Hive, Rows
from tests.marks import long

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


FIXTURE_CASES = (
    (TableType.COW, 8),
    (TableType.MOR, 9),
    *(long((type_, 6)) for type_ in TableType),
    long((TableType.COW, 9)),
    long((TableType.MOR, 8)),
)
"""Types and versions for the parameters of a fixture."""

CHANGES = ("inserted", "late", "updated", "deleted", "added", "widened", "last")
"""In the order of the field that decides between two versions of a record: late is too late."""


class Histories:
    """Tables with a history, each written at its first use. Read only.

    Test processes that run at the same time share them.

    Their commits are inserts, updates, an update that is too late, deletes, more inserts, a new
    column and, if there are log files, more updates and their compaction. Instants are in UTC.
    """

    def __init__(self, spark: SparkSession, parent: Path) -> None:
        """Prepare without writing; tables will be directories of `parent`."""
        self._spark = spark
        self._parent = parent
        parent.mkdir(parents=True, exist_ok=True)

    def get(self, type_: TableType, version: int) -> History:
        """The table of a type and a table version."""
        name = f"history_{type_.name.lower()}_{version}"
        spec = TableSpec(name, type_, version, ordering="v", partitions=("p",), extra=UTC_TIMELINE)
        with written_once(self._parent, name) as is_missing:
            if is_missing:
                self._write(spec)
        wider = self._wider(range(0), "widened")
        return _history(HudiTable(spec, str(self._parent.resolve() / name), wider.schema))

    def _write(self, spec: TableSpec) -> None:
        rows = partial(_rows, self._spark)
        table = create(rows(range(80), "inserted", FILES_AT_FIRST // 2), spec, self._parent)
        upsert(table, rows(range(5, 60, 7), "updated"))
        upsert(table, rows(range(5, 40, 7), "late"))
        delete(table, rows(range(0, 40, 13), "deleted"))
        upsert(table, rows(range(100, 120), "added"))
        wider = self._wider(range(1, 110, 9), "widened")
        upsert(table, wider)
        if spec.type is TableType.MOR:
            compacting = replace(spec, extra={**spec.extra, **COMPACTING})
            last = self._wider(range(2, 9), "last")
            upsert(HudiTable(compacting, table.uri, wider.schema), last)

    def _wider(self, ids: range, change: str) -> DataFrame:
        return _rows(self._spark, ids, change).selectExpr("*", MORE)


def _history(table: HudiTable) -> History:
    names = ["inserted", "updated", "late", "deleted", "added", "widened"]
    if table.spec.type is TableType.MOR:
        names += ["last", "compacted"]
    writes = OpenTable.open(str(table.path)).timeline.writes
    return History(
        table,
        {name: write.requested for name, write in zip(names, writes, strict=True)},
        {
            name: write.completed or write.requested
            for name, write in zip(names, writes, strict=True)
        },
    )


class HistoriesInHive(Histories):
    """The same, registered in Hive."""

    def __init__(self, hive: Hive, spark: SparkSession, parent: Path) -> None:
        """Prepare without writing."""
        super().__init__(spark, parent)
        self._hive = hive

    def get(self, type_: TableType, version: int) -> History:
        """The table of a type and a table version."""
        found = super().get(type_, version)
        self._hive.register(found.table)
        return found


def _rows(spark: SparkSession, ids: range, change: str, files: int = 1) -> DataFrame:
    """Rows with consecutive ids in a file each, `files` in each of two partitions."""
    return spark.range(ids.start, ids.stop, ids.step, files).selectExpr(
        "id",
        f"int(id * 10 + {CHANGES.index(change)}) AS v",
        f"concat('{change}', '_', id) AS name",
        "timestamp_seconds(id * 3600 + 1700000000) AS ts",
        "concat('p', id % 2) AS p",
    )


MORE = "nullif(int(id + 1000), -1) AS extra"
"""The new column; it is nullable, as Hudi asks of new columns."""

UTC_TIMELINE = {"hoodie.table.timeline.timezone": "UTC"}

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


def case_id(case: tuple[TableType, int]) -> str:
    """The name of a case of these."""
    return f"{case[0].name.lower()}-{case[1]}"

"""Tables with a history of commits, and the rows that Hudi's Spark reader finds in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert
from pyhudi_expr.table.hudi_table import HudiTable as OpenTable
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
    """Tables with a history, each written at its first use and registered in Hive. Read only.

    Their commits are inserts, updates, an update that is too late, deletes, more inserts, a new
    column and, if there are log files, more updates and their compaction. Instants are in UTC.
    """

    def __init__(self, hive: Hive, spark: SparkSession, parent: Path) -> None:
        self._hive = hive
        self._spark = spark
        self._parent = parent
        self._written: dict[tuple[TableType, int], History] = {}

    def get(self, type_: TableType, version: int) -> History:
        """The table of a type and a table version."""
        if (type_, version) not in self._written:
            history = write_history(self._spark, type_, version, self._parent)
            self._hive.register(history.table)
            self._written[type_, version] = history
        return self._written[type_, version]


def write_history(spark: SparkSession, type_: TableType, version: int, parent: Path) -> History:
    """Write a table with a history below a directory."""
    name = f"history_{type_.name.lower()}_{version}"
    spec = TableSpec(name, type_, version, ordering="v", partitions=("p",), extra=UTC_TIMELINE)
    table = create(_rows(spark, range(80), "inserted", FILES_AT_FIRST // 2), spec, parent)
    upsert(table, _rows(spark, range(5, 60, 7), "updated"))
    upsert(table, _rows(spark, range(5, 40, 7), "late"))
    delete(table, _rows(spark, range(0, 40, 13), "deleted"))
    upsert(table, _rows(spark, range(100, 120), "added"))
    wider = _rows(spark, range(1, 110, 9), "widened").selectExpr("*", MORE)
    upsert(table, wider)
    names = ["inserted", "updated", "late", "deleted", "added", "widened"]
    if spec.type is TableType.MOR:
        compacting = replace(spec, extra={**spec.extra, **COMPACTING})
        last = _rows(spark, range(2, 9), "last").selectExpr("*", MORE)
        upsert(HudiTable(compacting, table.uri, wider.schema), last)
        names += ["last", "compacted"]
    writes = OpenTable.open(str(table.path)).timeline.writes
    return History(
        HudiTable(spec, table.uri, wider.schema),
        {name: write.requested for name, write in zip(names, writes, strict=True)},
        {
            name: write.completed or write.requested
            for name, write in zip(names, writes, strict=True)
        },
    )


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

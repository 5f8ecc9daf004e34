"""What people do to a table in a session with our extension."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from devtools.tables import TableType

_NOW = "hoodie.compact.inline.max.delta.commits=1"


@dataclass(frozen=True)
class Step:
    """A statement, with the table's name as {0}, a number as {1} and its last instant as {2}."""

    name: str
    text: str
    types: tuple[TableType, ...] = (TableType.COW, TableType.MOR)
    drops: frozenset[str] = frozenset()

    def run(self, spark: SparkSession, table: str, number: int) -> None:
        """Run it."""
        spark.sql(self.text.format(table, number, last_instant(spark, table))).collect()


def last_instant(spark: SparkSession, table: str) -> str:
    """The requested time of the newest commit."""
    return str(spark.sql(f"CALL show_commits(table => '{table}', limit => 1)").head()[0])


WRITES = (
    Step(
        "insert", "INSERT INTO {0} (id, city, a, p) VALUES ({1}0, 'new', 3, 1), ({1}1, 'c3', 5, 0)"
    ),
    Step("update", "UPDATE {0} SET city = 'new' WHERE id % 90 = {1} % 90"),
    Step("delete", "DELETE FROM {0} WHERE id % 170 = {1} % 170"),
)
SERVICES = (
    Step(
        "compaction",
        f"CALL run_compaction(op => 'scheduleAndExecute', table => '{{0}}', options => '{_NOW}')",
        (TableType.MOR,),
    ),
    Step(
        "scheduled compaction",
        f"CALL run_compaction(op => 'schedule', table => '{{0}}', options => '{_NOW}')",
        (TableType.MOR,),
    ),
    Step("compaction by a statement", "SCHEDULE COMPACTION ON {0}", (TableType.MOR,)),
    Step("all compactions", "RUN COMPACTION ON {0}", (TableType.MOR,)),
    Step("clustering", "CALL run_clustering(table => '{0}', order => 'a')"),
    Step("cleaning", "CALL run_clean(table => '{0}', retain_commits => 2)"),
    Step("savepoint", "CALL create_savepoint(table => '{0}', commit_time => '{2}')"),
    Step("rollback", "CALL rollback_to_instant(table => '{0}', instant_time => '{2}')"),
    Step("column", "ALTER TABLE {0} ADD COLUMNS (n{1} int)"),
)

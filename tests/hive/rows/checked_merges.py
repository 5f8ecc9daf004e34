"""Queries of slices with log files, with and without skipping of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from devtools.ddl import create_with_handler
from devtools.hiveserver import HiveServer
from devtools.service import ServiceProcess
from devtools.tables import HudiTable
from tests.hive.query_results import FETCH, Answer, Hive
from tests.hive.rows.merged_tables import KINDS, write

WITHOUT_ROWS: Mapping[str, str] = {"hudi.pruning.rows": "false"}
FLAT = "id, v, name, n, m, day, at"
EVERY = f"{FLAT}, st, li, mp, deep"
PREDICATES = (
    "id = 7",
    "id BETWEEN 95 AND 110",
    "id IN (5, 102, 199, 338, 4000, 5025)",
    "v > 5",
    "v < 5",
    "name LIKE 'updated%' OR id > 5010",
    "day = DATE '2000-01-20'",
    "n IS NULL AND id < 400",
    "st.t = 'again338'",
)


class MergedTables:
    """Tables that are written and registered at their first use."""

    def __init__(self, hive: Hive, spark: SparkSession, parent: Path) -> None:
        self.hive = hive
        self.spark = spark
        self._parent = parent
        self._written: dict[str, HudiTable] = {}

    def get(self, name: str) -> HudiTable:
        """Return the table of a kind."""
        if name not in self._written:
            self._written[name] = self.register(
                write(self.spark, f"merged_{name}", KINDS[name], self._parent)
            )
        return self._written[name]

    def register(self, table: HudiTable) -> HudiTable:
        """Register a table."""
        self.hive.run(create_with_handler(table.name, table.path))
        return table

    def check(self, query: str, engine: str = FETCH, **settings: str) -> Answer:
        """Run a query with and without pruning of rows, and without any."""
        found = self.hive.query(query, engine, settings=settings)
        unpruned = self.hive.query(query, engine, pruning=False, settings=settings)
        whole = self.hive.query(query, engine, settings={**settings, **WITHOUT_ROWS})
        assert repr(found.rows) == repr(unpruned.rows), f"{query} ({engine})"
        assert repr(whole.rows) == repr(unpruned.rows), f"{query} ({engine})"
        assert whole.scan.files_in_part == 0
        return found


@contextmanager
def merged_tables(
    server: HiveServer, spark: SparkSession, directory: Path, settings: Mapping[str, str]
) -> Iterator[MergedTables]:
    """The tables in a server, and a service that evaluates the rows of small files, too."""
    config = directory / "service.toml"
    config.write_text("row_file_bytes = 0\nrow_seconds = 30\n")
    own = {
        "hudi.pruning.timeout.ms": "30000",
        "hudi.pruning.rows.merged.bytes": "0",
        **settings,
    }
    with (
        ServiceProcess(directory, "--config", str(config)) as service,
        Hive(server, service, directory / "scans", own) as hive,
    ):
        yield MergedTables(hive, spark, directory)

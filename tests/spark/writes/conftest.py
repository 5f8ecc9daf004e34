"""The shared session with our statements turned on, and tables with indexes of each kind."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.tables import HudiTable as Written
from devtools.tables import TableSpec, TableType, create
from pyhudi_expr.spark.indexes import execute
from tests.spark.statements.conftest import session

__all__ = ["copied", "originals", "session"]

ROWS = """
SELECT id, 'c' || (id div 10) AS city, id * 7 % 400 AS a, id % 2 AS p FROM range(0, 400, 1, 4)
"""
_INDEXES = (
    "CREATE INDEX cities ON '{}' USING secondary_index(city)",
    "CREATE INDEX filters ON '{}' USING bloom_filters",
    "CREATE INDEX ranges ON '{}' USING column_stats(a, id)",
)
SPECS = (
    TableSpec("cow", stats_columns=None),
    TableSpec("mor", TableType.MOR, partitions=("p",), stats_columns=None),
)


@pytest.fixture(scope="module")
def originals(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Written]:
    """A table of each kind with its indexes, to copy."""
    tables = {}
    for spec in SPECS:
        table = create(spark.sql(ROWS), spec, tmp_path_factory.mktemp("originals"))
        for statement in _INDEXES:
            execute(spark, statement.format(table.uri))
        tables[spec.name] = table
    return tables


@pytest.fixture
def copied(
    session: SparkSession, originals: dict[str, Written], tmp_path: Path
) -> Callable[[str], Written]:
    """Copies a table, and registers it in the session's database."""

    def copy(name: str) -> Written:
        path = shutil.copytree(originals[name].path, tmp_path / name)
        session.sql(f"CREATE TABLE {name} USING hudi LOCATION '{path}'")
        return replace(originals[name], uri=str(path))

    return copy

"""Golden tables that are registered with the tables that describe them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import pyhudi_expr as ph
from pyhudi_expr.manage.hive.metastore_table import TableName
from pyhudi_expr.manage.hive.registration import registration, statements, view_registrations
from pyhudi_expr.tables.hudi_table import HudiTable
from tests.hive.query_results import Hive, Rows

VIEWS = ("files", "history", "indexes", "column_ranges")
RENAMED = {
    "partition": "partition_path",
    "columns": "column_names",
    "column": "column_name",
    "type": "column_type",
    "min": "min_value",
    "max": "max_value",
    "nulls": "null_count",
    "rows": "row_count",
}


@dataclass(frozen=True)
class Described:
    """A table that is registered with the tables that describe it."""

    name: str
    path: Path

    def rows(self, view: str) -> tuple[list[str], Rows]:
        """The rows of the Python API, and their columns in Hive."""
        found: pa.Table = getattr(ph.table(self.path), view)()
        columns = [self._column(found[name]) for name in found.column_names]
        names = [RENAMED.get(name, name) for name in found.column_names]
        return names, sorted(zip(*columns, strict=True), key=repr)

    @staticmethod
    def _column(column: pa.ChunkedArray) -> list[object]:
        """Values as PyHive has them."""
        if pa.types.is_timestamp(column.type):
            wall = pc.local_timestamp(column) if column.type.tz else column
            return wall.to_pylist()
        if pa.types.is_list(column.type):
            quoted = [",".join(f'"{name}"' for name in names) for names in column.to_pylist()]
            return [f"[{text}]" for text in quoted]
        return column.to_pylist()


@contextmanager
def described_tables(
    hive: Hive, golden: Mapping[str, Path], archives: Sequence[str]
) -> Iterator[Mapping[str, Described]]:
    """Registers golden tables as `pyhudi hive register --metadata` does."""
    tables = {}
    registered = []
    for archive in archives:
        name = TableName("default", f"described_{archive}")
        target = registration(HudiTable.open(str(golden[archive])), name, str(golden[archive]))
        for each in (target, *view_registrations(target)):
            hive.run(*statements(each, None).all)
            registered.append(each.name)
        tables[archive] = Described(name.table, golden[archive])
    yield tables
    hive.run(*(f"DROP TABLE {name}" for name in registered))

"""Tables whose record keys are virtual or become so, for tests with Hive 4 and Hive 3.1."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devtools.ddl import create_with_handler
from pyhudi_expr.manage.virtual_key_settings import VirtualKeySettings
from pyhudi_expr.manage.virtual_keys import enable
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from tests.hive.query_results import Hive, Rows
from tests.manage.indexing.sparkless_indexes import disable_virtual_keys

Golden = Mapping[str, Path]

PEOPLE = [(1, "Alice"), (2, "Bob"), (3, "Carol"), (4, "Diana")]
"""The rows of the golden tables without meta fields."""
NULLS = "SELECT `_hoodie_record_key`, id, name FROM {} WHERE `_hoodie_record_key` IS NULL"
KEYED = ("cow_v8_complexkeygen_hivestyle", "mor_v6_simplekeygen_nonhivestyle")
"""Golden tables whose files contain keys. Slices of the second are merged with log files."""


@dataclass(frozen=True)
class KeyedTable:
    """A copy of one of these tables, with its name in Hive."""

    name: str
    path: Path

    @staticmethod
    def registered(hive: Hive, golden: Golden, archive: str, parent: Path) -> KeyedTable:
        path = shutil.copytree(golden[archive], parent / archive)
        table = KeyedTable(f"hidden_{archive[:3]}", path)
        hive.run(create_with_handler(table.name, path))
        assert all(row[0] for row in table.rows(hive))
        return table

    def rows(self, hive: Hive) -> Rows:
        """The record key, id and name of each row, as Hive shows them now."""
        query = f"SELECT `_hoodie_record_key`, id, name FROM {self.name} WHERE id > 0"
        return hive.query(query).rows

    def hide_keys(self, settings: VirtualKeySettings) -> None:
        """Turns virtual keys on."""
        enable(HudiTable.open(str(self.path)), settings, self._lock())

    def show_keys(self) -> None:
        """Turns virtual keys off."""
        disable_virtual_keys(str(self.path))

    def _lock(self) -> TableLock:
        return TableLock(HudiTable.open(str(self.path)).storage)

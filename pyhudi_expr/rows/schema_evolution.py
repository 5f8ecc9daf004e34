"""Read files from before columns were renamed, retyped, dropped or moved (schema on read).

Such changes leave files unchanged. The ids in the history of the table's schemas say which column
of a file is which column of the table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.rows.file_columns import FileColumns
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.schema_history import SchemaHistory, SchemaVersion


@dataclass(frozen=True)
class SchemaEvolution:
    """The history of a table's columns until an instant.

    Attributes:
        history: All versions of the schema.
        now: The version of the instant.
    """

    history: SchemaHistory
    now: SchemaVersion

    @staticmethod
    def of(table: HudiTable, result: PruneResult) -> SchemaEvolution | None:
        """Return the history until a result's instant; None if columns were never changed.

        Raises:
            UnsupportedTable: The history cannot be read.
        """
        if not result.is_evolved:
            return None
        history = result.schema_history
        if history is None:
            raise UnsupportedTable(
                f"{table.base_path}: the history of its schemas cannot be read, so the files do "
                "not say which column is which"
            )
        now = history.at(result.instant)
        if now is None:
            raise UnsupportedTable(
                f"{table.base_path}: the history of its schemas says nothing of {result.instant}, "
                "so the files do not say which column is which"
            )
        return SchemaEvolution(history, now)

    @property
    def is_newest(self) -> bool:
        """Whether no column was changed since."""
        return self.now == self.history.at(None)

    def changed(self, listing: FileListing) -> BoolArray:
        """Return for each slice whether one of its files is older than a change of columns."""
        instants = listing.file_instants
        changed = [
            one
            for one in pc.unique(instants).to_pylist()
            if one is None or self.history.at(one) != self.now
        ]
        files = pc.is_in(instants, value_set=pa.array(changed, pa.string()))
        return listing.any_file_of_slice(np.asarray(files))

    def columns(self, instant: str, path: str) -> FileColumns:
        """Return the columns of a file or log block that was written at an instant.

        Args:
            instant: The instant.
            path: The file's path, for messages.

        Raises:
            UnsupportedTable: The history does not cover the instant.
        """
        then = self.history.at(instant)
        if then is None:
            raise UnsupportedTable(
                f"{path}: the history of the table's schemas says nothing of {instant}, so the file"
                " does not say which column is which"
            )
        return FileColumns(path, _NamesById(path, then, self.now))


@dataclass(frozen=True)
class _NamesById:
    """Former names by column ids, see `HistoricNames`."""

    path: str
    version: SchemaVersion
    now: SchemaVersion

    def former_name(self, name: str) -> str | None:
        known = self.version.fields.get(self._id(name))
        return None if known is None else known.name

    def is_as_it_was(self, name: str, old: pa.DataType, new: pa.DataType) -> bool:
        id_ = self._id(name)
        return self.version.fields[id_].type == self.now.fields[id_].type

    def _id(self, name: str) -> int:
        id_ = self.now.id_of(name)
        if id_ is None:
            raise UnsupportedTable(
                f"{self.path}: the history of the table's schemas has no column {name!r}"
            )
        return id_

"""Files from before columns were renamed, retyped, dropped or moved by schema evolution on read.

It leaves files as they are. Which column of a file is which of the table's is told by their ids in
the history of its schemas.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.prune import PruneResult
from pyhudi_expr.reading.file_columns import FileColumns
from pyhudi_expr.table.errors import UnsupportedTable
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing
from pyhudi_expr.table.schema_history import SchemaHistory, SchemaVersion


@dataclass(frozen=True)
class SchemaEvolution:
    """What became of a table's columns until an instant. now: the version that is asked for."""

    history: SchemaHistory
    now: SchemaVersion

    @staticmethod
    def of(table: HudiTable, result: PruneResult) -> SchemaEvolution | None:
        """Until the instant that was judged; None where columns never were changed so.

        Raises UnsupportedTable.
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
        """For each slice whether one of its files was written before columns were changed."""
        instants = listing.file_instants
        changed = [
            one
            for one in pc.unique(instants).to_pylist()
            if one is None or self.history.at(one) != self.now
        ]
        files = pc.is_in(instants, value_set=pa.array(changed, pa.string()))
        return listing.any_of_slice(np.asarray(files))

    def columns(self, instant: str, path: str) -> FileColumns:
        """Those of a file, or of a block of a log file, that was written at an instant.

        path: for messages. Raises UnsupportedTable.
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
    """See `HistoricNames`. path: for messages."""

    path: str
    version: SchemaVersion
    now: SchemaVersion

    def then(self, name: str) -> str | None:
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

"""What shows whether a table has changed: a few small reads, which all wait at the same time."""

from __future__ import annotations

from dataclasses import dataclass

from pyhudi_expr.errors import HudiError, TableNotFound
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.extension.reader import EXTENSION_DIR
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline.timeline import Timeline


@dataclass(frozen=True)
class TableState:
    """The properties and timelines of a table and of its extension, at one moment.

    Attributes:
        table: The table.
        extension: The extension's metadata table. None: there is none, or one without an index.
        is_complete: False if the extension cannot be read: no other state is the same then.
    """

    table: HudiTable
    extension: HudiTable | None
    is_complete: bool = True

    @staticmethod
    def read(storage: Storage) -> TableState:
        """Read the state of the table in a storage, see `expected_reads` for what is read.

        Raises:
            HudiError: The table cannot be read.
        """
        table = HudiTable.at(storage)
        try:
            return TableState(table, _extension(storage.child(EXTENSION_DIR)))
        except HudiError:
            return TableState(table, None, is_complete=False)


def _extension(storage: Storage) -> HudiTable | None:
    try:
        properties = TableProperties.read(storage)
    except TableNotFound:
        return None
    if not properties.metadata_partitions:
        return None
    return HudiTable(storage, properties, Timeline.read(storage, properties))

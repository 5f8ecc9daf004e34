"""What a question reads first, announced so that the requests wait together.

Only the time depends on it: what is not announced is read when it is needed (`Storage.expect`).

What is announced together is read in no order. So the first wave has only what shows a state of the
table (properties, timelines), and what is read again: whatever must not be older than a timeline is
announced when that is known.
"""

from __future__ import annotations

from pyhudi_expr.tables.hudi_names import (
    COLUMN_STATS,
    FILES,
    HOODIE_DIR,
    INDEX_DEFINITIONS_FILE,
    METADATA_DIR,
    PARTITION_STATS,
    PROPERTIES_BACKUP_FILE,
    PROPERTIES_FILE,
    SCHEMA_DIR,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.extension.reader import EXTENSION_DIR, Extension
from pyhudi_expr.tables.storage import Expected, Storage

_TIMELINE_DIR = f"{HOODIE_DIR}/timeline"
# The timeline of layout 1 is in the first directory, that of layout 2 in the second.
_TIMELINES = (HOODIE_DIR, _TIMELINE_DIR)
_TABLE = Expected(files=(PROPERTIES_FILE, INDEX_DEFINITIONS_FILE), directories=_TIMELINES)
# The partitions are listed again after the timeline, see `MetadataTable.open`.
_METADATA = Expected(
    files=(PROPERTIES_FILE,), directories=(*_TIMELINES, FILES, COLUMN_STATS, PARTITION_STATS)
)
# Most tables have no extension: its absence shows by both files.
_EXTENSION_FILES = (PROPERTIES_FILE, PROPERTIES_BACKUP_FILE)
_EXTENSION = Expected(files=_EXTENSION_FILES, directories=(_TIMELINE_DIR,))
_STATE = Expected(files=(PROPERTIES_FILE,), directories=_TIMELINES)


def expect_opening(storage: Storage) -> None:
    """Announce what shows the state of a table that is not known yet."""
    storage.expect(_TABLE)
    storage.child(METADATA_DIR).expect(_METADATA)
    storage.child(EXTENSION_DIR).expect(_EXTENSION)


def expect_state(storage: Storage) -> None:
    """Announce what `TableState.read` reads of a table that is not known yet."""
    storage.expect(_STATE)
    storage.child(EXTENSION_DIR).expect(_EXTENSION)


def expect_commits(table: HudiTable) -> None:
    """Announce what schemas and listings read of a table, after its timeline."""
    table.storage.expect(table.commit_reads)
    table.storage.expect(Expected(directories=(SCHEMA_DIR,)))


def expect_refresh(storage: Storage, table: HudiTable, extension: Extension | None) -> None:
    """Announce what `TableState.read` reads of a table that is known."""
    if not storage.is_remote:
        return
    storage.expect(table.state_reads)
    known = None if extension is None else extension.records.metadata
    reads = Expected(files=_EXTENSION_FILES) if known is None else known.state_reads
    storage.child(EXTENSION_DIR).expect(reads)

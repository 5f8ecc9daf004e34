"""The extension metadata table as queries read it; see `changes`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyhudi_expr.errors import TableNotFound
from pyhudi_expr.tables.hudi_names import HOODIE_DIR, PROPERTIES_BACKUP_FILE, PROPERTIES_FILE
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Expected, Storage
from pyhudi_expr.tables.timeline.commit_metadata import read_record

if TYPE_CHECKING:
    from pyhudi_expr.tables.mdt.changes.partitions import IndexDefinition
    from pyhudi_expr.tables.mdt.extension.coverage import Coverage

EXTENSION_DIR = f"{HOODIE_DIR}/pyhudi/metadata"
COVERAGE_DIR = f"{HOODIE_DIR}/coverage"
COVERAGE, INSTANTS, BEFORE = "pyhudi.coverage", "pyhudi.covered", "pyhudi.covered.before"
"""What the newest commit says in its metadata of what is covered."""


@dataclass(frozen=True)
class Extension:
    """A snapshot of the extension metadata table: its records, and what they cover."""

    records: MetadataTable
    coverage: Coverage

    @staticmethod
    def open(table: HudiTable, cache: DiskCache | None = None) -> Extension | None:
        """Open the extension; None if the table has none, or one without an index.

        Raises:
            HudiError: The extension cannot be read.
        """
        own = extension_table(table)
        return None if own is None else Extension.of(own, cache)

    @staticmethod
    def of(own: HudiTable, cache: DiskCache | None = None) -> Extension:
        """Open the extension whose metadata table is `own`.

        Raises:
            HudiError: The extension cannot be read.
        """
        # The definitions are older than the listings: those of an index that is built anew in
        # between have files of an instant that this snapshot lacks.
        _ = own.index_definitions_file
        own.storage.expect(Expected(directories=sorted(own.properties.metadata_partitions)))
        return Extension(MetadataTable(own, own, cache), _coverage(own))

    @staticmethod
    def exists(storage: Storage) -> bool:
        """Return whether a table has an extension, readable or not; `storage` is the table's."""
        try:
            return bool(TableProperties.read(storage.child(EXTENSION_DIR)).metadata_partitions)
        except TableNotFound:
            return False

    @property
    def partitions(self) -> frozenset[str]:
        """The complete metadata partitions."""
        return self.records.partitions

    @property
    def definitions(self) -> Mapping[str, IndexDefinition]:
        """Definitions of the complete partitions, by name. Raises CorruptFile."""
        from pyhudi_expr.tables.mdt.changes.partitions import index_definitions

        every = index_definitions(self.records.metadata)
        return {name: definition for name, definition in every.items() if name in self.partitions}


def extension_table(table: HudiTable) -> HudiTable | None:
    """Return the extension's metadata table; None if there is none, or one without an index.

    Raises:
        HudiError: Its timeline or its properties cannot be read.
    """
    try:
        own = HudiTable.at(table.storage.child(EXTENSION_DIR))
    except TableNotFound:
        return None
    if not own.properties.metadata_partitions:
        return None
    own.storage.expect(own.commit_reads)
    own.storage.expect(Expected(files=(own.properties.index_definitions_path,)))
    return own


def extension_exists(storage: Storage) -> bool:
    """Return whether the extension exists in its directory `storage`."""
    return any(storage.stat(file) is not None for file in (PROPERTIES_FILE, PROPERTIES_BACKUP_FILE))


def _coverage(extension: HudiTable) -> Coverage:
    """Return the coverage of the newest commit."""
    # Imported on use, as is what reads definitions: most tables have no extension.
    from pyhudi_expr.tables.mdt.extension.coverage import Coverage

    newest = extension.timeline.last_write
    if newest is None:
        return Coverage()
    path = f"{extension.properties.timeline_dir}/{newest.file_name}"
    label = f"{extension.base_path}/{path}"
    extra = read_record(extension.storage.read(path), label).get("extraMetadata") or {}
    file = f"{COVERAGE_DIR}/{extra.get(COVERAGE, '')}"
    content = extension.storage.read(file)
    return Coverage.parse(content, extra.get(INSTANTS, ""), extra.get(BEFORE, ""), label)

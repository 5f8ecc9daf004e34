"""The parts of a table that its indexes are in, each opened once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import REGISTRY_PATH, RegisteredIndex, Registry, Store
from pyhudi_expr.index.expected_reads import expect_commits, expect_opening
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.extension.changes import Extension
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.storage import Expected, Storage


@dataclass(frozen=True)
class IndexCatalog:
    """The indexes of one snapshot of a table.

    Attributes:
        table: The data table, as of the metadata table.
        metadata: Hudi's metadata table; None if there is none, or it cannot be read.
        extension: The one beside it; None if there is none.
        registered: The indexes that were created, by name.
        failure: Why the metadata table cannot be read.
    """

    table: HudiTable
    metadata: MetadataTable | None
    extension: Extension | None
    registered: Mapping[str, RegisteredIndex]
    failure: HudiError | None = None

    @staticmethod
    def open(table: HudiTable) -> IndexCatalog:
        """Open the indexes of a table. A metadata table that cannot be read is one of the facts.

        Raises:
            HudiError: The extension, or the list of created indexes, cannot be read.
        """
        try:
            return IndexCatalog.of(table, MetadataTable.open(table))
        except HudiError as error:
            return replace(IndexCatalog.of(table, None), failure=error)

    @staticmethod
    def of(table: HudiTable, metadata: MetadataTable | None) -> IndexCatalog:
        """Return the indexes of a table whose metadata table is open. Raises HudiError."""
        return IndexCatalog(
            table=table if metadata is None else metadata.table,
            metadata=metadata,
            extension=Extension.open(table),
            registered=Registry.read(table.storage).indexes,
        )


def metadata_of(table: HudiTable, store: Store) -> MetadataTable | None:
    """Return the metadata table that holds the indexes of a store; None if there is none.

    Raises:
        HudiError: It cannot be read.
    """
    if store is Store.HUDI:
        return MetadataTable.open(table)
    extension = Extension.open(table)
    return None if extension is None else extension.records


@contextmanager
def reading_indexes(storage: Storage) -> Iterator[HudiTable]:
    """Open a table whose indexes will be read: their first requests wait at the same time.

    Raises:
        HudiError: The table cannot be read.
    """
    with storage.reading_ahead() as ahead:
        expect_opening(ahead)
        ahead.expect(Expected(files=(REGISTRY_PATH,)))
        table = HudiTable.at(ahead)
        expect_commits(table)
        yield table


@contextmanager
def reading_catalog(storage: Storage) -> Iterator[IndexCatalog]:
    """Open a table's indexes, see `reading_indexes`. Raises HudiError."""
    with reading_indexes(storage) as table:
        yield IndexCatalog.open(table)

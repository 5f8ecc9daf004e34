"""The parts of a table that its indexes are in, each opened once; whether files are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import REGISTRY_PATH, RegisteredIndex, Registry, Store
from pyhudi_expr.index.known_tables import expect_commits, expect_opening
from pyhudi_expr.tables.hudi_names import METADATA_DIR
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.extension_changes import Extension
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.storage import Expected, Storage


def missing_metadata(catalog: IndexCatalog) -> str:
    """Return why a metadata table that the table declares is not there; empty if it is."""
    if catalog.metadata is not None or not catalog.table.properties.metadata_partitions:
        return ""
    if catalog.failure is not None:
        return (
            f"the metadata table cannot be read: {catalog.failure}; if it is damaged, move "
            f"{catalog.table.base_path}/{METADATA_DIR} away, and pyhudi audit --repair makes it "
            "again"
        )
    return (
        f"the metadata table is gone: there is no {catalog.table.base_path}/{METADATA_DIR}; "
        "pyhudi audit --repair makes it again"
    )


def unopened(
    records: Sequence[MetadataTable | None], partitions: Sequence[Sequence[str]]
) -> list[str]:
    """Return for each index why files of it cannot be opened; empty if all can.

    Opened is what says where records are: the ends of base files, and all blocks of log files. The
    requests of all indexes are sent before the first is waited for.

    Args:
        records: For each index the metadata table that holds it; None if it is not opened.
        partitions: For each index its metadata partitions.
    """
    found = [
        _Files() if table is None else _files(table, names)
        for table, names in zip(records, partitions, strict=True)
    ]
    return [_failure(each) for each in found]


@dataclass(frozen=True)
class _Files:
    """The file groups of an index, or why they are not known."""

    groups: tuple[FileGroup, ...] = ()
    failure: HudiError | None = None


def _files(records: MetadataTable, partitions: Sequence[str]) -> _Files:
    try:
        return _Files(tuple(group for name in partitions for group in records.groups(name)))
    except HudiError as error:
        return _Files(failure=error)


def _failure(files: _Files) -> str:
    if files.failure is not None:
        return f"no query uses it: {files.failure}"
    try:
        for group in files.groups:
            _ = group.sources
    except HudiError as error:
        return f"no query uses it: {error}"
    return ""


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

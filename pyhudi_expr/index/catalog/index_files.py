"""Whether the files of indexes are there, and can be opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.tables.hudi_names import METADATA_DIR
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable


def missing_metadata(catalog: IndexCatalog) -> str:
    """Return why a metadata table that the table declares is not there; empty if it is."""
    if catalog.metadata is not None or not catalog.table.properties.metadata_partitions:
        return ""
    if catalog.failure is not None:
        return f"the metadata table cannot be read: {catalog.failure}"
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

"""Whether the files of indexes are there, and can be opened."""

from __future__ import annotations

from collections.abc import Sequence

from pyhudi_expr.index.catalog.index_catalog import IndexCatalog
from pyhudi_expr.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_names import METADATA_DIR


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


def unopened(records: MetadataTable, partitions: Sequence[str]) -> str:
    """Return why files of an index's partitions cannot be opened; empty if all can.

    Opened is what says where records are: the ends of base files, and all blocks of log files.
    """
    try:
        for name in partitions:
            for group in records.groups(name):
                _ = group.sources
    except HudiError as error:
        return f"no query uses it: {error}"
    return ""

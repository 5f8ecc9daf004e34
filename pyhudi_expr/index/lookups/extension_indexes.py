"""Evidence from the extension metadata table, which is stored beside Hudi's.

The extension (`mdt.extension.changes`) has indexes of keys and values. They are trusted about
covered slices: slices whose files are exactly the files that the index was built or refreshed from
(`mdt.extension.reader`). So it does not matter what Hudi's writers did since, and an older
instant or a read-optimised view needs no rule of its own: if it shows other files, they are not
covered. All other slices are kept.

The proofs are those of `index.lookups.record_index` and `index.lookups.secondary_index`. The rows
of a covered slice are known exactly, so the slice is accounted for if the record index has as many
entries for it. More is known about a secondary index of the extension than about Hudi's: for each
key that the record index places in a slice, it has the values of that slice's rows, even if other
slices hold the key as well (`spark.builds.key_changes`). So it is trusted slice by slice, and in
merge-on-read tables as well.

Statistics and filters are stored by file name. Names do not change, and a file without an entry is
unknown.
"""

from __future__ import annotations

import pyarrow as pa

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.index.lookups.composite_index import CompositeIndex
from pyhudi_expr.index.lookups.record_index import RecordIndex
from pyhudi_expr.index.lookups.secondary_index import SecondaryIndex
from pyhudi_expr.tables.hudi_names import RECORD_INDEX, SECONDARY_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.changes.partitions import (
    COLUMN_TYPE,
    IndexDefinition,
    type_names,
)
from pyhudi_expr.tables.mdt.extension.reader import UNCOVERED, Extension
from pyhudi_expr.tables.schema import nested_type


class _Covered:
    """Trust in the slices that the record index accounts for."""

    def any(self) -> bool:
        """Return whether there may be any, see `secondary_index.SliceTrust`."""
        return True

    def slices(self, accounted: BoolArray) -> BoolArray:
        """Return the accounted slices, see `secondary_index.SliceTrust`."""
        return accounted


def key_indexes(
    extension: Extension, table: HudiTable, listing: FileListing, schema: pa.Schema
) -> tuple[RecordIndex | None, list[SecondaryIndex]]:
    """Open the extension's record index and its secondary indexes for a listing of the table.

    Args:
        extension: The extension metadata table.
        table: The data table.
        listing: The files.
        schema: The table's schema at the listing's instant.

    Raises:
        HudiError: The extension cannot be read.
    """
    if RECORD_INDEX not in extension.partitions:
        return None, []
    rows = extension.coverage.rows_of(table, listing)
    if (rows == UNCOVERED).all():
        return None, []
    records = RecordIndex(extension.records, listing, lambda: rows)
    secondary = [
        _kind_of(definition)(definition, extension.records, listing, records, _Covered())
        for _, definition in sorted(extension.definitions.items())
        if _fits(definition, schema)
    ]
    return records, secondary


def _kind_of(definition: IndexDefinition) -> type[SecondaryIndex]:
    return CompositeIndex if len(definition.fields) > 1 else SecondaryIndex


def _fits(definition: IndexDefinition, schema: pa.Schema) -> bool:
    """Return whether it is a secondary index whose columns have the types it was built with."""
    if definition.type != SECONDARY_INDEX or not definition.fields:
        return False
    types = type_names(nested_type(schema, field) for field in definition.fields)
    return definition.options.get(COLUMN_TYPE) == types

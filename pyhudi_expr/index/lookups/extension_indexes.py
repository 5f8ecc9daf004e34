"""Evidence from the extension metadata table, which lies beside Hudi's (`mdt.extension.changes`).

Its indexes of keys and values are believed about covered slices: those whose files are exactly the
ones that the index was built or refreshed from (`mdt.extension.coverage`). So nothing has to be
known of what Hudi's writers did since, and an older instant or a read-optimised view needs no rule
of its own: where it shows other files, these are not covered. All other slices are kept.

The proofs are those of `index.lookups.record_index` and `index.lookups.secondary_index`. The rows
of a covered slice are known exactly, so they are accounted for where the record index has as many
entries for it. Of a secondary index more is known than of Hudi's: for each key that the record
index places in a slice it has the values of that slice's rows, whatever other slices hold the key,
too (`spark.builds.key_changes`). So it is believed slice by slice, and in merge-on-read tables as
well.

Statistics and filters go by the names of files, which do not change; files without an entry are
unknown.
"""

from __future__ import annotations

import pyarrow as pa

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.index.lookups.record_index import KeyLocations, RecordIndex
from pyhudi_expr.index.lookups.secondary_index import TYPE, SecondaryIndex
from pyhudi_expr.mdt.changes.index_definitions import COLUMN_TYPE, IndexDefinition
from pyhudi_expr.mdt.extension.coverage import UNCOVERED
from pyhudi_expr.mdt.extension.reader import Extension
from pyhudi_expr.mdt.store.metadata_table import RECORD_INDEX
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing


class _Covered:
    """Trust in the slices that the record index accounts for."""

    def any(self) -> bool:
        """See `secondary_index.SliceTrust`."""
        return True

    def slices(self, records: KeyLocations) -> BoolArray:
        """See `secondary_index.SliceTrust`."""
        return records.believed


def key_indexes(
    extension: Extension, table: HudiTable, listing: FileListing, schema: pa.Schema
) -> tuple[RecordIndex | None, list[SecondaryIndex]]:
    """The extension's record index and its secondary indexes, for a listing of the table.

    schema: the table's at the listing's instant. Raises HudiError.
    """
    if RECORD_INDEX not in extension.partitions:
        return None, []
    rows = extension.coverage.rows_of(table, listing)
    if (rows == UNCOVERED).all():
        return None, []
    records = RecordIndex(extension.records, listing, lambda: rows)
    secondary = [
        SecondaryIndex(definition, extension.records, listing, records, _Covered())
        for _, definition in sorted(extension.definitions.items())
        if _fits(definition, schema)
    ]
    return records, secondary


def _fits(definition: IndexDefinition, schema: pa.Schema) -> bool:
    """Whether it is a secondary index whose column has the type by which values were spelled."""
    if definition.type != TYPE or len(definition.fields) != 1:
        return False
    return definition.options.get(COLUMN_TYPE) == str(_type_of(schema, definition.fields[0]))


def _type_of(schema: pa.Schema, column: str) -> pa.DataType | None:
    """The type of a column, nested ones by their path; None: there is none."""
    type_: pa.DataType = pa.struct(list(schema))
    for name in column.split("."):
        if not pa.types.is_struct(type_) or type_.get_field_index(name) < 0:
            return None
        type_ = type_.field(name).type
    return type_

"""The indexes that a table may have besides statistics: of keys, of values, of expressions.

They are in Hudi's metadata table, and in the extension metadata table, which is stored beside it
(`mdt.extension_changes`). Those of the extension are trusted about covered slices: slices whose
files are exactly the files that the index was built or refreshed from (`mdt.extension`). So
it does not matter what Hudi's writers did since, and an older instant or a read-optimised view
needs no rule of its own: if it shows other files, they are not covered. All other slices are kept.

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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundExpression
from pyhudi_expr.index.lookups.key_predicates import (
    KeySpelling,
    extension_spelling,
    key_spelling,
    with_record_keys,
)
from pyhudi_expr.index.planner import Source
from pyhudi_expr.tables.hudi_names import (
    BLOOM_FILTERS,
    EXPRESSION_INDEX_PREFIX,
    RECORD_INDEX,
    SECONDARY_INDEX,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.extension import UNCOVERED, Extension
from pyhudi_expr.tables.mdt.index_definitions import COLUMN_TYPE, IndexDefinition, type_names
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.schema import nested_type

# Imported on use, for tables that have such indexes.
if TYPE_CHECKING:
    from pyhudi_expr.index.lookups.bloom_filters import BloomFilters
    from pyhudi_expr.index.lookups.expression_index import ExpressionFilters, ExpressionStatistics
    from pyhudi_expr.index.lookups.record_index import RecordIndex
    from pyhudi_expr.index.lookups.secondary_index import SecondaryIndex
    from pyhudi_expr.index.lookups.slice_proofs import SliceRows


class _Covered:
    """Trust in the slices that the record index accounts for."""

    def slices(self, accounted: BoolArray) -> BoolArray:
        """Return the accounted slices, see `secondary_index.SliceTrust`."""
        return accounted

    def harmful(self, accounted: BoolArray) -> BoolArray:
        """Return none, see `secondary_index.SliceTrust`."""
        return np.zeros_like(accounted)


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
    from pyhudi_expr.index.lookups.record_index import RecordIndex

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
    if len(definition.fields) == 1:
        from pyhudi_expr.index.lookups.secondary_index import SecondaryIndex

        return SecondaryIndex
    from pyhudi_expr.index.lookups.composite_index import CompositeIndex

    return CompositeIndex


def _hudi_key_indexes(
    mdt: MetadataTable, listing: FileListing, earlier: SliceRows | None
) -> tuple[RecordIndex | None, Sequence[SecondaryIndex]]:
    if RECORD_INDEX not in mdt.partitions:
        return None, ()
    from pyhudi_expr.index.lookups.record_index import record_index
    from pyhudi_expr.index.lookups.secondary_index import secondary_indexes

    records = record_index(mdt, listing, earlier)
    return records, () if records is None else secondary_indexes(mdt, listing, records)


def _bloom_filters(mdt: MetadataTable, listing: FileListing) -> BloomFilters | None:
    if BLOOM_FILTERS not in mdt.partitions:
        return None
    from pyhudi_expr.index.lookups.bloom_filters import BloomFilters

    return BloomFilters(mdt, listing)


def _expression_indexes(
    mdt: MetadataTable, listing: FileListing
) -> Sequence[ExpressionStatistics | ExpressionFilters]:
    if not any(name.startswith(EXPRESSION_INDEX_PREFIX) for name in mdt.partitions):
        return ()
    from pyhudi_expr.index.lookups.expression_index import expression_indexes

    return expression_indexes(mdt, listing)


def _fits(definition: IndexDefinition, schema: pa.Schema) -> bool:
    """Return whether it is a secondary index whose columns have the types it was built with."""
    if definition.type != SECONDARY_INDEX or not definition.fields:
        return False
    types = type_names(nested_type(schema, field) for field in definition.fields)
    return definition.options.get(COLUMN_TYPE) == types


@dataclass(frozen=True)
class LookupIndexes:
    """The look-up indexes of one table, for the files of a listing. Thread safe.

    Attributes:
        key_spelling: How indexes of keys write them. None: they cannot be used.
        notes: Why an index is not used.
    """

    table: HudiTable
    listing: FileListing
    key_spelling: KeySpelling | None
    record_index: RecordIndex | None = None
    secondary: tuple[SecondaryIndex, ...] = ()
    bloom_filters: BloomFilters | None = None
    expressions: tuple[ExpressionStatistics | ExpressionFilters, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def open(
        cls,
        table: HudiTable,
        listing: FileListing,
        mdt: MetadataTable | None,
        extension: Extension | None,
        schema: pa.Schema,
        earlier: LookupIndexes | None = None,
    ) -> LookupIndexes:
        """Open Hudi's indexes, and the extension's where Hudi has none of the kind.

        Indexes that cannot be read become notes.

        Args:
            table: The data table.
            listing: The files.
            mdt: Hudi's metadata table.
            extension: The extension metadata table.
            schema: The table's schema at the listing's instant.
            earlier: The indexes of an earlier state, of which rows that were read are used again.
        """
        found = cls(table, listing, key_spelling(table.properties))
        if mdt is not None:
            found = found._with_hudi_indexes(mdt, earlier)
        return found if extension is None else found._with_extension(extension, schema)

    def _with_hudi_indexes(
        self, mdt: MetadataTable, earlier: LookupIndexes | None
    ) -> LookupIndexes:
        found, notes = self, list(self.notes)
        if mdt.table.properties.meta_fields:
            found = replace(found, bloom_filters=_bloom_filters(mdt, self.listing))
        try:
            before = None if earlier is None else earlier.record_index
            known = None if before is None else before.slice_rows
            records, secondary = _hudi_key_indexes(mdt, self.listing, known)
            found = replace(found, record_index=records, secondary=tuple(secondary))
        except HudiError as error:
            notes.append(f"the indexes of keys cannot be read: {error}")
        try:
            found = replace(found, expressions=tuple(_expression_indexes(mdt, self.listing)))
        except HudiError as error:
            notes.append(f"the expression indexes cannot be read: {error}")
        return replace(found, notes=tuple(notes))

    def _with_extension(self, extension: Extension, schema: pa.Schema) -> LookupIndexes:
        try:
            records, secondary = key_indexes(extension, self.table, self.listing, schema)
            expressions = _expression_indexes(extension.records, self.listing)
        except HudiError as error:
            note = f"the extension's indexes cannot be read: {error}"
            return replace(self, notes=(*self.notes, note))
        filters = self.bloom_filters or _bloom_filters(extension.records, self.listing)
        return replace(
            self,
            key_spelling=extension_spelling(self.table.properties, self.key_spelling),
            record_index=records if self.record_index is None else self.record_index,
            secondary=(*self.secondary, *secondary),
            bloom_filters=filters,
            expressions=(*self.expressions, *expressions),
        )

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        single = (self.record_index, self.bloom_filters)
        indexes = (*single, *self.secondary, *self.expressions)
        return sum([index.nbytes for index in indexes if index is not None])

    def columns_by_value(self) -> frozenset[str]:
        """Return the columns with an index of their values."""
        keys = self.table.properties.record_key_fields
        told_of_keys = self.record_index is not None or self.bloom_filters is not None
        found = {index.column for index in self.secondary}
        return frozenset(found.union(keys) if told_of_keys and len(keys) == 1 else found)

    def with_key_predicates(self, predicate: BoundExpression) -> BoundExpression:
        """Add to a predicate what it implies for record keys, if an index can use it."""
        told_of_keys = self.record_index is not None or self.bloom_filters is not None
        if not told_of_keys or self.key_spelling is None:
            return predicate
        return with_record_keys(predicate, self.key_spelling)

    @property
    def sources(self) -> Sequence[Source]:
        """The indexes in order of use."""
        single: list[Source] = [] if self.record_index is None else [self.record_index]
        filters: list[Source] = [] if self.bloom_filters is None else [self.bloom_filters]
        return [*self.expressions, *single, *self.secondary, *filters]

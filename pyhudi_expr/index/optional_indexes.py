"""The indexes that a table may have beside statistics: of keys, of values, of expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from pyhudi_expr.expr.bound import BoundExpression
from pyhudi_expr.index.bloom_filters import BloomFilters
from pyhudi_expr.index.expression_index import (
    ExpressionFilters,
    ExpressionStatistics,
    expression_indexes,
)
from pyhudi_expr.index.extension import key_indexes
from pyhudi_expr.index.planner import Source
from pyhudi_expr.index.record_index import RecordIndex, record_index
from pyhudi_expr.index.record_keys import extension_spelling, key_spelling, with_record_keys
from pyhudi_expr.index.secondary_index import SecondaryIndex, secondary_indexes
from pyhudi_expr.mdt.extension_reader import Extension
from pyhudi_expr.mdt.reader import BLOOM_FILTERS, MetadataTable
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing


@dataclass
class OptionalIndexes:
    """Those of one table, for the files of a listing; `open` finds them. Thread safe."""

    table: HudiTable
    listing: FileListing
    record_index: RecordIndex | None = None
    secondary: list[SecondaryIndex] = field(default_factory=list)
    bloom_filters: BloomFilters | None = None
    expressions: list[ExpressionStatistics | ExpressionFilters] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._key_spelling = key_spelling(self.table.properties)

    def open(self, mdt: MetadataTable, notes: list[str]) -> None:
        """Those of Hudi's metadata table; ones that cannot be read become notes."""
        if BLOOM_FILTERS in mdt.partitions and mdt.table.properties.meta_fields:
            self.bloom_filters = BloomFilters(mdt, self.listing)
        try:
            self.record_index = record_index(mdt, self.listing)
            if self.record_index is not None:
                self.secondary = secondary_indexes(mdt, self.listing, self.record_index)
        except HudiError as error:
            notes.append(f"the indexes of keys cannot be read: {error}")
        try:
            self.expressions = expression_indexes(mdt, self.listing)
        except HudiError as error:
            notes.append(f"the expression indexes cannot be read: {error}")

    def open_extension(self, extension: Extension, schema: pa.Schema, notes: list[str]) -> None:
        """The extension's where Hudi's metadata table has none of the kind; called last.

        schema: the table's at the listing's instant.
        """
        try:
            records, secondary = key_indexes(extension, self.table, self.listing, schema)
            self.secondary += secondary
            self.expressions += expression_indexes(extension.records, self.listing)
        except HudiError as error:
            notes.append(f"the extension's indexes cannot be read: {error}")
            return
        if self.record_index is None and records is not None:
            self.record_index = records
        if self.bloom_filters is None and BLOOM_FILTERS in extension.partitions:
            self.bloom_filters = BloomFilters(extension.records, self.listing)
        self._key_spelling = extension_spelling(self.table.properties, self._key_spelling)

    @property
    def nbytes(self) -> int:
        """Memory held, bytes."""
        single = (self.record_index, self.bloom_filters)
        indexes = (*single, *self.secondary, *self.expressions)
        return sum(index.nbytes for index in indexes if index is not None)

    def columns_by_value(self) -> frozenset[str]:
        """The columns of which an index tells where each value is."""
        keys = self.table.properties.record_key_fields
        told_of_keys = self.record_index is not None or self.bloom_filters is not None
        found = {index.column for index in self.secondary}
        return frozenset(found.union(keys) if told_of_keys and len(keys) == 1 else found)

    def completed(self, predicate: BoundExpression) -> BoundExpression:
        """The predicate with what it implies for record keys, if an index of them can tell."""
        told_of_keys = self.record_index is not None or self.bloom_filters is not None
        if not told_of_keys or self._key_spelling is None:
            return predicate
        return with_record_keys(predicate, self._key_spelling)

    @property
    def sources(self) -> Sequence[Source]:
        """The indexes in the order in which they are asked."""
        single: list[Source] = [] if self.record_index is None else [self.record_index]
        filters: list[Source] = [] if self.bloom_filters is None else [self.bloom_filters]
        return [*self.expressions, *single, *self.secondary, *filters]

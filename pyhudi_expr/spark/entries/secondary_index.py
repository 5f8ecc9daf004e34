"""Entries of `record_index` (RFC-8) and of `secondary_index_*` (RFC-77).

A key in several file groups has one entry, that of the group which was written last.

Values are written as in Hudi: dates as days since 1970, timestamps as the stored number. Types that
only the extension indexes are written so that equal values have one text: decimals as their
unscaled integers, floats as `float_ordinals` (Hudi uses Java's text, which changed with Java 19),
bytes in hexadecimal digits. An index of version V2 puts all rows of a value into one shard, one of
V1 hashes the whole key.

An index over several columns, which only the extension has, joins a row's values to one text, which
is the value of its entries (`mdt.bytes.keys.composite_value`). The texts of its first columns are
the beginning of that, and the shard follows from the first column: an equality on the first columns
asks one shard for adjacent entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, arrow_nulls
from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.spark.jobs.shard_writer import constant_entries
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.keys import COMPONENT_END, COMPONENT_MARK, secondary_prefix
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.store.index_records import value_texts
from pyhudi_expr.tables.slices.slice_files import FileSlice
from pyhudi_expr.tables.slices.slice_rows import scalar_type

_SECONDS = 14
_LAST_MILLISECOND = "999"


@dataclass(frozen=True)
class RecordEntries:
    """Makes the entries of rows; sent to tasks. See `key_entries.RowEntries`.

    Attributes:
        zone: That of the timeline; None: the local one.
        shards: The index's number of shards.
    """

    zone: timezone | None
    shards: int

    @staticmethod
    def of(table: HudiTable, definition: IndexDefinition, shards: int) -> RecordEntries:
        """Prepare the entries of a table's record index. Raises HudiError."""
        if definition.options.get("isPartitioned", "false").lower() == "true":
            raise UnsupportedTable(
                f"{table.base_path}: a record index for each partition is not built"
            )
        zone = timezone.utc if table.properties.timeline_zone == "UTC" else None
        return RecordEntries(zone, shards)

    @property
    def columns(self) -> tuple[str, ...]:
        """None but those of the keys."""
        return ()

    def entries(
        self, one: FileSlice, keys: AnyArray, values: Mapping[str, AnyArray]
    ) -> pa.RecordBatch:
        """Return the entries of some rows of a slice."""
        written = instant_ms(one.base_instant, self.zone)
        value = payloads.location(one.partition, one.file_id, written)
        return constant_entries(keys, value, self.shards, version=written)


def instant_ms(instant: str, zone: timezone | None) -> int:
    """Return an instant (yyyyMMddHHmmss[SSS]) in milliseconds since the epoch.

    `zone` is that of the timeline; None: the local one. Old instants without milliseconds count as
    the last one of their second, as in Hudi.
    """
    milliseconds = instant[_SECONDS:] or _LAST_MILLISECOND
    moment = datetime.strptime(instant[:_SECONDS], "%Y%m%d%H%M%S").replace(tzinfo=zone)
    return int(moment.timestamp()) * 1000 + int(milliseconds)


_NULL = "\0"
_FIRST = r"(?s)^(?P<first>(?:[^\x1e\x1f]|\x1e.)*)\x1f"


@dataclass(frozen=True)
class IndexedColumns:
    """The columns of a secondary index, and how a row's values become text; sent to tasks.

    Attributes:
        types: The columns' types in the table.
    """

    fields: tuple[str, ...]
    types: tuple[pa.DataType, ...]

    @staticmethod
    def of(table: HudiTable, definition: IndexDefinition) -> IndexedColumns:
        """Return the columns of an index.

        Raises:
            HudiError: A column cannot be indexed.
        """
        schema = table.schema()
        types = tuple(scalar_type(table, schema, field) for field in definition.fields)
        found = IndexedColumns(definition.fields, types)
        # A type that is not supported is reported now, not by the tasks.
        found.texts([arrow_nulls(0, type_) for type_ in types], table.base_path)
        return found

    def texts(self, columns: Sequence[AnyArray], label: str) -> AnyArray:
        """Return a text for each row: the value of one column, or the values of several in one.

        Args:
            columns: The values of `fields`.
            label: What holds them, for messages.

        Raises:
            HudiError: The text of a type depends on the writer.
        """
        texts = [
            value_texts(column, type_, f"{label}: column {field!r}")
            for column, field, type_ in zip(columns, self.fields, self.types, strict=True)
        ]
        if len(texts) == 1:
            return texts[0]
        return pc.binary_join_element_wise(*map(_component, texts), "", COMPONENT_END)


@dataclass(frozen=True)
class EntryKeys:
    """How the keys of an index's entries are made from the texts of `IndexedColumns`.

    Attributes:
        is_composite: Whether there are several columns.
        by_value: Whether the shard follows from the (first) value.
    """

    is_composite: bool
    by_value: bool

    @staticmethod
    def of(definition: IndexDefinition) -> EntryKeys:
        """Return how an index makes its keys."""
        return EntryKeys(len(definition.fields) > 1, definition.version != "V1")

    def entries(
        self, texts: AnyArray, keys: AnyArray, payload: bytes, shards: int
    ) -> pa.RecordBatch:
        """Return the entries (`shard_writer.ENTRY_SCHEMA`) of rows with these texts and keys."""
        starts = prefixes(texts)
        own = pc.binary_join_element_wise(starts, escaped(keys), "")
        spread = None
        if self.by_value:
            spread = shard_keys(first_values(texts)) if self.is_composite else starts
        return constant_entries(own, payload, shards, shard_keys=spread)


@dataclass(frozen=True)
class SecondaryEntries:
    """Makes the entries of rows; sent to tasks. See `key_entries.RowEntries`."""

    indexed: IndexedColumns
    made: EntryKeys
    shards: int

    @staticmethod
    def of(table: HudiTable, definition: IndexDefinition, shards: int) -> SecondaryEntries:
        """Prepare the entries of an index. Raises HudiError: A column cannot be indexed."""
        made = EntryKeys.of(definition)
        return SecondaryEntries(IndexedColumns.of(table, definition), made, shards)

    @property
    def columns(self) -> tuple[str, ...]:
        """The indexed columns."""
        return self.indexed.fields

    def entries(
        self, one: FileSlice, keys: AnyArray, values: Mapping[str, AnyArray]
    ) -> pa.RecordBatch:
        """Return the entries of some rows of a slice."""
        texts = self.indexed.texts([values[field] for field in self.columns], one.name)
        return self.made.entries(texts, keys, payloads.secondary_entry(), self.shards)


def prefixes(texts: AnyArray) -> AnyArray:
    """Return the prefixes of the keys: `key_columns.secondary_prefix` of each text."""
    starts = pc.binary_join_element_wise(escaped(texts), "$", "")
    return pc.fill_null(starts, secondary_prefix(None))


def shard_keys(texts: AnyArray) -> AnyArray:
    """Return `key_columns.secondary_shard_key` of each text."""
    return pc.binary_join_element_wise(pc.fill_null(texts, ""), "$", "")


def _component(texts: AnyArray) -> AnyArray:
    """Return `mdt.bytes.keys.composite_value` of each text alone, without its end."""
    doubled = pc.replace_substring(texts, COMPONENT_MARK, COMPONENT_MARK * 2)
    marked = pc.replace_substring(doubled, COMPONENT_END, COMPONENT_MARK + COMPONENT_END)
    distinct = pc.if_else(pc.equal(marked, _NULL), COMPONENT_MARK + _NULL, marked)
    return pc.fill_null(distinct, _NULL)


def first_values(values: AnyArray) -> AnyArray:
    """Return the text of the first column in each `mdt.bytes.keys.composite_value`."""
    first = pc.struct_field(pc.extract_regex(values, _FIRST), 0)
    texts = pc.replace_substring_regex(first, f"(?s){COMPONENT_MARK}(.)", r"\1")
    return pc.if_else(pc.equal(first, _NULL), pa.scalar(None, texts.type), texts)


def escaped(texts: AnyArray) -> AnyArray:
    """Return the texts with a backslash before each backslash and each dollar sign."""
    doubled = pc.replace_substring(texts, "\\", "\\\\")
    return pc.replace_substring(doubled, "$", "\\$")

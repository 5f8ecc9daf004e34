"""Entries of `secondary_index_*`: `esc(value) + "$" + esc(record key)` for each row (RFC-77).

Values are written as in Hudi: dates as days since 1970, timestamps as the stored number. Types that
only the extension indexes are written so that equal values have one text: decimals as their
unscaled integers, floats as `float_ordinals` (Hudi uses Java's text, which changed with Java 19),
bytes in hexadecimal digits. An index of version V2 puts all rows of a value into one shard, one of
V1 hashes the whole key.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, arrow_nulls
from pyhudi_expr.expr.domains import Kind, float_ordinals, kind_of
from pyhudi_expr.mdt.bytes.keys import secondary_prefix
from pyhudi_expr.mdt.changes.index_definitions import IndexDefinition
from pyhudi_expr.mdt.records import payloads
from pyhudi_expr.reading.key_columns import KeyColumns
from pyhudi_expr.reading.slice_files import FileSlice
from pyhudi_expr.reading.slice_rows import SliceReader, scalar_type
from pyhudi_expr.spark.entries.batches import constant_entries
from pyhudi_expr.spark.jobs.batch_runner import each_item
from pyhudi_expr.spark.jobs.slice_frames import Extract
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_table import HudiTable

_MOST_DIGITS = 76


def secondary_index(
    table: HudiTable, instant: str | None, definition: IndexDefinition, shards: int
) -> Extract:
    """Return the entries of a slice, see `entries.slice_entries`."""
    if len(definition.fields) != 1:
        raise HudiError(f"{table.base_path}: {definition.name} is not over one column")
    (field,) = definition.fields
    type_ = scalar_type(table, table.schema(), field)
    value_texts(arrow_nulls(0, type_), type_, f"{table.base_path}: column {field!r}")
    reader = SliceReader.of(table, instant)
    keys = KeyColumns.of(table)
    entry = payloads.secondary_entry()
    by_value = definition.version != "V1"

    def extract(one: FileSlice) -> Iterator[pa.RecordBatch]:
        """Return the entries of one slice."""
        for values, *key_columns in reader.columns(one, (field, *keys.columns)):
            texts = value_texts(values, type_, f"{one.name}: column {field!r}")
            own = pc.binary_join_element_wise(prefixes(texts), escaped(keys.keys(key_columns)), "")
            spread = shard_keys(texts) if by_value else None
            yield constant_entries(own, entry, shards, shard_keys=spread)

    return each_item(extract)


def value_texts(values: AnyArray, type_: pa.DataType, label: str) -> AnyArray:
    """Return the values as texts; nulls stay null.

    Args:
        values: The values; a file may hold a narrower type.
        type_: The type of the table's column.
        label: The column, for messages.

    Raises:
        HudiError: The text of the type depends on the writer.
    """
    text = pa.string()
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), text)
    if pa.types.is_date32(type_) and pa.types.is_date32(values.type):
        return values.view(pa.int32()).cast(text)
    if pa.types.is_timestamp(type_) and pa.types.is_timestamp(values.type):
        same_unit = values.cast(pa.timestamp(type_.unit, values.type.tz))
        return same_unit.view(pa.int64()).cast(text)
    if pa.types.is_decimal(type_) and pa.types.is_decimal(values.type):
        return _unscaled(values.cast(type_))
    if kind_of(type_) is Kind.FLOAT and values.type == type_:
        numbers = float_ordinals(values.fill_null(0.0).to_numpy(zero_copy_only=False))
        return pa.array(numbers, mask=values.is_null().to_numpy(zero_copy_only=False)).cast(text)
    if kind_of(type_) is kind_of(values.type) is Kind.BINARY:
        return pa.array([None if v is None else v.hex() for v in values.to_pylist()], text)
    for is_kind in (pa.types.is_integer, pa.types.is_boolean, _is_text):
        if is_kind(type_) and is_kind(values.type):
            return values.cast(text)
    raise HudiError(f"{label} of type {values.type} cannot have a secondary index")


def _unscaled(values: AnyArray) -> AnyArray:
    """Return decimals as their unscaled integers in digits, for the extension only."""
    wide = values.cast(pa.decimal256(_MOST_DIGITS, values.type.scale))
    whole = pa.decimal256(_MOST_DIGITS, 0)
    same = pa.Array.from_buffers(whole, len(wide), wide.buffers(), offset=wide.offset)
    return same.cast(pa.string())


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def prefixes(texts: AnyArray) -> AnyArray:
    """Return the prefixes of the keys: `key_columns.secondary_prefix` of each text."""
    starts = pc.binary_join_element_wise(escaped(texts), "$", "")
    return pc.fill_null(starts, secondary_prefix(None))


def shard_keys(texts: AnyArray) -> AnyArray:
    """Return `key_columns.secondary_shard_key` of each text."""
    return pc.binary_join_element_wise(pc.fill_null(texts, ""), "$", "")


def escaped(texts: AnyArray) -> AnyArray:
    """Return the texts with a backslash before each backslash and each dollar sign."""
    doubled = pc.replace_substring(texts, "\\", "\\\\")
    return pc.replace_substring(doubled, "$", "\\$")

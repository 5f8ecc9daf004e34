"""Record keys of DataFrames whose rows do not have them: computed, or null as Hudi reads them.

`key_column` is an expression of Spark's own, for values that it formats as Hudi does; `with_keys`
adds keys of any definition, computed in Arrow batches if there is not an expression.

Hudi does not know the contingency, and shows stored keys of old files if the schema has the column;
without a schema, a table without meta fields has no meta columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.tables.hudi_names import RECORD_KEY
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import KeyDefinition, is_virtual, require_key_columns
from pyhudi_expr.tables.keys.generators import EMPTY, NULL, HudiKeys, KeyGenerator
from pyhudi_expr.tables.keys.key_storage import warn_of_stored_keys
from pyhudi_expr.tables.slices.slice_rows import leaf

_CAST = (
    *(t.StringType, t.ByteType, t.ShortType, t.IntegerType, t.LongType, t.BooleanType),
    *(t.DateType, t.FloatType, t.DoubleType),
)
_PLAIN_SCALE = 6
"""Decimals with more digits behind the point may be written with an exponent."""


def key_column(schema: t.StructType, definition: KeyDefinition) -> Column:
    """Return the keys of rows of this schema, null for rows without one.

    Raises:
        HudiError: Spark has no expression for such keys (UnsupportedTable), or a column is missing.
    """
    types = column_types(schema, definition.columns)
    generator = definition.generator()
    if not isinstance(generator, HudiKeys):
        raise UnsupportedTable("Spark has no expression for keys of a generator of one's own")
    texts = [
        _text(name, type_, generator) for name, type_ in zip(generator.columns, types, strict=True)
    ]
    if not generator.are_named:
        return f.nullif(texts[0], f.lit(""))
    parts = [
        f.concat(f.lit(f"{name}:"), _filled(text))
        for name, text in zip(generator.columns, texts, strict=True)
    ]
    some = f.coalesce(*(f.nullif(text, f.lit("")) for text in texts))
    return f.when(some.isNotNull(), f.concat_ws(",", *parts))


def with_keys(frame: DataFrame, definition: KeyDefinition, name: str) -> DataFrame:
    """Return the frame with its keys as the last column, of this name.

    Rows without a key fail the job, or have null.

    Raises:
        HudiError: A column is missing.
    """
    try:
        return frame.withColumn(name, key_column(frame.schema, definition))
    except UnsupportedTable:
        schema = t.StructType([*frame.schema, t.StructField(name, t.StringType())])
        made = _key_from(definition.generator(), definition.columns, name)
        return frame.mapInArrow(made, schema)


def column_types(schema: t.StructType, columns: Sequence[str]) -> list[t.DataType]:
    """Return the types of columns, nested ones named with dots. Raises HudiError."""
    found = []
    for name in columns:
        type_: t.DataType = schema
        for part in name.split("."):
            fields = type_.fields if isinstance(type_, t.StructType) else []
            matching = [field.dataType for field in fields if field.name == part]
            if not matching:
                raise HudiError(
                    f"the key column {name!r} is missing; there are {', '.join(schema.names)}"
                )
            (type_,) = matching
        found.append(type_)
    return found


def column(name: str) -> Column:
    """Return a column, or a field of a struct."""
    return f.col(".".join(f"`{part}`" for part in name.split(".")))


def _text(name: str, type_: t.DataType, generator: HudiKeys) -> Column:
    values = column(name)
    if isinstance(type_, _CAST):
        return values.cast("string")
    if isinstance(type_, t.DecimalType) and type_.scale <= _PLAIN_SCALE:
        return values.cast("string")
    if isinstance(type_, t.BinaryType):
        return f.lower(f.hex(values))
    if isinstance(type_, t.TimestampType) and not generator.text.consistent_timestamps:
        return f.unix_micros(values).cast("string")
    raise UnsupportedTable(
        f"Spark has no expression for keys of column {name!r} of type {type_.simpleString()}"
    )


def _filled(text: Column) -> Column:
    return f.when(text == "", EMPTY).otherwise(f.coalesce(text, f.lit(NULL)))


def _key_from(
    generator: KeyGenerator, columns: Sequence[str], name: str
) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    def make(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            keys = generator.keys([leaf(batch, column) for column in columns])
            arrays = [*batch.columns, keys]
            yield pa.RecordBatch.from_arrays(arrays, [*batch.schema.names, name])

    return make


def load(spark: SparkSession, path: str, options: Mapping[str, str] | None = None) -> DataFrame:
    """Return the rows of a table, with stored keys if it has no virtual ones.

    `options` are those of Hudi's reader.

    Raises:
        HudiError: The table cannot be read.
    """
    frame = spark.read.format("hudi").options(**(options or {})).load(path)
    return hide_keys(frame, HudiTable.open(path))


def hide_keys(frame: DataFrame, table: HudiTable) -> DataFrame:
    """Replace virtual record keys in the frame of a table's rows by nulls.

    The column is added as the first one if it is missing.

    Raises:
        MissingKeyColumn: The table does not have a column that its keys are made of.
    """
    if not is_virtual(table.properties):
        return frame
    require_key_columns(table.properties, table.schema(), table.base_path)
    warn_of_stored_keys(table)
    nothing = f.lit(None).cast("string").alias(RECORD_KEY)
    if RECORD_KEY not in frame.columns:
        return frame.select(nothing, "*")
    return frame.withColumn(RECORD_KEY, nothing)

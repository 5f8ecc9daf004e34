"""Read tables with virtual keys by Hudi's reader, with a null `_hoodie_record_key`.

Hudi does not know the contingency, and shows stored keys of old files if the schema has the column;
without a schema, a table without meta fields has no meta columns.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pyhudi_expr.tables.hudi_names import RECORD_KEY
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import is_virtual
from pyhudi_expr.tables.keys.key_columns import require_key_columns
from pyhudi_expr.tables.keys.key_storage import warn_of_stored_keys


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

"""Tables with virtual keys as Hudi's reader has them, but for `_hoodie_record_key`, which is null.

Hudi knows nothing of the contingency, and shows what old files have stored where a schema has the
column; without a schema, a table without meta fields has none of the meta columns.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pyhudi_expr.keys.definition import RECORD_KEY, is_virtual
from pyhudi_expr.keys.key_storage import warn_of_stored_keys
from pyhudi_expr.table.hudi_table import HudiTable


def load(spark: SparkSession, path: str, options: Mapping[str, str] | None = None) -> DataFrame:
    """The rows of a table, with stored keys if it has no virtual ones.

    options: of Hudi's reader. Raises HudiError.
    """
    frame = spark.read.format("hudi").options(**(options or {})).load(path)
    return hide_keys(frame, HudiTable.open(path))


def hide_keys(frame: DataFrame, table: HudiTable) -> DataFrame:
    """The frame of a table's rows, with nulls for its record keys if they are virtual: in their
    place, or first.
    """
    if not is_virtual(table.properties):
        return frame
    warn_of_stored_keys(table)
    nothing = f.lit(None).cast("string").alias(RECORD_KEY)
    if RECORD_KEY not in frame.columns:
        return frame.select(nothing, "*")
    return frame.withColumn(RECORD_KEY, nothing)

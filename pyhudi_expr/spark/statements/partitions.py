"""The partitions of a table for which a condition is true, in Spark's own semantics."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from pyhudi_expr.arrays import string_list
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.spark_partition_values import SparkPartitionColumns
from pyhudi_expr.spark.query.partition_columns import ShownColumns
from pyhudi_expr.tables.hudi_table import HudiTable

_PATH = "__pyhudi_partition_path"


def matching_partitions(spark: SparkSession, table: HudiTable, condition: str) -> frozenset[str]:
    """Return the paths of the partitions for whose columns' values the condition is true.

    Args:
        spark: The session.
        table: The table.
        condition: In SQL, on partition columns alone.

    Raises:
        HudiError: The table is not partitioned, the condition is not valid or is on another column,
            or a path does not tell its values.
    """
    columns = SparkPartitionColumns.of(table.properties)
    names = ", ".join(table.properties.partition_fields)
    if not columns.fields:
        raise HudiError(f"{table.base_path}: the table has no partitions to choose by WHERE")
    schema = table.schema()
    fields = from_arrow_schema(schema.remove_metadata(), prefer_timestamp_ntz=True)
    shown = {
        each.name.lower(): each for each in ShownColumns.of(spark, table, schema, fields).types
    }
    rows = []
    for path in string_list(table.listing().partitions):
        texts = columns.texts(path)
        if any(text is None for text in texts):
            raise HudiError(
                f"{table.base_path}: the path {path!r} does not tell the values of {names}; leave"
                " WHERE out, or name partitions by pyhudi layout cluster --partition"
            )
        rows.append((path, *(text.text for text in texts if text is not None)))
    text_types = [StructField(name, StringType()) for name in (_PATH, *columns.fields)]
    values = spark.createDataFrame(rows, StructType(text_types)).select(
        _PATH,
        *(
            f.col(name).cast(shown[name].dataType).alias(shown[name].name)
            for name in columns.fields
        ),
    )
    try:
        chosen = values.where(condition).select(_PATH).collect()
    except PySparkException as error:
        reason = str(error).splitlines()[0]
        raise HudiError(
            f"{table.base_path}: WHERE chooses partitions, by {names} alone: {reason}"
        ) from error
    return frozenset(row[0] for row in chosen)

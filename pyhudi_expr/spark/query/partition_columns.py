"""Partition columns as Hudi's reader for Spark shows them: by the paths, not by the files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from pyhudi_expr.arrays import BoolArray, string_list
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import domain_of
from pyhudi_expr.index.partition_semantics import PartitionReader, doubtful_partitions
from pyhudi_expr.index.partition_values import PartitionValues, path_layout
from pyhudi_expr.index.spark_partition_values import PathText, SparkPartitionColumns, is_readable
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing

_FROM_PATHS = "hoodie.datasource.read.extract.partition.values.from.path"


@dataclass(frozen=True)
class SharedValues:
    """Values that are shown for all rows of some slices, whatever their files hold.

    Attributes:
        texts: By column (in lower case), as paths spell them.
        slices: One flag for each slice of the listing.
    """

    texts: tuple[tuple[str, PathText], ...]
    slices: BoolArray


@dataclass(frozen=True)
class ShownColumns:
    """How a session shows a table's columns.

    Attributes:
        schema: The table's schema at the requested instant.
        fields: Its columns.
        from_paths: Whether all partition columns are taken from paths.
    """

    table: HudiTable
    schema: pa.Schema
    fields: StructType
    from_paths: bool

    @staticmethod
    def of(
        spark: SparkSession, table: HudiTable, schema: pa.Schema, fields: StructType
    ) -> ShownColumns:
        """Return how Hudi's reader shows them with the session's options."""
        from_paths = str(spark.conf.get(_FROM_PATHS, "false")).lower() == "true"
        return ShownColumns(table, schema, fields, from_paths)

    @property
    def reader(self) -> PartitionReader:
        """The reader for `PruneRequest`."""
        return PartitionReader.ANY if self.from_paths else PartitionReader.HUDI_SPARK

    @computed_once
    def types(self) -> StructType:
        """Return the columns with the types that are shown."""
        return StructType(
            [
                StructField(field.name, StringType())
                if field.name.lower() in self._as_text
                else field
                for field in self.fields
            ]
        )

    def parts(self, listing: FileListing, slices: BoolArray) -> Iterator[SharedValues]:
        """Divide the flagged slices by what paths show for them; most show only what files hold."""
        partitions = string_list(listing.partitions)
        spelled = [self._columns.texts(path) for path in partitions]
        doubtful = self._doubtful(partitions)
        parts: dict[tuple[tuple[str, PathText], ...], list[int]] = {}
        for number in np.unique(listing.slice_partition[slices]).tolist():
            texts = tuple(
                (name, text)
                for name, text in zip(self._columns.fields, spelled[number], strict=True)
                if text is not None
                and name in doubtful
                and doubtful[name][number]
                and self._is_readable(name, text)
            )
            parts.setdefault(texts, []).append(number)
        for texts, numbers in parts.items():
            yield SharedValues(texts, slices & np.isin(listing.slice_partition, numbers))

    def shown(self, rows: DataFrame, values: SharedValues) -> DataFrame:
        """Return the rows of files as they are shown."""
        texts = dict(values.texts)
        return rows.select(
            [
                f.lit(texts[field.name.lower()].text).cast(field.dataType).alias(field.name)
                if field.name.lower() in texts
                else _of_file(rows, field)
                for field in self.types
            ]
        )

    @computed_once
    def _columns(self) -> SparkPartitionColumns:
        return SparkPartitionColumns.of(self.table.properties)

    @property
    def _as_text(self) -> frozenset[str]:
        return self._columns.formatted if self._columns.as_text else frozenset()

    def _doubtful(self, partitions: list[str]) -> dict[str, BoolArray]:
        """Return for each column from paths the partitions whose files may hold other values."""
        proved = PartitionValues(partitions, path_layout(self.table.properties))
        return {
            name: doubtful_partitions(proved, column, len(partitions))
            for name, column in self._bound.items()
            if self.from_paths or name not in self._columns.from_files
        }

    def _is_readable(self, name: str, text: PathText) -> bool:
        return name in self._as_text or is_readable(text, self._bound[name].domain)

    @computed_once
    def _bound(self) -> dict[str, BoundColumn]:
        """Return the partition columns whose types have an order; nested ones are left out."""
        return {
            field.name.lower(): BoundColumn(field.name, field.type, domain)
            for field in self.schema
            if field.name.lower() in self._columns.fields
            and (domain := domain_of(field.type)) is not None
        }


def _of_file(rows: DataFrame, field: StructField) -> Column:
    column = rows[f"`{field.name.replace('`', '``')}`"]
    same = rows.schema[field.name].dataType == field.dataType
    return column if same else column.cast(field.dataType).alias(field.name)

"""A clustering in progress: its slices are read, its rows written and committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from pyhudi_expr.errors import HudiError
from pyhudi_expr.spark.clustering.write_client import ClusteringFailed, SliceFiles, WriteClient
from pyhudi_expr.spark.jobs.job_errors import JavaObject, call_private, to_list
from pyhudi_expr.tables.hudi_names import META_COLUMNS, OPERATION
from pyhudi_expr.tables.slices.log_rows import have_operations

CLUSTERING = "clustering"
_STORAGE_LEVEL = "MEMORY_AND_DISK_SER"
_FILE_SIZE = "hoodie.parquet.max.file.size"
_Slices = Sequence[tuple[Any, frozenset[bool]]]
"""Each with what `have_operations` finds in its log files."""


class Clustering:
    """A clustering in progress: read its slices, order them, commit them."""

    def __init__(
        self, writer: WriteClient, table: JavaObject, plan: JavaObject, instant: str
    ) -> None:
        self._writer = writer
        self._table = table
        self._plan = plan
        self._instant = instant
        hudi = writer.hudi
        meta_client = table.getMetaClient()
        self._schema = hudi.common.table.TableSchemaResolver(meta_client).getTableSchema(False)
        self._strategy = hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy(
            table, writer.java.getEngineContext(), writer.config
        )

    def frames(self) -> list[tuple[str, DataFrame]]:
        """Return the rows of each partition, meta columns first, logs merged; reads nothing yet."""
        with self._writer.translated("the slices cannot be read"):
            frames = []
            for group in to_list(self._plan.getInputGroups()):
                slices = self._slices(group)
                frames.append((slices[0][0].getPartitionPath(), self._merged(group, slices)))
            return frames

    def frame(self, group: JavaObject) -> DataFrame:
        """Return the rows of one of a plan's groups of slices."""
        return self._merged(group, self._slices(group))

    def _merged(self, group: JavaObject, slices: _Slices) -> DataFrame:
        kept = self._writer.config.allowOperationMetadataField()
        # Unless it reads the operations of a changelog, Hudi takes deletions for rows: it
        # fails if it reads them and rows of another writer have none.
        by_reading: dict[bool, list[Any]] = {}
        for info, operations in slices:
            by_reading.setdefault(kept or operations == {True}, []).append(info)
        builder = self._writer.hudi.avro.model.HoodieClusteringGroup.newBuilder
        hidden = () if kept else (OPERATION,)
        frames = (
            self._rows(builder(group).setSlices(infos).build(), with_operations).drop(*hidden)
            for with_operations, infos in by_reading.items()
        )
        return reduce(DataFrame.unionByName, frames)

    def _rows(self, group: JavaObject, with_operations: bool) -> DataFrame:
        spark = self._writer.spark
        context = self._writer.jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(
            spark._jsc.sc()
        )
        schema = self._writer.hudi.common.schema.HoodieSchemaUtils.addMetadataFields(
            self._schema, with_operations
        )
        arguments = [context, group, self._instant, schema]
        return DataFrame(
            call_private(spark, self._strategy, "readRecordsForGroupAsRow", arguments), spark
        )

    def _slices(self, group: JavaObject) -> _Slices:
        root = f"{self._writer.base_path.rstrip('/')}/"
        found = []
        for info in to_list(group.getSlices()):
            paths = to_list(info.getDeltaFilePaths())
            logs = [str(path).removeprefix(root) for path in paths]
            operations = have_operations(self._writer.storage, logs)
            if len(operations) > 1:
                raise HudiError(
                    f"{self._writer.base_path}: the log files of {info.getFileId()} hold rows of "
                    "Flink's changelog and of another writer, and Hudi for Spark would take "
                    "deleted rows for rows; have Flink compact the table first"
                )
            found.append((info, operations))
        return found

    def commit(
        self,
        frame: DataFrame,
        file_bytes: int,
        extra: Mapping[str, str],
        settings: Mapping[str, str],
    ) -> int:
        """Write the rows, each Spark partition into its own files, and replace the slices.

        Returns the number of rows, which Hudi read from the new files.

        Args:
            frame: The rows; each Spark partition has rows of one table partition.
            file_bytes: The size at which the next file begins.
            extra: Metadata of the commit.
            settings: Those of Hudi's writer that differ from the client's, for these files.

        Raises:
            ClusteringFailed: Hudi failed, or the rows of the new files are not those of the slices;
                nothing was committed.
        """
        writer, hudi = self._writer, self._writer.hudi
        with writer.translated(f"the clustering {self._instant} cannot be written"):
            statuses = hudi.HoodieDatasetBulkInsertHelper.bulkInsert(
                frame._jdf,
                self._instant,
                self._table,
                self._writing({**settings, _FILE_SIZE: str(file_bytes)}),
                True,
                True,
            )
            context = writer.java.getEngineContext()
            located = self._table.getIndex().updateLocation(
                statuses, context, self._table, self._instant
            )
            key = getattr(
                writer.jvm, "org.apache.hudi.common.data.HoodieData$HoodieDataCacheKey"
            ).of(writer.base_path, self._instant)
            located.persist(_STORAGE_LEVEL, context, key)
            self._check_partitions(located)
            rows = self._check_rows(located)
            metadata = hudi.table.action.HoodieWriteMetadata()
            metadata.setWriteStatuses(located)
            operation = hudi.common.model.WriteOperationType.CLUSTER
            option = hudi.common.util.Option
            metadata.setCommitMetadata(
                option.of(
                    hudi.common.util.CommitUtils.buildMetadata(
                        writer.jvm.java.util.Collections.emptyList(),
                        writer.jvm.java.util.Collections.emptyMap(),
                        option.of(dict(extra)),
                        operation,
                        self._schema.toString(),
                        CLUSTERING,
                    )
                )
            )
            spark, services = writer.spark, writer.services
            updated = call_private(
                spark,
                services,
                "partialUpdateTableMetadata",
                [self._table, metadata, self._instant, operation],
            )
            output = call_private(spark, services, "convertToOutputMetadata", [updated])
            with writer.where_hudi_locks():
                call_private(
                    spark, services, "commitClustering", [output, self._table, self._instant]
                )
        return rows

    def _check_partitions(self, statuses: JavaObject) -> None:
        """Raise ClusteringFailed if rows without meta fields were written to other partitions.

        Their partition is computed by the writer's key generator.
        """
        if self._writer.config.populateMetaFields():
            return
        groups = to_list(self._plan.getInputGroups())
        planned = {group.getSlices()[0].getPartitionPath() for group in groups}
        written = {status.getPartitionPath() for status in to_list(statuses.collectAsList())}
        if not written <= planned:
            raise ClusteringFailed(
                f"{self._writer.base_path}: rows would go into the partitions "
                f"{sorted(written - planned)}; give the writer the options of the table's key "
                "generator (hoodie.datasource.write.partitionpath.field ...)"
            )

    def _check_rows(self, statuses: JavaObject) -> int:
        """Return how many rows Hudi reads from the new files.

        Raises:
            ClusteringFailed: They are not those of the slices.
        """
        before = rows_digest([frame for _, frame in self.frames()])
        stats = [status.getStat() for status in to_list(statuses.collectAsList())]
        written = [
            SliceFiles(str(one.getPartitionPath()), str(one.getFileId()), str(one.getPath()), ())
            for one in stats
        ]
        groups = input_groups(self._writer, written, {one.partition: 1 for one in written})
        after = rows_digest([self.frame(group) for group in groups])
        if before != after:
            raise ClusteringFailed(
                f"{self._writer.base_path}: the rows of the new files of {self._instant} "
                f"({after.rows}) are not those of the replaced ones ({before.rows}); they were not "
                "committed"
            )
        return after.rows

    def _writing(self, settings: Mapping[str, str]) -> JavaObject:
        config = (
            self._writer.hudi.config.HoodieWriteConfig.newBuilder()
            .withProps(self._writer.config.getProps())
            .build()
        )
        for key, value in settings.items():
            config.setValue(key, value)
        return config


def input_groups(
    writer: WriteClient, slices: Sequence[SliceFiles], files: Mapping[str, int]
) -> list[JavaObject]:
    """Return an input group of Hudi's plans for each partition, ascending.

    Args:
        writer: The table's write client.
        slices: The slices.
        files: The number of files to write, by partition.
    """
    model = writer.hudi.avro.model
    infos: dict[str, list[JavaObject]] = {}
    for one in slices:
        info = (
            model.HoodieSliceInfo.newBuilder()
            .setPartitionPath(one.partition)
            .setFileId(one.file_id)
            .setDataFilePath(writer.full_path(one.base) if one.base else "")
            .setDeltaFilePaths([writer.full_path(log) for log in one.logs])
            .setBootstrapFilePath("")
            .build()
        )
        infos.setdefault(one.partition, []).append(info)
    return [
        model.HoodieClusteringGroup.newBuilder()
        .setSlices(infos[partition])
        .setNumOutputFileGroups(files[partition])
        .setMetrics({})
        .build()
        for partition in sorted(infos)
    ]


_SUM = "decimal(38,0)"


@dataclass(frozen=True)
class RowsDigest:
    """The digest of some rows, without their meta columns.

    Attributes:
        rows: Their number.
        total: The sum of their hashes, which each row that is lost, added or changed changes.
    """

    rows: int
    total: int


def rows_digest(frames: Sequence[DataFrame]) -> RowsDigest:
    """Read the rows of frames of one schema, and return their digest."""
    if not frames:
        return RowsDigest(0, 0)
    found = reduce(DataFrame.unionByName, map(_hashes, frames))
    row = found.agg(f.count("*").alias("rows"), f.sum("hash").alias("total")).first()
    assert row is not None  # an aggregate over no rows has one
    return RowsDigest(row.rows, int(row.total or 0))


def _hashes(frame: DataFrame) -> DataFrame:
    fields = sorted(
        (field for field in frame.schema if field.name not in META_COLUMNS),
        key=lambda field: field.name,
    )
    hashed = f.xxhash64(*map(_hashable, fields)) if fields else f.lit(0)
    return frame.select(hashed.cast(_SUM).alias("hash"))


def _hashable(field: t.StructField) -> Column:
    """Return a column, as a text if it has maps, which Spark does not hash."""
    values = f.col(f"`{field.name}`")
    return values.cast("string") if _has_maps(field.dataType) else values


def _has_maps(type_: t.DataType) -> bool:
    if isinstance(type_, t.StructType):
        return any(_has_maps(field.dataType) for field in type_.fields)
    if isinstance(type_, t.ArrayType):
        return _has_maps(type_.elementType)
    return isinstance(type_, t.MapType)

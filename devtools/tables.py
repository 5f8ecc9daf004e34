"""Hudi tables that Apache Hudi writes through PySpark, laid out so that a test knows every file.

A DataFrame partition becomes one file, so a row's DataFrame partition determines its file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import MappingProxyType

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)


class TableType(str, Enum):
    """How updates are stored; the value is Hudi's name."""

    COW = "COPY_ON_WRITE"
    MOR = "MERGE_ON_READ"


class PartitionStyle(Enum):
    """How partition values become paths."""

    HIVE = "hive"
    """`name=value`, special characters escaped as Hive does."""
    PLAIN = "plain"
    """`value`, as it is: no special characters."""
    PLAIN_ENCODED = "plain-encoded"
    """`value`, special characters escaped."""


@dataclass(frozen=True)
class TableSpec:
    """The definition of a table, without rows.

    Attributes:
        name: The name of the table and of its directory.
        type: Copy on write or merge on read.
        version: Hudi's table version: 6, 8 or 9.
        key: Fields of the record key.
        ordering: The field that decides between two versions of a record.
        partitions: The partition fields, outermost first; empty if the table is not partitioned.
        partition_style: How their values become paths.
        stats_columns: The columns of `column_stats`; empty: Hudi's default; None: no `column_stats`
            and no `partition_stats`.
        extra: More options of Hudi's writer; they override the others.
    """

    name: str
    type: TableType = TableType.COW
    version: int = 9
    key: tuple[str, ...] = ("id",)
    ordering: str = "id"
    partitions: tuple[str, ...] = ()
    partition_style: PartitionStyle = PartitionStyle.HIVE
    stats_columns: tuple[str, ...] | None = ()
    extra: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def options(self) -> dict[str, str]:
        """Return the writer's options, the same for every commit of the table.

        A commit deletes an index that its options do not enable, so all of them enable it.
        """
        plain = len(self.key) < 2 and len(self.partitions) < 2
        generator = "Simple" if plain and self.partitions else "Complex"
        if not self.partitions:
            generator = "Nonpartitioned"
        stats = str(self.stats_columns is not None).lower()
        options = {
            "hoodie.table.name": self.name,
            "hoodie.datasource.write.table.type": self.type.value,
            "hoodie.write.table.version": str(self.version),
            "hoodie.write.auto.upgrade": "false",
            "hoodie.datasource.write.recordkey.field": ",".join(self.key),
            "hoodie.datasource.write.precombine.field": self.ordering,
            "hoodie.datasource.write.partitionpath.field": ",".join(self.partitions),
            "hoodie.datasource.write.keygenerator.class": (
                f"org.apache.hudi.keygen.{generator}KeyGenerator"
            ),
            "hoodie.datasource.write.hive_style_partitioning": str(
                self.partition_style is PartitionStyle.HIVE
            ).lower(),
            "hoodie.datasource.write.partitionpath.urlencode": str(
                self.partition_style is not PartitionStyle.PLAIN
            ).lower(),
            # It checks whether an older Hudi wrote the table; none did.
            "hoodie.write.complex.keygen.validation.enable": "false",
            "hoodie.metadata.enable": "true",
            "hoodie.metadata.index.column.stats.enable": stats,
            "hoodie.metadata.index.partition.stats.enable": str(
                self.stats_columns is not None and bool(self.partitions) and self.version >= 8
            ).lower(),
            # One file for each DataFrame partition, as it comes.
            "hoodie.bulkinsert.sort.mode": "NONE",
            # No small-file handling: an upsert changes the files of its records and no others.
            "hoodie.parquet.small.file.limit": "0",
            "hoodie.merge.small.file.group.candidates.limit": "0",
            # Cleaning is off: commits, deltas and replaced files stay where tests expect them.
            "hoodie.clean.automatic": "false",
            "hoodie.archive.automatic": "false",
            "hoodie.compact.inline": "false",
            "hoodie.embed.timeline.server": "false",
            "hoodie.upsert.shuffle.parallelism": "2",
            "hoodie.delete.shuffle.parallelism": "2",
            "hoodie.bulkinsert.shuffle.parallelism": "2",
        }
        if self.stats_columns:
            options["hoodie.metadata.index.column.stats.column.list"] = ",".join(self.stats_columns)
        return {**options, **self.extra}


@dataclass(frozen=True)
class HudiTable:
    """A written table.

    Attributes:
        spec: Its definition.
        uri: Its base path, absolute, or a URI.
        schema: Its columns in order, without Hudi's meta columns, as Spark types.
    """

    spec: TableSpec
    uri: str
    schema: StructType

    @property
    def path(self) -> Path:
        """The base path on the local disk."""
        return Path(self.uri)

    @property
    def name(self) -> str:
        """The table's name."""
        return self.spec.name

    def hive_columns(self) -> tuple[tuple[str, str], ...]:
        """Return the name and Hive type of each column in the table's order, meta columns first."""
        return tuple((name, "string") for name in META_COLUMNS) + tuple(
            (column.name, column.dataType.simpleString()) for column in self.schema
        )

    def data_files(self) -> tuple[Path, ...]:
        """Return its base and log files of every version, relative to the base path, sorted."""
        return tuple(
            sorted(
                file.relative_to(self.path)
                for file in self.path.rglob("*")
                if (file.suffix == ".parquet" or ".log." in file.name)
                and not file.name.endswith(".crc")
                and ".hoodie" not in file.relative_to(self.path).parts
            )
        )


def create(frame: DataFrame, spec: TableSpec, parent: Path | str) -> HudiTable:
    """Write a new table `parent/spec.name` with one bulk insert; an existing one is replaced.

    `parent` is a local directory or a URI. Each DataFrame partition becomes one file in each table
    partition that it has rows of.
    """
    directory = parent.resolve() if isinstance(parent, Path) else parent
    uri = f"{directory}/{spec.name}"
    _write(frame, spec, uri, operation="bulk_insert", mode="overwrite")
    return HudiTable(spec, uri, frame.schema)


def upsert(table: HudiTable, frame: DataFrame) -> None:
    """Insert or replace rows: new base files for COW, log files for MOR."""
    _write(frame, table.spec, table.uri, operation="upsert", mode="append")


def delete(table: HudiTable, frame: DataFrame) -> None:
    """Delete the rows whose keys (and partition values) are in `frame`, which has every column."""
    _write(frame, table.spec, table.uri, operation="delete", mode="append")


def _write(frame: DataFrame, spec: TableSpec, uri: str, *, operation: str, mode: str) -> None:
    frame.write.format("hudi").options(**spec.options()).option(
        "hoodie.datasource.write.operation", operation
    ).mode(mode).save(uri)

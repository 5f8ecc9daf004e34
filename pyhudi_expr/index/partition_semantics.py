"""Translate evidence about partition columns to what a reader shows.

Readers take the values of partition columns from files or from paths (`spark_partition_values`).
Where the two may differ, evidence has to hold for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from pyhudi_expr.arrays import BoolArray, Mask
from pyhudi_expr.expr.bound import BoundColumn, Leaf, columns
from pyhudi_expr.expr.domains import Kind, is_known, mask_and, mask_not, mask_or
from pyhudi_expr.expr.evaluate import Evidence, Statistics, StatisticsEvidence, as_array
from pyhudi_expr.index.partition_values import BoundsOfPartition
from pyhudi_expr.index.spark_partition_values import SparkPartitionColumns, SparkPathValues
from pyhudi_expr.tables.listing import FileListing


class PartitionReader(Enum):
    """Where an engine takes the values of partition columns from.

    ENGINE: columns that a key generator formatted from times come from the files, others from the
    files or the paths. HUDI_SPARK: the same, but the columns of a TimestampBasedKeyGenerator are
    shown as text. FILES: all columns come from the files. ANY: each column comes from the files or
    the paths.
    """

    ENGINE = "an engine"
    HUDI_SPARK = "Hudi for Spark"
    FILES = "a reader of files"
    ANY = "any"


READERS: Mapping[str, PartitionReader] = {
    "hive": PartitionReader.ENGINE,
    "spark": PartitionReader.HUDI_SPARK,
    "files": PartitionReader.FILES,
}
"""The names of readers for users."""


@dataclass(frozen=True)
class ReaderSemantics:
    """How a reader understands the partition columns of a predicate.

    Attributes:
        retyped: Columns that the reader shows as values of another type, so that no evidence
            applies.
        disputed: For each column that may be taken from paths, the partitions whose path may spell
            another value than the files hold.
        paths: The values that the paths spell.
    """

    retyped: frozenset[str]
    disputed: Mapping[str, BoolArray]
    paths: Statistics

    @staticmethod
    def of(
        reader: PartitionReader,
        paths: SparkPathValues,
        proved: Statistics,
        needed: Iterable[BoundColumn],
    ) -> ReaderSemantics:
        """Compute the semantics of a reader for the columns of a predicate.

        Args:
            reader: Where the engine takes the values from.
            paths: The values that paths spell.
            proved: The partition values that hold for every reader.
            needed: The columns of the predicate.
        """
        if reader is PartitionReader.FILES:
            return FROM_FILES
        table, partitions = paths.table, len(paths.partitions)
        partition_columns = [column for column in needed if column.name.lower() in table.fields]
        is_hudi = reader is PartitionReader.HUDI_SPARK
        from_files = table.from_files if is_hudi else table.formatted
        disputed = {
            column.name: flags
            for column in partition_columns
            if column.name.lower() not in from_files
            and (flags := doubtful_partitions(proved, column, partitions)).any()
        }
        return ReaderSemantics(
            frozenset(
                column.name for column in partition_columns if _is_other(reader, table, column)
            ),
            disputed,
            paths,
        )

    def of_partitions(self, evidence: Evidence) -> Evidence:
        """Return evidence over the partitions as it holds for the reader."""
        if not self.disputed:
            return evidence
        return FileOrPathEvidence(evidence, StatisticsEvidence(self.paths), self.disputed)

    def of_files(self, evidence: Evidence, listing: FileListing) -> Evidence:
        """Return evidence over the listing's files as it holds for the reader."""
        if not self.disputed:
            return evidence
        position = listing.file_partition
        disputed = {name: flags[position] for name, flags in self.disputed.items()}
        return FileOrPathEvidence(
            evidence, StatisticsEvidence(BoundsOfPartition(self.paths, listing)), disputed
        )


#: The semantics of a reader that takes all values from files.
FROM_FILES = ReaderSemantics(
    frozenset(),
    {},
    SparkPathValues((), SparkPartitionColumns((), frozenset(), frozenset(), False, False)),
)


class FileOrPathEvidence:
    """Evidence about values in files that counts only where it holds for the values in paths, too.

    Attributes:
        paths: Evidence about the values in paths, over the same containers.
        disputed: For each column, the containers in which the two may differ.
    """

    def __init__(self, files: Evidence, paths: Evidence, disputed: Mapping[str, BoolArray]) -> None:
        self._files = files
        self._paths = paths
        self._disputed = disputed

    def may_be(self, leaf: Leaf, truth: bool) -> Mask:
        """See `Evidence`."""
        answer = self._files.may_be(leaf, truth)
        for name in columns(leaf):
            if name in self._disputed:
                by_path = mask_and(self._disputed[name], self._paths.may_be(leaf, truth))
                answer = mask_or(answer, by_path)
        return answer


def _is_other(reader: PartitionReader, table: SparkPartitionColumns, column: BoundColumn) -> bool:
    """Return whether the reader may show a column as values of another type than the schema's."""
    if column.name.lower() not in table.formatted or reader is PartitionReader.ENGINE:
        return False
    return reader is PartitionReader.ANY or (table.as_text and column.domain.kind is not Kind.TEXT)


def doubtful_partitions(proved: Statistics, column: BoundColumn, partitions: int) -> BoolArray:
    """Return for each partition whether its path may spell another value than its files hold."""
    bounds = proved.bounds(column)
    unknown = True if bounds is None else mask_not(is_known(bounds))
    return as_array(unknown, partitions)

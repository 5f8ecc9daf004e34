"""Options, sources and results of index builds in both metadata tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt.extension.coverage import Coverage
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline.writer import WrittenFile

Lock = Callable[[Storage], TableLock]


@dataclass(frozen=True)
class BuildOptions:
    """How indexes are built.

    Attributes:
        lock: The table's lock; by default one in its storage.
        wait: Seconds to wait for writers that started before.
    """

    lock: Lock = field(default=TableLock.of)
    wait: float = 600.0


@dataclass(frozen=True)
class BuildResult:
    """The result of a build.

    Attributes:
        records: Number of entries, by metadata partition.
        bytes: Size of their files, by metadata partition.
        notes: What was found and repaired.
        writer_options: Options that Hudi's writers need from now on (`writer_options`); empty for
            the extension.
    """

    name: str
    instant: str
    records: dict[str, int]
    bytes: dict[str, int]
    notes: tuple[str, ...] = ()
    writer_options: Mapping[str, str] = field(default_factory=dict)


def sum_by_partition(
    files: Sequence[WrittenFile], measure: Callable[[WrittenFile], int]
) -> dict[str, int]:
    """Add up a measure of the files by metadata partition."""
    sums: dict[str, int] = {}
    for file in files:
        sums[file.partition] = sums.get(file.partition, 0) + measure(file)
    return sums


@dataclass(frozen=True)
class BuildSource:
    """A table at one instant, with its file slices."""

    table: HudiTable
    listing: FileListing

    @staticmethod
    def of(table: HudiTable) -> BuildSource:
        """Return the newest snapshot that the table object has.

        Raises:
            HudiError: The table cannot be listed.
        """
        metadata = MetadataTable.open(table)
        label = table if metadata is None else metadata.table
        return BuildSource(label, current_listing(label, metadata, TableView.SNAPSHOT))

    def has_changed(self, later: BuildSource) -> bool:
        """Return whether rows were committed, or rolled back, between the two."""
        return self._coverage.first_uncovered(later.table) is not None

    def slices_not_in(self, other: BuildSource) -> FileListing:
        """Return the slices that the other snapshot lacks, or may have with other contents."""
        return self.listing.some(~other._coverage.covered(self.table, self.listing))

    def base_files_not_in(self, other: BuildSource) -> FileListing:
        """Return the slices whose base files the other snapshot lacks, without their log files."""
        bases = BuildSource(self.table, self.listing.base_files_only())
        return bases.slices_not_in(BuildSource(other.table, other.listing.base_files_only()))

    @property
    def _coverage(self) -> Coverage:
        rows = np.zeros(self.listing.num_slices, np.int64)
        return Coverage.of(self.table, self.listing, rows)

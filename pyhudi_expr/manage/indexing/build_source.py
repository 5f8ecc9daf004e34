"""A table's snapshot as the source of an index build, and its differences from an earlier one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.mdt.extension.coverage import Coverage
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing


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

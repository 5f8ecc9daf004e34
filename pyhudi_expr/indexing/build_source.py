"""What a table's newest snapshot has, and what of it an earlier one had not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyhudi_expr.mdt.extension.coverage import Coverage
from pyhudi_expr.mdt.store.metadata_table import MetadataTable, current_listing
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing, TableView


@dataclass(frozen=True)
class BuildSource:
    """A table at one moment, and its file slices then."""

    table: HudiTable
    listing: FileListing

    @staticmethod
    def of(table: HudiTable) -> BuildSource:
        """The newest one that the table object knows. Raises HudiError."""
        metadata = MetadataTable.open(table)
        shown = table if metadata is None else metadata.table
        return BuildSource(shown, current_listing(shown, metadata, TableView.SNAPSHOT))

    def has_changed(self, later: BuildSource) -> bool:
        """Whether rows were committed, or taken back, between the two."""
        return self._coverage.first_uncovered(later.table) is not None

    def own_slices(self, other: BuildSource) -> FileListing:
        """The slices that the other snapshot has not, or not surely with the same in them."""
        return self.listing.some(~other._coverage.known(self.table, self.listing))

    def own_base_files(self, other: BuildSource) -> FileListing:
        """The slices whose base files the other snapshot has not, without their log files."""
        bases = BuildSource(self.table, self.listing.of_base_files())
        return bases.own_slices(BuildSource(other.table, other.listing.of_base_files()))

    @property
    def _coverage(self) -> Coverage:
        rows = np.zeros(self.listing.num_slices, np.int64)
        return Coverage.of(self.table, self.listing, rows)

"""Rows in the order of a layout: file slices written anew by Hudi's clustering, in one commit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from pyhudi_expr.errors import HudiError
from pyhudi_expr.manage.invariants import active_indexes, require_clusterable, stopped_indexes
from pyhudi_expr.manage.layout.selection import (
    Choice,
    Selection,
    columns_without_statistics,
    groups_of,
    select,
)
from pyhudi_expr.manage.operations import Action, Change
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, METADATA_DIR
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.key_storage import base_files
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.storage import Storage


@dataclass(frozen=True)
class LayoutPlan:
    """What is written anew.

    Attributes:
        selection: The file slices, and the number of files of each partition.
        statistics: The columns of the layout that no `column_stats` has: it is built with them.
        indexes: The indexes that answer.
    """

    selection: Selection
    statistics: tuple[str, ...]
    indexes: frozenset[str]

    @property
    def operation(self) -> str:
        """The operation."""
        return "layout cluster"

    @property
    def table(self) -> str:
        """The base path."""
        return self.selection.table.base_path

    @property
    def changes(self) -> tuple[Change, ...]:
        """The files that are replaced, then statistics."""
        listing = self.selection.listing
        every = np.arange(listing.num_files)
        replaced = [
            Change(Action.REPLACE, path, bytes=size)
            for path, size in zip(listing.paths(every), listing.file_size.tolist(), strict=True)
        ]
        built = [Change(Action.WRITE, f"{METADATA_DIR}/{COLUMN_STATS}")] if self.statistics else []
        return (*replaced, *built)

    @property
    def rewritten(self) -> Choice:
        """The choice of exactly the planned file groups."""
        groups = frozenset(file_id for _, file_id in groups_of(self.selection.listing))
        return replace(self.selection.choice, file_groups=groups)


@dataclass(frozen=True)
class LayoutCommit:
    """What a writer has done.

    Attributes:
        selection: The file slices that it has written anew.
        instant: The instant of its commit. None: there was nothing to do.
        rows: Number of their rows, read by Hudi.
        notes: What was left out, rolled back, or done to indexes.
    """

    selection: Selection
    instant: str | None
    rows: int
    notes: tuple[str, ...]


class LayoutWriter(Protocol):
    """Writes file slices anew by Hudi's clustering, and has indexes follow."""

    def __call__(self, plan: LayoutPlan) -> LayoutCommit:
        """Write the slices of a plan but those with pending table services.

        Raises:
            HudiError: It failed. The rows are as before, by a commit or without.
        """


@dataclass(frozen=True)
class Clustered:
    """The result of a clustering.

    Attributes:
        instant: The instant of the replace commit. None if there was nothing to do.
        partitions: The partitions that were laid out.
        files_before: Number of files that were rewritten.
        files_after: Number of files that replace them.
        bytes_before: Size of the files that were rewritten.
        bytes_after: Size of the files that replace them.
        notes: What was left out or repaired.
    """

    instant: str | None
    partitions: tuple[str, ...]
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class LayOut:
    """The rows of the chosen file slices get the order of a layout.

    A partition that has the layout already is left out.

    Attributes:
        storage: The table.
        choice: The layout, and what gets it.
        statistics: Whether `column_stats` of its columns is built where there is none.
        writer: Writes the slices.
    """

    storage: Storage
    choice: Choice
    statistics: bool
    writer: LayoutWriter

    def plan(self) -> LayoutPlan:
        """Return which slices are written anew.

        Raises:
            InvalidLayout: Unknown columns, partitions or file groups, or a type without an order.
            HudiError: The table cannot be read.
        """
        table = HudiTable.at(self.storage)
        layout = self.choice.layout
        layout.check(table.schema())
        missing = columns_without_statistics(table, layout.columns) if self.statistics else ()
        return LayoutPlan(select(table, self.choice, ()), missing, active_indexes(table))

    def check(self, plan: LayoutPlan) -> None:
        """Check that rows may go to other file groups."""
        require_clusterable(HudiTable.at(self.storage))

    def act(self, plan: LayoutPlan) -> LayoutCommit:
        """Write the slices anew. The writer compares the rows before it commits."""
        return self.writer(plan)

    def verify(self, plan: LayoutPlan, done: LayoutCommit) -> Clustered:
        """Check that the slices are replaced by files with as many rows; return the report."""
        table = HudiTable.at(self.storage)
        notes = (
            *plan.selection.notes,
            *done.notes,
            *stopped_indexes(table, plan.indexes),
        )
        if done.instant is None:
            return Clustered(None, (), 0, 0, 0, 0, notes)
        before, now = done.selection.listing, table.listing()
        if done.selection.is_unchanged(now):
            raise HudiError(f"the slices are listed as before the commit {done.instant}")
        after, last = _written_at(now, done.instant), table.timeline.last_write
        if last is not None and last.requested == done.instant:
            # A later writer may have replaced some of the files.
            rows = sum(file.rows for file in base_files(table, after))
            if rows != done.rows:
                raise HudiError(
                    f"the files of the commit {done.instant} have {rows} rows, and not {done.rows}"
                )
        return Clustered(
            instant=done.instant,
            partitions=done.selection.partitions,
            files_before=before.num_files,
            files_after=after.num_files,
            bytes_before=int(before.file_size.sum()),
            bytes_after=int(after.file_size.sum()),
            notes=notes,
        )

    def restore(self, plan: LayoutPlan) -> str:
        """Leave a commit, whose rows were compared; without one the writer has withdrawn its plan.

        An index that was not followed lags, and is not used until it is refreshed.
        """
        if plan.selection.is_unchanged(HudiTable.at(self.storage).listing()):
            return "files and rows are as before"
        return (
            "the slices have been replaced, by rows that were compared before the commit; the"
            " former files stay until Hudi's cleaner deletes them; run it again, which refreshes"
            " indexes"
        )


def _written_at(listing: FileListing, instant: str) -> FileListing:
    made = [found == instant for found in listing.slice_base_instant.to_pylist()]
    return listing.some(np.array(made, np.bool_))

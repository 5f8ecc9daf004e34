"""Row groups and pages of files as containers of rows.

The pages of different columns have different boundaries. So the containers are the runs of rows
between any two neighbouring boundaries, *segments*: each is within one page of each column, whose
bounds hold for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import BoolArray, Int64Array
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import Bounds
from pyhudi_expr.index.rows.known_file import KnownFile
from pyhudi_expr.index.rows.page_bounds import Pages
from pyhudi_expr.index.statistics.column_bounds import concat_bounds

_START = np.zeros(1, np.int64)


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Some row groups of files, in the files' order.

    Attributes:
        files: The files.
        file: For each row group the position of its file.
        group: Its number in the file.
        unread: Columns whose stored values are not what readers show.
    """

    files: Sequence[KnownFile]
    file: Int64Array
    group: Int64Array
    unread: frozenset[str] = frozenset()

    @staticmethod
    def of(files: Sequence[KnownFile], unread: frozenset[str]) -> RowGroups:
        """Return all row groups of files."""
        counts, before = _group_counts(files)
        group = np.arange(counts.sum()) - np.repeat(before, counts)
        return RowGroups(files, np.repeat(np.arange(len(files)), counts), group, unread)

    def __len__(self) -> int:
        return len(self.file)

    def some(self, flags: BoolArray) -> RowGroups:
        """Return the flagged row groups."""
        return RowGroups(self.files, self.file[flags], self.group[flags], self.unread)

    def by_file(self) -> list[tuple[KnownFile, list[int]]]:
        """Return the files that have some of the row groups, with their numbers."""
        files, starts = np.unique(self.file, return_index=True)
        parts = np.split(self.group, starts[1:])
        return [
            (self.files[file], part.tolist())
            for file, part in zip(files.tolist(), parts, strict=True)
        ]

    @computed_once
    def rows(self) -> Int64Array:
        """The rows of each row group."""
        return self._of_groups([file.footer.group_rows for file in self.files])

    @computed_once
    def first_row(self) -> Int64Array:
        """The first row of each, counted in its file."""
        return self._of_groups(
            [np.cumsum(file.footer.group_rows) - file.footer.group_rows for file in self.files]
        )

    def _of_groups(self, values: Sequence[Int64Array]) -> Int64Array:
        return np.concatenate([*values, np.zeros(0, np.int64)])[self._place]

    @computed_once
    def _place(self) -> Int64Array:
        """For each row group its place among all those of the files."""
        return _group_counts(self.files)[1][self.file] + self.group

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return the bounds of a column, see `pyhudi_expr.expr.evaluate.Statistics`."""
        if column.name in self.unread or not self.files:
            return None
        pieces = [(_START, file.group_bounds(column)) for file in self.files]
        return taken(concat_bounds(pieces)[1], self._place)


def _group_counts(files: Sequence[KnownFile]) -> tuple[Int64Array, Int64Array]:
    """Return the number of row groups of each file, and of the files before it."""
    counts = np.array([len(file.footer.group_rows) for file in files], np.int64)
    return counts, np.cumsum(counts) - counts


@dataclass(frozen=True, eq=False)
class Segments:
    """The runs of rows between the boundaries of all columns' pages, in some row groups.

    Attributes:
        groups: The row groups.
        group: For each segment the position of its row group.
        start: Its first row, counted over all these row groups.
        end: The first row behind it.
        pages: For each column, the pages of all row groups and, for each segment, its page.
    """

    groups: RowGroups
    group: Int64Array
    start: Int64Array
    end: Int64Array
    pages: Mapping[BoundColumn, tuple[Bounds, Int64Array]]

    @staticmethod
    def of(groups: RowGroups, columns: Sequence[BoundColumn]) -> Segments:
        """Return the segments of row groups by what was read of the columns' pages."""
        ends = np.cumsum(groups.rows)
        starts = ends - groups.rows
        pages = {
            column: _column_pages(groups, starts, column)
            for column in columns
            if column.name not in groups.unread
        }
        first = np.unique(np.concatenate([starts, *(rows for _, rows in pages.values())]))
        return Segments(
            groups,
            np.searchsorted(starts, first, side="right") - 1,
            first,
            np.append(first[1:], ends[-1:]),
            {
                column: (bounds, np.searchsorted(rows, first, side="right") - 1)
                for column, (bounds, rows) in pages.items()
            },
        )

    def __len__(self) -> int:
        return len(self.start)

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """Return the bounds of a column, see `pyhudi_expr.expr.evaluate.Statistics`."""
        found = self.pages.get(column)
        return None if found is None else taken(*found)

    @computed_once
    def file(self) -> Int64Array:
        """For each segment the position of its file."""
        return self.groups.file[self.group]

    @computed_once
    def file_rows(self) -> tuple[Int64Array, Int64Array]:
        """The first row of each segment, and the first one behind it, counted in its file."""
        before = np.cumsum(self.groups.rows) - self.groups.rows
        offset = (self.groups.first_row - before)[self.group]
        return self.start + offset, self.end + offset

    def num_pages(self, flags: BoolArray) -> int:
        """Return the number of pages that have a flagged segment."""
        return sum(len(np.unique(page[flags])) for _, page in self.pages.values())


def _column_pages(
    groups: RowGroups, starts: Int64Array, column: BoundColumn
) -> tuple[Bounds, Int64Array]:
    """Return the pages of a column in all row groups, and the first row of each.

    A row group without a page index is one page with the row group's own bounds.
    """
    pieces, rows = [], []
    places = zip(groups.file.tolist(), groups.group.tolist(), starts.tolist(), strict=True)
    for at, group, start in places:
        pages = _pages(groups.files[at], group, column)
        pieces.append((pages.first_row, pages.bounds))
        rows.append(pages.first_row + start)
    return concat_bounds(pieces)[1], np.concatenate(rows)


def _pages(file: KnownFile, group: int, column: BoundColumn) -> Pages:
    stored = file.column(column)
    known = None
    if stored is not None:
        known = file.pages.get(((group, stored.position), stored.domain))
    if known is not None:
        return known
    return Pages(_START, taken(file.group_bounds(column), np.array([group])))


def taken(bounds: Bounds, positions: Int64Array) -> Bounds:
    """Return some of bounds that are arrays."""
    values: list[Any] = [
        found.take(pa.array(positions)) if isinstance(found, pa.Array) else found[positions]
        for found in (bounds.lower, bounds.upper)
    ]
    flags: list[Any] = [bounds.may_be_value, bounds.may_be_null]
    return Bounds(*values, *(found[positions] for found in flags))

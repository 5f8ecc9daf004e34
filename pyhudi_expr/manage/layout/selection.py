"""Select the file slices that a layout rewrites, the number of files, and missing statistics.

An order of the rows alone skips nothing: files are skipped by the bounds of their columns.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyhudi_expr.arrays import BoolArray, Int64Array, string_list
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.index.catalog.status import IndexStatus, State, index_statuses
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.index_plan import plan_index
from pyhudi_expr.manage.indexing.preparation import BuildPlan, prepare_create
from pyhudi_expr.manage.indexing.statements import CreateIndex
from pyhudi_expr.manage.layout.row_order import InvalidLayout, Layout
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, META_COLUMNS
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.changes.partitions import check_restores
from pyhudi_expr.tables.mdt.index_definitions import index_definitions


def columns_without_statistics(table: HudiTable, columns: Sequence[str]) -> tuple[str, ...]:
    """Return those of the columns that no `column_stats` of the table has, in their order.

    Raises:
        HudiError: The table cannot be read.
    """
    left = list(columns)
    for status in statistics_indexes(table):
        if status.state in (State.ACTIVE, State.LAGGING):
            covered = indexed_columns(table, status)
            left = [] if covered is None else [each for each in left if each not in covered]
    return tuple(left)


def statistics_indexes(table: HudiTable) -> list[IndexStatus]:
    """Return the `column_stats` of both metadata tables. Raises HudiError."""
    return [status for status in index_statuses(table) if status.kind == COLUMN_STATS]


def indexed_columns(table: HudiTable, status: IndexStatus) -> tuple[str, ...] | None:
    """Return the columns of a `column_stats`; None if it has all that it can.

    Raises:
        CorruptFile: The index definitions cannot be read.
    """
    if status.store is Store.HUDI:
        definition = index_definitions(table).get(COLUMN_STATS)
        if definition is not None:
            return definition.fields
    return status.columns or None


def statistics_plan(table: HudiTable, columns: Sequence[str]) -> BuildPlan | None:
    """Return what to build: a new `column_stats`, or the one that there is with more columns.

    Raises:
        HudiError: The table cannot be read, or another writer is at work.
    """
    of_hudi = [one for one in statistics_indexes(table) if one.store is Store.HUDI]
    if not of_hudi:
        request = CreateIndex(COLUMN_STATS, table.base_path, COLUMN_STATS, tuple(columns))
        return prepare_create(request, BuildOptions())
    (status,) = of_hudi
    there = () if status.state is State.DROPPED else indexed_columns(table, status) or ()
    every = dict.fromkeys(each for each in (*there, *columns) if each not in META_COLUMNS)
    request = CreateIndex(status.name, table.base_path, COLUMN_STATS, tuple(every))
    check_restores(table)
    BuildOptions().lock(table.storage).check()
    planned = plan_index(table, request)
    names = {*status.partitions, *(partition.name for partition in planned.partitions)}
    return BuildPlan(table, planned, tuple(sorted(names & table.properties.metadata_partitions)))


LAYOUT = "pyhudi.layout"
"""The key under which a commit keeps the layout that its files have, as JSON."""

Group = tuple[str, str]
"""Partition path and file id of a file group."""


@dataclass(frozen=True)
class Size:
    """The number of files: `files` in all, or files of about `file_bytes` bytes.

    None for both: as many as there are.
    """

    files: int | None = None
    file_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.files is not None and self.file_bytes is not None:
            raise InvalidLayout("give a number of files or their size, not both")
        for name, value in (("files", self.files), ("bytes", self.file_bytes)):
            if value is not None and value < 1:
                raise InvalidLayout(f"files cannot be of {value} {name}")

    def counts(self, bytes_: Int64Array, files: Int64Array) -> list[int]:
        """Return the number of files of each partition, at least 1, by their bytes and files."""
        target: npt.NDArray[Any] = files
        if self.file_bytes is not None:
            target = bytes_ / self.file_bytes
        elif self.files is not None:
            target = bytes_ * (self.files / max(int(bytes_.sum()), 1))
        return [max(round(float(count)), 1) for count in target]


@dataclass(frozen=True)
class Choice:
    """The choice of a user.

    Attributes:
        partitions: Paths; None for all.
        file_groups: Ids of file groups; None for all of the partitions.
        size: The size of the result.
    """

    layout: Layout
    partitions: frozenset[str] | None
    file_groups: frozenset[str] | None
    size: Size

    @property
    def description(self) -> str:
        """Return the layout and the other options, for the commit."""
        return json.dumps(
            {
                "columns": self.layout.columns,
                "curve": self.layout.curve.value,
                "mapping": self.layout.mapping.value,
                "files": self.size.files,
                "file_bytes": self.size.file_bytes,
            }
        )


@dataclass(frozen=True)
class Selection:
    """The slices of `listing` to rewrite as so many `files` by partition.

    Attributes:
        notes: What was left out.
    """

    table: HudiTable
    choice: Choice
    listing: FileListing
    files: tuple[int, ...]
    notes: tuple[str, ...]

    @property
    def partitions(self) -> tuple[str, ...]:
        """Return their paths, sorted."""
        return tuple(string_list(self.listing.partitions))

    @property
    def file_bytes(self) -> int:
        """Return the approximate bytes of the largest of the files."""
        return int((_bytes(self.listing) / self.files).max())

    def is_unchanged(self, now: FileListing) -> bool:
        """Return whether the slices have the same files in a later listing."""
        groups = set(groups_of(self.listing))
        return bool(now.some(_flags(now, groups)).tokens.equals(self.listing.tokens))


def select(table: HudiTable, choice: Choice, busy: Collection[Group]) -> Selection:
    """Select the slices to rewrite.

    Partitions that have this layout already are left out.

    Args:
        table: The table.
        choice: The choice of the user.
        busy: File groups with pending table services, which are left out.

    Raises:
        InvalidLayout: A partition or file group does not exist.
        HudiError: The table cannot be read.
    """
    listing = table.listing()
    notes = []
    chosen = _chosen_slices(table, listing, choice)
    is_busy = chosen & _flags(listing, busy)
    if is_busy.any():
        notes.append(f"left out {is_busy.sum()} file groups with pending table services")
    chosen &= ~is_busy
    done = chosen & _laid_out(table, listing, chosen, choice.description)
    if done.any():
        count = len(np.unique(listing.slice_partition[done]))
        notes.append(f"{count} partitions are laid out so already")
    listing = listing.some(chosen & ~done)
    slices = np.bincount(listing.slice_partition, minlength=len(listing.partitions))
    counts = choice.size.counts(_bytes(listing), slices)
    return Selection(table, choice, listing, tuple(counts), tuple(notes))


def _chosen_slices(table: HudiTable, listing: FileListing, choice: Choice) -> BoolArray:
    """Return the slices that the choice names. Raises InvalidLayout for unknown names."""
    chosen = np.ones(listing.num_slices, np.bool_)
    for names, of_slice, what in (
        (
            choice.partitions,
            listing.partitions.take(listing.slice_partition),
            "partition with files",
        ),
        (choice.file_groups, listing.slice_file_id, "file group"),
    ):
        if names is None:
            continue
        values = of_slice.to_pylist()
        missing = names - set(values)
        if missing:
            raise InvalidLayout(
                f"{table.base_path}: there is no {what} {', '.join(sorted(missing))}"
            )
        chosen &= np.array([value in names for value in values], np.bool_)
    return chosen


def groups_of(listing: FileListing) -> list[Group]:
    """Return the file group of each slice."""
    partitions = string_list(listing.partitions.take(listing.slice_partition))
    return list(zip(partitions, string_list(listing.slice_file_id), strict=True))


def _flags(listing: FileListing, groups: Collection[Group]) -> BoolArray:
    """Return which slices are of the groups."""
    return np.array([group in groups for group in groups_of(listing)], np.bool_)


def _bytes(listing: FileListing) -> Int64Array:
    """Return the bytes of each partition's files."""
    sums = np.zeros(len(listing.partitions), np.int64)
    np.add.at(sums, listing.file_partition, listing.file_size)
    return sums


def _laid_out(
    table: HudiTable, listing: FileListing, chosen: BoolArray, description: str
) -> BoolArray:
    """Return the slices of partitions that one commit wrote in this layout, without later logs."""
    replacing = [one for one in table.timeline.writes if one.action == "replacecommit"]
    commits = {
        one.requested
        for one in replacing
        if table.commit_metadata(one).extra.get(LAYOUT) == description
    }
    if not commits:
        return np.zeros(listing.num_slices, np.bool_)
    instants = np.array(listing.slice_base_instant.to_pylist(), object)
    partitions = listing.slice_partition
    is_so = np.array([instant in commits for instant in instants], np.bool_)
    is_so &= ~listing.slice_has_logs
    differs = np.zeros(len(listing.partitions), np.bool_)
    differs[partitions[chosen & ~is_so]] = True
    for number in np.unique(partitions[chosen]):
        own = instants[chosen & (partitions == number)]
        differs[number] |= len(set(own)) > 1
    return ~differs[partitions]

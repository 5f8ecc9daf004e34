"""Where the entries of statistics come from, and the files that they describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    BoolArray,
    Int64Array,
    arrow_array,
    arrow_list,
    arrow_scalar,
    numpy_numbers,
    string_list,
)
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.index.statistics.statistics_decoding import (
    DecodedBounds,
    StatisticsEntries,
    decode,
)
from pyhudi_expr.tables.hudi_names import COLUMN_STATS
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.byte_strings import StringIndex
from pyhudi_expr.tables.mdt.bytes.keys import (
    column_partition_prefix,
    column_prefix,
    id64,
    partition_key,
)
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.file_group import FileGroup, announce
from pyhudi_expr.tables.mdt.store.listing_state import GroupStates, restricted
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.mdt.store.statistics import ColumnStatistics, read_statistics
from pyhudi_expr.tables.parsing.budget import iter_unordered

#: The share of a table's partitions below which only their entries are read.
_FEW_PARTITIONS = 0.25


class EntrySource(Protocol):
    """The source of entries: a metadata table, or some of its entries."""

    @property
    def cache(self) -> DiskCache | None:
        """The cache of whole columns' entries between processes."""

    @property
    def meta_fields(self) -> bool:
        """Whether the table's files have Hudi's meta columns, with values."""

    @property
    def reading_threads(self) -> int:
        """How many pieces are best read at a time."""

    def groups(self, partition: str) -> Sequence[FileGroup]:
        """Return the shards that hold the entries; none if these are in memory."""

    def statistics_pieces(
        self, partition: str, prefixes: Sequence[str]
    ) -> list[Iterator[ColumnStatistics]]:
        """Return the entries whose keys begin with one of the prefixes; one piece at least."""


class EntryPositions:
    """The positions of a listing's files by their partitions and names."""

    def __init__(self, listing: FileListing) -> None:
        """Take a listing; what finds its files is made at the first use."""
        self._listing = listing

    def prepare(self) -> None:
        """Make what finds the files: once, and not by several threads."""
        self._names  # noqa: B018

    def of(self, keys: AnyArray, file_names: AnyArray) -> Int64Array:
        """Return for each entry the position of its file in the listing; -1 if it is not listed.

        Args:
            keys: The keys of the entries.
            file_names: The names of the files that they describe.
        """
        if not self._listing.num_files:
            return np.full(len(keys), -1, np.int64)
        # Bytes, not characters: a key in another form is found nowhere.
        found = pc.index_in(pc.binary_slice(keys.cast(pa.binary()), 12, 24), self._partition_ids)
        partition = numpy_numbers(found, -1).astype(np.int64)
        if not self._names.are_distinct:
            entries = _qualified(arrow_array(partition), file_names)
            return self._qualified_names.find(entries)
        no_name = arrow_scalar("", file_names.type)
        positions = self._names.find(pc.coalesce(file_names, no_name))
        # A name that is not listed gets any partition here, and stays -1.
        positions[self._listing.file_partition[positions] != partition] = -1
        return positions

    @computed_once
    def _partition_ids(self) -> AnyArray:
        paths = string_list(self._listing.partitions)
        return arrow_list([id64(partition_key(path)).encode() for path in paths], pa.binary())

    @computed_once
    def _names(self) -> StringIndex:
        return StringIndex(self._listing.file_name)

    @computed_once
    def _qualified_names(self) -> StringIndex:
        """The index of names with partitions, where files of different partitions share a name."""
        partition = arrow_array(self._listing.file_partition)
        return StringIndex(_qualified(partition, self._listing.file_name))


def _qualified(partition: AnyArray, name: AnyArray) -> AnyArray:
    return pc.binary_join_element_wise(pc.cast(partition, pa.string()), name.fill_null(""), "/")


@dataclass(frozen=True)
class Piece:
    """Bounds of a column for the files at `positions`."""

    column: BoundColumn
    positions: Int64Array
    decoded: DecodedBounds
    without_values: Int64Array
    """Log files in which no value was counted."""


class ListedEntries:
    """The entries of `column_stats` of a listing's files, read piece by piece; nothing is kept.

    Attributes:
        source: Where the entries come from.
        listing: The files.
    """

    def __init__(
        self, source: EntrySource, listing: FileListing, table_partitions: int | None = None
    ) -> None:
        """Take a source.

        Args:
            source: Where the entries come from.
            listing: The files.
            table_partitions: The number of partitions with entries. None: those of the listing.
        """
        self.source = source
        self.listing = listing
        self._all_partitions = table_partitions or len(listing.partitions)
        self._positions = EntryPositions(listing)

    def pieces(self, columns: Mapping[BoundColumn, BoolArray]) -> Iterator[Piece]:
        """Read the bounds of the flagged partitions' files, in no order.

        Pieces have some megabytes, so that an index of any size can be read.
        """
        sources = [
            self._decoded(column, partitions, source)
            for column, partitions in columns.items()
            for source in self.of_column(column.name, partitions)
        ]
        return iter_unordered(sources, self.source.reading_threads)

    def every(self, column: str) -> Iterator[tuple[Int64Array, StatisticsEntries]]:
        """Read the entries of a column, some megabytes at a time, each with its file's position.

        Raises:
            HudiError: The index cannot be read.
        """
        everywhere = np.ones(len(self.listing.partitions), dtype=np.bool_)
        return chain.from_iterable(self.of_column(column, everywhere))

    def prefixes(self, column: str, partitions: BoolArray) -> list[str]:
        """Return the key prefixes of the column's entries for the flagged partitions."""
        # The cache between processes holds whole columns.
        most = _FEW_PARTITIONS if self.source.cache else 1
        chosen = np.count_nonzero(partitions)
        if chosen == self._all_partitions or chosen > self._all_partitions * most:
            return [column_prefix(column)]
        paths = string_list(self.listing.partitions.filter(arrow_array(partitions)))
        return [column_partition_prefix(column, path) for path in paths]

    def of_column(
        self, column: str, partitions: BoolArray
    ) -> list[Iterator[tuple[Int64Array, StatisticsEntries]]]:
        """Read a column's entries for files of flagged partitions, by shard, with the positions.

        Only a small part of an entry is kept.
        """
        self._positions.prepare()
        found = self.source.statistics_pieces(COLUMN_STATS, self.prefixes(column, partitions))
        return [self._listed(entries, partitions) for entries in found]

    def _decoded(
        self,
        column: BoundColumn,
        partitions: BoolArray,
        source: Iterator[tuple[Int64Array, StatisticsEntries]],
    ) -> Iterator[Piece]:
        for positions, entries in source:
            is_log = self.listing.file_is_log[positions]
            decoded = decode(entries, column, is_log)
            without_values = positions[is_log & (entries.value_count == 0)]
            yield Piece(column, positions, decoded, without_values)

    def _listed(
        self, found: Iterator[ColumnStatistics], partitions: BoolArray
    ) -> Iterator[tuple[Int64Array, StatisticsEntries]]:
        for piece in found:
            positions = self._positions.of(piece.key, piece.file_name)
            listed = positions >= 0
            listed[listed] = partitions[self.listing.file_partition[positions[listed]]]
            entries = StatisticsEntries.of(piece)
            yield (
                (positions, entries)
                if listed.all()
                else (positions[listed], entries.filter(listed))
            )


#: The entries of fewer files are read in the time that threads take to start and to take turns.
_FEW_FILES = 4_000


@dataclass(frozen=True)
class GroupEntries:
    """An `EntrySource` over file groups.

    Attributes:
        metadata: The metadata table.
        of_groups: Its file groups of `column_stats`.
        cache: The cache of whole columns; None: nothing is kept on disk.
        reading_threads: How many pieces are best read at a time.
    """

    metadata: MetadataTable
    of_groups: Sequence[FileGroup]
    cache: DiskCache | None
    reading_threads: int

    @staticmethod
    def of_few(metadata: MetadataTable, files: int) -> GroupEntries:
        """Return the entries, to be read for some partitions with so many files."""
        threads = metadata.reading_threads
        if files < _FEW_FILES and not metadata.metadata.storage.is_remote:
            threads = 1
        return GroupEntries(metadata, metadata.groups(COLUMN_STATS), None, threads)

    @staticmethod
    def as_of(metadata: MetadataTable, state: GroupStates) -> GroupEntries:
        """Return the entries in an earlier state, of which the groups still have all blocks."""
        groups = restricted(metadata.groups(COLUMN_STATS), state)
        return GroupEntries(metadata, groups, metadata.cache, metadata.reading_threads)

    @property
    def meta_fields(self) -> bool:
        """Whether the table's files have Hudi's meta columns, with values."""
        return self.metadata.meta_fields

    def groups(self, partition: str) -> Sequence[FileGroup]:
        """Return the shards of `column_stats`, which is the only partition that is asked for."""
        assert partition == COLUMN_STATS
        announce(self.of_groups)
        return self.of_groups

    def statistics_pieces(
        self, partition: str, prefixes: Sequence[str]
    ) -> list[Iterator[ColumnStatistics]]:
        """See `EntrySource`."""
        return [read_statistics(group, prefixes, self.cache) for group in self.groups(partition)]

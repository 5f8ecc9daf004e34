"""Options, sources, results and numbers of file groups of builds in both metadata tables.

The minimum is RFC-27's rule for statistics (one file group for ten columns), and Hudi's default for
the others. Above it, the number allows for twice today's entries in file groups of 256 MiB before
compression. Rows, and the lengths of their keys and values, are estimated by the footers of a few
base files: no row is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi_expr.arrays import READ_ERRORS, AnyArray
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_names import RECORD_KEY
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing, TableView
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt.extension import Coverage
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, current_listing
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline_writer import WrittenFile

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

    def files_not_in(self, other: BuildSource) -> FileListing:
        """Return the files that the other snapshot lacks, or has with another length."""
        changed = self.slices_not_in(other)
        known = _identities(other.listing)
        return changed.with_files(~pc.is_in(_identities(changed), known).to_numpy(False))

    @property
    def _coverage(self) -> Coverage:
        rows = np.zeros(self.listing.num_slices, np.int64)
        return Coverage.of(self.table, self.listing, rows)


def _identities(listing: FileListing) -> AnyArray:
    """Return a text for each file: its path, and its length, as log files may grow."""
    partitions = listing.partitions.take(pa.array(listing.file_partition))
    sizes = pa.array(listing.file_size).cast(pa.string())
    return pc.binary_join_element_wise(partitions, listing.file_name, sizes, "/")


_COLUMNS_PER_SHARD = 10
_STATISTICS_FLOOR, _FILTERS_FLOOR = 2, 4
#: The least number of file groups of an index of keys or of values.
LEAST_KEY_SHARDS = 10
#: Bytes of one entry with its key, before compression.
_STATISTICS_BYTES, _FILTER_BYTES = 250, 150_000
#: The same without key and value: the cell, and the payload.
_LOCATION_BYTES, _SECONDARY_BYTES = 80, 40
_TEXT_BYTES = 20  # of a number, or of a text without statistics
_SHARD_BYTES = 256 << 20
_GROWTH = 2
_MOST_SHARDS = 9_999  # file ids have four digits
_SAMPLED_FILES = 8


def shard_count(table: HudiTable, definition: IndexDefinition) -> int:
    """Return the number of file groups for an index of the table as it is now.

    Raises:
        HudiError: The table cannot be read.
    """
    snapshot = BuildSource.of(table)
    return estimated_shard_count(snapshot.table, snapshot.listing, definition)


def estimated_shard_count(
    table: HudiTable, listing: FileListing, definition: IndexDefinition
) -> int:
    """Return the number of file groups for an index of the listed slices."""
    columns = max(len(definition.fields), 1)
    floor = max(_STATISTICS_FLOOR, math.ceil(columns / _COLUMNS_PER_SHARD))
    match definition.type:
        case hudi_names.PARTITION_STATS:
            floor, size = 1, len(listing.partitions) * columns * _STATISTICS_BYTES
        case hudi_names.COLUMN_STATS:
            size = listing.num_files * columns * _STATISTICS_BYTES
        case hudi_names.BLOOM_FILTERS:
            floor, size = _FILTERS_FLOOR, listing.num_files * _FILTER_BYTES
        case _:
            is_of_values = definition.type == hudi_names.SECONDARY_INDEX
            entry = _SECONDARY_BYTES if is_of_values else _LOCATION_BYTES
            floor, size = LEAST_KEY_SHARDS, _size_of_rows(table, listing, definition, entry)
    return min(max(floor, math.ceil(_GROWTH * size / _SHARD_BYTES)), _MOST_SHARDS)


def _size_of_rows(
    table: HudiTable, listing: FileListing, definition: IndexDefinition, other_bytes: int
) -> int:
    """Return the bytes of an index with an entry for each row."""
    keys = (RECORD_KEY,) if table.properties.meta_fields else table.properties.record_key_fields
    sample = _Sample.of(table, listing)
    columns = (*keys, *definition.fields)
    return sample.rows * (other_bytes + sum(map(sample.text_bytes, columns)))


@dataclass(frozen=True)
class _Sample:
    """Footers of some base files.

    Attributes:
        rows: Estimate of all rows.
    """

    rows: int
    footers: Sequence[pq.FileMetaData]

    @staticmethod
    def of(table: HudiTable, listing: FileListing) -> _Sample:
        bases = np.flatnonzero(~listing.file_is_log)
        chosen = bases[:: max(math.ceil(len(bases) / _SAMPLED_FILES), 1)]
        footers = [_footer(table, path) for path in listing.paths(chosen)]
        share = listing.file_size[chosen].sum() / max(int(listing.file_size.sum()), 1)
        found = sum(footer.num_rows for footer in footers)
        return _Sample(math.ceil(found / share) if share else 0, footers)

    def text_bytes(self, column: str) -> int:
        """Return about how many bytes a value of the column has as text, by the files' bounds."""
        lengths = [len(bound) for footer in self.footers for bound in _text_bounds(footer, column)]
        return math.ceil(sum(lengths) / len(lengths)) if lengths else _TEXT_BYTES


def _footer(table: HudiTable, path: str) -> pq.FileMetaData:
    with table.storage.open_input(path) as source:
        try:
            return pq.read_metadata(source)
        except READ_ERRORS as error:
            raise CorruptFile(f"{table.base_path}/{path}", f"no Parquet: {error}") from error


def _text_bounds(footer: pq.FileMetaData, column: str) -> Iterator[str | bytes]:
    """Return the bounds of a column of texts or bytes in the first row group."""
    if not footer.num_row_groups:
        return
    group = footer.row_group(0)
    for chunk in map(group.column, range(group.num_columns)):
        is_text = chunk.path_in_schema == column and chunk.physical_type == "BYTE_ARRAY"
        if is_text and chunk.statistics is not None:
            bounds = (chunk.statistics.min, chunk.statistics.max)
            yield from (bound for bound in bounds if isinstance(bound, str | bytes))

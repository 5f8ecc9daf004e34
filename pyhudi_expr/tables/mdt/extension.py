"""The extension metadata table as queries read it, and what its indexes cover; see `changes`.

An index of keys or values describes the rows of certain file slices. These are listed one by one,
with their number of rows. A query trusts the index about a slice exactly if the slice is one of
them, file by file: whatever happened to the table since (updates, clustering, cleaning, rollbacks,
restores), and whatever instant or view is read, another slice has other files.

A slice is identified by its partition's path and its files' tokens (`FileListing.tokens`: a log
file's token has its length). In timeline layout 1 a log file may hold blocks of commits that
complete later, without growing; slices with such log files are never covered.

The commits are recorded as well, to show users which ones a table's indexes lack.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import DAMAGE_ERRORS, AnyArray, BoolArray, Int64Array, arrow_schema_of
from pyhudi_expr.errors import CorruptFile, TableNotFound
from pyhudi_expr.tables.hudi_names import HOODIE_DIR, PROPERTIES_BACKUP_FILE, PROPERTIES_FILE
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition, index_definitions
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.properties import TableProperties
from pyhudi_expr.tables.storage import Expected, Storage
from pyhudi_expr.tables.timeline import Instant, read_record

UNCOVERED = -1
"""Instead of a number of rows."""

_SCHEMA = arrow_schema_of(
    [
        pa.field("slice", pa.large_string(), False),
        pa.field("partition", pa.string(), False),
        pa.field("file_id", pa.string(), False),
        pa.field("base_instant", pa.string(), False),
        pa.field("rows", pa.int64(), False),
    ]
)
_CHANGING = frozenset({"rollback", "restore"})
_SEPARATOR = "\n"


@dataclass(frozen=True)
class Coverage:
    """What was covered at one moment.

    Attributes:
        instants: Requested times of completed commits, rollbacks and restores of the table's active
            timeline.
        before: All actions before this one were complete.
        slices: The covered slices, in the schema above. `rows` is their exact number, -1 if only
            statistics were collected.
    """

    instants: frozenset[str] = frozenset()
    before: str = ""
    slices: pa.Table = field(default_factory=_SCHEMA.empty_table)

    @staticmethod
    def of(table: HudiTable, listing: FileListing, rows: Int64Array) -> Coverage:
        """Return the coverage of the listed slices of a table's snapshot, with each one's rows."""
        chosen = pa.array(np.flatnonzero(may_be_covered(table, listing)))
        slices = pa.table(
            [
                identities(listing),
                listing.partitions.take(listing.slice_partition),
                listing.slice_file_id,
                listing.slice_base_instant,
                pa.array(rows),
            ],
            schema=_SCHEMA,
        )
        completed = frozenset(i.requested for i in table.timeline.instants if _changes(i))
        return Coverage(completed, table.timeline.start or "", slices.take(chosen))

    @staticmethod
    def parse(content: bytes, instants: str, before: str, file: str) -> Coverage:
        """Parse the content of a coverage file, and the texts of its commit.

        Raises:
            CorruptFile: They cannot be parsed.
        """
        import pyarrow.parquet as pq

        try:
            # Without threads, see table/timeline/archive.py.
            with pq.ParquetFile(pa.BufferReader(content)) as file_of_slices:
                slices = file_of_slices.read(use_threads=False).cast(_SCHEMA)
        except DAMAGE_ERRORS as error:
            raise CorruptFile(file, f"no list of covered file slices: {error}") from error
        return Coverage(frozenset(filter(None, instants.split(","))), before, slices)

    def content(self) -> bytes:
        """Return the slices as a file for `parse`."""
        import pyarrow.parquet as pq

        target = io.BytesIO()
        pq.write_table(self.slices, target, compression="zstd")
        return target.getvalue()

    def first_uncovered(self, table: HudiTable) -> Instant | None:
        """Return the oldest action of the table that changed rows and is not covered."""
        return next(iter(self.uncovered(table)), None)

    def uncovered(self, table: HudiTable) -> list[Instant]:
        """Return the actions of the table that changed rows and are not covered, oldest first."""
        return [i for i in table.timeline.instants if _changes(i) and not self._covers(i)]

    def _covers(self, instant: Instant) -> bool:
        return instant.requested in self.instants or instant.requested < self.before

    @property
    def newest(self) -> str | None:
        """Return the newest commit that is covered."""
        return max(self.instants, default=None)

    def rows_of(self, table: HudiTable, listing: FileListing) -> Int64Array:
        """Return for each slice of the listing its rows in the indexes; -1 if not covered."""
        position = pc.index_in(identities(listing), self.slices.column("slice").combine_chunks())
        known = self.slices.column("rows").take(position)
        rows = np.asarray(pc.fill_null(known, UNCOVERED), np.int64)
        return np.where(may_be_covered(table, listing), rows, UNCOVERED)

    def covered(self, table: HudiTable, listing: FileListing) -> BoolArray:
        """Return for each slice of the listing whether it is covered."""
        there = pc.is_in(identities(listing), self.slices.column("slice").combine_chunks())
        flags: BoolArray = np.asarray(there) & may_be_covered(table, listing)
        return flags

    def missing_from(self, listing: FileListing) -> BoolArray:
        """Return for each covered slice whether the listing lacks it."""
        there = pc.is_in(self.slices.column("slice"), identities(listing))
        flags: BoolArray = ~np.asarray(there)
        return flags


def identities(listing: FileListing) -> AnyArray:
    """Return for each slice the text that identifies it."""
    edges = np.searchsorted(listing.file_slice, np.arange(listing.num_slices + 1))
    tokens = pa.LargeListArray.from_arrays(
        pa.array(edges, pa.int64()), listing.tokens.cast(pa.large_string())
    )
    joined = pc.binary_join(tokens, pa.scalar(_SEPARATOR, pa.large_string()))
    partitions = listing.partitions.take(listing.slice_partition)
    separator = pa.scalar(_SEPARATOR, pa.large_string())
    return pc.binary_join_element_wise(partitions.cast(pa.large_string()), joined, separator)


def may_be_covered(table: HudiTable, listing: FileListing) -> BoolArray:
    """Return for each slice whether its files' names and lengths determine its contents."""
    if table.properties.timeline_layout > 1 or not listing.has_logs:
        return np.ones(listing.num_slices, np.bool_)
    return ~listing.slice_has_logs


def _changes(instant: Instant) -> bool:
    """Return whether the action is complete and changed the table's rows."""
    return instant.is_write or (instant.is_completed and instant.action in _CHANGING)


EXTENSION_DIR = f"{HOODIE_DIR}/pyhudi/metadata"
COVERAGE_DIR = f"{HOODIE_DIR}/coverage"
COVERAGE, INSTANTS, BEFORE = "pyhudi.coverage", "pyhudi.covered", "pyhudi.covered.before"
"""What the newest commit says in its metadata of what is covered."""


@dataclass(frozen=True)
class Extension:
    """A snapshot of the extension metadata table: its records, and what they cover."""

    records: MetadataTable
    coverage: Coverage

    @staticmethod
    def open(table: HudiTable, cache: DiskCache | None = None) -> Extension | None:
        """Open the extension; None if the table has none, or one without an index.

        Raises:
            HudiError: The extension cannot be read.
        """
        own = extension_table(table)
        return None if own is None else Extension.of(own, cache)

    @staticmethod
    def of(own: HudiTable, cache: DiskCache | None = None) -> Extension:
        """Open the extension whose metadata table is `own`.

        Raises:
            HudiError: The extension cannot be read.
        """
        # The definitions are older than the listings: those of an index that is built anew in
        # between have files of an instant that this snapshot lacks.
        _ = own.index_definitions_file
        own.storage.expect(Expected(directories=sorted(own.properties.metadata_partitions)))
        return Extension(MetadataTable(own, own, cache), _coverage(own))

    @staticmethod
    def exists(storage: Storage) -> bool:
        """Return whether a table has an extension, readable or not; `storage` is the table's."""
        try:
            return bool(TableProperties.read(storage.child(EXTENSION_DIR)).metadata_partitions)
        except TableNotFound:
            return False

    @property
    def partitions(self) -> frozenset[str]:
        """The complete metadata partitions."""
        return self.records.partitions

    @property
    def definitions(self) -> Mapping[str, IndexDefinition]:
        """Definitions of the complete partitions, by name. Raises CorruptFile."""
        every = index_definitions(self.records.metadata)
        return {name: definition for name, definition in every.items() if name in self.partitions}


def extension_table(table: HudiTable) -> HudiTable | None:
    """Return the extension's metadata table; None if there is none, or one without an index.

    Raises:
        HudiError: Its timeline or its properties cannot be read.
    """
    try:
        own = HudiTable.at(table.storage.child(EXTENSION_DIR))
    except TableNotFound:
        return None
    if not own.properties.metadata_partitions:
        return None
    own.storage.expect(own.commit_reads)
    own.storage.expect(Expected(files=(own.properties.index_definitions_path,)))
    return own


def extension_exists(storage: Storage) -> bool:
    """Return whether the extension exists in its directory `storage`."""
    return any(storage.stat(file) is not None for file in (PROPERTIES_FILE, PROPERTIES_BACKUP_FILE))


def _coverage(extension: HudiTable) -> Coverage:
    """Return the coverage of the newest commit."""
    # Imported on use, as is what reads definitions: most tables have no extension.

    newest = extension.timeline.last_write
    if newest is None:
        return Coverage()
    path = f"{extension.properties.timeline_dir}/{newest.file_name}"
    label = f"{extension.base_path}/{path}"
    extra = read_record(extension.storage.read(path), label).get("extraMetadata") or {}
    file = f"{COVERAGE_DIR}/{extra.get(COVERAGE, '')}"
    content = extension.storage.read(file)
    return Coverage.parse(content, extra.get(INSTANTS, ""), extra.get(BEFORE, ""), label)

"""`column_stats`: per file and column the least and greatest value and the null count (RFC-27).

Entries are looked up by the prefix ``id64(column) + id64(partition)`` for the columns and the
partitions that a predicate needs, and kept as arrays over the files of one listing. A file without
an entry stays unknown. An entry that is doubted is replaced by what the file's own footer says, as
soon as that was read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.index import footers
from pyhudi_expr.index.bounds_store import BoundsStore, joined_bounds, no_rows
from pyhudi_expr.index.entries import StatisticsEntries, decode
from pyhudi_expr.mdt.keys import column_partition_prefix, column_prefix, id64, partition_key
from pyhudi_expr.mdt.reader import COLUMN_STATS, MetadataTable
from pyhudi_expr.mdt.string_index import StringIndex
from pyhudi_expr.table.listing import FileListing
from pyhudi_expr.table.storage import Storage

#: The share of a table's partitions below which only their entries are read.
_FEW_PARTITIONS = 0.25
_RECORD_KEY = "_hoodie_record_key"

_Positions = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]

#: Reads footers for all snapshots of the process.
_FOOTER_READER = ThreadPoolExecutor(1, thread_name_prefix="footers")


@dataclass
class _Column:
    """What is known of one column so far."""

    store: BoundsStore
    loaded: _Flags  # for each partition
    checks: list[Future[None]] = field(default_factory=list)


class ColumnStats:
    """Bounds over the files of a listing (a `Statistics`). Thread safe."""

    def __init__(self, mdt: MetadataTable | None, listing: FileListing, storage: Storage) -> None:
        """mdt: None when there is no `column_stats`: then footers are all there is."""
        self._mdt = mdt
        self._listing = listing
        self._storage = storage
        self._columns: dict[BoundColumn, _Column] = {}
        self._lock = threading.RLock()

    @property
    def nbytes(self) -> int:
        """Memory held, bytes."""
        with self._lock:
            return sum(column.store.nbytes for column in self._columns.values())

    def bounds(self, column: BoundColumn) -> Bounds | None:
        """What has been loaded of the column; see `pyhudi_expr.expr.evaluate.Statistics`."""
        with self._lock:
            known = self._columns.get(column)
            return None if known is None else known.store.bounds()

    def load(self, column: BoundColumn, partitions: _Flags, footer_wait: float) -> None:
        """Brings in the entries of the column for the partitions (one flag for each).

        footer_wait: seconds to wait for the footers of doubted entries; they are read in the
        background, so a later query finds them. Raises HudiError where the index is unreadable.
        """
        with self._lock:
            known = self._columns.get(column)
            if known is None:
                known = self._columns[column] = self._unknown(column)
            missing = partitions & ~known.loaded
            if missing.any():
                self._load(column, known, missing)
                known.loaded |= missing
            checks = list(known.checks)
        unfinished = wait(checks, timeout=footer_wait).not_done
        with self._lock:
            known.checks = [check for check in known.checks if check in unfinished]

    def _unknown(self, column: BoundColumn) -> _Column:
        return _Column(
            store=BoundsStore(self._listing.num_files, column.domain),
            loaded=np.zeros(len(self._listing.partitions), dtype=np.bool_),
        )

    def _load(self, column: BoundColumn, known: _Column, missing: _Flags) -> None:
        if self._mdt is None:
            doubted = missing[self._listing.file_partition]
        else:
            doubted = self._load_entries(self._mdt, column, known, missing)
        doubted &= ~self._listing.file_is_log
        if doubted.any():
            files = np.flatnonzero(doubted)
            known.checks.append(_FOOTER_READER.submit(self._check, column, known, files))

    def _load_entries(
        self, mdt: MetadataTable, column: BoundColumn, known: _Column, missing: _Flags
    ) -> _Flags:
        """Stores the bounds of the files in the missing partitions; returns the doubted files."""
        doubted = np.zeros(self._listing.num_files, dtype=np.bool_)
        found: list[tuple[_Positions, Bounds]] = []
        empty: list[_Positions] = []
        for positions, entries in self._pieces(mdt, column.name, missing):
            is_log = self._listing.file_is_log[positions]
            decoded = decode(entries, column, is_log)
            found.append((positions, decoded.bounds))
            doubted[positions] = decoded.doubted
            empty.append(positions[is_log & (entries.value_count == 0)])
        known.store.put(*joined_bounds(found))
        without_values = np.concatenate(empty)
        if len(without_values) and mdt.table.properties.meta_fields:
            # Only a log file without records has no record key, so this is no uncollected column.
            keyless = [
                positions[keys.value_count == 0]
                for positions, keys in self._pieces(mdt, _RECORD_KEY, missing)
            ]
            without_rows = np.intersect1d(without_values, np.concatenate(keyless))
            known.store.put(without_rows, no_rows(len(without_rows), column.domain))
        return doubted

    def _check(self, column: BoundColumn, known: _Column, positions: _Positions) -> None:
        paths = self._listing.paths(positions)
        bounds = footers.read_bounds(self._storage, paths, column)
        with self._lock:
            known.store.put(positions, bounds)

    def _pieces(
        self, mdt: MetadataTable, column: str, missing: _Flags
    ) -> Iterator[tuple[_Positions, StatisticsEntries]]:
        """The column's entries for files of the listing, and which files these are.

        They come some megabytes at a time, so that no index is too large for memory: what is kept
        of an entry is a small part of it.
        """
        # What is kept between processes is a column as a whole.
        few = np.count_nonzero(missing) <= len(missing) * (_FEW_PARTITIONS if mdt.cache else 1)
        if missing.all() or not few:
            prefixes = [column_prefix(column)]
        else:
            paths = self._listing.partitions.filter(pa.array(missing)).to_pylist()
            prefixes = [column_partition_prefix(column, path) for path in paths]
        for found in mdt.statistics_pieces(COLUMN_STATS, prefixes):
            positions = self._positions(found.key, found.file_name)
            listed = positions >= 0
            listed[listed] = missing[self._listing.file_partition[positions[listed]]]
            entries = StatisticsEntries.of(found)
            yield (
                (positions, entries)
                if listed.all()
                else (positions[listed], entries.filter(listed))
            )

    def _positions(self, keys: pa.Array, file_names: pa.Array) -> _Positions:
        """For each entry the position of its file in the listing; -1 when it is not listed."""
        if not self._listing.num_files:
            return np.full(len(keys), -1, np.int64)
        found = pc.index_in(pc.utf8_slice_codeunits(keys, 12, 24), self._partition_ids)
        partition = np.asarray(found.fill_null(-1).to_numpy(), dtype=np.int64)
        if not self._names.are_distinct:
            entries = _qualified(pa.array(partition), file_names)
            return self._qualified_names.find(entries)
        positions = self._names.find(file_names.fill_null(""))
        # A name that is not listed has any partition here, and stays -1.
        positions[self._listing.file_partition[positions] != partition] = -1
        return positions

    @cached_property
    def _partition_ids(self) -> pa.StringArray:
        paths = self._listing.partitions.to_pylist()
        return pa.array([id64(partition_key(path)) for path in paths], pa.string())

    @cached_property
    def _names(self) -> StringIndex:
        return StringIndex(self._listing.file_name)

    @cached_property
    def _qualified_names(self) -> StringIndex:
        """Where files of different partitions have the same name."""
        partition = pa.array(self._listing.file_partition)
        return StringIndex(_qualified(partition, self._listing.file_name))


def _qualified(partition: pa.Array, name: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(pc.cast(partition, pa.string()), name.fill_null(""), "/")

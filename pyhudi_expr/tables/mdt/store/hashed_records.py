"""The newest records of a key index as hashes: base files, and the changes in their logs.

A record becomes a row of an Arrow table with the columns

    id       uint64, the hash of the record's key: rows of one id are versions of one record
    deleted  bool, whether the record is a tombstone
    ...      the index's fields of a record, in a fixed width

The table of a base file is kept in the disk cache. For the logs the newest row of each id is found
in *runs*: when enough rows are held, they are sorted, the older ones of an id dropped, and the rest
is written to disk. In the end the runs are merged, one range of ids after the other. So logs of any
size are merged within a fixed memory, as RFC-77 demands.

Two keys with the same hash are taken for one: the base file's or the older row is lost. Callers
compare the number of rows with another source, and do not use the index if it differs.

`HashedEntries` are such hashes in order, each with the slice that it points to.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import (
    BoolArray,
    Int32Array,
    Int64Array,
    arrow_array,
    combined,
    numpy_flags,
    numpy_numbers,
    runs,
)
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import Hashes, hashes
from pyhudi_expr.tables.mdt.hfile.reader import HFile
from pyhudi_expr.tables.mdt.store.disk_cache import DiskCache
from pyhudi_expr.tables.mdt.store.file_group import EncodedRecords, FileGroup

SliceNumbers = Int32Array

UNLISTED = -1


@dataclass(frozen=True)
class HashedEntries:
    """Hashes of keys or values with their slices.

    Attributes:
        hashes: Hashes in ascending order.
        slices: For each hash the number of its slice in the listing; -1 if it is not in the
            listing.
    """

    hashes: Hashes
    slices: SliceNumbers

    @staticmethod
    def of(hashes: Hashes, slices: SliceNumbers) -> HashedEntries:
        """Sort entries of any order."""
        order = np.argsort(hashes, kind="stable")  # fast if parts are sorted already
        return HashedEntries(hashes[order], slices[order])

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.hashes.nbytes + self.slices.nbytes

    def find(self, wanted: Hashes, num_slices: int) -> BoolArray:
        """Return for each slice whether an entry with one of the hashes points to it."""
        # Sorted, so that the searches walk through memory in one direction.
        ordered = np.sort(wanted)
        start = np.searchsorted(self.hashes, ordered, "left")
        count = np.searchsorted(self.hashes, ordered, "right") - start
        # All entries of each requested hash, concatenated.
        found = self.slices[runs(start, count)]
        flags = np.zeros(num_slices, np.bool_)
        flags[found[found != UNLISTED]] = True
        return flags

    def find_all(self, wanted: Hashes, slice_: int) -> bool:
        """Return whether for each hash an entry that has it points to the slice."""
        return bool(np.isin(wanted, self.hashes[self.slices == slice_]).all())

    def rows_of(self, wanted: Hashes) -> tuple[Int64Array, BoolArray]:
        """Return for each hash the row of the first entry that has it, and whether there is one."""
        if not len(self.hashes):
            return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
        row = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        return row, self.hashes[row] == wanted

    @property
    def shared(self) -> BoolArray:
        """Return for each entry whether another one has the same hash."""
        same = self.hashes[1:] == self.hashes[:-1]
        flags: BoolArray = np.append(same, False) | np.append(False, same)
        return flags if len(self.hashes) else flags[:0]

    def per_slice(self, num_slices: int) -> Int64Array:
        """Return for each slice the number of entries that point to it."""
        return np.bincount(self.slices[self.slices != UNLISTED], minlength=num_slices)


ROWS_IN_MEMORY = 8_000_000
"""Of logs, before they are put on disk: some 300 MB."""

Read = Callable[[EncodedRecords], pa.Table]
"""The rows of some records."""

_IDS = 2**64


def newest(
    group: FileGroup,
    content: str,
    read: Read,
    cache: DiskCache | None,
    rows_in_memory: int = ROWS_IN_MEMORY,
) -> Iterator[pa.Table]:
    """Return the newest row of each record of the group that is not deleted, in several tables.

    Args:
        group: The file group.
        content: Names the result of `read`, for the cache.
        read: Converts records to rows.
        cache: The disk cache, if there is one.
        rows_in_memory: Limit of rows to hold.

    Raises:
        CorruptFile: A file is damaged.
    """
    with tempfile.TemporaryDirectory(prefix="pyhudi-runs-") as directory:
        runs = _Runs(Path(directory), rows_in_memory)
        for answer in group.log_pieces(HFile.scan):
            runs.add(read(answer) if isinstance(answer, EncodedRecords) else _deletions(answer))
        runs.finish()
        base = _base(group, content, read, cache)
        tables = runs.merged()
        if base is not None:
            untouched = base.filter(arrow_array(~runs.touched(_ids(base))))
            tables = itertools.chain([untouched], tables)
        for table in map(_live, tables):
            if len(table):
                yield table


def _base(group: FileGroup, content: str, read: Read, cache: DiskCache | None) -> pa.Table | None:
    def build() -> pa.Table:
        table = _one([read(records) for records in group.base_records(HFile.scan)])
        # Sorted like the runs, so that joining the groups sorts nearly sorted rows.
        return table.take(np.argsort(_ids(table))) if table.num_columns else table

    identity = group.base_identity(content)
    if identity is None:
        return None
    (found,) = [build()] if cache is None else cache.tables(identity, lambda: [build()])
    return found if found.num_columns else None


def _deletions(keys: list[bytes]) -> pa.Table:
    ids = hashes(ByteStrings.of(keys))
    return pa.table({"id": ids, "deleted": np.ones(len(ids), np.bool_)})


def _live(table: pa.Table) -> pa.Table:
    deleted = numpy_flags(combined(table.column("deleted")))
    return table.filter(arrow_array(~deleted)) if deleted.any() else table


class _Runs:
    """Rows in the order in which they were written; later ones of an id replace others."""

    def __init__(self, directory: Path, rows_in_memory: int) -> None:
        self._directory = directory
        self._limit = rows_in_memory
        self._held: list[pa.Table] = []
        self._rows = 0
        self._runs: list[pa.Table] = []

    def add(self, table: pa.Table) -> None:
        self._held.append(table)
        self._rows += len(table)
        if self._rows >= self._limit:
            self._spill()

    def finish(self) -> None:
        """Sort what is left; call it once, after all rows were added."""
        if self._rows:
            self._runs.append(_last_of_ids(_one(self._held)))
        self._held = []

    def touched(self, ids: Hashes) -> BoolArray:
        """Return for each id whether it has a row."""
        found = np.zeros(len(ids), np.bool_)
        for run in self._runs:
            own = _ids(run)
            place = np.minimum(np.searchsorted(own, ids), len(own) - 1)
            found |= own[place] == ids
        return found

    def merged(self) -> Iterator[pa.Table]:
        """Return the last row of each id, range of ids by range."""
        ranges = max(math.ceil(sum(map(len, self._runs)) / self._limit), 1)
        edges = [_IDS * number // ranges for number in range(1, ranges)]
        starts = [0] * len(self._runs)
        for edge in (*edges, None):
            parts = []
            for number, run in enumerate(self._runs):
                end = len(run) if edge is None else int(np.searchsorted(_ids(run), np.uint64(edge)))
                parts.append(run.slice(starts[number], end - starts[number]))
                starts[number] = end
            if any(len(part) for part in parts):
                yield _last_of_ids(_one(parts))

    def _spill(self) -> None:
        path = str(self._directory / f"{len(self._runs)}.arrow")
        table = _last_of_ids(_one(self._held))
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        self._runs.append(pa.ipc.open_file(pa.memory_map(path)).read_all())
        self._held, self._rows = [], 0


def _one(tables: list[pa.Table]) -> pa.Table:
    """Concatenate tables; columns that one lacks are null there."""
    if not tables:
        return pa.table({})
    joined = pa.concat_tables(tables, promote_options="default")
    return joined.unify_dictionaries().combine_chunks()


def _last_of_ids(table: pa.Table) -> pa.Table:
    """Return the last row of each id, sorted by id."""
    ids = _ids(table)
    order: Int64Array = np.argsort(ids, kind="stable")
    ordered = ids[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    return table.take(arrow_array(order[last])).combine_chunks()


def _ids(table: pa.Table) -> Hashes:
    column = table.column("id")
    found: Hashes = numpy_numbers(combined(column))
    return found

"""Which slices an index of keys or values is known to describe: by the timeline, and by their rows.

Counts and the timeline account for most slices without reading them (`record_index`,
`covered_slices`). They say nothing of a slice that log files, compactions or clusterings changed
otherwise, for example by a delete that a later commit follows. Such a slice is read: the keys and
the values of all its rows, merged as a query merges them. The index is asked for each of them. If
every answer names the slice, no look-up drops it in vain, whatever Hudi's writers did to the index.
A slice with any other row, or one that cannot be merged here, is kept.

So there are no rules about writers, and none about deletes, ordering values, moved keys, or keys
that are stored twice: the merge knows the rows (`tables.slices`), and the index is compared with
these. Blocks of partial updates, of log compactions, of writes that are not complete, and damaged
ones make a slice unreadable here.

A large index is not read for it. Its certificate has for each file group the sum of the digests of
the entries that lead there (`mdt.certificates`): the rows of a slice are those entries if their
digests have the same sum. So it must have no other entries of the slice's keys, either; those that
Hudi left behind, which find a slice too many, keep the slice here.

A question has slices read in the background, the smallest ones first, and waits for them as for
footers; the next question goes on where it stopped. What was read of a slice serves all later
states of the table in which it has the same files.

Of a merge-on-read table the timeline says what the index itself does not. Hudi 1.2 updates only the
first of several secondary indexes when a delta commit writes log files (it adds the new log files
to the very slice that it compares the others' new values with). The others keep an entry for each
key, with the older value. So coverage is derived from the timeline alone. A file is *covered* if
its instant is

* complete when the index action was requested, and not after the instant up to which the index was
  built from all rows (`indexUptoInstant` of the action's metadata); or
* before the first later write that added log files. Until then every write made base files, which
  indexes follow as they do in copy-on-write tables.

Files of later instants are not covered: even a base file may hold what a compaction took over from
log files, or a key that was deleted in a log file while its old entry stayed. If the later writes
are archived, only the first rule applies. Without a completed index action no file is covered.

These rules cost no reads. Slices that they do not cover are read, as above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from time import monotonic

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import DAMAGE_ERRORS, AnyArray, BoolArray, Int64Array, string_list
from pyhudi_expr.computed_once import LazyValue, ProcessEndsError, computed_once
from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables.hudi_names import RECORD_KEY, log_files
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings, concat_byte_strings
from pyhudi_expr.tables.mdt.log_files import BlockKind, LogFile
from pyhudi_expr.tables.mdt.store.index_records import NULL_VALUE, value_texts
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.tables.properties import TableType
from pyhudi_expr.tables.timeline import IndexBuild

_LOG_FILE_PER_WRITE = 2
"""The timeline's layout where a log file's name tells its write, and completion times are kept."""


def covered_slices(mdt: MetadataTable, listing: FileListing, index: str) -> BoolArray:
    """Return for each slice whether the index is known to describe all its files.

    Args:
        mdt: The metadata table; the data table may be of either type.
        listing: The files and slices.
        index: Name of the index's metadata partition.

    Raises:
        HudiError: The timeline cannot be read.
    """
    table = mdt.table
    if table.properties.table_type is TableType.COPY_ON_WRITE:
        return np.ones(listing.num_slices, np.bool_)
    build = _newest_build(table, index)
    if build is None:
        return np.zeros(listing.num_slices, np.bool_)
    covered = _of_build(table, listing, build)
    if all(completed <= build.announced for completed in table.archived_times.values()):
        covered |= _later_without_logs(table, build)
    return _slices_with_all(listing, covered)


def _of_build(table: HudiTable, listing: FileListing, build: IndexBuild) -> set[str]:
    """Return the instants of files that the index was built from."""
    distinct = string_list(listing.file_instants.unique())
    return {instant for instant in distinct if _is_built_from(table, instant, build)}


def _slices_with_all(listing: FileListing, instants: set[str]) -> BoolArray:
    """Return the slices whose files are all of these instants."""
    known = pa.array(sorted(instants), pa.string())
    flags = pc.is_in(listing.file_instants, known).to_numpy(zero_copy_only=False)
    return ~listing.any_file_of_slice(~flags)


def _newest_build(table: HudiTable, index: str) -> IndexBuild | None:
    """Return the build that files' instants can be compared with; None if there is none."""
    if table.properties.timeline_layout != _LOG_FILE_PER_WRITE:
        return None
    builds = [
        build
        for action in table.timeline.index_actions
        for build in table.index_builds(action)
        if build.partition == index
    ]
    return max(builds, key=lambda build: build.announced, default=None)


def _is_built_from(table: HudiTable, instant: str, build: IndexBuild) -> bool:
    completed = table.completion_time(instant)
    return instant <= build.upto and completed is not None and completed <= build.announced


def _later_without_logs(table: HudiTable, build: IndexBuild) -> set[str]:
    """Return the writes after the build and before the first of them that added log files."""
    found: set[str] = set()
    for write in table.timeline.writes:
        if _is_built_from(table, write.requested, build):
            continue
        files = [path for paths in table.commit_metadata(write).written.values() for path in paths]
        if len(log_files(pa.array([path.rpartition("/")[2] for path in files], pa.string())).row):
            return found
        found.add(write.requested)
    return found


_KEPT_BYTES = 64 << 20
"""Keys and values of one table that are kept for its later states."""
_SLICE_BYTES = 512 << 20
"""The largest slices that are read: keys and values of one are held in memory."""
_EVERY_INSTANT = "9" * 17
"""Not before any block of a log file: the listing has decided which files count. Rollbacks are
later than the newest write."""

_WITH_ROWS = frozenset({*BlockKind} - {BlockKind.COMMAND, BlockKind.CDC})

_Files = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class IndexedRows:
    """The rows of a slice.

    Attributes:
        keys: The key of each row.
        values: Its value in a column, as Hudi's indexes write it. Empty if no column was asked for.
    """

    keys: ByteStrings
    values: ByteStrings

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        parts = (self.keys, self.values)
        return sum(len(one.data) + one.start.nbytes + one.end.nbytes for one in parts)


class SliceRows:
    """The rows of the slices of a listing. Thread safe."""

    def __init__(
        self, table: HudiTable, listing: FileListing, earlier: SliceRows | None = None
    ) -> None:
        """Prepare to read slices.

        Args:
            table: The data table.
            listing: Its files and slices.
            earlier: The rows of an earlier state, which are used for slices with the same files.
        """
        self._table = table
        self._listing = listing
        self._before: Mapping[tuple[_Files, str | None], IndexedRows] = (
            {} if earlier is None else earlier.known
        )
        self.known: dict[tuple[_Files, str | None], IndexedRows] = {}

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(rows.nbytes for rows in list(self.known.values()))

    def read(self, slice_: int, column: str | None) -> IndexedRows:
        """Return the rows of a slice, merged.

        Args:
            slice_: Number of the slice.
            column: The column whose values are wanted, if any.

        Raises:
            HudiError: The slice cannot be read, or not as every reader of Hudi reads it.
        """
        name = (self._files(slice_), column)
        found = self.known.get(name) or self._before.get(name) or self._read(slice_, column)
        if name not in self.known and self.nbytes + found.nbytes <= _KEPT_BYTES:
            self.known[name] = found
        return found

    def _files(self, slice_: int) -> _Files:
        files = self._listing.files_of(np.array([slice_])).files
        sizes = self._listing.file_size[files].tolist()
        return tuple(zip(self._listing.paths(files), sizes, strict=True))

    def _read(self, slice_: int, column: str | None) -> IndexedRows:
        from pyhudi_expr.tables.slices.key_merging import KeyMerger  # on use
        from pyhudi_expr.tables.slices.slice_files import check_supported, slice_at
        from pyhudi_expr.tables.slices.slice_rows import SliceReader

        check_supported(self._table)
        nbytes = int(self._listing.file_size[self._listing.file_slice == slice_].sum())
        if nbytes > _SLICE_BYTES:
            raise HudiError(f"{self._table.base_path}: a slice of {nbytes:,} bytes is not compared")
        one = slice_at(self._listing, slice_)
        self._require_complete(list(map(one.path, one.logs)))
        merger = KeyMerger.by_stored_keys(self._table.properties) if one.logs else None
        reader = SliceReader.of(self._table, _EVERY_INSTANT, merger)
        names = [RECORD_KEY] if column is None else [RECORD_KEY, column]
        keys, values = [ByteStrings.none()], [ByteStrings.none()]
        for batch in reader.columns(one, names):
            keys.append(self._keys(batch[0]))
            if column is not None:
                values.append(self._values(batch[1], column))
        return IndexedRows(concat_byte_strings(keys), concat_byte_strings(values))

    def _require_complete(self, logs: Sequence[str]) -> None:
        """Refuse log files in which other writes may be at work: when these end, rows change."""
        newest, pending = self._listing.instant or "", self._table.timeline.pending
        for log in logs:
            name = f"{self._table.base_path}/{log}"
            with self._table.storage.open_input(log) as source:
                blocks = LogFile(source, source.size(), name).blocks
            written = {block.instant or "" for block in blocks if block.kind in _WITH_ROWS}
            if max(written, default="") > newest or written & pending:
                raise HudiError(f"{name}: a write is not complete")

    def _keys(self, keys: AnyArray) -> ByteStrings:
        if keys.null_count:
            raise HudiError(f"{self._table.base_path}: a row has no {RECORD_KEY}")
        return ByteStrings.from_arrow(keys.cast(pa.large_binary()))

    def _values(self, values: AnyArray, column: str) -> ByteStrings:
        from pyhudi_expr.tables.slices.slice_rows import scalar_type  # on use

        type_ = scalar_type(self._table, self._table.schema(self._listing.instant), column)
        texts = value_texts(values, type_, f"{self._table.base_path}: column {column!r}")
        return ByteStrings.from_arrow(texts.cast(pa.large_binary()).fill_null(NULL_VALUE))


class Finding(IntEnum):
    """What is known of an index and the rows of a slice."""

    NOTHING = 0
    """They have not been compared yet."""
    FOUND = 1
    """Each of them is found in the slice by the index."""
    LACKING = 2
    """The index lacks some."""
    UNREADABLE = 3
    """They cannot be read here as Hudi reads them."""


FindsAll = Callable[[IndexedRows, int], bool]
"""Tells whether an index finds all these rows in a slice. Raises HudiError."""


class SliceProofs:
    """What is known of an index and the slices of one state of a table. Thread safe."""

    def __init__(self, listing: FileListing) -> None:
        """Begin with nothing known of the slices of a listing."""
        self._listing = listing
        self._comparing: dict[int, LazyValue[None]] = {}

    @computed_once
    def _findings(self) -> npt.NDArray[np.int8]:
        return np.full(self._listing.num_slices, Finding.NOTHING, np.int8)

    def found(
        self,
        finds_all: FindsAll,
        rows: SliceRows | None,
        column: str | None,
        slices: BoolArray,
        patience: float,
    ) -> BoolArray:
        """Return for each slice whether it is known that the index finds all rows of it.

        Args:
            finds_all: Compares a slice that was not compared yet, in the background.
            rows: Reads its rows. None: no slice is compared.
            column: The column that is read with the keys, if any.
            slices: The slices that are asked for; other flags are False.
            patience: Seconds to wait. Slices that are not compared then are left to later calls.
        """
        if rows is None:
            return np.zeros_like(slices)
        end = monotonic() + patience
        waiting = np.flatnonzero(slices & self.are(Finding.NOTHING))
        for number in self._smallest_first(waiting):
            left = end - monotonic()
            comparing = LazyValue(partial(self._compare, finds_all, rows, column, number))
            if left <= 0 or not self._comparing.setdefault(number, comparing).wait(left):
                break
        return slices & self.are(Finding.FOUND)

    def are(self, finding: Finding) -> BoolArray:
        """Return for each slice whether this is known of it."""
        flags: BoolArray = self._findings == finding
        return flags

    def _smallest_first(self, slices: Int64Array) -> list[int]:
        if not len(slices):
            return []
        listing = self._listing
        sizes = np.bincount(listing.file_slice, listing.file_size, listing.num_slices)
        ordered: list[int] = slices[np.argsort(sizes[slices], kind="stable")].tolist()
        return ordered

    def _compare(
        self, finds_all: FindsAll, rows: SliceRows, column: str | None, number: int
    ) -> None:
        try:
            is_found = finds_all(rows.read(number, column), number)
            finding = Finding.FOUND if is_found else Finding.LACKING
        except ProcessEndsError:
            raise
        except (HudiError, *DAMAGE_ERRORS):
            finding = Finding.UNREADABLE
        self._findings[number] = finding

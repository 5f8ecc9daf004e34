"""What base files, and slices with log files, hold of a column: bounds and counts.

Footers are read a part of the files at a time, and once for all columns. Values are read only of
files and columns for which the footer has no exact bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi_expr.arrays import DAMAGE_ERRORS, AnyArray, BoolArray, Int64Array, arrow_nulls
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Bounds, Values
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds, concat_bounds, no_rows
from pyhudi_expr.index.statistics.parquet_footers import RowGroupStatistics, null_count
from pyhudi_expr.index.statistics.stored_bounds import FooterColumns
from pyhudi_expr.manage.layout.tiling import PieceStatistics, Tiling
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.schema import nested_type
from pyhudi_expr.tables.slices.slice_files import FileSlice, file_slices
from pyhudi_expr.tables.slices.slice_rows import SliceReader, parquet_columns, parquet_file
from pyhudi_expr.tables.storage import Storage

_THREADS = 8
_FILES_AT_ONCE = 1_000
UNKNOWN = -1


@dataclass(frozen=True)
class ColumnFacts:
    """One column in N files, as parallel arrays.

    Attributes:
        bounds: The least and the greatest value; NaN is above all numbers.
        is_known: Whether the bounds and the flags in `bounds` are exact.
        nulls: The number of nulls; -1 if unknown.
        rows: The number of values, nulls included; -1 if unknown.
        is_stored: Whether the file has the column.
        is_retyped: Whether the file has it in another type than the table.
    """

    bounds: Bounds
    is_known: BoolArray
    nulls: Int64Array
    rows: Int64Array
    is_stored: BoolArray
    is_retyped: BoolArray


@dataclass(frozen=True)
class FileFacts:
    """All asked columns of N files.

    Attributes:
        damaged: The files that cannot be read (their positions), and why. Nothing is known of them.
    """

    columns: Mapping[BoundColumn, ColumnFacts]
    damaged: Mapping[int, str]


def file_facts(
    storage: Storage,
    listing: FileListing,
    columns: Sequence[BoundColumn],
    advance: Callable[[int], None] = lambda _: None,
) -> FileFacts:
    """Return what the files of a listing of base files hold.

    Args:
        storage: The table's storage.
        listing: Base files only.
        columns: The columns.
        advance: Called with the number of files that were read.
    """
    paths = listing.paths(np.arange(listing.num_files))
    found = [_Collected.empty(column, len(paths)) for column in columns]
    damaged: dict[int, str] = {}
    with ThreadPoolExecutor(_THREADS) as pool:
        for start in range(0, len(paths), _FILES_AT_ONCE):
            some = paths[start : start + _FILES_AT_ONCE]
            sizes = listing.file_size[start : start + _FILES_AT_ONCE].tolist()
            read = list(pool.map(lambda one: _footer(storage, *one), zip(some, sizes, strict=True)))
            damaged |= {start + n: one for n, one in enumerate(read) if isinstance(one, str)}
            files = [n for n, one in enumerate(read) if not isinstance(one, str)]
            footers = [one for one in read if not isinstance(one, str)]
            positions = np.array(files, np.int64) + start
            statistics = RowGroupStatistics(footers)
            for collected in found:
                collected.add(positions, statistics)
            read_values = partial(_values, storage, paths, found)
            for at, values in pool.map(read_values, positions[_lacking(found, positions)].tolist()):
                if isinstance(values, str):
                    damaged[at] = values
                else:
                    for collected, own in values:
                        collected.hold_values(at, own)
            for collected in found:
                collected.put_values()
            advance(len(some))
    return FileFacts({c.column: c.facts() for c in found}, damaged)


def _footer(storage: Storage, path: str, size: int) -> pq.FileMetaData | str:
    """Return a footer, or why it cannot be read."""
    try:
        with storage.open_input(path, size) as source:
            return pq.read_metadata(source)
    except (HudiError, *DAMAGE_ERRORS) as error:
        return " ".join(str(error).split()) or repr(error)


def _lacking(columns: Sequence[_Collected], positions: Int64Array) -> BoolArray:
    """Return which files have to be read."""
    lacks = np.zeros(len(positions), np.bool_)
    for one in columns:
        lacks |= one.lacks(positions)
    return lacks


@dataclass
class _Collected:
    """What is known so far of one column; each file's place is written once."""

    column: BoundColumn
    store: ColumnBounds
    is_known: BoolArray
    nulls: Int64Array
    rows: Int64Array
    is_stored: BoolArray
    is_retyped: BoolArray
    held: list[tuple[Int64Array, Bounds]] = field(default_factory=list)

    @staticmethod
    def empty(column: BoundColumn, size: int) -> _Collected:
        flags = [np.zeros(size, np.bool_) for _ in range(3)]
        counts = [np.full(size, UNKNOWN, np.int64) for _ in range(2)]
        store = ColumnBounds(size, column.domain)
        return _Collected(column, store, flags[0], counts[0], counts[1], flags[1], flags[2])

    def add(self, positions: Int64Array, statistics: RowGroupStatistics) -> None:
        """Add what the footers of files say."""
        if not len(positions):
            return
        for at, footer, columns in zip(
            positions.tolist(), statistics.footers, statistics.columns, strict=True
        ):
            if columns is not None and self.column.name in columns.positions:
                self._count(at, footer, columns)
        rows = self.rows[positions]
        empty = positions[rows == 0]
        self.store.put(empty, no_rows(len(empty), self.column.domain))
        of_groups = statistics.bounds(self.column)
        assert of_groups is not None
        counts = np.array([footer.num_row_groups for footer in statistics.footers], np.int64)
        number = np.repeat(np.arange(len(positions)), counts)
        bounds, known = united_bounds(of_groups, number, len(positions))
        self.store.put(positions[rows > 0], chosen_bounds(bounds, rows > 0))
        self.is_known[positions[rows > 0]] &= known[rows > 0]

    def _count(self, at: int, footer: pq.FileMetaData, columns: FooterColumns) -> None:
        place = columns.positions[self.column.name]
        chunks = [footer.row_group(i).column(place) for i in range(footer.num_row_groups)]
        statistics = [chunk.statistics for chunk in chunks]
        counted = [null_count(one) for one in statistics]
        self.is_stored[at] = True
        self.rows[at] = sum(chunk.num_values for chunk in chunks)
        if not self.rows[at]:
            self.nulls[at], self.is_known[at] = 0, True
        elif None not in counted:
            self.nulls[at] = sum(count or 0 for count in counted)
            self.is_known[at] = not any(map(_is_truncated, statistics))
        self.is_retyped[at] = nested_type(columns.schema, self.column.name) != self.column.type

    def lacks(self, positions: Int64Array) -> BoolArray:
        """Return for each file whether its values have to be read."""
        flags: BoolArray = self.is_stored[positions] & ~self.is_known[positions]
        return flags

    def hold_values(self, at: int, values: AnyArray) -> None:
        """Note the values of a file."""
        self.rows[at], self.nulls[at] = len(values), values.null_count
        bounds = value_bounds(values, self.column)
        if bounds is not None:
            self.held.append((np.array([at], np.int64), bounds))

    def put_values(self) -> None:
        """Add what is held."""
        if self.held:
            positions, bounds = concat_bounds(self.held)
            self.store.put(positions, bounds)
            self.is_known[positions] = True
            self.held.clear()

    def facts(self) -> ColumnFacts:
        return ColumnFacts(
            bounds=self.store.bounds(),
            is_known=self.is_known,
            nulls=self.nulls,
            rows=self.rows,
            is_stored=self.is_stored,
            is_retyped=self.is_retyped,
        )


def joined_values(parts: Sequence[AnyArray], type_: pa.DataType) -> AnyArray:
    """Return the values of batches as one array of a type. Raises pyarrow.ArrowException."""
    return pa.concat_arrays([arrow_nulls(0, type_), *(part.cast(type_) for part in parts)])


def value_bounds(values: AnyArray, column: BoundColumn) -> Bounds | None:
    """Return the bounds of one container with these values; None if there are no values."""
    if not len(values):
        return None
    rows = pa.table({column.name: values})
    return PieceStatistics(rows, Tiling(np.zeros(len(values), np.int64))).bounds(column)


def point_bounds(values: AnyArray, column: BoundColumn) -> Bounds | None:
    """Return bounds in which each value is a container of its own."""
    rows = pa.table({column.name: values})
    return PieceStatistics(rows, Tiling(np.arange(len(values)))).bounds(column)


_Values = list[tuple[_Collected, AnyArray]]


def _values(
    storage: Storage, paths: Sequence[str], columns: Sequence[_Collected], at: int
) -> tuple[int, _Values | str]:
    """Return the values of the columns that a file's footer does not describe, or why not."""
    position = np.array([at], np.int64)
    lacking = [one for one in columns if one.lacks(position)[0]]
    names = [one.column.name for one in lacking]
    try:
        with parquet_file(storage, paths[at]) as file:
            parts = list(parquet_columns(file, names, f"{storage.uri}/{paths[at]}"))
    except HudiError as error:
        return at, str(error)
    found: _Values = []
    for number, one in enumerate(lacking):
        with suppress(pa.ArrowException):  # of a type that is not the table's any more
            found.append((one, joined_values([part[number] for part in parts], one.column.type)))
    return at, found


def _is_truncated(statistics: pq.Statistics | None) -> bool:
    ends = ("is_min_value_exact", "is_max_value_exact")
    return any(getattr(statistics, end, None) is False for end in ends)


def chosen_bounds(bounds: Bounds, flags: BoolArray) -> Bounds:
    """Return the bounds of the flagged containers."""
    is_array = isinstance(bounds.lower, np.ndarray)
    mask = pa.array(flags)
    return Bounds(
        bounds.lower[flags] if is_array else bounds.lower.filter(mask),
        bounds.upper[flags] if is_array else bounds.upper.filter(mask),
        np.asarray(bounds.may_be_value)[flags],
        np.asarray(bounds.may_be_null)[flags],
    )


def united_bounds(of_parts: Bounds, number: Int64Array, count: int) -> tuple[Bounds, BoolArray]:
    """Unite bounds of parts.

    Args:
        of_parts: The parts' bounds; those of an unknown part are the extremes, or null.
        number: For each part the number of its whole, from 0 to `count` - 1.
        count: The number of wholes.

    Returns:
        The wholes' bounds, and whether no part of each was unknown.
    """
    has_value = np.broadcast_to(of_parts.may_be_value, len(number))
    has_null = np.broadcast_to(of_parts.may_be_null, len(number))
    is_ordinal = isinstance(of_parts.lower, np.ndarray)
    lower, upper = of_parts.lower, of_parts.upper
    if is_ordinal:
        unknown = has_value & ((lower == MIN_ORDINAL) | (upper == MAX_ORDINAL))
        ends: tuple[Values, Values] = _ordinal_ends(lower, upper, has_value, number, count)
    else:
        absent = lower.is_null().to_numpy(zero_copy_only=False)
        unknown = has_value & (absent | upper.is_null().to_numpy(zero_copy_only=False))
        ends = _arrow_ends(lower, upper, has_value, number, count)
    known = ~_any(unknown, number, count)
    return Bounds(*ends, _any(has_value, number, count), _any(has_null, number, count)), known


def _any(flags: BoolArray, number: Int64Array, count: int) -> BoolArray:
    found: BoolArray = np.bincount(number[flags], minlength=count) > 0
    return found


def _ordinal_ends(
    lower: Int64Array, upper: Int64Array, has_value: BoolArray, number: Int64Array, count: int
) -> tuple[Int64Array, Int64Array]:
    least = np.full(count, MAX_ORDINAL, np.int64)
    greatest = np.full(count, MIN_ORDINAL, np.int64)
    np.minimum.at(least, number[has_value], lower[has_value])
    np.maximum.at(greatest, number[has_value], upper[has_value])
    return least, greatest


def _arrow_ends(
    lower: AnyArray, upper: AnyArray, has_value: BoolArray, number: Int64Array, count: int
) -> tuple[AnyArray, AnyArray]:
    mask = pa.array(has_value)
    parts = pa.table({"number": pa.array(number), "lower": lower, "upper": upper}).filter(mask)
    found = parts.group_by("number").aggregate([("lower", "min"), ("upper", "max")])
    place = pc.index_in(pa.array(np.arange(count)), found.column("number").combine_chunks())
    least, greatest = (found.column(end).combine_chunks() for end in ("lower_min", "upper_max"))
    return least.take(place), greatest.take(place)


@dataclass(frozen=True)
class MergedColumn:
    """A column in a merged slice.

    Attributes:
        bounds: None if there are no rows.
    """

    bounds: Bounds | None
    nulls: int


@dataclass(frozen=True)
class MergedSlices:
    """The slices with log files.

    Attributes:
        file_ids: Their file groups: partition path and file id.
        partition: The number of each slice's partition.
        columns: For each slice its columns; None for a slice, or a column, that is not known.
        failures: Why slices cannot be merged.
    """

    file_ids: frozenset[tuple[str, str]]
    partition: Sequence[int]
    columns: Sequence[Mapping[str, MergedColumn | None] | None]
    failures: tuple[str, ...]

    @staticmethod
    def read(
        table: HudiTable, listing: FileListing, columns: Sequence[BoundColumn]
    ) -> MergedSlices:
        """Read the columns of those of a listing's slices that have log files."""
        logs = listing.slice_has_logs
        if not logs.any():
            return MergedSlices(frozenset(), (), (), ())
        some = list(file_slices(listing.some(logs)))
        number = {path: at for at, path in enumerate(listing.partition_paths)}
        failures: list[str] = []
        found: list[Mapping[str, MergedColumn | None] | None] = []
        for one in some:
            columns_or_why = _read(table, listing, one, columns)
            if isinstance(columns_or_why, str):
                failures.append(columns_or_why)
            found.append(None if isinstance(columns_or_why, str) else columns_or_why)
        ids = frozenset((one.partition, one.file_id) for one in some)
        return MergedSlices(ids, [number[one.partition] for one in some], found, tuple(failures))

    def has_logs(self, bases: FileListing) -> BoolArray:
        """Return which of a listing's files are in these slices."""
        if not self.file_ids:
            return np.zeros(bases.num_files, np.bool_)
        ids = bases.slice_file_id.take(pa.array(bases.file_slice))
        partitions = bases.partitions.take(pa.array(bases.file_partition))
        both = pc.binary_join_element_wise(partitions, ids, "\n")
        there = pc.is_in(both, pa.array(["\n".join(each) for each in self.file_ids]))
        return np.asarray(there.to_numpy(zero_copy_only=False), np.bool_)

    def of_column(self, column: BoundColumn) -> Iterator[tuple[int, MergedColumn | None]]:
        """Return for each slice the number of its partition, and what it holds; None: unknown."""
        for at, columns in zip(self.partition, self.columns, strict=True):
            yield at, None if columns is None else columns.get(column.name)


def _read(
    table: HudiTable, listing: FileListing, one: FileSlice, columns: Sequence[BoundColumn]
) -> Mapping[str, MergedColumn | None] | str:
    """Return the columns of a slice, or why it cannot be read."""
    try:
        return _merged(SliceReader.of(table, listing.instant), one, columns)
    except HudiError as error:
        return str(error)


def _merged(
    reader: SliceReader, one: FileSlice, columns: Sequence[BoundColumn]
) -> Mapping[str, MergedColumn | None]:
    parts = list(reader.columns(one, [column.name for column in columns]))
    found: dict[str, MergedColumn | None] = {}
    for number, column in enumerate(columns):
        found[column.name] = None
        with suppress(pa.ArrowException):  # of a type that is not the table's any more
            values = joined_values([part[number] for part in parts], column.type)
            found[column.name] = MergedColumn(value_bounds(values, column), values.null_count)
    return found

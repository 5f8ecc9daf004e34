"""Sample a table's base files: footers, rows, Bloom filters, and ranges of functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi_expr.arrays import AnyArray, AnyChunkedArray, Int64Array, string_list
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundCall, BoundColumn, BoundExpression, BoundTerm, walk
from pyhudi_expr.expr.domains import Bounds
from pyhudi_expr.index.lookups.expression_index import IDENTITY, Expression, expression_of
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds
from pyhudi_expr.index.statistics.parquet_footers import Range, as_bounds, read_bounds
from pyhudi_expr.manage.layout.analysis import sample_file
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import secondary_shard_key
from pyhudi_expr.tables.mdt.bytes.keys import shards as shards_of
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.hfile.writer import LOOKUP_BLOCK_BYTES
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.bloom_filter import (
    SIMPLE,
    BloomFilter,
    FilterBuilder,
    of_footer,
    parse,
)

THREADS = 8
_SEED = 77
_SAMPLE_ROWS = 100_000
#: Limit of base files to sample.
MOST_FILES = 1000
_MOST_SAMPLED = 64
_EVERY_ROW = 1 << 40
#: Values that a sample has more often are surely all in it.
_OFTEN = 50

#: The partition and the file group of a row.
Place: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class SampledRows:
    """Some rows of some of a table's files.

    Attributes:
        rows: The rows.
        places: A place for each.
        share: Of the rows of these files, estimated.
    """

    rows: pa.Table
    places: Sequence[Place]
    share: float


@dataclass(frozen=True)
class TableSample:
    """The sampled base files of a listing.

    Attributes:
        positions: Their positions in the listing.
    """

    table: HudiTable
    listing: FileListing
    positions: Int64Array

    @staticmethod
    def at(table: HudiTable, listing: FileListing) -> TableSample:
        """Sample at most `MOST_FILES` files, at random but reproducibly."""
        bases = np.flatnonzero(~listing.file_is_log)
        if len(bases) > MOST_FILES:
            bases = np.sort(np.random.default_rng(_SEED).choice(bases, MOST_FILES, replace=False))
        return TableSample(table, listing, bases)

    @property
    def base_files(self) -> int:
        """Number of base files in the listing, sampled or not."""
        return int(np.count_nonzero(~self.listing.file_is_log))

    def some(self, files: int) -> Int64Array:
        """Return the positions of at most so many sampled files, at random but reproducibly."""
        if len(self.positions) <= files:
            return self.positions
        rng = np.random.default_rng(_SEED)
        return np.sort(rng.choice(self.positions, files, replace=False))

    def whole_column(self, path: str, column: str) -> AnyChunkedArray:
        """Read a column of a base file; null if the file does not have it.

        Raises:
            HudiError: The file cannot be read.
        """
        schema = pa.schema([self.table.schema().field(column)])
        return sample_file(self.table.storage, path, schema, _EVERY_ROW, _SEED).column(column)

    @computed_once
    def rows(self) -> int:
        """Estimated rows of all base files; those not sampled count by their size."""

        def count(path: str) -> int:
            with self.table.storage.open_input(path) as source:
                return int(pq.read_metadata(source).num_rows)

        with ThreadPoolExecutor(THREADS) as pool:
            counted = sum(pool.map(count, self.listing.paths(self.positions)))
        size = int(self.listing.file_size[self.positions].sum())
        return round(counted * self._base_bytes / max(size, 1))

    @property
    def _base_bytes(self) -> int:
        return int(self.listing.file_size[~self.listing.file_is_log].sum())

    def bounds(self, column: BoundColumn) -> Bounds:
        """Return the column's bounds by the footers, over the listing; unknown for other files."""
        [found] = read_bounds(self.table.storage, self.listing.paths(self.positions), [column])
        store = ColumnBounds(self.listing.num_files, column.domain)
        store.put(self.positions, found)
        return store.bounds()

    def sample(self, columns: Sequence[str]) -> SampledRows:
        """Read some rows of these columns from some files."""
        chosen = self.some(_MOST_SAMPLED)
        schema = self.table.schema()
        requested = pa.schema([schema.field(name) for name in columns])
        each = math.ceil(_SAMPLE_ROWS / max(len(chosen), 1))
        paths = self.listing.paths(chosen)
        with ThreadPoolExecutor(THREADS) as pool:
            tables = list(
                pool.map(
                    lambda number: sample_file(
                        self.table.storage, paths[number], requested, each, _SEED + number
                    ),
                    range(len(paths)),
                )
            )
        rows = pa.concat_tables(tables) if tables else requested.empty_table()
        sizes = self.listing.file_size
        of_files = self.rows * int(sizes[chosen].sum()) / max(self._base_bytes, 1)
        share = min(rows.num_rows / max(of_files, 1), 1.0)
        return SampledRows(rows, self._places(rows.num_rows), share)

    def _places(self, rows: int) -> list[Place]:
        """Return a place for each sampled row.

        A sampled file stands for those beside it in the listing: all places occur, each as often as
        the next, as what an entry takes depends on their number.
        """
        bases = np.flatnonzero(~self.listing.file_is_log)
        files = bases[np.arange(rows) * len(bases) // max(rows, 1)]
        partitions = self.listing.partitions.take(pa.array(self.listing.file_partition[files]))
        groups = self.listing.slice_file_id.take(pa.array(self.listing.file_slice[files]))
        return list(zip(string_list(partitions), string_list(groups), strict=True))


def distinct_values(values: AnyChunkedArray, rows: int) -> float:
    """Estimate the distinct values of a column with so many rows from a sample.

    The second-order jackknife of Haas and Stokes (JASA 93, 1998, "Duj2a"): values that were seen
    often are counted; how many of the others were not seen follows from how many were seen once,
    and from how much their frequencies differ. It is exact if all rows are in the sample.
    """
    seen = values.drop_null()
    if not len(seen):
        return 1.0
    counts = pc.value_counts(seen).field("counts").to_numpy(zero_copy_only=False)
    rare = counts[counts <= _OFTEN]
    total, often = max(rows, len(seen)), len(counts) - len(rare)
    share = len(seen) / total
    if share == 1.0 or not len(rare):
        return float(len(counts))
    sampled = int(rare.sum())
    once = int(np.count_nonzero(rare == 1)) / sampled
    unseen = 1.0 - once * (1.0 - share)
    first = len(rare) / unseen
    pairs = float((rare * (rare - 1)).sum()) / sampled**2
    variation = max(0.0, first * pairs + first * share / sampled - 1.0)
    skewed = once * sampled * (1.0 - share) * math.log(1.0 - share) * variation / share
    return float(min((len(rare) - skewed) / unseen, sampled / share) + often)


def location_bytes(keys: Sequence[str], places: Sequence[Place], shards: int) -> float:
    """Measure the bytes of a record index for each key, by writing HFiles of these.

    Args:
        keys: The keys.
        places: The place of each.
        shards: The number of HFiles.
    """
    values = {each: payloads.location(*each, _INSTANT_MS) for each in set(places)}
    cells = {key.encode(): values[each] for key, each in zip(keys, places, strict=True)}
    return _bytes_of_entry(cells, {key: key for key in cells}, shards)


def secondary_bytes(values: Sequence[object], keys: Sequence[str], shards: int) -> float:
    """Measure the bytes of a secondary index for each row, by writing HFiles of these.

    Args:
        values: The values.
        keys: The key of each value's row.
        shards: The number of HFiles.
    """
    entry, hashed = payloads.secondary_entry(), {}
    for value, key in zip(values, keys, strict=True):
        hashed[f"{value}${key}".encode()] = secondary_shard_key(str(value)).encode()
    return _bytes_of_entry(dict.fromkeys(hashed, entry), hashed, shards)


def _bytes_of_entry(
    cells: Mapping[bytes, bytes], hashed: Mapping[bytes, bytes], shards: int
) -> float:
    """Measure the bytes of cells in HFiles, by the texts that say which HFile has a cell."""
    if not cells:
        return 0.0
    found = shards_of(ByteStrings.of([hashed[key] for key in cells]), shards).tolist()
    files: list[list[bytes]] = [[] for _ in range(shards)]
    for number, key in zip(found, cells, strict=True):
        files[number].append(key)
    written = 0
    for keys in files:
        keys.sort()
        batch = ByteStrings.of(keys), ByteStrings.of([cells[key] for key in keys])
        written += hfile_writer.write_batches(BytesIO(), [batch], "", LOOKUP_BLOCK_BYTES)
    return (written - shards * hfile_writer.write(BytesIO(), [], "")) / len(cells)


#: Number of files whose whole columns are read, to count their values exactly.
_FILES_FOR_FILTERS = 8
_INSTANT, _INSTANT_MS = "20240101000000000", 1_704_067_200_000


@dataclass(frozen=True)
class FilterSample:
    """Properties of one column's filters, averaged over files.

    Attributes:
        file_bytes: Bytes of one filter in the index.
        text_bytes: Bytes of one filter before compression.
        footer_bytes: Bytes that a writer adds for a file: Hudi's do not compress them, and size
            them by the filters in footers.
        false_positives: Share of other values that a filter does not exclude.
        unfiltered: Share of file slices with log files, which have no filters.
        are_built: Whether they were built from values, as footers have none.
    """

    file_bytes: float
    text_bytes: float
    footer_bytes: float
    false_positives: float
    unfiltered: float
    are_built: bool

    def kept(self, holding: float, files: float, values: int) -> float:
        """Return how many of the files remain if some of them hold one of so many values."""
        mistaken: float = 1.0 - (1.0 - self.false_positives) ** values
        positive = holding + (files - holding) * mistaken
        return self.unfiltered * files + (1.0 - self.unfiltered) * positive


def key_filters(sample_files: TableSample, key: Expression) -> FilterSample:
    """Sample filters of record keys: from the footers, or built from keys if there are none.

    Args:
        sample_files: The sampled files.
        key: A column with as many values as keys, the only one of the record key.

    Raises:
        HudiError: A file cannot be read.
    """
    if not sample_files.table.properties.meta_fields:
        return column_filters(sample_files, key)
    texts = _footer_filters(sample_files)
    if len(texts) < len(_some_paths(sample_files)):
        return column_filters(sample_files, key)
    return _filters(sample_files, texts, are_built=False)


def column_filters(sample_files: TableSample, expression: Expression) -> FilterSample:
    """Sample filters of a column's values, or of a function's results, sized for each file.

    Raises:
        HudiError: A file cannot be read.
    """
    texts = [
        (SIMPLE, _build_filter(values)) for values in _distinct_texts(sample_files, expression)
    ]
    return _filters(sample_files, texts, are_built=True)


def _some_paths(sample_files: TableSample) -> list[str]:
    return list(sample_files.listing.paths(sample_files.some(_FILES_FOR_FILTERS)))


def _distinct_texts(sample_files: TableSample, expression: Expression) -> Iterator[AnyArray]:
    for path in _some_paths(sample_files):
        given = evaluate_function(expression, sample_files.whole_column(path, expression.column))
        distinct: AnyArray = given.drop_null().unique()  # type: ignore[assignment]
        yield distinct.cast(pa.string())


def _build_filter(values: AnyArray) -> bytes:
    builder = FilterBuilder(len(values))
    builder.add(ByteStrings.from_arrow(values.cast(pa.large_binary())))
    return builder.text()


def _footer_filters(sample_files: TableSample) -> list[tuple[str, bytes]]:
    found = []
    for path in _some_paths(sample_files):
        with sample_files.table.storage.open_input(path) as source:
            found.append(of_footer(pq.read_metadata(source).metadata))
    return [one for one in found if one is not None]


def _filters(
    sample_files: TableSample, texts: list[tuple[str, bytes]], *, are_built: bool
) -> FilterSample:
    listing = sample_files.listing
    logged = len(np.unique(listing.file_slice[listing.file_is_log]))
    count = max(len(texts), 1)
    written = (_footer_filters(sample_files) if are_built else texts) or texts
    cells = [
        # Keys of entries are the hashes of a partition's and of a file's name.
        (f"{number:048d}".encode(), payloads.bloom_filter(kind, _INSTANT, text))
        for number, (kind, text) in enumerate(texts)
    ]
    frame = hfile_writer.write(BytesIO(), [], "")
    return FilterSample(
        file_bytes=(hfile_writer.write(BytesIO(), cells, "") - frame) / count,
        text_bytes=sum(len(text) for _, text in texts) / count,
        footer_bytes=sum(len(text) for _, text in written) / max(len(written), 1),
        false_positives=sum(_false_positives(parse(*one)) for one in texts) / count,
        unfiltered=logged / max(listing.num_slices, 1),
        are_built=are_built,
    )


def _false_positives(bloom: BloomFilter) -> float:
    """Return the rate by how full a filter is: with more keys than planned it excludes less."""
    passed = 1.0
    for row in bloom.rows:
        filled = float(np.unpackbits(row).sum()) / bloom.bits
        passed *= 1.0 - filled**bloom.hashes
    return 1.0 - passed


#: The ranges of a sample of rows would be too narrow, and look better than they are.
_FILES_FOR_RANGES = 32
_RESULTS: Mapping[str, Callable[[AnyChunkedArray], AnyChunkedArray]] = {
    IDENTITY: lambda values: values,
    "lower": pc.utf8_lower,
    "upper": pc.utf8_upper,
    "trim": partial(pc.utf8_trim, characters=" "),
    "ltrim": partial(pc.utf8_ltrim, characters=" "),
    "rtrim": partial(pc.utf8_rtrim, characters=" "),
    "length": pc.utf8_length,
}
"""Ranges of the column itself say too little of these; of `year(ts)`, say, they tell as much."""


def evaluate_function(expression: Expression, values: AnyChunkedArray) -> AnyChunkedArray:
    """Return the function's results for the column's values."""
    return _RESULTS[expression.function](values)


def indexable_expression(term: BoundTerm) -> Expression | None:
    """Return the column, or the function of a column, if an index over it can be estimated."""
    if isinstance(term, BoundColumn):
        return Expression(IDENTITY, term.name)
    found = expression_of(term)
    return found if found is not None and found.function in _RESULTS else None


def indexable_calls(predicate: BoundExpression) -> Iterator[tuple[Expression, BoundCall]]:
    """Return the functions in the predicate for which an index can be estimated."""
    for term in walk(predicate):
        expression = indexable_expression(term) if isinstance(term, BoundCall) else None
        if expression is not None:
            yield expression, cast(BoundCall, term)


@dataclass(frozen=True)
class ResultRanges:
    """Bounds of a function's results over the listing's files; unknown for files without sample.

    Attributes:
        slices: The slices of the sampled files.
    """

    bounds: Bounds
    slices: Int64Array


def result_ranges(
    sample_files: TableSample, expression: Expression, call: BoundCall
) -> ResultRanges:
    """Compute the ranges of an expression, of which `call` is one call.

    Raises:
        HudiError: A file cannot be read.
    """
    chosen, listing = sample_files.some(_FILES_FOR_RANGES), sample_files.listing
    with ThreadPoolExecutor(THREADS) as pool:
        of_file = partial(_extremes, sample_files, expression, call)
        found = list(pool.map(of_file, listing.paths(chosen)))
    store = ColumnBounds(listing.num_files, call.domain)
    store.put(chosen, as_bounds(found, call.domain))
    return ResultRanges(store.bounds(), np.unique(listing.file_slice[chosen]))


def _extremes(
    sample_files: TableSample, expression: Expression, call: BoundCall, path: str
) -> Range:
    given = evaluate_function(expression, sample_files.whole_column(path, expression.column))
    if not call.domain.is_ordinal:
        given = given.cast(call.domain.arrow_type)
    ends = pc.min_max(given).as_py()
    nulls = given.null_count
    return Range(ends["min"], ends["max"], nulls < len(given), nulls > 0)

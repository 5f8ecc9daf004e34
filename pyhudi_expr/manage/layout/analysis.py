"""Estimate what a layout would do for given predicates, before anything is rewritten.

A sample of the rows is ordered and divided as the table's files would be. The bounds of each piece
then prune the predicates as a file's statistics would. Today's layout is evaluated by the same
rows, in the files that they are in; a note says what the table's own statistics make of it.

A piece of the sample has a narrower range than the file that it stands for, the more so the fewer
rows it has: shares are slightly too low, for good and bad layouts alike.

Log files are left out: a layout needs the distribution of values, not every value.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.arrays import READ_ERRORS, AnyChunkedArray, BoolArray, Int64Array, arrow_nulls
from pyhudi_expr.errors import CorruptFile
from pyhudi_expr.expr.bind import bind
from pyhudi_expr.expr.bound import BoundExpression, columns, unknown_reasons
from pyhudi_expr.expr.domains import domain_of
from pyhudi_expr.expr.evaluate import StatisticsEvidence, as_array, may_be
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.expr.semantics import here
from pyhudi_expr.expr.terms import Scope
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.index.prune import PruneOptions, Pruner, PruneRequest, PruneResult
from pyhudi_expr.manage.layout.curves import Curve
from pyhudi_expr.manage.layout.row_order import InvalidLayout, Layout, Mapping, Pieces, row_order
from pyhudi_expr.manage.layout.selection import columns_without_statistics
from pyhudi_expr.manage.layout.tiling import PieceStatistics, Tiling
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.storage import Storage


def sample_file(storage: Storage, path: str, schema: pa.Schema, rows: int, seed: int) -> pa.Table:
    """Return random rows of a Parquet file, the same ones for the same seed; at most all.

    Args:
        storage: The table's storage.
        path: The file.
        schema: The columns with the types to read; a column that the file does not have is null.
        rows: The number of rows.
        seed: The seed.

    Raises:
        HudiError: The file is damaged (CorruptFile) or cannot be read.
    """
    try:
        with storage.open_input(path) as source, pq.ParquetFile(source) as file:
            there = [name for name in schema.names if name in file.schema_arrow.names]
            count = file.metadata.num_rows
            read = file.read(columns=there) if there else pa.table({})
    except READ_ERRORS as error:
        raise CorruptFile(f"{storage.uri}/{path}", f"it cannot be sampled: {error}") from error
    chosen = np.arange(count)
    if count > rows:
        rng = np.random.default_rng([seed, count])
        chosen = np.sort(rng.choice(count, rows, replace=False))
    columns = [
        _as(read.column(field.name).take(chosen), field.type)
        if field.name in there
        else pa.nulls(len(chosen), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _as(values: AnyChunkedArray, type_: pa.DataType) -> AnyChunkedArray:
    """Return the values as another type; null for values of an older file that do not fit."""
    try:
        return values.cast(type_)
    except pa.ArrowException:
        return pa.chunked_array([arrow_nulls(len(values), type_)])


_SAMPLE_ROWS = 100_000
_ROWS_OF_PIECE = 200
_MOST_ROWS = 2_000_000
_MOST_FILES = 256
_MOST_COLUMNS = 3

_THREADS = 8
_SEED = 28
_FOOTER_WAIT = 600.0  # seconds
_ESTIMATED = (
    "layouts are estimated by a sample of the rows, and by statistics alone; indexes of keys and"
    " values skip files in any order"
)


@dataclass(frozen=True)
class Sample:
    """Random rows.

    Attributes:
        rows: The rows with the columns that predicates and layouts need.
        partition: The partition of each row, as numbers from 0 on.
        file: The file of each row, as numbers from 0 on.
    """

    rows: pa.Table
    partition: Int64Array
    file: Int64Array


@dataclass(frozen=True)
class Shares:
    """What the predicates would read.

    Attributes:
        layout: The layout; None for today's.
        files: Share of the files for each predicate, from 0 to 1.
        bytes: Share of the bytes for each predicate.
    """

    layout: Layout | None
    files: tuple[float, ...]
    bytes: tuple[float, ...]

    @property
    def mean_files(self) -> float:
        """Mean share of the files."""
        return sum(self.files) / len(self.files)

    @property
    def mean_bytes(self) -> float:
        """Mean share of the bytes."""
        return sum(self.bytes) / len(self.bytes)


@dataclass(frozen=True)
class Analysis:
    """The result of an analysis.

    Attributes:
        today: Shares that are read today, by all indexes of the table; by footers where it has no
            `column_stats`.
        estimated: Shares of today's files by statistics alone, estimated as the candidates are.
        candidates: Shares of the candidates; those that read least come first.
        files: Number of files of each candidate.
        notes: What else to know.
    """

    table: str
    instant: str | None
    today: Shares
    estimated: Shares
    candidates: tuple[Shares, ...]
    files: int
    notes: tuple[str, ...]
    sample: Sample = field(repr=False)
    results: tuple[PruneResult, ...] = field(repr=False)
    """Of each predicate on the table as it is today."""

    def reads(self, tiling: Tiling) -> list[BoolArray]:
        """Return for each predicate the files that it would read, by the sample."""
        return _read(self.sample, tiling, [each.predicate for each in self.results])

    def tiling(self, layout: Layout | None) -> Tiling:
        """Return in which file of a layout the sample's rows would be; None: today's."""
        if layout is None:
            return Tiling(self.sample.file)
        return _tiled(self.sample, layout, self.files)


def analyze(
    table: str,
    predicates: Sequence[HudiExpression],
    *,
    candidates: Sequence[Layout] | None = None,
    files: int | None = None,
    zone: str | None = None,
    sample_rows: int | None = None,
) -> Analysis:
    """Estimate which layout makes the predicates read least of a table.

    Args:
        table: The base path.
        predicates: The predicates.
        candidates: The layouts to evaluate; by default those of the columns that the predicates use
            most.
        files: The number of files; by default as many as there are.
        zone: As in `PruneRequest`.
        sample_rows: Number of rows to sample.

    Raises:
        InvalidLayout: There is not a predicate or row, or a candidate is not possible.
        HudiError: The table cannot be read.
    """
    if not predicates:
        raise InvalidLayout(f"{table}: name at least one predicate to evaluate layouts by")
    pruner = Pruner(PruneOptions(footers=True, footer_wait=_FOOTER_WAIT))
    requests = (
        PruneRequest(each, semantics=here(zone), reader=PartitionReader.ENGINE)
        for each in predicates
    )
    results = [pruner.prune(table, request) for request in requests]
    opened, listing = HudiTable.open(table), results[0].listing
    schema = opened.schema()
    bound = [bind(each, Scope(schema, here(zone))) for each in predicates]
    stored = _stored(opened, schema)
    layouts = _candidates(bound, stored) if candidates is None else tuple(candidates)
    for layout in layouts:
        layout.check(stored)
    count = files or max(listing.num_slices, 1)
    needed = {name.split(".")[0] for each in bound for name in columns(each)}
    needed |= {name for layout in layouts for name in layout.columns}
    target = sample_rows or min(max(_SAMPLE_ROWS, _ROWS_OF_PIECE * count), _MOST_ROWS)
    kept = pa.schema([one for one in stored if one.name in needed])
    sample, notes = _sampled(opened, listing, kept, target)
    notes += list(dict.fromkeys(reason for each in bound for reason in unknown_reasons(each)))
    notes.append(_ESTIMATED)
    notes.extend(_statistics_note(opened, layouts))
    estimated = _shares(sample, None, Tiling(sample.file), bound)
    shares = [_shares(sample, one, _tiled(sample, one, count), bound) for one in layouts]
    shares.sort(key=lambda one: (one.mean_bytes, one.mean_files))
    return Analysis(
        table,
        listing.instant,
        _today(results),
        estimated,
        tuple(shares),
        count,
        tuple(notes),
        sample,
        tuple(results),
    )


def _stored(table: HudiTable, schema: pa.Schema) -> pa.Schema:
    """Return the columns that base files hold."""
    if not table.properties.drop_partition_columns:
        return schema
    return pa.schema([one for one in schema if one.name not in table.properties.partition_fields])


def _candidates(bound: Sequence[BoundExpression], schema: pa.Schema) -> tuple[Layout, ...]:
    """Return every layout of the columns that most predicates use."""
    uses = Counter(
        name
        for each in bound
        for name in columns(each)
        if name in schema.names and domain_of(schema.field(name).type) is not None
    )
    names = sorted(uses, key=lambda name: (-uses[name], name))[:_MOST_COLUMNS]
    found: list[Layout] = []
    for count in range(1, len(names) + 1):
        orders = itertools.permutations(names, count)
        found.extend(Layout(chosen, Curve.LINEAR) for chosen in orders)
        if count > 1:
            for chosen in itertools.combinations(names, count):
                found.extend(
                    Layout(chosen, curve, mapping)
                    for curve in (Curve.Z_ORDER, Curve.HILBERT)
                    for mapping in Mapping
                )
    if not found:
        raise InvalidLayout("the predicates use no column that rows can be laid out by")
    return tuple(found)


def _sampled(
    table: HudiTable, listing: FileListing, schema: pa.Schema, rows: int
) -> tuple[Sample, list[str]]:
    """Sample rows. Raises InvalidLayout if there are none."""
    bases = np.flatnonzero(~listing.file_is_log)
    notes = ["log files are not sampled"] if listing.has_logs else []
    if len(bases) > _MOST_FILES:
        chosen = np.random.default_rng(_SEED).choice(bases, _MOST_FILES, replace=False)
        notes.append(f"{_MOST_FILES} of {len(bases)} base files are sampled")
        bases = np.sort(chosen)
    size = listing.file_size[bases]
    target = np.ceil(rows * size / max(int(size.sum()), 1)).astype(np.int64)
    paths = listing.paths(bases)

    def read(number: int) -> pa.Table:
        return sample_file(
            table.storage, paths[number], schema, int(target[number]), _SEED + number
        )

    with ThreadPoolExecutor(_THREADS) as pool:
        tables = list(pool.map(read, range(len(paths))))
    found = pa.concat_tables(tables) if tables else schema.empty_table()
    if not found.num_rows:
        raise InvalidLayout(f"{table.base_path}: its base files have no row to sample")
    lengths = [one.num_rows for one in tables]
    sample = Sample(
        found.combine_chunks(),
        np.repeat(listing.file_partition[bases].astype(np.int64), lengths),
        np.repeat(np.arange(len(bases)), lengths),
    )
    return sample, notes


def _today(results: Sequence[PruneResult]) -> Shares:
    return Shares(
        None,
        tuple(one.files_kept / max(one.files_total, 1) for one in results),
        tuple(one.bytes_kept / max(one.bytes_total, 1) for one in results),
    )


def _statistics_note(table: HudiTable, layouts: Sequence[Layout]) -> list[str]:
    """Return what to do if columns that could order the rows have no statistics."""
    ordered = list(dict.fromkeys(name for layout in layouts for name in layout.columns))
    missing = ", ".join(columns_without_statistics(table, ordered))
    if not missing:
        return []
    return [
        f"the table has no column_stats of {missing}, by which files in any order are skipped"
        " (today, footers serve): pyhudi layout cluster builds them for the columns"
        " that it orders by, pyhudi index create --using column_stats for others"
    ]


def _shares(
    sample: Sample, layout: Layout | None, tiling: Tiling, predicates: Sequence[BoundExpression]
) -> Shares:
    kept = _read(sample, tiling, predicates)
    rows = tiling.rows / tiling.rows.sum()
    return Shares(
        layout,
        tuple(float(flags.mean()) for flags in kept),
        tuple(float(rows[flags].sum()) for flags in kept),
    )


def _read(sample: Sample, tiling: Tiling, predicates: Sequence[BoundExpression]) -> list[BoolArray]:
    evidence = StatisticsEvidence(PieceStatistics(sample.rows, tiling))
    return [as_array(may_be(each, True, [evidence]), tiling.count) for each in predicates]


def _tiled(sample: Sample, layout: Layout, files: int) -> Tiling:
    """Order each partition and divide it into its share of the files."""
    piece = np.zeros(sample.rows.num_rows, np.int64)
    first = 0
    for partition in np.unique(sample.partition):
        own = np.flatnonzero(sample.partition == partition)
        rows = sample.rows.take(own)
        count = max(round(files * len(own) / sample.rows.num_rows), 1)
        order = row_order(layout, rows, count)
        places = order.places([rows.column(name).combine_chunks() for name in layout.columns])
        pieces = Pieces.of(places, count)
        piece[own] = first + pieces.numbers(places)
        first += count
    return Tiling(piece)

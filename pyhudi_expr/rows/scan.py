"""Scan a table without a query engine: the filtered rows of the files that can match, as Arrow.

pyarrow reads slices without log files. hudi-rs (the package `hudi`) merges slices with log files
one by one, with one slice in memory. What cannot be read as Hudi reads it raises an error; it never
gives a wrong row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from pyhudi_expr.arrays import Int64Array
from pyhudi_expr.errors import FilterNotApplicable
from pyhudi_expr.expr.frontend.arrow.expressions import columns_read, validation_error
from pyhudi_expr.expr.frontend.common.constants import conjunction
from pyhudi_expr.expr.frontend.sql.dialects import HIVE, SqlDialect
from pyhudi_expr.expr.nodes import ALWAYS, And, HudiExpression
from pyhudi_expr.expr.semantics import Engine, here
from pyhudi_expr.expr.terms import resolve
from pyhudi_expr.index.limits.narrowing import narrowed
from pyhudi_expr.index.limits.sure_rows import sure_rows
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.index.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.index.request_checks import Filter, check_column, parse_filter
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.spark_partition_values import PathColumns
from pyhudi_expr.rows.arrow_filter import WrongConstant, arrow_filter, columns_of
from pyhudi_expr.rows.file_columns import SchemaEvolution
from pyhudi_expr.rows.first_rows import FirstRows, ranked_slices
from pyhudi_expr.rows.footer_trust import footers_suffice
from pyhudi_expr.rows.pruned_rows import CAUTIOUS, EAGER, PrunedRows, narrowest
from pyhudi_expr.rows.row_filter import RowFilter, row_filter
from pyhudi_expr.rows.sorting import Order, SortKey, check_order, sort_keys, wanted_rows
from pyhudi_expr.tables.hudi_names import RECORD_KEY
from pyhudi_expr.tables.keys.definition import is_virtual
from pyhudi_expr.tables.keys.key_storage import warn_of_stored_keys
from pyhudi_expr.tables.properties import StatedBuckets
from pyhudi_expr.tables.slices.slice_files import check_supported

_INSTEAD = "let an engine such as DuckDB filter the rows of the files that prune keeps"


@dataclass(frozen=True)
class Progress:
    """The progress of a scan.

    Attributes:
        slices: Slices that were started, of `slices_total`.
        rows: Rows returned so far.
    """

    slices: int
    slices_total: int
    rows: int


def unheard(progress: Progress) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class RowStream:
    """Rows of a table that are not read yet. Each of the methods reads anew.

    Attributes:
        schema: The schema of the rows.
        result: Which files are read, and why.

    The other attributes are what `scan_snapshot` makes of its arguments.
    """

    schema: pa.Schema
    result: PruneResult
    _files: PrunedRows
    _rows: PrunedRows
    _ordered: FirstRows | None
    _counted: PrunedRows
    _sure: Callable[[], Int64Array]
    _limit: int | None
    _heard: Callable[[Progress], None]

    def __repr__(self) -> str:
        """Return one line, without reading rows."""
        files = f"{self.result.files_kept} of {self.result.files_total} files"
        return f"<RowStream of {files}: {', '.join(self.schema.names)}>"

    @property
    def order(self) -> Sequence[SortKey]:
        """The order of the rows, the first key first; empty for none."""
        return self._ordered.keys if self._ordered else ()

    def reporting_to(self, progress: Callable[[Progress], None]) -> RowStream:
        """Return the same rows, whose progress another function hears."""
        return replace(self, _heard=progress)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the rows, in no order but that of `order_by`.

        Raises:
            HudiError: A slice cannot be read.
        """
        return self._limited(self._ordered or self._rows)

    def count(self) -> int:
        """Return the number of rows.

        Files all of whose rows surely match are not read, if the metadata table says how many they
        have. Of others it reads the columns of the filter; without one, footers.

        Raises:
            HudiError: A slice cannot be read.
        """
        if self._limit is not None:
            return sum(batch.num_rows for batch in self._limited(self._counted))
        sure = self._sure()
        rest = self._counted.of_slices(self.result.keep & (sure == 0))
        if rest.filter is None:
            return int(sure.sum()) + rest.count()
        return int(sure.sum()) + sum(batch.num_rows for batch in self._limited(rest))

    def _limited(self, rows: PrunedRows | FirstRows) -> Iterator[pa.RecordBatch]:
        given, slices = 0, 0
        total = int(np.count_nonzero(self.result.keep))
        for new_slices, batch in rows.batches():
            slices += new_slices
            room = batch.num_rows if self._limit is None else self._limit - given
            given += min(room, batch.num_rows)
            self._heard(Progress(slices, total, given))
            if room > 0 and batch.num_rows:
                yield batch.slice(0, room)
            if self._limit is not None and given >= self._limit:
                return

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the rows as a stream of batches."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def to_table(self) -> pa.Table:
        """Return all rows in memory."""
        return pa.Table.from_batches(self.batches(), self.schema)

    def to_dataset(self) -> ds.Dataset:
        """Return the files to read as a pyarrow dataset of all columns and rows, to be filtered.

        A filter of the dataset uses the statistics of floats, and may lose rows with NaN or -0.0.
        Filters of tables in memory, and that of the scan itself, lose none.

        Raises:
            UnsupportedTable: Log files have to be merged into a slice, or columns were changed
                since a file was written.
        """
        return self._files.dataset()

    def to_filtered_dataset(self) -> ds.Dataset:
        """Return the rows as a pyarrow dataset, filtered exactly, with the columns of the filter.

        Files that pyarrow reads as Hudi does are its fragments. Rows that have to be merged or
        converted are read now and held in memory. So are all rows if the filter may be TRUE for
        NaN, or tell zeros apart, because pyarrow's statistics know neither.

        Raises:
            HudiError: A slice cannot be read.
        """
        return self._files.filtered_dataset()


def scan_snapshot(
    pruner: Pruner,
    snapshot: TableSnapshot,
    filters: Sequence[Filter] = (),
    columns: Sequence[str] | None = None,
    *,
    dialect: SqlDialect = HIVE,
    zone: str | None = None,
    limit: int | None = None,
    order_by: Order | None = None,
    progress: Callable[[Progress], None] = unheard,
    buckets: StatedBuckets | None = None,
    pruned_by: Sequence[HudiExpression] = (),
) -> RowStream:
    """Scan a table as a pruner opened it for the rows that match all filters.

    Args:
        pruner: The pruner, whose options apply.
        snapshot: The table.
        filters: Each SQL text, a pyarrow expression or a filter list. Rows are compared as pyarrow
            compares them, in every SQL dialect; but in Spark's NaN equals itself, and is above all
            other numbers. None of them: all rows.
        columns: Top-level columns. None: all.
        dialect: The SQL dialect of the filters.
        zone: The IANA time zone of the filters' times without zone.
        limit: Maximum number of rows.
        order_by: The order of the rows, which are held in memory then, up to the limit; see
            `sort_keys`. With a limit, files that cannot hold one of the first rows are not read.
        progress: Called after each batch.
        buckets: What is stated of the table's buckets.
        pruned_by: Conditions by which files are pruned, and rows not filtered: the caller does
            that, and gives no limit.

    Raises:
        HudiError: The table cannot be read, a column does not exist (UnknownColumn), or the filter
            cannot be applied to rows.
        PredicateSyntaxError: The SQL text is not a condition.
        FilterError: The filter list is malformed.
        InvalidType: `order_by` has another type, or rows cannot be sorted by a column.
        InvalidValue: `order_by` cannot be understood.
    """
    table, schema = snapshot.table, snapshot.schema
    check_supported(table)
    parts = [_Part.of(one, snapshot, dialect, zone) for one in filters]
    conditions = [*(part.predicate for part in parts), *pruned_by]
    predicate = conjunction(conditions) if conditions else ALWAYS
    request = PruneRequest(
        predicate,
        snapshot.listing.view,
        here(zone),
        reader=PartitionReader.ENGINE,
        buckets=buckets,
    )
    result = pruner.prune_snapshot(snapshot, request)
    for name in columns or ():
        check_column((name,), schema, table.base_path)
    names = schema.names if columns is None else [_top_level(name, schema) for name in columns]
    requested = _fields(names, schema)
    compared = [name for part in parts for name in part.compared]
    keys = []
    for key in sort_keys(order_by):
        check_column((key.column,), schema, table.base_path)
        keys.append(replace(key, column=_top_level(key.column, schema)))
    check_order(keys, schema)
    read = _fields([*requested.names, *compared, *(key.column for key in keys)], schema)
    if RECORD_KEY in read.names and is_virtual(table.properties):
        warn_of_stored_keys(table)
    evolution = SchemaEvolution.of(table, result)
    rows = reduce(RowFilter.both, [part.rows for part in parts]) if parts else None
    trusts = all(part.trusts_footers for part in parts)
    ahead = EAGER if limit is None else CAUTIOUS
    shown = PathColumns.of(table.properties, schema)
    matching = PrunedRows(requested, result, table, read, shown, evolution, rows, ahead, trusts)
    result = narrowed(pruner, snapshot, request, result, wanted_rows(limit, keys))
    kept = replace(matching, result=result)
    counted = _fields(compared or [narrowest(schema)], schema)

    def pruned_again(condition: HudiExpression) -> PruneResult:
        both = And((predicate, condition))
        return pruner.prune_snapshot(snapshot, replace(request, predicate=both))

    ordered = None
    if keys:
        ranking = partial(ranked_slices, snapshot, keys[0])
        of_read = replace(kept, schema=read)
        ordered = FirstRows(of_read, keys, limit, requested, ranking, pruned_again)
    return RowStream(
        requested,
        result,
        matching,
        kept,
        ordered,
        replace(kept, schema=counted, read=counted),
        partial(sure_rows, pruner, snapshot, request, result),
        limit,
        progress,
    )


@dataclass(frozen=True)
class _Part:
    """One of the filters of a scan.

    Attributes:
        predicate: What files are pruned by.
        rows: What rows are filtered by.
        compared: The top-level columns that it reads.
        trusts_footers: Whether pyarrow's own pruning by it loses no row.
    """

    predicate: HudiExpression
    rows: RowFilter
    compared: Sequence[str]
    trusts_footers: bool

    @staticmethod
    def of(filter: Filter, snapshot: TableSnapshot, dialect: SqlDialect, zone: str | None) -> _Part:
        schema = snapshot.schema
        predicate = parse_filter(filter, schema, dialect.as_written, snapshot.table.base_path)
        engine = dialect.engine if isinstance(filter, str) else Engine.ANY
        rows = _for_rows(filter, predicate, schema, zone, engine)
        if isinstance(filter, pc.Expression):
            compared = columns_read(filter, schema)
        else:
            compared = columns_of(predicate, schema)
        return _Part(
            predicate, rows, compared, footers_suffice(predicate, compared, schema, engine)
        )


def _for_rows(
    filter: Filter,
    predicate: HudiExpression,
    schema: pa.Schema,
    zone: str | None,
    engine: Engine,
) -> RowFilter:
    if isinstance(filter, pc.Expression):
        if fault := validation_error(filter, schema):
            raise FilterNotApplicable(f"pyarrow cannot filter by the expression: {fault}")
        return RowFilter(filter)
    try:
        if isinstance(filter, list | tuple):
            return RowFilter(arrow_filter(predicate, schema, zone, engine, is_in=True))
        return row_filter(predicate, schema, zone, engine)
    except WrongConstant:
        raise
    except FilterNotApplicable as error:
        raise FilterNotApplicable(f"{error}; {_INSTEAD}") from error


def _fields(names: Sequence[str], schema: pa.Schema) -> pa.Schema:
    return pa.schema([schema.field(name).remove_metadata() for name in dict.fromkeys(names)])


def _top_level(name: str, schema: pa.Schema) -> str:
    """Return a column's name as the schema spells it."""
    return resolve((name,), schema)[0]

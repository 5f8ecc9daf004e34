"""Scan a table without a query engine: the filtered rows of the files that can match, as Arrow.

pyarrow reads slices without log files. hudi-rs (the package `hudi`) merges slices with log files
one by one, with one slice in memory. What cannot be read as Hudi reads it raises an error; it never
gives a wrong row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from pyhudi_expr.expr.nodes import ALWAYS, HudiExpression, Unknown
from pyhudi_expr.expr.terms import UnboundError, resolve
from pyhudi_expr.frontend.arrow.expression_check import columns_read, validation_error
from pyhudi_expr.frontend.arrow.filter_lists import parse_filters
from pyhudi_expr.frontend.sql.parser import HIVE, SqlDialect, parse_predicate
from pyhudi_expr.index.partition_semantics import PartitionReader
from pyhudi_expr.index.request_checks import check_columns
from pyhudi_expr.keys.definition import is_virtual
from pyhudi_expr.keys.key_storage import warn_of_stored_keys
from pyhudi_expr.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.reading.pruned_rows import PrunedRows
from pyhudi_expr.reading.row_filter import FilterNotApplicable, columns_of, row_filter
from pyhudi_expr.reading.schema_evolution import SchemaEvolution
from pyhudi_expr.reading.supported_tables import check_supported
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_names import RECORD_KEY
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import TableView
from pyhudi_expr.table.optional_dependencies import require_extra
from pyhudi_expr.table.timeline.timeline import query_instant

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Filter: TypeAlias = HudiExpression | pc.Expression | str | Sequence[Any]
"""A tree, a pyarrow expression, SQL text, or a filter list as pyarrow takes it."""


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


def _unheard(progress: Progress) -> None:
    pass


@dataclass(frozen=True)
class Scan:
    """A scan that has read no rows yet. Each of its methods reads anew.

    Attributes:
        schema: The schema of the rows.
        result: Which files are read, and why.

    The other attributes are the arguments of `scan`.
    """

    schema: pa.Schema
    result: PruneResult
    _rows: PrunedRows
    _limit: int | None
    _heard: Callable[[Progress], None]

    def __repr__(self) -> str:
        """Return one line, without reading rows."""
        files = f"{self.result.files_kept} of {self.result.files_total} files"
        return f"<Scan of {files}: {', '.join(self.schema.names)}>"

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the rows, in no order.

        Raises:
            HudiError: A slice cannot be read.
        """
        given, slices = 0, 0
        total = int(np.count_nonzero(self.result.keep))
        for new_slices, batch in self._rows.batches():
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

    def to_pandas(self, **options: object) -> pd.DataFrame:
        """Return all rows with the options of `pyarrow.Table.to_pandas`. Needs pandas."""
        rows = self.to_table()
        with require_extra("reading"):  # pyarrow imports pandas
            frame = rows.to_pandas(**options)  # type: ignore[arg-type]
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return all rows. Needs polars."""
        with require_extra("reading"):
            import polars
        frame = polars.from_arrow(self.to_table())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_dataset(self) -> ds.Dataset:
        """Return the files to read as a pyarrow dataset of all columns and rows, to be filtered.

        A filter of the dataset uses the statistics of floats, and may lose rows with NaN or -0.0.
        Filters of tables in memory, and the filter of `scan`, lose none.

        Raises:
            UnsupportedTable: Log files have to be merged into a slice, or columns were changed
                since a file was written.
        """
        return self._rows.dataset()


def scan(
    table: str,
    filter: Filter | None = None,
    columns: Sequence[str] | None = None,
    as_of: str | None = None,
    *,
    view: TableView = TableView.SNAPSHOT,
    dialect: SqlDialect = HIVE,
    zone: str | None = None,
    limit: int | None = None,
    progress: Callable[[Progress], None] = _unheard,
    pruner: Pruner | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Scan:
    """Scan a table for the rows that match a filter.

    Args:
        table: The base path.
        filter: SQL text, a pyarrow expression or a filter list. Rows are compared as pyarrow
            compares them, in every SQL dialect. None: all rows.
        columns: Top-level columns. None: all.
        as_of: An instant or a date for time travel.
        view: The view of the table.
        dialect: The SQL dialect of the filter.
        zone: The IANA time zone of the filter's times without zone.
        limit: Maximum number of rows.
        progress: Called after each batch.
        pruner: A pruner with other options, or with the table in its cache.
        storage_options: Credentials and other settings of the table's storage, see `Storage.open`.
            A `pruner` has its own.

    Raises:
        HudiError: The table cannot be read, a column does not exist (UnknownColumn), the table had
            no commit yet (BeforeFirstCommit), or the filter cannot be applied to rows.
        PredicateSyntaxError: The SQL text is not a condition.
        FilterError: The filter list is malformed.
        SubstraitError: The expression is malformed.
    """
    opened = HudiTable.open(table, storage_options)
    check_supported(opened)
    as_of = query_instant(as_of)
    if as_of is not None:
        opened.check_as_of(as_of)
    schema = opened.schema(as_of)
    predicate, rows = _parsed(filter, schema, dialect, zone, table)
    request = PruneRequest(predicate, view, zone, as_of, reader=PartitionReader.ENGINE)
    result = (pruner or Pruner(storage_options=storage_options)).prune(table, request)
    names = schema.names if columns is None else [_top_level(name, schema) for name in columns]
    requested = pa.schema([schema.field(name).remove_metadata() for name in names])
    if isinstance(filter, pc.Expression):
        compared = columns_read(filter, schema)
    else:
        compared = columns_of(predicate, schema)
    read = _with_filtered(requested, schema, compared)
    if RECORD_KEY in read.names and is_virtual(opened.properties):
        warn_of_stored_keys(opened)
    evolution = SchemaEvolution.of(opened, result)
    kept = PrunedRows(requested, result, opened, read, evolution, rows)
    return Scan(requested, result, kept, limit, progress)


def _parsed(
    filter: Filter | None, schema: pa.Schema, dialect: SqlDialect, zone: str | None, table: str
) -> tuple[HudiExpression, pc.Expression | None]:
    """Return the predicate for files, and the filter for rows."""
    if filter is None:
        return ALWAYS, None
    if isinstance(filter, pc.Expression):
        if fault := validation_error(filter, schema):
            raise FilterNotApplicable(f"rows cannot be filtered: {fault}")
        return _from_arrow(filter, schema), filter
    if isinstance(filter, str):
        predicate = parse_predicate(filter, dialect)
    elif isinstance(filter, list | tuple):
        predicate = parse_filters(filter)
    else:
        predicate = filter  # type: ignore[assignment]
    check_columns(predicate, schema, table)
    return predicate, row_filter(predicate, schema, zone, is_in=isinstance(filter, list | tuple))


def _from_arrow(filter: pc.Expression, schema: pa.Schema) -> HudiExpression:
    try:
        from pyhudi_expr.frontend.arrow.substrait import SubstraitError, parse_arrow
    except ImportError:
        return Unknown("a pyarrow expression: install the extra 'substrait' to prune by it")
    try:
        return parse_arrow(filter, schema)
    except (SubstraitError, pa.ArrowException) as error:
        return Unknown(f"a pyarrow expression that has no Substrait form: {error!s:.200}")


def _with_filtered(requested: pa.Schema, schema: pa.Schema, compared: Sequence[str]) -> pa.Schema:
    """Return the columns to read: the requested ones, and those of the filter."""
    names = [*requested.names, *compared]
    return pa.schema([schema.field(name).remove_metadata() for name in dict.fromkeys(names)])


def _top_level(name: str, schema: pa.Schema) -> str:
    try:
        found, _ = resolve((name,), schema)
    except UnboundError as error:
        raise HudiError(str(error)) from error
    return found

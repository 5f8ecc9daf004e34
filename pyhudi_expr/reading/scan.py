"""Tables without a query engine: the rows of the files that can match, filtered, as Arrow batches.

Slices without log files are read by pyarrow; those with log files are merged one by one by hudi-rs
(the package `hudi`), which holds a slice in memory. What is not read as Hudi reads it is an error,
never a wrong row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from pyhudi_expr.keys.definition import RECORD_KEY, is_virtual
from pyhudi_expr.keys.key_storage import warn_of_stored_keys
from pyhudi_expr.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.reading.pruned_rows import PrunedRows
from pyhudi_expr.reading.row_filter import FilterNotApplicable, columns_of, row_filter
from pyhudi_expr.reading.schema_evolution import SchemaEvolution
from pyhudi_expr.reading.supported_tables import check_supported
from pyhudi_expr.table.errors import HudiError
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
    """slices: of which something has been read, of `slices_total`; rows: given so far."""

    slices: int
    slices_total: int
    rows: int


def _unheard(progress: Progress) -> None:
    pass


@dataclass(frozen=True)
class Scan:
    """What will be read; nothing has been yet. Each of its methods reads anew.

    schema: of the rows. result: which files are read, and why. The rest is what `scan` was given.
    """

    schema: pa.Schema
    result: PruneResult
    _rows: PrunedRows
    _limit: int | None
    _heard: Callable[[Progress], None]

    def __repr__(self) -> str:
        """A line, for who looks at it instead of its rows."""
        files = f"{self.result.files_kept} of {self.result.files_total} files"
        return f"<Scan of {files}: {', '.join(self.schema.names)}>"

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in no order. Raises HudiError where a slice cannot be read."""
        given, slices = 0, 0
        total = int(np.count_nonzero(self.result.keep))
        for begun, batch in self._rows.batches():
            slices += begun
            room = batch.num_rows if self._limit is None else self._limit - given
            given += min(room, batch.num_rows)
            self._heard(Progress(slices, total, given))
            if room > 0 and batch.num_rows:
                yield batch.slice(0, room)
            if self._limit is not None and given >= self._limit:
                return

    def to_reader(self) -> pa.RecordBatchReader:
        """The same as a stream."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def to_table(self) -> pa.Table:
        """All rows in memory."""
        return pa.Table.from_batches(self.batches(), self.schema)

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """All rows; options: of `pyarrow.Table.to_pandas`. Needs pandas."""
        rows = self.to_table()
        with require_extra("reading"):  # pyarrow imports pandas
            frame = rows.to_pandas(**options)
        return frame

    def to_polars(self) -> pl.DataFrame:
        """All rows. Needs polars."""
        with require_extra("reading"):
            import polars
        frame = polars.from_arrow(self.to_table())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_dataset(self) -> ds.Dataset:
        """The files to read as pyarrow's dataset, of all columns and rows: to be filtered there.

        pyarrow believes the statistics of floats then, and may lose rows with NaN or -0.0; filters
        over tables in memory, and those of `scan`, lose none.

        Raises UnsupportedTable where log files have to be merged into one of the slices, or columns
        were changed since it was written.
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
) -> Scan:
    """The rows of a table for which a filter is TRUE, from the files that can hold such.

    table: its base path. filter: compared as pyarrow compares, SQL of each dialect, too. columns:
    top-level ones; None: all. as_of: an instant for time travel, or a date. dialect: of a filter in
    SQL. zone: in which its times without zone are meant (IANA). limit: rows at most. progress: told
    after each batch. pruner: of other options, or one that knows the table already.

    Raises HudiError: the table cannot be read, there is no such column, or rows cannot be filtered
    so; PredicateSyntaxError, FilterError or SubstraitError: the filter is none.
    """
    opened = HudiTable.open(table)
    check_supported(opened)
    as_of = query_instant(as_of)
    schema = opened.schema(as_of)
    asked, rows = _parsed(filter, schema, dialect, zone)
    request = PruneRequest(asked, view, zone, as_of, reader=PartitionReader.ENGINE)
    result = (pruner or Pruner()).prune(table, request)
    names = schema.names if columns is None else [_top_level(name, schema) for name in columns]
    wanted = pa.schema([schema.field(name).remove_metadata() for name in names])
    if isinstance(filter, pc.Expression):
        compared = columns_read(filter, schema)
    else:
        compared = columns_of(asked, schema)
    read = _with_filtered(wanted, schema, compared)
    if RECORD_KEY in read.names and is_virtual(opened.properties):
        warn_of_stored_keys(opened)
    evolution = SchemaEvolution.of(opened, result)
    kept = PrunedRows(wanted, result, opened, read, evolution, rows)
    return Scan(wanted, result, kept, limit, progress)


def _parsed(
    filter: Filter | None, schema: pa.Schema, dialect: SqlDialect, zone: str | None
) -> tuple[HudiExpression, pc.Expression | None]:
    """What files are asked, and what rows are."""
    if filter is None:
        return ALWAYS, None
    if isinstance(filter, pc.Expression):
        if fault := validation_error(filter, schema):
            raise FilterNotApplicable(f"rows cannot be filtered: {fault}")
        return _of_arrow(filter, schema), filter
    if isinstance(filter, str):
        asked = parse_predicate(filter, dialect)
    elif isinstance(filter, list | tuple):
        asked = parse_filters(filter)
    else:
        asked = filter  # type: ignore[assignment]
    return asked, row_filter(asked, schema, zone, is_in=isinstance(filter, list | tuple))


def _of_arrow(filter: pc.Expression, schema: pa.Schema) -> HudiExpression:
    try:
        from pyhudi_expr.frontend.arrow.substrait import SubstraitError, parse_arrow
    except ImportError:
        return Unknown("a pyarrow expression: install the extra 'substrait' to prune by it")
    try:
        return parse_arrow(filter, schema)
    except (SubstraitError, pa.ArrowException) as error:
        return Unknown(f"a pyarrow expression that has no Substrait form: {error!s:.200}")


def _with_filtered(wanted: pa.Schema, schema: pa.Schema, compared: Sequence[str]) -> pa.Schema:
    """The columns that are read: those that are wanted, and those that rows are filtered by."""
    names = [*wanted.names, *compared]
    return pa.schema([schema.field(name).remove_metadata() for name in dict.fromkeys(names)])


def _top_level(name: str, schema: pa.Schema) -> str:
    try:
        found, _ = resolve((name,), schema)
    except UnboundError as error:
        raise HudiError(str(error)) from error
    return found

"""The rows of a table for which a predicate is TRUE, in the forms that programs expect."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from pyhudi_expr.api.arguments import (
    Predicate,
    row_limit,
    shown_columns,
    warn_if_unevaluated,
    warn_of_query,
)
from pyhudi_expr.api.display import html, lines, progress_bar
from pyhudi_expr.api.plan import Plan, Question
from pyhudi_expr.errors import FilterNotApplicable, InvalidType, InvalidValue
from pyhudi_expr.expr.frontend.arrow.expressions import columns_read, parse_arrow
from pyhudi_expr.expr.nodes import HudiExpression
from pyhudi_expr.expr.semantics import Engine
from pyhudi_expr.index.prune import Pruner, PruneResult
from pyhudi_expr.installation import require_extra
from pyhudi_expr.rows.arrow_filter import arrow_filter
from pyhudi_expr.rows.scan import Progress, RowStream, scan_snapshot
from pyhudi_expr.rows.sorting import Order

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


@dataclass(frozen=True, repr=False, eq=False)
class Scan:
    """Rows that are not read yet: those of a table for which a predicate is TRUE.

    `Table.scan` makes it. Each of the methods reads the rows anew, in no order but that of
    `order_by`. Without one batches are read file by file, so that iteration holds few of them in
    memory, and stops early at a limit. A scan is a stream of Arrow's C data interface, too:
    `pa.table(scan)`, `polars.DataFrame(scan)` and DuckDB's `FROM scan` take it as it is.

    `filter`, `select` and `limit` return another scan of the same state of the table.

    Attributes:
        schema: The columns of the rows.
        plan: Which files are read.
    """

    schema: pa.Schema
    plan: Plan
    _rows: RowStream
    _request: ScanRequest

    def filter(self, predicate: Predicate) -> Scan:
        """Return the rows for which a predicate is TRUE, too. It may have any column of the table.

        Args:
            predicate: As `Table.scan` takes it, in the same dialect and zone.

        Raises:
            InvalidValue: The rows are limited already: which ones they are would change.
            HudiError: As `Table.scan` does.
        """
        if self._request.limit is not None:
            raise InvalidValue("filter: the scan has a limit; filter first, then limit")
        warn_of_query(predicate)
        question = self._request.question.restricted(predicate)
        return replace(self._request, question=question).scan()

    def select(self, columns: Iterable[str]) -> Scan:
        """Return the same rows with some of the table's columns, in any letter case."""
        schema = self._request.question.snapshot.schema
        return replace(self._request, columns=shown_columns(columns, False, schema)).scan()

    def limit(self, n: int) -> Scan:
        """Return at most `n` of the rows; reading stops when there are so many."""
        most, before = row_limit(n), self._request.limit
        limits = [one for one in (most, before) if one is not None]
        return replace(self._request, limit=min(limits, default=None)).scan()

    def to_arrow(self) -> pa.Table:
        """Return all rows in memory, as a `pyarrow.Table`.

        Raises:
            HudiError: A file cannot be read, as with the other methods that read rows.
        """
        with self._reading() as rows:
            return rows.to_table()

    def to_pandas(self, **options: object) -> pd.DataFrame:
        """Return all rows as a `pandas.DataFrame`.

        Args:
            options: Those of `pyarrow.Table.to_pandas`, such as `types_mapper`.
        """
        rows = self.to_arrow()
        with require_extra("reading"):  # pyarrow imports pandas
            frame = rows.to_pandas(**options)  # type: ignore[arg-type]
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return all rows as a `polars.DataFrame`."""
        with require_extra("reading"):
            import polars
        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_duckdb(
        self, name: str, connection: DuckDBPyConnection | None = None
    ) -> DuckDBPyRelation:
        """Make the rows a view of DuckDB.

        Each query of the view reads the columns that it needs, of the files that can match its
        conditions, too. The rows of a scan with a limit or an order are read now instead.

        Args:
            name: The name of the view; an existing view of this name is replaced.
            connection: A connection of DuckDB. None: its default one, that of `duckdb.sql`.

        Returns:
            The view, as a `duckdb.DuckDBPyRelation`.
        """
        if not isinstance(name, str):
            got = type(name).__name__
            raise InvalidType(f"name: expected a str, got {got}; write to_duckdb(name, connection)")
        if not name.strip():
            raise InvalidValue("name: expected the name of a view, got an empty text")
        if connection is None:
            import duckdb

            connection = duckdb.connect(":default:")
        if not hasattr(connection, "register") or not hasattr(connection, "view"):
            got = type(connection).__name__
            raise InvalidType(f"connection: expected a DuckDB connection, got {got}")
        is_fixed = self._request.limit is not None or self._rows.order
        connection.register(name, self.to_arrow() if is_fixed else _View(self))
        return connection.view(name)

    def count(self) -> int:
        """Return the number of rows. Reads little: the predicate's columns, or footers only."""
        with self._reading() as rows:
            return rows.count()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the rows as batches, each read when it is asked for."""
        return self._rows.batches()

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the rows as a `pyarrow.RecordBatchReader`, which reads while it is consumed."""
        return self._rows.to_reader()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Return the rows as batches, see `batches`."""
        return self.batches()

    async def __aiter__(self) -> AsyncIterator[pa.RecordBatch]:
        """Return the rows as batches, each read in a thread."""
        import asyncio

        batches = self.batches()
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            yield batch

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as a capsule of Arrow's C stream interface."""
        stream: object = self.to_reader().__arrow_c_stream__(requested_schema)  # type: ignore[no-untyped-call]
        return stream

    def __arrow_c_schema__(self) -> object:
        """Return the schema as a capsule of Arrow's C data interface."""
        return self.schema.__arrow_c_schema__()

    def to_table(self) -> pa.Table:
        """Return the same as `to_arrow`."""
        return self.to_arrow()

    def to_dataset(self) -> ds.Dataset:
        """Return all rows of the files to read as a pyarrow dataset, not filtered, of all columns.

        `Table.to_pyarrow_dataset` returns a filtered one, also with log files.

        Raises:
            UnsupportedTable: Log files have to be merged into a slice, or columns were changed
                since a file was written.
        """
        return self._rows.to_dataset()

    @property
    def result(self) -> PruneResult:
        """The plan as a value of `pyhudi_expr.index.prune`."""
        return self.plan.result

    def __reduce__(self) -> tuple[object, ...]:
        """Raise a TypeError: it holds what was read of the table."""
        raise TypeError("a Scan cannot be pickled: pickle its rows (to_arrow()), or the Table")

    def __repr__(self) -> str:
        """Return the plan and the columns. Reads no row."""
        return lines(self._title, self._facts())

    def _repr_html_(self) -> str:
        return html(self._title, self._facts())

    @property
    def _title(self) -> str:
        return f"Scan for {self.plan.predicate}"

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "table", self.plan.uri
        yield "files", self.plan.summary
        yield "instant", self.plan.instant or "no commit"
        if self._rows.order:
            yield "order", ", ".join(map(str, self._rows.order))
        if self._request.limit is not None:
            yield "limit", f"{self._request.limit:,} rows"
        yield "columns", ", ".join(f"{field.name} {field.type}" for field in self.schema)

    @contextmanager
    def _reading(self) -> Iterator[RowStream]:
        """Show a bar to a person while the rows are read."""
        with progress_bar("reading rows", self._request.shows_progress) as bar:

            def heard(progress: Progress) -> None:
                bar.advance(progress.slices, progress.slices_total, "files")
                self._request.progress(progress)

            yield self._rows.reporting_to(heard)


class _View(ds.InMemoryDataset):
    """Rows for DuckDB alone, which asks a dataset for nothing but its schema and this scanner."""

    def __init__(self, scan: Scan) -> None:
        super().__init__(scan.schema.empty_table())  # type: ignore[call-arg]
        self._request = scan._request

    def scanner(  # type: ignore[override]
        self, columns: Sequence[str] | None = None, filter: pc.Expression | None = None
    ) -> ds.Scanner:
        request = self._request
        if filter is not None:
            filter = _with_nan_of_duckdb(filter, request.question.snapshot.schema)
        question = request.question.restricted(filter)
        found = replace(request, question=question, columns=columns or request.columns).scan()
        return ds.Scanner.from_batches(found.to_reader())


def _with_nan_of_duckdb(asked: pc.Expression, schema: pa.Schema) -> pc.Expression:
    """Return what DuckDB means by an expression: its NaN equals itself, and is above all numbers.

    DuckDB does not filter again, and says that of NaN for some comparisons only, as for other data
    of pyarrow: not for floats of 32 bits, for one.
    """
    read = [schema.field(name).type for name in columns_read(asked, schema)]
    if not any(pa.types.is_floating(one) or pa.types.is_nested(one) for one in read):
        return asked
    try:
        return arrow_filter(parse_arrow(asked, schema), schema, None, Engine.SPARK)
    except FilterNotApplicable:
        return asked


@dataclass(frozen=True)
class ScanRequest:
    """What `Table.scan` was asked for; `Scan` has the rows.

    Attributes:
        pruner: Prunes the table.
        question: The predicates, and the table at the instant.
        columns: Top-level columns.
        limit: The maximum number of rows; None for all.
        order_by: The order of the rows; None for none.
        progress: Called after each batch.
        shows_progress: Whether a person sees a bar.
    """

    pruner: Pruner
    question: Question
    columns: Sequence[str]
    limit: int | None
    order_by: Order | None
    progress: Callable[[Progress], None]
    shows_progress: bool

    def scan(self) -> Scan:
        """Return the rows. Raises HudiError."""
        rows = self.rows()
        plan = self.question.plan(rows.result)
        warn_if_unevaluated(plan.result, plan.predicate)
        return Scan(rows.schema, plan, rows, self)

    def rows(self, pruned_by: Sequence[HudiExpression] = ()) -> RowStream:
        """Return the rows as other rooms do. Raises HudiError.

        Args:
            pruned_by: Conditions that the caller filters the rows by.
        """
        question = self.question
        with progress_bar("pruning files", self.shows_progress):
            return scan_snapshot(
                self.pruner,
                question.snapshot,
                question.predicates,
                self.columns,
                dialect=question.dialect,
                zone=question.zone,
                limit=self.limit,
                order_by=self.order_by,
                progress=self.progress,
                buckets=question.buckets,
                pruned_by=pruned_by,
            )

"""A Hudi table as programs see it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import pyarrow as pa

from pyhudi_expr.api import DEFAULT_DIALECT, DEFAULT_VIEW, DEFAULT_ZONE
from pyhudi_expr.api.arguments import (
    Dialect,
    Instant,
    Predicate,
    View,
    Zone,
    check_callable,
    column_names,
    instant_text,
    partition_reader,
    row_limit,
    shown_columns,
    sql_dialect,
    table_view,
    warn_if_unevaluated,
    warn_of_query,
    whole_number,
    zone_name,
)
from pyhudi_expr.api.display import Bar, html, lines, progress_bar, table_columns, table_facts
from pyhudi_expr.api.plan import Explanation, Plan, Question, snapshot_at
from pyhudi_expr.errors import InvalidType, PyHudiWarning
from pyhudi_expr.expr.nodes import ALWAYS
from pyhudi_expr.index.prune import PruneOptions, Pruner
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.properties import StatedBuckets

# What only some of the methods need is imported on use: a new process takes most of its time for
# imports.
if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow.dataset as ds

    from pyhudi_expr.api.scan import Scan
    from pyhudi_expr.rows.scan import Progress
    from pyhudi_expr.rows.sorting import Order

_TEXTS = ("store", "partition", "fault", "severity", "file", "subject", "expected", "found")
_FINDINGS = pa.schema(
    [
        *((name, pa.string()) for name in (*_TEXTS, "queries", "remedy")),
        ("readers", pa.list_(pa.string())),
    ]
)


_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def _in_thread(
    method: Callable[_Given, _Found],
) -> Callable[_Given, Coroutine[Any, Any, _Found]]:
    """Return a method for programs with an event loop, which goes on meanwhile."""

    @wraps(method)
    async def called(*args: _Given.args, **options: _Given.kwargs) -> _Found:
        import asyncio

        return await asyncio.to_thread(method, *args, **options)

    called.__doc__ = f"Await what `{method.__name__}` returns, which a thread does.\n\n" + (
        method.__doc__ or ""
    )
    return called


class Table:
    """A Hudi table. `pyhudi_expr.table` opens it.

    Each property and method looks at the table as it is then, so that new commits are seen.

    These arguments mean the same in all methods:

    - `predicate`: SQL text as in WHERE, a pyarrow expression, or a list of filters:
      `[("fare", ">", 100), ("city", "=", "Oslo")]` for AND, a list of such lists for OR.
    - `as_of`: the table as it was at an instant: a `datetime`, a `date` (its beginning), or text
      such as "2026-01-31", "2026-01-31 23:59:59" or the timeline's digits. None: as it is now.
    - `view`: "snapshot" (base and log files, merged) or "read_optimized" (base files only).
    - `dialect`: the SQL of a predicate: "hive", "spark", "trino" or "presto".
    - `zone`: the IANA time zone in which a predicate's times without zone are understood.
    - `reader`: who will read the files, as readers take partition columns from the files or from
      the paths: "hive", "spark" (Hudi's reader), or "files" for programs that read all columns
      from the files. None: the engine of the dialect; of Trino and Presto either may be.
    """

    def __new__(cls, uri: object = "...", pruner: object = None, *_: object, **__: object) -> Table:
        """Raise InvalidType unless there is a pruner: programs call `pyhudi_expr.table`."""
        if not isinstance(pruner, Pruner):
            raise InvalidType(f"a table is opened by pyhudi_expr.table({uri!r}), not by Table(...)")
        return super().__new__(cls)

    def __init__(
        self,
        uri: str,
        pruner: Pruner,
        shows_progress: bool = True,
        opened: HudiTable | None = None,
        buckets: StatedBuckets | None = None,
    ) -> None:
        self._uri = uri
        self._pruner = pruner
        self._opened = opened
        self._buckets = buckets
        self._shows_progress = shows_progress

    @property
    def uri(self) -> str:
        """The table's path or URI."""
        return self._uri

    @property
    def name(self) -> str:
        """The table's name in its properties."""
        return self._known.properties.name

    @property
    def table_type(self) -> str:
        """COPY_ON_WRITE or MERGE_ON_READ."""
        return self._known.properties.table_type.value

    @property
    def version(self) -> int:
        """The version of Hudi's table format: 6, 8 or 9."""
        return self._latest().properties.version

    @property
    def properties(self) -> Mapping[str, str]:
        """Everything in the table's `hoodie.properties`, as texts."""
        return self._latest().properties.raw

    @property
    def instant(self) -> str | None:
        """The newest commit, in the timeline's digits; None if there is none."""
        return self._latest().instant

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns, without Hudi's own (`_hoodie_...`)."""
        return list(shown_columns(None, False, self.schema))

    @property
    def schema(self) -> pa.Schema:
        """The columns, with Hudi's own (`_hoodie_...`) first."""
        return self._latest().schema()

    def schema_at(self, as_of: Instant) -> pa.Schema:
        """Return the columns that the table had at an instant.

        Raises:
            BeforeFirstCommit: The table had no commit then.
        """
        return self._snapshot(DEFAULT_VIEW, as_of, DEFAULT_ZONE).schema

    def head(self, n: int = 10) -> pa.Table:
        """Return some `n` rows: those that are read first. Raises HudiError as `scan` does."""
        return self.scan(limit=n).to_arrow()

    def count(self) -> int:
        """Return the number of rows. Reads little, see `Scan.count`."""
        return self.scan().count()

    def files(self, *, as_of: Instant | None = None, view: View = DEFAULT_VIEW) -> pa.Table:
        """Return the files that a query reads, a row for each.

        Returns:
            `path` (relative to the table), `partition`, `kind` ("base" or "log"), `bytes` (int64),
            `file_id`, and `instant` (of the base file, in the timeline's digits).
        """
        from pyhudi_expr.index.description import files_table

        return files_table(self._snapshot(view, as_of, DEFAULT_ZONE).listing)

    def history(self) -> pa.Table:
        """Return the instants of the active timeline, oldest first.

        Returns:
            `instant` (the timeline's digits), `action` ("commit", "deltacommit", "clean" ...),
            `state` ("requested", "inflight" or "completed"), `requested_at` and `completed_at`
            (timestamp[ms]; in UTC if the table's timeline is, else without a zone, as the writer's
            clock showed them). Before table version 8 `completed_at` is not known.
        """
        from pyhudi_expr.index.description import history_table

        table = self._latest()
        return history_table(table.timeline, table.properties.timeline_zone == "UTC")

    def indexes(self) -> pa.Table:
        """Return the indexes, each checked whether queries can use it. May take some seconds.

        Returns:
            `name`, `kind` ("column_stats", "record_index" ...), `columns` (list of string), `state`
            ("active", "building", "lagging", "dropped" or "doubted"), `covers` (the newest commit
            that it covers), `store` (of Hudi's metadata table, or the extension beside it),
            `bytes` (int64) and `note` (what is wrong; empty if nothing is).
        """
        from pyhudi_expr.index.catalog.index_catalog import reading_catalog
        from pyhudi_expr.index.description import indexes_table

        with (
            self._bar("reading the indexes"),
            reading_catalog(self._latest().storage) as catalog,
        ):
            return indexes_table(catalog)

    def audit(self, sample: int | None = None, *, seed: int = 0) -> pa.Table:
        """Check the metadata tables against the files, and return what is wrong. Changes nothing.

        Warns with a PyHudiWarning of what cannot be checked. Large tables take minutes: their rows
        are read if they have indexes of rows (`pyhudi audit --spark` reads them in Spark's tasks).

        Args:
            sample: The number of file slices to check, drawn at random. None: all.
            seed: Draws them; the same seed draws the same ones.

        Returns:
            A row for each finding, with the texts `store`, `partition` (of the metadata table),
            `fault`, `severity` ("rows lost", "query fails" or "slower"), `file`, `subject`,
            `expected`, `found`, `queries`, `remedy`, and `readers` (list of string: whose queries
            lose rows, "hudi" or "pyhudi").
        """
        from pyhudi_expr.manage.audit.runner import AuditOptions, audit

        slices = None if sample is None else whole_number("sample", sample)
        options = AuditOptions(slices, whole_number("seed", seed))
        with self._bar("auditing") as bar:
            found = audit(self._latest(), options, bar.advance)
        for note in found.unchecked:
            warnings.warn(f"not checked: {note}", PyHudiWarning, stacklevel=2)
        rows = [{**asdict(one), "readers": list(one.readers)} for one in found.findings]
        return pa.Table.from_pylist(rows, _FINDINGS)

    def column_ranges(
        self, columns: Iterable[str] | None = None, *, as_of: Instant | None = None
    ) -> pa.Table:
        """Return the range of each column in each file, as the index `column_stats` has it.

        Args:
            columns: Columns, or fields of structs such as "place.city". None: all with an order.
            as_of: See the class.

        Returns:
            A row for each column and file: `path`, `partition` and `kind` as in `files`, `column`,
            `type` (Hive's name), `min` and `max` (texts), `nulls` and `rows` (int64). What is not
            known, or cannot be trusted, is null: in a table without the index, everything is.

        Raises:
            UnknownColumn: The table has no such column with an order.
        """
        from pyhudi_expr.index.description import (
            chosen_columns,
            column_range_tables,
            ranged_columns,
        )

        snapshot = self._snapshot(DEFAULT_VIEW, as_of, DEFAULT_ZONE)
        ranged = chosen_columns(ranged_columns(snapshot.schema), column_names(columns), self.uri)
        with self._bar("reading the ranges"):
            return pa.concat_tables(column_range_tables(snapshot, ranged))

    def prune(
        self,
        predicate: Predicate | None = None,
        *,
        as_of: Instant | None = None,
        since: Instant | None = None,
        view: View = DEFAULT_VIEW,
        dialect: Dialect = DEFAULT_DIALECT,
        zone: Zone = DEFAULT_ZONE,
        reader: str | None = None,
    ) -> Plan:
        """Return the files that can hold a row for which the predicate is TRUE.

        Warns with a PyHudiWarning if the predicate, or a part of it, cannot be evaluated. Then more
        files are kept.

        Args:
            predicate: The predicate; None keeps all files.
            as_of: See the class, as for the others.
            since: Only rows that were written after this instant, up to `as_of`, as an incremental
                query reads them. It is given as `as_of` is. None: all rows.
            view: "snapshot" or "read_optimized".
            dialect: "hive", "spark", "trino" or "presto".
            zone: An IANA time zone.
            reader: Who will read the files, see the class.

        Raises:
            TypeError: An argument has a wrong type (InvalidType, a HudiError, too).
            BeforeFirstCommit: The table had no commit at `as_of`.
            UnknownColumn: The table has no such column; the message has the nearest one.
            HudiError: The table or the predicate cannot be read.
        """
        question = self._question(predicate, as_of, view, dialect, zone, since, reader)
        with self._bar("pruning files"):
            plan = question.pruned(self._pruner)
        warn_if_unevaluated(plan.result, plan.predicate)
        return plan

    def explain(
        self,
        predicate: Predicate | None = None,
        *,
        as_of: Instant | None = None,
        since: Instant | None = None,
        view: View = DEFAULT_VIEW,
        dialect: Dialect = DEFAULT_DIALECT,
        zone: Zone = DEFAULT_ZONE,
        reader: str | None = None,
    ) -> Explanation:
        """Return what each part of a predicate excludes, by which index, and why not more.

        A shell shows the result as text, a notebook as a page with the files drawn.

        Args:
            predicate: The predicate; None for all rows.
            as_of: See the class, as for the others.
            since: Only rows that were written after this instant, up to `as_of`, as an incremental
                query reads them. It is given as `as_of` is. None: all rows.
            view: "snapshot" or "read_optimized".
            dialect: "hive", "spark", "trino" or "presto".
            zone: An IANA time zone.
            reader: Who will read the files, see the class.

        Raises:
            HudiError: The table or the predicate cannot be read, or an argument is wrong.
        """
        question = self._question(predicate, as_of, view, dialect, zone, since, reader)
        with self._bar("pruning files"):
            return question.pruned(self._pruner).explain()

    def scan(
        self,
        predicate: Predicate | None = None,
        columns: Iterable[str] | None = None,
        as_of: Instant | None = None,
        limit: int | None = None,
        *,
        view: View = DEFAULT_VIEW,
        dialect: Dialect = DEFAULT_DIALECT,
        zone: Zone = DEFAULT_ZONE,
        order_by: Order | None = None,
        progress: Callable[[Progress], None] | None = None,
        meta: bool = False,
    ) -> Scan:
        """Return the rows for which the predicate is TRUE, to be read by the result's methods.

        Only files that can hold such a row are read, and the rows are those that a full read
        with the same filter gives. Values are compared as pyarrow compares them, and where
        it cannot, as the engine of the dialect does, at the time of the call. Log files are
        merged by the package `hudi` (pip install 'pyhudi-expr[reading]').

        Args:
            predicate: The predicate; None for all rows.
            columns: Top-level columns, in any letter case. None: all but Hudi's own.
            as_of: See the class.
            limit: The maximum number of rows; reading stops when there are so many.
            view: "snapshot" or "read_optimized".
            dialect: "hive", "spark", "trino" or "presto".
            zone: An IANA time zone.
            order_by: The order of the rows, which are held in memory, up to the limit: SQL text
                ("fare DESC NULLS FIRST, id") or pairs as `pyarrow.Table.sort_by` takes them. NULL
                comes last where nothing else is said, after NaN. None: no order.
            progress: Called after each batch with its `slices`, `slices_total` and `rows`.
            meta: Whether Hudi's own columns (`_hoodie_...`) come first, besides the others.

        Raises:
            FilterNotApplicable: The predicate can prune files, but cannot filter rows without an
                engine. It may be one row, for which it is not certain, when rows are read.
            UnknownColumn: The table has no such column; the message has the nearest one.
            HudiError: The table or the predicate cannot be read, or an argument is wrong.
        """
        from pyhudi_expr.api.scan import ScanRequest
        from pyhudi_expr.rows.scan import unheard

        most, heard = row_limit(limit), progress or unheard
        check_callable("progress", progress)
        warn_of_query(predicate)
        question = self._question(predicate, as_of, view, dialect, zone)
        names = shown_columns(columns, meta, question.snapshot.schema)
        return ScanRequest(
            self._pruner, question, names, most, order_by, heard, self._shows_progress
        ).scan()

    scan_async = _in_thread(scan)

    def to_pandas(self, **options: object) -> pd.DataFrame:
        """Return all rows as a `pandas.DataFrame`; `options` are those of `Scan.to_pandas`."""
        return self.scan().to_pandas(**options)

    def to_pyarrow_dataset(
        self,
        predicate: Predicate | None = None,
        *,
        as_of: Instant | None = None,
        view: View = DEFAULT_VIEW,
        dialect: Dialect = DEFAULT_DIALECT,
        zone: Zone = DEFAULT_ZONE,
        meta: bool = False,
    ) -> ds.Dataset:
        """Return the rows for which the predicate is TRUE as a `pyarrow.dataset.Dataset`.

        DuckDB queries it by its variable's name, Polars by `scan_pyarrow_dataset`; both read only
        the columns and row groups that they need. The files that can match are the dataset's
        fragments. These rows are read at once and held in memory instead:

        - of file slices with log files, merged;
        - of files that were written before a column was renamed or retyped;
        - all of them if the predicate may be TRUE for NaN, or for only one of the zeros (`<>`, NOT,
          IN or a function of a floating-point column), as Parquet's statistics lose such rows;
        - all of them if pyarrow cannot evaluate the predicate.

        Args:
            predicate: The predicate; None for all rows.
            as_of: See the class, as for the others.
            view: "snapshot" or "read_optimized", which has no log files.
            dialect: "hive", "spark", "trino" or "presto".
            zone: An IANA time zone.
            meta: Whether Hudi's own columns (`_hoodie_...`) are among the columns. Those that the
                predicate has always are, because pyarrow filters by them.

        Raises:
            HudiError: As `scan` does.
        """
        found = self.scan(predicate, None, as_of, view=view, dialect=dialect, zone=zone, meta=meta)
        with self._bar("opening files"):
            return found._rows.to_filtered_dataset()

    def to_polars(
        self, *, as_of: Instant | None = None, view: View = DEFAULT_VIEW, meta: bool = False
    ) -> pl.LazyFrame:
        """Return the table as a `polars.LazyFrame`, of which a query reads what it needs.

        The conditions, columns and first rows of a query are pushed down to the files: those that
        cannot match are not read. All queries of the frame see the table as it is now. Polars
        filters the rows by its own rules. DuckDB queries the frame by its variable's name, and
        pushes its conditions down, too.

        Warns with a PyHudiWarning when a query has conditions that no file is pruned by.

        Args:
            as_of: See the class.
            view: "snapshot" or "read_optimized".
            meta: Whether Hudi's own columns (`_hoodie_...`) come first, besides the others.

        Raises:
            HudiError: As `scan` does.
        """
        from pyhudi_expr.api.polars_source import lazy_frame

        return lazy_frame(self.scan(as_of=as_of, view=view, meta=meta))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the location and the options, secrets in them included; the copy opens it anew."""
        settings = self._pruner.settings
        return _reopened, (self.uri, *settings, self._shows_progress, self._buckets)

    def __repr__(self) -> str:
        """Return what the table is, as it was when it was last looked at. Reads nothing."""
        return lines(f"Table {self.name}", table_facts(self._known))

    def _repr_html_(self) -> str:
        return html(f"Table {self.name}", [*table_facts(self._known), *table_columns(self._known)])

    @property
    def _known(self) -> HudiTable:
        """The table as it was when it was last looked at; a question looks at it by itself."""
        if self._opened is None:
            self._opened = HudiTable.open(self._uri, self._pruner.settings[1])
        return self._opened

    def _latest(self) -> HudiTable:
        self._opened = self._known.refreshed()
        return self._opened

    def _question(
        self,
        predicate: Predicate | None,
        as_of: Instant | None,
        view: View,
        dialect: Dialect,
        zone: Zone | None,
        since: Instant | None = None,
        reader: str | None = None,
    ) -> Question:
        sql, name = sql_dialect(dialect), zone_name(zone)
        shown = partition_reader(reader, sql)
        snapshot = self._snapshot(view, as_of, name)
        after = self._instant("since", since, name)
        everything = Question((), ALWAYS, snapshot, sql, name, shown, after, self._buckets)
        return everything.restricted(predicate)

    def _snapshot(self, view: View, as_of: Instant | None, zone: str) -> TableSnapshot:
        files, at = table_view(view), self._instant("as_of", as_of, zone)
        with self._bar("reading the table"):
            snapshot = snapshot_at(self._pruner, self.uri, files, at)
        self._opened = snapshot.table
        return snapshot

    def _instant(self, argument: str, given: Instant | None, zone: str) -> str | None:
        """Return an instant in the timeline's digits, for which the table's properties are read."""
        return (
            None if given is None else instant_text(argument, given, zone, self._known.properties)
        )

    def _bar(self, purpose: str) -> AbstractContextManager[Bar]:
        return progress_bar(purpose, self._shows_progress)


def _reopened(
    uri: str,
    options: PruneOptions,
    storage_options: Mapping[str, str] | None,
    shows_progress: bool,
    buckets: StatedBuckets | None,
) -> Table:
    """Open a table of another process."""
    pruner = Pruner(options, storage_options)
    return Table(uri, pruner, shows_progress, buckets=buckets)

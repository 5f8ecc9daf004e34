"""Tables without a query engine: the rows of the files that can match, filtered, as Arrow batches.

Slices without log files are read by pyarrow, all together; those with log files are merged one by
one by hudi-rs (the package `hudi`), which holds a slice in memory. What it does not merge as Hudi
does is an error, never a wrong row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from pyhudi_expr.expr.nodes import ALWAYS, HudiExpression, Unknown
from pyhudi_expr.expr.terms import UnboundError, resolve
from pyhudi_expr.frontend.filter_lists import parse_filters
from pyhudi_expr.frontend.sql import HIVE, SqlDialect, parse_predicate
from pyhudi_expr.keys.definition import RECORD_KEY, is_virtual
from pyhudi_expr.keys.stored_columns import warn_of_stored_keys
from pyhudi_expr.prune import Pruner, PruneRequest, PruneResult
from pyhudi_expr.reading.evolution import Evolution
from pyhudi_expr.reading.readable import check_readable
from pyhudi_expr.reading.row_filter import columns_of, row_filter
from pyhudi_expr.reading.slice_rows import SliceReader, UnmergeableSlice
from pyhudi_expr.reading.slices import FileSlice, file_slices
from pyhudi_expr.table.errors import HudiError, UnsupportedTable
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import TableView

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Filter: TypeAlias = HudiExpression | pc.Expression | str | Sequence[Any]
"""A tree, a pyarrow expression, SQL text, or a filter list as pyarrow takes it."""

_FORMAT = ds.ParquetFileFormat(coerce_int96_timestamp_unit="us")
_Flags = npt.NDArray[np.bool_]


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
    _table: HudiTable
    _read_schema: pa.Schema
    _evolution: Evolution | None
    _filter: pc.Expression | None
    _limit: int | None
    _heard: Callable[[Progress], None]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in no order. Raises HudiError where a slice cannot be read."""
        given, slices = 0, 0
        total = int(np.count_nonzero(self.result.keep))
        for begun, batch in self._read():
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
        return self.to_table().to_pandas(**options)

    def to_polars(self) -> pl.DataFrame:
        """All rows. Needs polars."""
        try:
            import polars
        except ImportError as error:
            raise HudiError("polars is missing: pip install polars") from error
        frame = polars.from_arrow(self.to_table())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_dataset(self) -> ds.Dataset:
        """The files to read as pyarrow's dataset, of all columns and rows: to be filtered there.

        Raises UnsupportedTable where log files have to be merged into one of the slices, or columns
        were changed since it was written.
        """
        if self._merged().any():
            raise UnsupportedTable(
                f"{self._table.base_path}: slices with log files are no files of a dataset; read "
                "batches, or the read-optimised view"
            )
        if self._changed().any():
            raise UnsupportedTable(
                f"{self._table.base_path}: files from before columns were renamed or retyped are "
                "no files of a dataset; read batches"
            )
        return self._dataset(self.result.keep)

    def _read(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches of rows, each with the number of slices that begin with it."""
        merged, changed = self._merged(), self._changed()
        if merged.any() and self._evolution is not None:
            raise UnsupportedTable(
                f"{self._table.base_path}: columns were renamed or retyped, and log files of such "
                "tables are not merged here; compact the table, or read the read-optimised view"
            )
        plain = self.result.keep & ~merged & ~changed
        if plain.any():
            scanner = self._dataset(plain).scanner(columns=self.schema.names, filter=self._filter)
            seen: set[str] = set()
            for tagged in scanner.scan_batches():
                begun = tagged.fragment.path not in seen
                seen.add(tagged.fragment.path)
                columns = tagged.record_batch.columns
                yield int(begun), pa.RecordBatch.from_arrays(columns, schema=self.schema)
        for one in file_slices(self.result.listing.some(changed & ~merged)):
            yield from self._of_changed(one)
        if merged.any():
            reader = SliceReader.of(self._table, self.result.instant)
            for one in file_slices(self.result.listing.some(merged)):
                yield 1, self._of_merged(reader, one)

    def _of_merged(self, reader: SliceReader, one: FileSlice) -> pa.RecordBatch:
        if reader.by_keys is not None and any(map(pa.types.is_nested, self._read_schema.types)):
            raise UnmergeableSlice(
                f"{self._table.base_path}: nested columns of {one.name}, whose record keys are not "
                "stored, cannot be merged here; read the read-optimised view"
            )
        return self._chosen(
            pa.concat_tables(
                pa.table(list(map(_cast, columns, self._read_schema.types)), self._read_schema)
                for columns in reader.columns(one, self._read_schema.names)
            )
        )

    def _of_changed(self, one: FileSlice) -> Iterator[tuple[int, pa.RecordBatch]]:
        assert self._evolution is not None
        assert one.base is not None
        path, begun = one.path(one.base), 1
        for batch in self._evolution.rows(
            self._table.storage, path, one.base_instant, self._read_schema
        ):
            yield begun, self._chosen(pa.Table.from_batches([batch]))
            begun = 0

    def _chosen(self, rows: pa.Table) -> pa.RecordBatch:
        """Of rows with the columns that are read those that were asked for."""
        if RECORD_KEY in rows.column_names and is_virtual(self._table.properties):
            key = rows.schema.get_field_index(RECORD_KEY)
            rows = rows.set_column(key, rows.field(key), pa.nulls(len(rows), rows.field(key).type))
        if self._filter is not None:
            rows = rows.filter(self._filter)
        batches = rows.select(self.schema.names).combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], self.schema)

    def _merged(self) -> _Flags:
        """The kept slices that have log files."""
        listing = self.result.listing
        flags: _Flags = self.result.keep & listing.any_of_slice(listing.file_is_log)
        return flags

    def _changed(self) -> _Flags:
        """The kept slices with files from before columns were changed."""
        keep = self.result.keep
        if self._evolution is None or not keep.any():
            return np.zeros_like(keep)
        flags: _Flags = keep & self._evolution.changed(self.result.listing)
        return flags

    def _dataset(self, slices: _Flags) -> ds.Dataset:
        storage, listing = self._table.storage, self.result.listing
        paths = [storage.full(path) for path in listing.paths(listing.of_files(slices))]
        schema = self._table.schema(self.result.instant)
        # What is guaranteed of a file is not read from it: keys that are stored stay hidden.
        is_hidden = is_virtual(self._table.properties)
        known = pc.is_null(ds.field(RECORD_KEY)) if is_hidden else pc.scalar(True)
        return ds.FileSystemDataset.from_paths(
            paths,
            schema=schema,
            format=_FORMAT,
            filesystem=storage.filesystem,
            partitions=[known] * len(paths),
        )


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

    table: its base path. filter: compared as pyarrow compares. columns: top-level ones; None: all.
    as_of: an instant for time travel. dialect: of a filter in SQL. zone: in which its times without
    zone are meant (IANA). limit: rows at most. progress: told after each batch. pruner: of other
    options, or one that knows the table already.

    Raises HudiError: the table cannot be read, there is no such column, or rows cannot be filtered
    so; PredicateSyntaxError, FilterError or SubstraitError: the filter is none.
    """
    opened = HudiTable.open(table)
    check_readable(opened)
    schema = opened.schema(as_of)
    asked, rows = _parsed(filter, schema, dialect, zone)
    result = (pruner or Pruner()).prune(table, PruneRequest(asked, view, zone, as_of))
    names = schema.names if columns is None else [_top_level(name, schema) for name in columns]
    wanted = pa.schema([schema.field(name).remove_metadata() for name in names])
    read = schema if isinstance(filter, pc.Expression) else _with_filtered(wanted, schema, asked)
    if RECORD_KEY in read.names and is_virtual(opened.properties):
        warn_of_stored_keys(opened)
    evolution = Evolution.of(opened, result.instant)
    return Scan(wanted, result, opened, read, evolution, rows, limit, progress)


def _parsed(
    filter: Filter | None, schema: pa.Schema, dialect: SqlDialect, zone: str | None
) -> tuple[HudiExpression, pc.Expression | None]:
    """What files are asked, and what rows are."""
    if filter is None:
        return ALWAYS, None
    if isinstance(filter, pc.Expression):
        return _of_arrow(filter, schema), filter
    if isinstance(filter, str):
        asked = parse_predicate(filter, dialect)
    elif isinstance(filter, list | tuple):
        asked = parse_filters(filter)
    else:
        asked = filter  # type: ignore[assignment]
    return asked, row_filter(asked, schema, zone)


def _of_arrow(filter: pc.Expression, schema: pa.Schema) -> HudiExpression:
    try:
        from pyhudi_expr.frontend.substrait import SubstraitError, parse_arrow
    except ImportError:
        return Unknown("a pyarrow expression: install the extra 'substrait' to prune by it")
    try:
        return parse_arrow(filter, schema)
    except (SubstraitError, pa.ArrowException) as error:
        return Unknown(f"a pyarrow expression that has no Substrait form: {error!s:.200}")


def _with_filtered(wanted: pa.Schema, schema: pa.Schema, asked: HudiExpression) -> pa.Schema:
    """The columns that are read: those that are wanted, and those that rows are filtered by."""
    names = [*wanted.names, *columns_of(asked, schema)]
    return pa.schema([schema.field(name).remove_metadata() for name in dict.fromkeys(names)])


def _top_level(name: str, schema: pa.Schema) -> str:
    try:
        found, _ = resolve((name,), schema)
    except UnboundError as error:
        raise HudiError(str(error)) from error
    return found


def _cast(column: pa.Array, type_: pa.DataType) -> pa.Array:
    return pa.nulls(len(column), type_) if pa.types.is_null(column.type) else column.cast(type_)

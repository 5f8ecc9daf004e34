"""Tables that describe a Hudi table, as Arrow tables and as engines show them.

The rows are those of `Table.files`, `history`, `indexes` and `column_ranges`. Columns have names
that are no reserved words of SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import (
    AnyArray,
    AnyChunkedArray,
    AnyField,
    BoolArray,
    arrow_array,
    timestamp_type,
    value_list,
)
from pyhudi_expr.errors import UnknownColumn
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.domains import MAX_ORDINAL, MIN_ORDINAL, Domain, Kind, Values, domain_of
from pyhudi_expr.expr.frontend.common.constants import type_name
from pyhudi_expr.index.catalog.index_catalog import IndexCatalog, reading_catalog
from pyhudi_expr.index.catalog.index_sizes import index_sizes
from pyhudi_expr.index.catalog.status import checked_statuses
from pyhudi_expr.index.snapshot import TableSnapshot
from pyhudi_expr.index.statistics.file_ranges import file_ranges, ordinal_values
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.timeline import Timeline


@dataclass(frozen=True)
class RangedColumn:
    """A column that has an order. `type` is Hive's name of its type."""

    name: str
    type: str
    bound: BoundColumn


def ranged_columns(schema: pa.Schema) -> list[RangedColumn]:
    """Return the columns of a schema that have an order, and the fields of its structs."""
    return [
        RangedColumn(name, type_name(of.type), BoundColumn(name, of.type, domain))
        for name, of in _fields(schema, "")
        if (domain := domain_of(of.type)) is not None
    ]


def chosen_columns(
    columns: Sequence[RangedColumn], names: Sequence[str] | None, table: str
) -> Sequence[RangedColumn]:
    """Return the named columns, in any letter case; all of them for None.

    Raises:
        UnknownColumn: There is none of a name; the message begins with `table`.
    """
    if names is None:
        return columns
    known = {column.name.lower(): column for column in columns}
    for name in names:
        if name.lower() not in known:
            near = get_close_matches(name.lower(), known, 1)
            hint = f"; is it {known[near[0]].name}?" if near else ""
            raise UnknownColumn(f"{table}: there is no column {name} that has an order{hint}")
    return [known[name.lower()] for name in names]


def column_range_tables(
    snapshot: TableSnapshot, columns: Iterable[RangedColumn]
) -> Iterator[pa.Table]:
    """Read the ranges of the columns, a table for each; see `Table.column_ranges`.

    Raises:
        HudiError: The index cannot be read.
    """
    files = file_columns(snapshot.listing)
    described = {name: files[name] for name in ("path", "partition", "kind")}
    for column in columns:
        size = snapshot.listing.num_files
        yield pa.table(
            {
                **described,
                "column": pa.repeat(column.name, size),
                "type": pa.repeat(column.type, size),
                **_ranges(snapshot, column.bound),
            }
        )


def _fields(fields: Iterable[AnyField], prefix: str) -> Iterator[tuple[str, AnyField]]:
    for field in fields:
        yield prefix + field.name, field
        if pa.types.is_struct(field.type):
            inner = [field.type.field(i) for i in range(field.type.num_fields)]
            yield from _fields(inner, f"{prefix}{field.name}.")


def _ranges(snapshot: TableSnapshot, column: BoundColumn) -> dict[str, AnyArray]:
    # An old file of a table whose columns were renamed may hold another column of that name.
    stats = None if snapshot.is_evolved else snapshot.column_stats
    found = file_ranges(stats, snapshot.listing, column)
    bounds = found.bounds
    return {
        "min": _texts(bounds.lower, MIN_ORDINAL, column.domain),
        "max": _texts(bounds.upper, MAX_ORDINAL, column.domain),
        "nulls": arrow_array(found.nulls, found.nulls < 0),
        "rows": arrow_array(found.rows, found.rows < 0),
    }


def _texts(ends: Values, unknown: int, domain: Domain) -> AnyArray:
    """Return bounds as texts; null where they are unknown, or no text."""
    if domain.kind is Kind.BINARY:
        return pa.array([None if v is None else v.hex() for v in value_list(ends)], pa.string())
    if domain.kind is Kind.TEXT:
        return pa.array([_decoded(value) for value in value_list(ends)], pa.string())
    if not domain.is_ordinal:
        return ends.cast(pa.string())
    texts = ordinal_values(ends, domain).cast(pa.string())
    return pc.if_else(pa.array(ends == unknown), pa.scalar(None, pa.string()), texts)


def _decoded(value: bytes | None) -> str | None:
    """Return a text; None for a bound that was loosened to bytes that are none."""
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


_DIGITS = len("yyyyMMddHHmmssSSS")
_INDEXES = pa.schema(
    [
        ("name", pa.string()),
        ("kind", pa.string()),
        ("columns", pa.list_(pa.string())),
        ("state", pa.string()),
        ("covers", pa.string()),
        ("store", pa.string()),
        ("bytes", pa.int64()),
        ("note", pa.string()),
    ]
)


def files_table(listing: FileListing) -> pa.Table:
    """Return the files of a listing; see `Table.files`."""
    return pa.table(file_columns(listing))


def file_columns(listing: FileListing) -> dict[str, AnyArray]:
    """Return the columns of `files_table`."""
    slices = pa.array(listing.file_slice)
    is_log = pa.array(listing.file_is_log)
    kinds = pa.array(["base", "log"]).take(is_log.cast(pa.int8()))
    return {
        "path": pa.array(listing.paths(np.arange(listing.num_files)), pa.string()),
        "partition": listing.partitions.take(pa.array(listing.file_partition)),
        "kind": kinds,
        "bytes": pa.array(listing.file_size, pa.int64()),
        "file_id": listing.slice_file_id.take(slices),
        "instant": listing.slice_base_instant.take(slices),
    }


def history_table(timeline: Timeline, is_utc: bool) -> pa.Table:
    """Return the instants of a timeline, oldest first; see `Table.history`.

    Args:
        timeline: The timeline.
        is_utc: Whether its times are in UTC; else their zone is the writer's, and not known.
    """
    every = timeline.instants
    time = timestamp_type("ms", "UTC" if is_utc else None)
    return pa.table(
        {
            "instant": pa.array([one.requested for one in every], pa.string()),
            "action": pa.array([one.action for one in every], pa.string()),
            "state": pa.array([one.state.name.lower() for one in every], pa.string()),
            "requested_at": pa.array([_time(one.requested) for one in every], time),
            "completed_at": pa.array([_time(one.completed) for one in every], time),
        }
    )


def indexes_table(catalog: IndexCatalog) -> pa.Table:
    """Return the indexes of a table, by name; see `Table.indexes`."""
    statuses = checked_statuses(catalog)
    rows = [
        {
            "name": each.name,
            "kind": each.kind,
            "columns": list(each.columns),
            "state": each.state.value,
            "covers": each.covers,
            "store": each.store.value,
            "bytes": sum(part.bytes for part in sizes),
            "note": each.note,
        }
        for each, sizes in zip(statuses, index_sizes(catalog, statuses), strict=True)
    ]
    return pa.Table.from_pylist(rows, _INDEXES)


def _time(instant: str | None) -> datetime | None:
    """Return the time of an instant's digits; None if they are none."""
    digits = (instant or "").ljust(_DIGITS, "0")[:_DIGITS]
    try:
        return datetime.strptime(f"{digits}000", "%Y%m%d%H%M%S%f")
    except ValueError:
        return None


MayMatch: TypeAlias = Callable[[pa.Table], BoolArray]
"""Returns which rows may be asked for, by some of a view's columns: the others can be anything."""


@dataclass(frozen=True)
class ViewColumn:
    """A column of a view."""

    name: str
    type: pa.DataType
    comment: str


@dataclass(frozen=True)
class MetadataView:
    """A table that describes a Hudi table.

    Attributes:
        name: Its name.
        columns: Its columns.
        rows: Returns the rows of a table, some at a time. Rows that are not asked for may be
            missing. Raises HudiError if the table cannot be read.
    """

    name: str
    columns: tuple[ViewColumn, ...]
    rows: Callable[[TableSnapshot, MayMatch], Iterator[pa.Table]]

    @property
    def schema(self) -> pa.Schema:
        """The columns as a schema."""
        return pa.schema([pa.field(column.name, column.type) for column in self.columns])


_TEXT, _COUNT = pa.string(), pa.int64()
_MILLIS = timestamp_type("ms")
_PATH = ViewColumn("path", _TEXT, "The file, relative to the table")
_PARTITION = ViewColumn("partition_path", _TEXT, "Its partition, as in its path")
_NAME = ViewColumn("file_name", _TEXT, "Its name; of a base file as in _hoodie_file_name")
_KIND = ViewColumn("kind", _TEXT, "base or log")


def _files(snapshot: TableSnapshot, _: MayMatch) -> Iterator[pa.Table]:
    listing = snapshot.listing
    found = files_table(listing)
    logs = np.bincount(listing.file_slice[listing.file_is_log], minlength=listing.num_slices)
    rows = snapshot.base_file_rows()
    yield pa.table(
        {
            **_described(found),
            "bytes": found["bytes"],
            "row_count": arrow_array(rows, rows < 0),
            "log_files": pa.array(logs[listing.file_slice], _COUNT),
            "file_id": found["file_id"],
            "instant": found["instant"],
        }
    )


def _history(snapshot: TableSnapshot, _: MayMatch) -> Iterator[pa.Table]:
    table = snapshot.table
    yield history_table(table.timeline, table.properties.timeline_zone == "UTC")


def _indexes(snapshot: TableSnapshot, _: MayMatch) -> Iterator[pa.Table]:
    with reading_catalog(snapshot.table.storage) as catalog:
        found = indexes_table(catalog)
    yield pa.table(
        {
            name: found["columns" if name == "column_names" else name]
            for name in (column.name for column in INDEXES.columns)
        }
    )


def _column_ranges(snapshot: TableSnapshot, may_match: MayMatch) -> Iterator[pa.Table]:
    columns = ranged_columns(snapshot.schema)
    known = pa.table(
        {
            "column_name": pa.array([column.name for column in columns], _TEXT),
            "column_type": pa.array([column.type for column in columns], _TEXT),
        }
    )
    wanted = [column for column, is_one in zip(columns, may_match(known), strict=True) if is_one]
    for found in column_range_tables(snapshot, wanted):
        yield pa.table(
            {
                **_described(found),
                "column_name": found["column"],
                "column_type": found["type"],
                "min_value": found["min"],
                "max_value": found["max"],
                "null_count": found["nulls"],
                "row_count": found["rows"],
            }
        )


def _described(files: pa.Table) -> dict[str, AnyArray | AnyChunkedArray]:
    """Return the columns that every view of files begins with."""
    return {
        "path": files["path"],
        "partition_path": files["partition"],
        "file_name": pc.replace_substring_regex(files["path"], "^.*/", ""),
        "kind": files["kind"],
    }


FILES = MetadataView(
    "files",
    (
        *(_PATH, _PARTITION, _NAME, _KIND),
        ViewColumn("bytes", _COUNT, "Its size"),
        ViewColumn("row_count", _COUNT, "Rows of a base file; NULL if not known"),
        ViewColumn("log_files", _COUNT, "Log files of its file slice"),
        ViewColumn("file_id", _TEXT, "Its file group"),
        ViewColumn("instant", _TEXT, "The instant of its file slice, in the timeline's digits"),
    ),
    _files,
)
HISTORY = MetadataView(
    "history",
    (
        ViewColumn("instant", _TEXT, "The requested time, in the timeline's digits"),
        ViewColumn("action", _TEXT, "commit, deltacommit, clean and others"),
        ViewColumn("state", _TEXT, "requested, inflight or completed"),
        ViewColumn("requested_at", _MILLIS, "The requested time on the timeline's clock"),
        ViewColumn("completed_at", _MILLIS, "The completion time; NULL in tables before version 8"),
    ),
    _history,
)
INDEXES = MetadataView(
    "indexes",
    (
        ViewColumn("name", _TEXT, "The index"),
        ViewColumn("kind", _TEXT, "column_stats, record_index and others"),
        ViewColumn("column_names", pa.list_(_TEXT), "The columns that it is of"),
        ViewColumn(
            "state", _TEXT, "active, building, lagging, dropped, partial, doubted or broken"
        ),
        ViewColumn("covers", _TEXT, "The newest commit that it covers"),
        ViewColumn("store", _TEXT, "The metadata table of Hudi, or the extension beside it"),
        ViewColumn("bytes", _COUNT, "Its size"),
        ViewColumn("note", _TEXT, "What is wrong; empty if nothing is"),
    ),
    _indexes,
)
COLUMN_RANGES = MetadataView(
    "column_ranges",
    (
        *(_PATH, _PARTITION, _NAME, _KIND),
        ViewColumn("column_name", _TEXT, "The column, or a field of a struct"),
        ViewColumn("column_type", _TEXT, "Its type"),
        ViewColumn("min_value", _TEXT, "No value is less; NULL if not known"),
        ViewColumn("max_value", _TEXT, "No value is greater; NULL if not known"),
        ViewColumn("null_count", _COUNT, "Rows in which it is NULL; NULL if not known"),
        ViewColumn("row_count", _COUNT, "Rows that the index has counted; NULL if not known"),
    ),
    _column_ranges,
)

VIEWS: Mapping[str, MetadataView] = MappingProxyType(
    {view.name: view for view in (FILES, HISTORY, INDEXES, COLUMN_RANGES)}
)
"""The views by their names."""

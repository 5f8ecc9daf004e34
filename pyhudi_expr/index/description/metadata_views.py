"""Tables that describe a Hudi table, as engines show them: their columns, and their rows.

The rows are those of `Table.files`, `history`, `indexes` and `column_ranges`. Columns have names
that are no reserved words of SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, AnyChunkedArray, BoolArray, arrow_array, timestamp_type
from pyhudi_expr.index.catalog.index_catalog import reading_catalog
from pyhudi_expr.index.description.column_ranges import column_range_tables, ranged_columns
from pyhudi_expr.index.description.contents import files_table, history_table, indexes_table
from pyhudi_expr.index.snapshot import TableSnapshot

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

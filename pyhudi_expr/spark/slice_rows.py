"""The rows of a file slice, as a query of the table sees them, column by column.

Of a slice without log files: its Parquet file, row group by row group, only the columns that are
wanted. One with log files is merged by hudi-rs (the package `hudi`), which keeps the slice's rows
in memory; what it does not merge as Hudi does is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi_expr.index.merging import Merging, merging_of
from pyhudi_expr.spark.slices import FileSlice
from pyhudi_expr.table.errors import CorruptFile, HudiError, UnsupportedTable
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.storage import Storage

_BATCH_ROWS = 64 * 1024
_UNIT = "us"


@dataclass(frozen=True)
class SliceReader:
    """Reads slices of one table at one instant; small, and sent to the tasks.

    merges: whether slices with log files are merged as Hudi does.
    """

    base_uri: str
    instant: str
    merges: bool

    @staticmethod
    def of(table: HudiTable, instant: str | None) -> SliceReader:
        """instant: of the listing whose slices will be read."""
        if table.properties.base_file_format != "PARQUET":
            raise UnsupportedTable(f"{table.base_path}: its base files are no Parquet files")
        if table.has_schema_history:
            raise UnsupportedTable(
                f"{table.base_path}: columns were renamed or retyped by schema-on-read evolution, "
                "so the files do not say which column is which"
            )
        merges = merging_of(table.properties) is Merging.WHOLE_RECORDS
        return SliceReader(table.base_path, instant or "", merges)

    def storage(self) -> Storage:
        """The table's files."""
        return _storage(self.base_uri)

    def columns(self, one: FileSlice, names: Sequence[str]) -> Iterator[list[pa.Array]]:
        """For each batch of the slice's rows the values of the columns; those of a column that the
        slice does not have are null (of type null).

        names: of leaves, with dots where they are nested. Raises HudiError.
        """
        if one.logs or one.base is None:
            yield from self._merged(one, names)
            return
        path = one.path(one.base)
        with parquet_file(self.storage(), path) as file:
            yield from parquet_columns(file, names, f"{self.base_uri}/{path}")

    def _merged(self, one: FileSlice, names: Sequence[str]) -> Iterator[list[pa.Array]]:
        if one.base is None or not self.merges:
            reason = (
                "there is no base file" if one.base is None else "the table's merger is unknown"
            )
            raise UnsupportedTable(
                f"{self.base_uri}: the log files of {one.name} cannot be merged here, as {reason}; "
                "compact the table"
            )
        try:
            from hudi import HudiFileGroupReader, HudiReadOptions
        except ImportError as error:
            raise HudiError(
                f"{self.base_uri}: to merge the log files of {one.name}, install 'hudi' "
                "(pip install 'pyhudi-expr[spark]') where Spark's executors run"
            ) from error
        roots = list(dict.fromkeys(name.partition(".")[0] for name in names))
        options = HudiReadOptions(projection=roots).with_as_of_timestamp(self.instant)
        logs = [one.path(log) for log in one.logs]
        try:
            reader = HudiFileGroupReader(self.base_uri)
            rows = reader.read_file_slice_from_paths(one.path(one.base), logs, options)
        except Exception as error:
            # The bindings raise exceptions of several kinds.
            raise HudiError(f"{self.base_uri}: {one.name} cannot be merged: {error}") from error
        yield [leaf(rows, name) for name in names]


@lru_cache(maxsize=8)
def _storage(uri: str) -> Storage:
    """A task opens a table's file system once, not for each file."""
    return Storage.open(uri)


def parquet_file(storage: Storage, path: str) -> pq.ParquetFile:
    """An open Parquet file, a context manager. Raises HudiError."""
    source = storage.open_input(path)
    try:
        return pq.ParquetFile(source, coerce_int96_timestamp_unit=_UNIT)
    except (OSError, pa.ArrowException) as error:
        source.close()
        raise CorruptFile(f"{storage.uri}/{path}", f"not a Parquet file: {error}") from error


def parquet_columns(
    file: pq.ParquetFile, names: Sequence[str], shown: str
) -> Iterator[list[pa.Array]]:
    """The columns of an open file, see `SliceReader.columns`. shown: its path, for messages."""
    known = {file.metadata.schema.column(i).path for i in range(file.metadata.num_columns)}
    wanted = [name for name in names if name in known]
    try:
        if not wanted:
            yield [pa.nulls(file.metadata.num_rows) for _ in names]
            return
        for batch in file.iter_batches(_BATCH_ROWS, columns=wanted):
            yield [leaf(batch, name) for name in names]
    except (OSError, pa.ArrowException) as error:
        raise CorruptFile(shown, f"cannot be read: {error}") from error


def leaf(rows: pa.RecordBatch, name: str) -> pa.Array:
    """A column, or a field of nested ones; null where a parent is, all null where it is missing."""
    root, *fields = name.split(".")
    if root not in rows.schema.names:
        return pa.nulls(rows.num_rows)
    column = rows.column(root)
    for field in fields:
        if not pa.types.is_struct(column.type) or column.type.get_field_index(field) < 0:
            return pa.nulls(rows.num_rows)
        column = pc.struct_field(column, field)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def leaf_types(schema: pa.Schema) -> Mapping[str, pa.DataType]:
    """The scalar leaves of a schema with their types, by their dotted names."""
    found: dict[str, Any] = {}

    def visit(name: str, type_: pa.DataType) -> None:
        if pa.types.is_struct(type_):
            for field in type_:
                visit(f"{name}.{field.name}", field.type)
        elif not pa.types.is_nested(type_):
            found[name] = type_

    for field in schema:
        visit(field.name, field.type)
    return found


def scalar_type(table: HudiTable, schema: pa.Schema, column: str) -> pa.DataType:
    """The type of a column that an index may be over. Raises HudiError."""
    types = leaf_types(schema)
    if table.properties.drop_partition_columns and column in table.properties.partition_fields:
        raise HudiError(
            f"{table.base_path}: column {column!r} is kept in the partitions' paths only; "
            "its values need no index"
        )
    if column in types:
        return types[column]
    if column in schema.names:
        raise HudiError(
            f"{table.base_path}: column {column!r} is of type {schema.field(column).type}; "
            "an index needs a scalar column, such as a field of a struct"
        )
    raise HudiError(f"{table.base_path}: there is no column {column!r}")

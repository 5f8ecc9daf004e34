"""Convert the columns of a file, or of a log block, to the table's current columns.

`HistoricNames` gives the former names of columns. Values are widened as Hudi's readers do. Where
readers differ about the widened value, the column is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, AnyField
from pyhudi_expr.reading.slice_rows import leaf
from pyhudi_expr.table.errors import UnsupportedTable
from pyhudi_expr.table.hudi_names import META_COLUMNS, OPERATION


class HistoricNames(Protocol):
    """The names that columns had when a file was written."""

    def former_name(self, name: str) -> str | None:
        """Return the former name of a current (nested) column; None if it did not exist.

        Raises:
            HudiError: The name is ambiguous.
        """

    def is_as_it_was(self, name: str, old: pa.DataType, new: pa.DataType) -> bool:
        """Return whether a list or map can be cast as a whole."""


class CurrentNames:
    """The names in tables whose columns were never renamed."""

    def former_name(self, name: str) -> str | None:
        """Return the same name, see `HistoricNames`."""
        return name

    def is_as_it_was(self, name: str, old: pa.DataType, new: pa.DataType) -> bool:
        """Return whether the type is unchanged, see `HistoricNames`."""
        return pyarrow_casts_as_hudi(old, new)


@dataclass(frozen=True)
class FileColumns:
    """The columns of a file.

    Attributes:
        path: The file's path, for messages.
    """

    path: str
    names: HistoricNames

    def roots(self, schema: pa.Schema) -> list[str]:
        """Return the file's top-level columns that the schema needs."""
        found = [self._then(name) for name in schema.names]
        return list(dict.fromkeys(name.partition(".")[0] for name in found if name is not None))

    def rows(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """Convert a batch of the file to the schema's columns; null where the file has none.

        Raises:
            UnsupportedTable: Readers differ about the values of a column.
        """
        columns = [self._column(batch, field, field.name) for field in schema]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _then(self, name: str) -> str | None:
        return name if name in (*META_COLUMNS, OPERATION) else self.names.former_name(name)

    def _column(self, rows: pa.RecordBatch, field: AnyField, name: str) -> AnyArray:
        """Return a current column by its dotted name."""
        known = self._then(name)
        if known is None:
            return pa.nulls(rows.num_rows, field.type)
        values = leaf(rows, known)
        if pa.types.is_null(values.type):
            return pa.nulls(rows.num_rows, field.type)
        if pa.types.is_struct(field.type):
            fields = list(field.type)
            children = [self._column(rows, child, f"{name}.{child.name}") for child in fields]
            return pa.StructArray.from_arrays(children, fields=fields, mask=values.is_null())
        if pa.types.is_nested(field.type) and not self.names.is_as_it_was(
            name, values.type, field.type
        ):
            raise UnsupportedTable(
                f"{self.path}: column {name!r} is a list or map in which fields were changed; such "
                "files are not read here; rewrite them by clustering, or ask an engine"
            )
        return self._widened(values, field.type, name)

    def _widened(self, values: AnyArray, type_: pa.DataType, name: str) -> AnyArray:
        if pa.types.is_float32(values.type) and pa.types.is_float64(type_):
            # Hudi goes by the digits: 0.1 stays 0.1.
            return values.cast(pa.string()).cast(type_)
        if not (pa.types.is_nested(type_) or _keeps_values(values.type, type_)):
            raise UnsupportedTable(
                f"{self.path}: column {name!r} was {values.type} and is {type_} now; such files "
                "are not read here, as engines differ; rewrite them by clustering, or ask an engine"
            )
        try:
            return values.cast(type_)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise UnsupportedTable(
                f"{self.path}: column {name!r} is not a {type_}: {error}"
            ) from error


class ByName:
    """Gives the columns of files whose columns were never renamed."""

    def columns(self, instant: str, path: str) -> FileColumns:
        """Return the columns of a file that was written at an instant; `path` is for messages."""
        return FileColumns(path, CurrentNames())


def pyarrow_reads_as_hudi(file: pa.Schema, now: pa.Schema) -> bool:
    """Return whether pyarrow converts the file's columns to the current ones as Hudi does."""
    return all(
        pyarrow_casts_as_hudi(file.field(field.name).type, field.type)
        for field in now
        if file.get_field_index(field.name) >= 0
    )


def pyarrow_casts_as_hudi(old: pa.DataType, new: pa.DataType) -> bool:
    """Return whether pyarrow's cast gives the values that Hudi's readers give."""
    if pa.types.is_struct(old) and pa.types.is_struct(new):
        return pyarrow_reads_as_hudi(pa.schema(list(old)), pa.schema(list(new)))
    if pa.types.is_list(old) and pa.types.is_list(new):
        return pyarrow_casts_as_hudi(old.value_type, new.value_type)
    if pa.types.is_map(old) and pa.types.is_map(new):
        return pyarrow_casts_as_hudi(old.item_type, new.item_type)
    if pa.types.is_string(new):
        return not (pa.types.is_floating(old) or pa.types.is_decimal(old) or _is_moment(old))
    return not (pa.types.is_float32(old) and pa.types.is_float64(new))


def _is_moment(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_) or pa.types.is_time(type_))


def _keeps_values(old: pa.DataType, new: pa.DataType) -> bool:
    """Return whether a change of type means the same to every reader."""
    if old == new:
        return True
    if pa.types.is_integer(old):
        return bool(
            pa.types.is_integer(new)
            or pa.types.is_float64(new)
            or pa.types.is_decimal(new)
            or pa.types.is_string(new)
        )
    if pa.types.is_date(old):
        return bool(pa.types.is_string(new))
    if pa.types.is_timestamp(old) and pa.types.is_timestamp(new):
        return (old.tz is None) == (new.tz is None)
    same_kind = (pa.types.is_decimal, pa.types.is_string, pa.types.is_binary, pa.types.is_time)
    return any(kind(old) and kind(new) for kind in same_kind)

"""The columns of a file, or of a log block, as the table has them now.

What a column was called is told by `HistoricNames`; its values are widened as Hudi's readers do.
Where readers differ about what a value becomes, the column is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from pyhudi_expr.reading.slice_rows import leaf
from pyhudi_expr.table.errors import UnsupportedTable
from pyhudi_expr.table.schema import META_FIELDS, OPERATION_FIELD


class HistoricNames(Protocol):
    """What columns were called when a file was written."""

    def then(self, name: str) -> str | None:
        """The name of a (nested) column of now; None: it was not there. Raises HudiError."""

    def is_as_it_was(self, name: str, old: pa.DataType, new: pa.DataType) -> bool:
        """Whether a list or map can be cast as a whole."""


class CurrentNames:
    """Of tables whose columns have no other names than they had."""

    def then(self, name: str) -> str | None:
        """See `HistoricNames`."""
        return name

    def is_as_it_was(self, name: str, old: pa.DataType, new: pa.DataType) -> bool:
        """See `HistoricNames`."""
        return is_read_alike(old, new)


@dataclass(frozen=True)
class FileColumns:
    """Columns of a file. path: for messages."""

    path: str
    names: HistoricNames

    def roots(self, schema: pa.Schema) -> list[str]:
        """The file's top-level columns that the schema's need."""
        found = [self._then(name) for name in schema.names]
        return list(dict.fromkeys(name.partition(".")[0] for name in found if name is not None))

    def rows(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """A batch of the file with the schema's columns, null where it has none.

        Raises UnsupportedTable: readers differ about what a column's values become.
        """
        columns = [self._column(batch, field, field.name) for field in schema]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _then(self, name: str) -> str | None:
        return name if name in (*META_FIELDS, OPERATION_FIELD) else self.names.then(name)

    def _column(self, rows: pa.RecordBatch, field: pa.Field, name: str) -> pa.Array:
        """A column of now, of its dotted name."""
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

    def _widened(self, values: pa.Array, type_: pa.DataType, name: str) -> pa.Array:
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
                f"{self.path}: column {name!r} is no {type_}: {error}"
            ) from error


class ByName:
    """Tells of files whose columns have the names that they had."""

    def columns(self, instant: str, path: str) -> FileColumns:
        """Those of a file that was written at an instant. path: for messages."""
        return FileColumns(path, CurrentNames())


def are_read_alike(file: pa.Schema, now: pa.Schema) -> bool:
    """Whether pyarrow reads the file's columns as the table's of now, as Hudi's readers do."""
    return all(
        is_read_alike(file.field(field.name).type, field.type)
        for field in now
        if file.get_field_index(field.name) >= 0
    )


def is_read_alike(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether pyarrow's cast is what Hudi's readers make of a column's values."""
    if pa.types.is_struct(old) and pa.types.is_struct(new):
        return are_read_alike(pa.schema(list(old)), pa.schema(list(new)))
    if pa.types.is_list(old) and pa.types.is_list(new):
        return is_read_alike(old.value_type, new.value_type)
    if pa.types.is_map(old) and pa.types.is_map(new):
        return is_read_alike(old.item_type, new.item_type)
    if pa.types.is_string(new):
        return not (pa.types.is_floating(old) or pa.types.is_decimal(old) or _is_moment(old))
    return not (pa.types.is_float32(old) and pa.types.is_float64(new))


def _is_moment(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_) or pa.types.is_time(type_))


def _keeps_values(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether a change means the same to every reader."""
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

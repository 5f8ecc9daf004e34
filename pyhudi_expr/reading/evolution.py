"""Base files that were written before columns were renamed, retyped, dropped or moved, as today's.

Schema evolution on read leaves files as they are. Which column of a file is which of the table's is
told by their ids in the history of its schemas; its values are widened as Hudi's readers do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.reading.slice_rows import leaf, parquet_batches
from pyhudi_expr.table.errors import UnsupportedTable
from pyhudi_expr.table.hudi_table import HudiTable
from pyhudi_expr.table.listing import FileListing
from pyhudi_expr.table.schema import META_FIELDS
from pyhudi_expr.table.schema_history import SchemaHistory, SchemaVersion, schema_history
from pyhudi_expr.table.storage import Storage

_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Evolution:
    """What became of a table's columns until an instant. now: the version that is asked for."""

    history: SchemaHistory
    now: SchemaVersion

    @staticmethod
    def of(table: HudiTable, instant: str | None) -> Evolution | None:
        """None where columns never were changed so. Raises HudiError."""
        if not table.has_schema_history:
            return None
        history = schema_history(table.storage, table.timeline.is_committed)
        now = history.at(instant) if history else None
        if history is None or now is None:
            raise UnsupportedTable(
                f"{table.base_path}: the history of its schemas says nothing of {instant}, so the "
                "files do not say which column is which"
            )
        return Evolution(history, now)

    @property
    def is_newest(self) -> bool:
        """Whether no column was changed since."""
        return self.now == self.history.at(None)

    def changed(self, listing: FileListing) -> _Flags:
        """For each slice whether one of its files was written before columns were changed."""
        instants = listing.file_instants
        changed = [
            one
            for one in pc.unique(instants).to_pylist()
            if one is None or self.history.at(one) != self.now
        ]
        files = pc.is_in(instants, value_set=pa.array(changed, pa.string()))
        return listing.any_of_slice(np.asarray(files))

    def rows(
        self, storage: Storage, path: str, instant: str, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a base file that was written at an instant, with the schema's columns.

        storage: the table's. path: from there. Raises HudiError.
        """
        then = self.history.at(instant)
        if then is None:
            raise UnsupportedTable(
                f"{storage.uri}: the history of its schemas says nothing of {instant}, so {path} "
                "does not say which column is which"
            )
        file = _File(f"{storage.uri}/{path}", then, self.now)
        names = [file.name(name) for name in schema.names]
        roots = [name for name in names if name is not None]
        for batch in parquet_batches(storage, path, roots):
            columns = [file.column(batch, field, field.name) for field in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


@dataclass(frozen=True)
class _File:
    """A file of the version `then`. path: for messages."""

    path: str
    then: SchemaVersion
    now: SchemaVersion

    def name(self, name: str) -> str | None:
        """What a column of now was called; None: there was none."""
        if name in META_FIELDS:
            return name
        known = self.then.fields.get(self._id(name))
        return None if known is None else known.name

    def column(self, rows: pa.RecordBatch, field: pa.Field, name: str) -> pa.Array:
        """A column of now, of its dotted name."""
        known = self.name(name)
        if known is None:
            return pa.nulls(rows.num_rows, field.type)
        values = leaf(rows, known)
        if pa.types.is_null(values.type):
            return pa.nulls(rows.num_rows, field.type)
        if pa.types.is_struct(field.type):
            fields = list(field.type)
            children = [self.column(rows, child, f"{name}.{child.name}") for child in fields]
            return pa.StructArray.from_arrays(children, fields=fields, mask=values.is_null())
        if pa.types.is_nested(field.type) and not self._is_as_it_was(self._id(name)):
            raise UnsupportedTable(
                f"{self.path}: column {name!r} is a list or map in which fields were changed; such "
                "files are not read here; rewrite them by clustering, or ask an engine"
            )
        return self._widened(values, field.type, name)

    def _is_as_it_was(self, id_: int) -> bool:
        return self.then.fields[id_].type == self.now.fields[id_].type

    def _id(self, name: str) -> int:
        id_ = self.now.id_of(name)
        if id_ is None:
            raise UnsupportedTable(
                f"{self.path}: the history of the table's schemas has no column {name!r}"
            )
        return id_

    def _widened(self, values: pa.Array, type_: pa.DataType, name: str) -> pa.Array:
        if pa.types.is_float32(values.type) and pa.types.is_float64(type_):
            # Hudi goes by the digits: 0.1 stays 0.1.
            return values.cast(pa.string()).cast(type_)
        if values.type != type_ and not (
            pa.types.is_nested(type_) or _keeps_values(values.type, type_)
        ):
            raise UnsupportedTable(
                f"{self.path}: column {name!r} was {values.type} and is {type_} now; such files "
                "are not read here, as engines differ; rewrite them by clustering, or ask an engine"
            )
        try:
            return values.cast(type_)
        except pa.ArrowInvalid as error:
            raise UnsupportedTable(
                f"{self.path}: column {name!r} is no {type_}: {error}"
            ) from error


def _keeps_values(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether a change means the same to every reader."""
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

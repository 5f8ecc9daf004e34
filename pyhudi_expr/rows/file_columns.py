"""Convert the columns of a file, or of a log block, to the table's current columns.

Such changes leave files unchanged. The ids in the history of the table's schemas say which column
of a file is which column of the table.

`HistoricNames` gives the former names of columns. Values are widened as Hudi's readers do. Where
readers differ about the widened value, the column is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from pyhudi_expr.arrays import DAMAGE_ERRORS, AnyArray, AnyField, BoolArray
from pyhudi_expr.errors import CorruptFile, UnsupportedTable
from pyhudi_expr.expr.domains import type_widens
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.tables.hudi_names import META_COLUMNS, OPERATION
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.parquet.calendars import LegacyCalendar, has_moments, stored_schema
from pyhudi_expr.tables.schema import SchemaHistory, SchemaVersion
from pyhudi_expr.tables.slices.slice_rows import leaf


@dataclass(frozen=True)
class SchemaEvolution:
    """The history of a table's columns until an instant.

    Attributes:
        history: All versions of the schema.
        now: The version of the instant.
    """

    history: SchemaHistory
    now: SchemaVersion

    @staticmethod
    def of(table: HudiTable, result: PruneResult) -> SchemaEvolution | None:
        """Return the history until a result's instant; None if columns were never changed.

        Raises:
            UnsupportedTable: The history cannot be read.
        """
        if not result.is_evolved:
            return None
        history = result.schema_history
        if history is None:
            raise UnsupportedTable(
                f"{table.base_path}: the history of its schemas cannot be read, so the files do "
                "not say which column is which"
            )
        now = history.at(result.instant)
        if now is None:
            raise UnsupportedTable(
                f"{table.base_path}: the history of its schemas says nothing of {result.instant}, "
                "so the files do not say which column is which"
            )
        return SchemaEvolution(history, now)

    @property
    def is_newest(self) -> bool:
        """Whether no column was changed since."""
        return self.now == self.history.at(None)

    def changed(self, listing: FileListing) -> BoolArray:
        """Return for each slice whether one of its files is older than a change of columns."""
        instants = listing.file_instants
        changed = [
            one
            for one in pc.unique(instants).to_pylist()
            if one is None or self.history.at(one) != self.now
        ]
        files = pc.is_in(instants, value_set=pa.array(changed, pa.string()))
        return listing.any_file_of_slice(np.asarray(files))

    def columns(self, instant: str, path: str) -> FileColumns:
        """Return the columns of a file or log block that was written at an instant.

        Args:
            instant: The instant.
            path: The file's path, for messages.

        Raises:
            UnsupportedTable: The history does not cover the instant.
        """
        then = self.history.at(instant)
        if then is None:
            raise UnsupportedTable(
                f"{path}: the history of the table's schemas says nothing of {instant}, so the file"
                " does not say which column is which"
            )
        return FileColumns(path, _NamesById(path, then, self.now))


@dataclass(frozen=True)
class _NamesById:
    """Former names by column ids, see `HistoricNames`."""

    path: str
    version: SchemaVersion
    now: SchemaVersion

    def former_name(self, name: str) -> str | None:
        known = self.version.fields.get(self._id(name))
        return None if known is None else known.name

    def is_as_it_was(self, name: str, old: pa.DataType, new: pa.DataType) -> bool:
        id_ = self._id(name)
        return self.version.fields[id_].type == self.now.fields[id_].type

    def _id(self, name: str) -> int:
        id_ = self.now.id_of(name)
        if id_ is None:
            raise UnsupportedTable(
                f"{self.path}: the history of the table's schemas has no column {name!r}"
            )
        return id_


_THREADS = 16
_INT = 32
"""Bits of an integer whose values are doubles, too."""


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
        if pa.types.is_fixed_size_list(field.type) and pa.types.is_fixed_size_binary(values.type):
            return self._vectors(values, field.type, name)
        if pa.types.is_nested(field.type) and not self.names.is_as_it_was(
            name, values.type, field.type
        ):
            raise UnsupportedTable(
                f"{self.path}: column {name!r} is a list or map in which fields were changed; such "
                "files are not read here; rewrite them by clustering, or ask an engine"
            )
        return self._widened(values, field.type, name)

    def _vectors(
        self, values: AnyArray, type_: pa.FixedSizeListType[Any, Any], name: str
    ) -> AnyArray:
        """Return vectors that are stored as bytes in little-endian order, which Arrow's is, too."""
        length = type_.list_size
        if values.type.byte_width * 8 != length * type_.value_type.bit_width:
            raise UnsupportedTable(
                f"{self.path}: vectors of column {name!r} have {values.type.byte_width} bytes, "
                f"which is not {type_}; rewrite the file by clustering, or ask an engine"
            )
        elements = pa.Array.from_buffers(
            *(type_.value_type, length * len(values), [None, values.buffers()[1]]),
            offset=length * values.offset,
        )
        return pa.FixedSizeListArray.from_arrays(  # type: ignore[call-overload]
            elements, type=type_, mask=values.is_null()
        )

    def _widened(self, values: AnyArray, type_: pa.DataType, name: str) -> AnyArray:
        if pa.types.is_float32(values.type) and pa.types.is_float64(type_):
            # Hudi goes by the digits: 0.1 stays 0.1.
            return values.cast(pa.string()).cast(type_)
        if not (pa.types.is_nested(type_) or _keeps_values(values.type, type_)):
            raise UnsupportedTable(
                f"{self.path}: column {name!r} was {values.type} and is {type_} now; such files "
                "are not read here, as engines differ; rewrite them by clustering, or ask an engine"
            )
        if _counts_milliseconds(values.type, type_):
            return values.cast(pa.int64()).cast(type_)
        try:
            # Spark rounds integers that a float does not hold.
            is_rounded = pa.types.is_integer(values.type) and pa.types.is_floating(type_)
            return values.cast(type_, safe=not is_rounded)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise UnsupportedTable(
                f"{self.path}: column {name!r} is not a {type_}: {error}"
            ) from error


class ByName:
    """Gives the columns of files whose columns were never renamed."""

    def columns(self, instant: str, path: str) -> FileColumns:
        """Return the columns of a file that was written at an instant; `path` is for messages."""
        return FileColumns(path, CurrentNames())


class Reading(Enum):
    """How a file's rows are read.

    AS_IS: as pyarrow reads them. CONVERTED: by `FileColumns`. EMPTY: it has no byte, as a writer
    left it that died; Spark reads no row of it, unless the metadata table lists it with some.
    """

    AS_IS = "as is"
    CONVERTED = "converted"
    EMPTY = "empty"


def readings(
    fragments: Sequence[ds.ParquetFileFragment], sizes: Sequence[int], schema: pa.Schema
) -> list[Reading]:
    """Return how each file is read with the columns of a schema.

    Args:
        fragments: M files.
        sizes: M numbers of bytes, as the files are listed.
        schema: The columns.

    Raises:
        CorruptFile: A footer cannot be read.
    """
    return [_reading(footer, schema) for footer in _footers(fragments, sizes)]


def num_rows(fragments: Sequence[ds.ParquetFileFragment], sizes: Sequence[int]) -> int:
    """Return the number of all files' rows, see `readings`. Raises CorruptFile."""
    footers = _footers(fragments, sizes)
    return sum(0 if footer is None else footer.num_rows for footer in footers)


def _reading(footer: pq.FileMetaData | None, schema: pa.Schema) -> Reading:
    if footer is None:
        return Reading.EMPTY
    return Reading.AS_IS if file_reads_as_hudi(footer, schema) else Reading.CONVERTED


def _footers(
    fragments: Sequence[ds.ParquetFileFragment], sizes: Sequence[int]
) -> list[pq.FileMetaData | None]:
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(_footer, fragments, sizes))


def _footer(fragment: ds.ParquetFileFragment, size: int) -> pq.FileMetaData | None:
    """Return a file's footer; None if the file has no byte, and is listed without one."""
    try:
        return fragment.metadata
    except DAMAGE_ERRORS as error:
        is_empty = fragment.filesystem.get_file_info(fragment.path).size == 0
        if is_empty and not size:
            return None
        reason = f"it has no byte, and is listed with {size}" if is_empty else str(error)
        raise CorruptFile(fragment.path, f"its footer cannot be read: {reason}") from error


def file_reads_as_hudi(footer: pq.FileMetaData, schema: pa.Schema) -> bool:
    """Return whether pyarrow reads a file's columns, in the types of a schema, as Hudi does."""
    is_of_today = LegacyCalendar.of("", footer.metadata) is None
    if not is_of_today and any(map(has_moments, schema.types)):
        return False
    return pyarrow_reads_as_hudi(stored_schema(footer), schema)


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
    if pa.types.is_float64(new):
        return bool(
            pa.types.is_float64(old) or (pa.types.is_integer(old) and old.bit_width <= _INT)
        )
    if pa.types.is_decimal(new) and pa.types.is_integer(old):
        return True
    return type_widens(old, new)


def _counts_milliseconds(old: pa.DataType, new: pa.DataType) -> bool:
    """Return whether a file names microseconds what the table's milliseconds are.

    Older writers of Hudi did so, and its readers take such numbers for milliseconds. Of local times
    they wrote plain integers.
    """
    if not pa.types.is_timestamp(new) or new.unit != "ms":
        return False
    if new.tz is None:
        return bool(pa.types.is_int64(old))
    return bool(pa.types.is_timestamp(old) and old.unit == "us" and old.tz is not None)


def _is_moment(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_) or pa.types.is_time(type_))


def _keeps_values(old: pa.DataType, new: pa.DataType) -> bool:
    """Return whether a change of type means the same to every reader."""
    if type_widens(old, new) or _counts_milliseconds(old, new):
        return True
    if pa.types.is_integer(old):
        return bool(
            pa.types.is_integer(new)
            or pa.types.is_floating(new)
            or pa.types.is_decimal(new)
            or pa.types.is_string(new)
        )
    if pa.types.is_date(old):
        return bool(pa.types.is_string(new))
    if pa.types.is_timestamp(old) and pa.types.is_timestamp(new):
        return (old.tz is None) == (new.tz is None)
    same_kind = (pa.types.is_decimal, pa.types.is_string, pa.types.is_binary, pa.types.is_time)
    return any(kind(old) and kind(new) for kind in same_kind)

"""Extract the record keys and the indexed values of a file slice, for the reverse mapping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray, arrow_schema_of
from pyhudi_expr.manage.indexing.reverse_mapping import ReverseMapping, slice_name
from pyhudi_expr.rows.key_columns import KeyColumns
from pyhudi_expr.rows.slice_files import FileSlice
from pyhudi_expr.rows.slice_rows import SliceReader, UnmergeableSlice
from pyhudi_expr.spark.builds.key_changes import is_secondary
from pyhudi_expr.spark.entries.secondary_index import IndexedColumns
from pyhudi_expr.tables.hudi_names import RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.changes.index_definitions import IndexDefinition

_COUNTED_SCHEMA = arrow_schema_of(
    [
        pa.field("partition", pa.string()),
        pa.field("file_id", pa.string()),
        pa.field("rows", pa.int64()),
        pa.field("problem", pa.string()),
    ]
)


@dataclass(frozen=True)
class SliceKeys:
    """Extracts keys and values from slices of one table; sent to Spark's tasks."""

    COUNTED: ClassVar[str] = "partition string, file_id string, rows long, problem string"
    """Schema of what tasks tell of the slices that they read; problem: why one could not be."""

    reader: SliceReader
    keys: KeyColumns
    with_keys: bool
    values: tuple[tuple[str, IndexedColumns], ...]

    @staticmethod
    def of(
        table: HudiTable, instant: str | None, definitions: Sequence[IndexDefinition]
    ) -> SliceKeys:
        """Prepare the extraction from slices of a listing at `instant`.

        Raises:
            HudiError: A column cannot be indexed.
        """
        values = [(d.name, IndexedColumns.of(table, d)) for d in definitions if is_secondary(d)]
        wants_keys = any(definition.name == RECORD_INDEX for definition in definitions)
        reader = SliceReader.of(table, instant)
        return SliceKeys(reader, KeyColumns.of(table), wants_keys, tuple(values))

    def stored(self, files: ReverseMapping, one: FileSlice) -> Iterator[pa.RecordBatch]:
        """Write a slice's keys and values to the reverse mapping; return one row of `COUNTED`.

        The slice's keys, and the values of its indexed columns, are held in memory. A slice that
        cannot be merged is reported in the row.

        Raises:
            HudiError: A file cannot be read.
        """
        try:
            keys, values = self._columns(one)
        except UnmergeableSlice as error:
            yield _counted(one, 0, str(error))
            return
        order = pc.array_sort_indices(keys)
        name = slice_name(one)
        if self.with_keys:
            files.write(RECORD_INDEX, name, keys.take(order))
        for (index, _), texts in zip(self.values, values, strict=True):
            files.write(index, name, texts.take(order))
        yield _counted(one, len(keys), None)

    def _columns(self, one: FileSlice) -> tuple[AnyArray, list[AnyArray]]:
        text = pa.large_string()
        keys: list[AnyArray] = [pa.array([], text)]
        values: list[list[AnyArray]] = [[pa.array([], text)] for _ in self.values]
        fields = [field for _, indexed in self.values for field in indexed.fields]
        names = tuple(dict.fromkeys([*self.keys.columns, *fields]))
        for columns in self.reader.columns(one, names):
            read = dict(zip(names, columns, strict=True))
            keys.append(self.keys.keys([read[column] for column in self.keys.columns]).cast(text))
            for found, (_, indexed) in zip(values, self.values, strict=True):
                own = [read[field] for field in indexed.fields]
                found.append(indexed.texts(own, one.name).cast(text))
        return pa.concat_arrays(keys), [pa.concat_arrays(found) for found in values]


def _counted(one: FileSlice, rows: int, problem: str | None) -> pa.RecordBatch:
    columns = [[one.partition], [one.file_id], [rows], [problem]]
    return pa.record_batch(columns, schema=_COUNTED_SCHEMA)

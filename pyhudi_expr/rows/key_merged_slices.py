"""Merge slices by their record keys, where hudi-rs does not merge them as Hudi does.

hudi-rs supports neither a history of schemas nor the digits of widened floats, nor slices without a
base file. Here each file and each log block is converted to the current columns first;
`key_merging` does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from pyhudi_expr.arrays import AnyArray
from pyhudi_expr.rows.file_columns import FileColumns
from pyhudi_expr.tables.hudi_names import OPERATION, RECORD_KEY
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.properties import SliceMerging, slice_merging
from pyhudi_expr.tables.slices.key_merging import KeyMerger
from pyhudi_expr.tables.slices.log_rows import LogRows, Written, one_batch, read_log
from pyhudi_expr.tables.slices.slice_files import FileSlice
from pyhudi_expr.tables.slices.slice_rows import SliceReader, UnmergeableSlice, base_batches, leaf

WHAT_TO_DO = "compact the table, or read the read-optimised view"


class ColumnsOf(Protocol):
    """Gives the columns of files."""

    def columns(self, instant: str, path: str) -> FileColumns:
        """Return the columns of a file or block written at an instant; `path` is for messages."""


@dataclass(frozen=True)
class KeyMergedSlices:
    """Merges the slices of a table.

    Attributes:
        schema: The current columns that are needed.
        reader: Decides which log files count.
    """

    table: HudiTable
    schema: pa.Schema
    columns_of: ColumnsOf
    merger: KeyMerger
    reader: SliceReader

    @staticmethod
    def of(
        table: HudiTable, instant: str | None, requested: pa.Schema, columns_of: ColumnsOf
    ) -> KeyMergedSlices:
        """Prepare to merge slices of a listing.

        Args:
            table: The table.
            instant: The instant of the listing.
            requested: The columns to read.
            columns_of: Gives the columns of files.

        Raises:
            UnmergeableSlice: Rows cannot be merged by stored keys.
        """
        properties, schema = table.properties, table.schema(instant)
        for applies, reason in (
            (
                slice_merging(properties) is not SliceMerging.WHOLE_RECORDS,
                "its merger is not known here",
            ),
            (not properties.meta_fields, "its record keys are not stored"),
        ):
            if applies:
                raise UnmergeableSlice(
                    f"{table.base_path}: log files without a base file, or with columns that were "
                    f"renamed or retyped since, cannot be merged here, as {reason}; {WHAT_TO_DO}"
                )
        merger = KeyMerger.by_stored_keys(properties)
        needed = [name.partition(".")[0] for name in merger.needed]
        present = [name for name in (*requested.names, *needed) if name in schema.names]
        fields = [schema.field(name).remove_metadata() for name in dict.fromkeys(present)]
        if OPERATION not in present:
            fields.append(pa.field(OPERATION, pa.string()))
        every = pa.schema(fields)
        reader = SliceReader(table.base_path, instant or "", merges=True)
        return KeyMergedSlices(table, every, columns_of, merger, reader)

    def rows(self, one: FileSlice) -> pa.Table:
        """Return the merged rows of a slice, with the columns of `schema`.

        Raises:
            HudiError: A file cannot be read or merged.
        """
        storage, base = self.table.storage, self._base_rows(one)
        logs = [log for log in map(one.path, one.logs) if self.reader.counts(one, log)]
        parts: list[tuple[Written, list[AnyArray]]] = []
        tables = [base]
        for part in read_log(storage, logs, self.table.timeline.pending, self._roots):
            if not isinstance(part, LogRows):
                parts.append((part, []))
                continue
            columns = self.columns_of.columns(part.instant, f"a log file of {one.name}")
            rows = pa.Table.from_batches([columns.rows(part.rows, self.schema)])
            tables.append(rows)
            parts.append((part, self._merged_by(rows, one)))
        kept = self.merger.remaining_rows(self._merged_by(base, one), parts)
        return pa.concat_tables(tables).take(kept)

    def _base_rows(self, one: FileSlice) -> pa.Table:
        if one.base is None:
            return self.schema.empty_table()
        path = one.path(one.base)
        columns = self.columns_of.columns(one.base_instant, f"{self.table.base_path}/{path}")
        batches = base_batches(self.table.storage, path, columns.roots(self.schema))
        rows = (columns.rows(batch, self.schema) for batch in batches)
        return pa.Table.from_batches(rows, self.schema)

    def _roots(self, instant: str) -> list[str]:
        """Return the columns to read from a block."""
        return self.columns_of.columns(instant, f"a log file of {self.table.base_path}").roots(
            self.schema
        )

    def _merged_by(self, rows: pa.Table, one: FileSlice) -> list[AnyArray]:
        """Return the columns that decide which rows are kept."""
        roots = dict.fromkeys(name.partition(".")[0] for name in self.merger.needed)
        batch = one_batch(rows.select([root for root in roots if root in rows.column_names]))
        found = [leaf(batch, name) for name in self.merger.needed]
        if found[0].null_count:
            raise UnmergeableSlice(
                f"{self.table.base_path}: rows of {one.name} have no {RECORD_KEY}, so they cannot "
                f"be merged here; {WHAT_TO_DO}"
            )
        return found

"""What slices with log files hold of columns: read from their merged rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import BoolArray
from pyhudi_expr.errors import HudiError
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.manage.audit.column_facts import joined_values, value_bounds
from pyhudi_expr.rows.slice_files import FileSlice, file_slices
from pyhudi_expr.rows.slice_rows import SliceReader
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing


@dataclass(frozen=True)
class MergedColumn:
    """A column in a merged slice.

    Attributes:
        bounds: None if there are no rows.
    """

    bounds: Bounds | None
    nulls: int


@dataclass(frozen=True)
class MergedSlices:
    """The slices with log files.

    Attributes:
        file_ids: Their file groups: partition path and file id.
        partition: The number of each slice's partition.
        columns: For each slice its columns; None for a slice, or a column, that is not known.
        failures: Why slices cannot be merged.
    """

    file_ids: frozenset[tuple[str, str]]
    partition: Sequence[int]
    columns: Sequence[Mapping[str, MergedColumn | None] | None]
    failures: tuple[str, ...]

    @staticmethod
    def read(
        table: HudiTable, listing: FileListing, columns: Sequence[BoundColumn]
    ) -> MergedSlices:
        """Read the columns of those of a listing's slices that have log files."""
        logs = listing.slice_has_logs
        if not logs.any():
            return MergedSlices(frozenset(), (), (), ())
        some = list(file_slices(listing.some(logs)))
        number = {path: at for at, path in enumerate(listing.partition_paths)}
        failures: list[str] = []
        found: list[Mapping[str, MergedColumn | None] | None] = []
        for one in some:
            columns_or_why = _read(table, listing, one, columns)
            if isinstance(columns_or_why, str):
                failures.append(columns_or_why)
            found.append(None if isinstance(columns_or_why, str) else columns_or_why)
        ids = frozenset((one.partition, one.file_id) for one in some)
        return MergedSlices(ids, [number[one.partition] for one in some], found, tuple(failures))

    def has_logs(self, bases: FileListing) -> BoolArray:
        """Return which of a listing's files are in these slices."""
        if not self.file_ids:
            return np.zeros(bases.num_files, np.bool_)
        ids = bases.slice_file_id.take(pa.array(bases.file_slice))
        partitions = bases.partitions.take(pa.array(bases.file_partition))
        both = pc.binary_join_element_wise(partitions, ids, "\n")
        there = pc.is_in(both, pa.array(["\n".join(each) for each in self.file_ids]))
        return np.asarray(there.to_numpy(zero_copy_only=False), np.bool_)

    def of_column(self, column: BoundColumn) -> Iterator[tuple[int, MergedColumn | None]]:
        """Return for each slice the number of its partition, and what it holds; None: unknown."""
        for at, columns in zip(self.partition, self.columns, strict=True):
            yield at, None if columns is None else columns.get(column.name)


def _read(
    table: HudiTable, listing: FileListing, one: FileSlice, columns: Sequence[BoundColumn]
) -> Mapping[str, MergedColumn | None] | str:
    """Return the columns of a slice, or why it cannot be read."""
    try:
        return _merged(SliceReader.of(table, listing.instant), one, columns)
    except HudiError as error:
        return str(error)


def _merged(
    reader: SliceReader, one: FileSlice, columns: Sequence[BoundColumn]
) -> Mapping[str, MergedColumn | None]:
    parts = list(reader.columns(one, [column.name for column in columns]))
    found: dict[str, MergedColumn | None] = {}
    for number, column in enumerate(columns):
        found[column.name] = None
        with suppress(pa.ArrowException):  # of a type that is not the table's any more
            values = joined_values([part[number] for part in parts], column.type)
            found[column.name] = MergedColumn(value_bounds(values, column), values.null_count)
    return found

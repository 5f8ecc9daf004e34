"""File slices as single values, of tables that can be read from their files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pyhudi_expr.arrays import AnyArray, arrow_array, string_list
from pyhudi_expr.errors import UnsupportedTable
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing

LANCE = "LANCE"
"""The base file format of hoodie.properties that hudi-rs reads, and pyarrow does not."""


@dataclass(frozen=True)
class FileSlice:
    """One slice of a snapshot.

    Attributes:
        base: Name of the base file; None if there is none.
        logs: Names of the log files, in order.
    """

    partition: str
    file_id: str
    base_instant: str
    base: str | None
    logs: tuple[str, ...]

    def path(self, name: str) -> str:
        """Return the path of one of its files, relative to the table's base path."""
        return f"{self.partition}/{name}" if self.partition else name

    @property
    def name(self) -> str:
        """The name in messages."""
        return self.path(f"{self.file_id} (base instant {self.base_instant})")


def file_slices(listing: FileListing) -> Iterator[FileSlice]:
    """Return the slices of a listing, largest first."""
    return map(slice_of, slice_table(listing).to_pylist())


def slice_of(row: dict[str, Any]) -> FileSlice:
    """Return the slice of a row of `slice_table`."""
    return FileSlice(**{**row, "logs": tuple(row["logs"])})


def slice_at(listing: FileListing, number: int) -> FileSlice:
    """Return the slice with this number in a listing."""
    files = listing.files_of(np.array([number], np.int64)).files
    names, are_logs = string_list(listing.names_at(files)), listing.file_is_log[files].tolist()
    bases = [name for name, is_log in zip(names, are_logs, strict=True) if not is_log]
    return FileSlice(
        listing.partitions[int(listing.slice_partition[number])].as_py(),
        listing.slice_file_id[number].as_py(),
        listing.slice_base_instant[number].as_py(),
        bases[0] if bases else None,
        tuple(name for name, is_log in zip(names, are_logs, strict=True) if is_log),
    )


def slice_table(listing: FileListing) -> pa.Table:
    """Return the slices as rows with the fields of `FileSlice`, largest first.

    Tasks that take rows in turn get about as many bytes each.
    """
    table = pa.table(
        {
            "partition": listing.partitions.take(listing.slice_partition),
            "file_id": listing.slice_file_id,
            "base_instant": listing.slice_base_instant,
            "base": _base_names(listing),
            "logs": _log_names(listing),
        }
    )
    size = np.zeros(listing.num_slices, np.int64)
    np.add.at(size, listing.file_slice, listing.file_size)
    return table.take(np.argsort(-size, kind="stable"))


def _base_names(listing: FileListing) -> AnyArray:
    bases = np.flatnonzero(~listing.file_is_log)
    position = np.zeros(listing.num_slices, np.int64)
    missing = np.ones(listing.num_slices, np.bool_)
    position[listing.file_slice[bases]], missing[listing.file_slice[bases]] = bases, False
    return listing.file_name.take(arrow_array(position, mask=missing))


def _log_names(listing: FileListing) -> AnyArray:
    logs = np.flatnonzero(listing.file_is_log)
    edges = np.searchsorted(listing.file_slice[logs], np.arange(listing.num_slices + 1))
    names = listing.file_name.take(logs)
    return pa.ListArray.from_arrays(pa.array(edges, pa.int32()), names)


def check_supported(table: HudiTable) -> None:
    """Check that a table's rows follow from its files alone.

    Raises:
        UnsupportedTable: They do not.
    """
    properties = table.properties
    for applies, reason in (
        (
            properties.base_file_format not in ("PARQUET", LANCE),
            f"its base files are of the format {properties.base_file_format}",
        ),
        (properties.drop_partition_columns, "its partition columns are kept in paths only"),
        (hudi_names.BOOTSTRAP_BASE_PATH in properties.raw, "it was made by bootstrap"),
    ):
        if applies:
            raise UnsupportedTable(f"{table.base_path} cannot be read by its files: {reason}")

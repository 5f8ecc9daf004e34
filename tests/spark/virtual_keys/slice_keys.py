"""The keys of a table's rows, read slice by slice as index builds read them."""

from __future__ import annotations

from pyhudi_expr.rows.key_columns import KeyColumns
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.slices.slice_files import FileSlice, slice_table
from pyhudi_expr.tables.slices.slice_rows import SliceReader


def keys_of_rows(path: str) -> list[str]:
    """The sorted keys. path: the table's base path."""
    table = HudiTable.open(path)
    listing = table.listing()
    reader, made = SliceReader.of(table, listing.instant), KeyColumns.of(table)
    found: list[str] = []
    for row in slice_table(listing).to_pylist():
        one = FileSlice(**{**row, "logs": tuple(row["logs"])})
        for columns in reader.columns(one, made.columns):
            found += made.keys(columns).to_pylist()
    return sorted(found)

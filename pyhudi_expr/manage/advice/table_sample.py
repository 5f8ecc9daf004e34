"""Sample a table's base files: their footers, and some of their rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi_expr.arrays import AnyChunkedArray, Int64Array
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.expr.bound import BoundColumn
from pyhudi_expr.expr.bounds import Bounds
from pyhudi_expr.index.statistics.column_bounds import ColumnBounds
from pyhudi_expr.index.statistics.parquet_footers import read_bounds
from pyhudi_expr.manage.layout.sampling import sample_file
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.records import payloads

THREADS = 8
_SEED = 77
_SAMPLE_ROWS = 100_000
#: Limit of base files to sample.
MOST_FILES = 1000
_MOST_SAMPLED = 64
_EVERY_ROW = 1 << 40


@dataclass(frozen=True)
class TableSample:
    """The sampled base files of a listing.

    Attributes:
        positions: Their positions in the listing.
    """

    table: HudiTable
    listing: FileListing
    positions: Int64Array

    @staticmethod
    def at(table: HudiTable, listing: FileListing) -> TableSample:
        """Sample at most `MOST_FILES` files, at random but reproducibly."""
        bases = np.flatnonzero(~listing.file_is_log)
        if len(bases) > MOST_FILES:
            bases = np.sort(np.random.default_rng(_SEED).choice(bases, MOST_FILES, replace=False))
        return TableSample(table, listing, bases)

    @property
    def base_files(self) -> int:
        """Number of base files in the listing, sampled or not."""
        return int(np.count_nonzero(~self.listing.file_is_log))

    def some(self, files: int) -> Int64Array:
        """Return the positions of at most so many sampled files, at random but reproducibly."""
        if len(self.positions) <= files:
            return self.positions
        rng = np.random.default_rng(_SEED)
        return np.sort(rng.choice(self.positions, files, replace=False))

    def whole_column(self, path: str, column: str) -> AnyChunkedArray:
        """Read a column of a base file; null if the file does not have it.

        Raises:
            HudiError: The file cannot be read.
        """
        schema = pa.schema([self.table.schema().field(column)])
        return sample_file(self.table.storage, path, schema, _EVERY_ROW, _SEED).column(column)

    @computed_once
    def rows(self) -> int:
        """Estimated rows of all base files; those not sampled count by their size."""

        def count(path: str) -> int:
            with self.table.storage.open_input(path) as source:
                return int(pq.read_metadata(source).num_rows)

        with ThreadPoolExecutor(THREADS) as pool:
            counted = sum(pool.map(count, self.listing.paths(self.positions)))
        bases = ~self.listing.file_is_log
        size = int(self.listing.file_size[self.positions].sum())
        return round(counted * int(self.listing.file_size[bases].sum()) / max(size, 1))

    def bounds(self, column: BoundColumn) -> Bounds:
        """Return the column's bounds by the footers, over the listing; unknown for other files."""
        found = read_bounds(self.table.storage, self.listing.paths(self.positions), column)
        store = ColumnBounds(self.listing.num_files, column.domain)
        store.put(self.positions, found)
        return store.bounds()

    def sample(self, columns: Sequence[str]) -> tuple[pa.Table, list[str]]:
        """Read some rows of these columns from some files, and the file group of each row."""
        chosen = self.some(_MOST_SAMPLED)
        schema = self.table.schema()
        requested = pa.schema([schema.field(name) for name in columns])
        each = math.ceil(_SAMPLE_ROWS / max(len(chosen), 1))
        paths = self.listing.paths(chosen)
        with ThreadPoolExecutor(THREADS) as pool:
            tables = list(
                pool.map(
                    lambda number: sample_file(
                        self.table.storage, paths[number], requested, each, _SEED + number
                    ),
                    range(len(paths)),
                )
            )
        slices = self.listing.file_slice[chosen]
        groups = self.listing.slice_file_id.take(slices).to_pylist()
        lengths = [one.num_rows for one in tables]
        rows = pa.concat_tables(tables) if tables else requested.empty_table()
        return rows, np.repeat(np.array(groups, object), lengths).tolist()


def distinct_values(values: AnyChunkedArray, rows: int) -> float:
    """Estimate the distinct values of a column with so many rows from a sample.

    Charikar's estimator (GEE): values that occur once in the sample stand for sqrt(rows / sample)
    values each, the others for themselves. It is wrong by that factor at most, and exact if all
    rows are in the sample.
    """
    seen = len(values) - values.null_count
    if not seen:
        return 1.0
    counts = pc.value_counts(values.drop_null()).field("counts").to_numpy(zero_copy_only=False)
    once = int(np.count_nonzero(counts == 1))
    scale = math.sqrt(max(rows, seen) / seen)
    return float(min(scale * once + (len(counts) - once), max(rows, 1)))


def location_bytes(keys: Sequence[str], file_ids: Sequence[str]) -> float:
    """Measure the bytes of a record index for each key, by writing an HFile of these."""
    values = {each: payloads.location("", each, 0) for each in set(file_ids)}
    cells = {key.encode(): values[each] for key, each in zip(keys, file_ids, strict=True)}
    return _bytes_of_entry(cells)


def secondary_bytes(values: Sequence[object], keys: Sequence[str]) -> float:
    """Measure the bytes of a secondary index for each row, by writing an HFile of these."""
    entry = payloads.secondary_entry()
    pairs = zip(values, keys, strict=True)
    return _bytes_of_entry({f"{value}${key}".encode(): entry for value, key in pairs})


def _bytes_of_entry(cells: Mapping[bytes, bytes]) -> float:
    if not cells:
        return 0.0
    return hfile_writer.write(BytesIO(), sorted(cells.items()), "") / len(cells)

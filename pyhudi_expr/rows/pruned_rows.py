"""Read the rows of the slices that pruning keeps, as Arrow batches.

pyarrow reads base files without log files. hudi-rs merges slices with log files. Files that were
written with other columns than the table has now are converted first. What cannot be read as Hudi
reads it raises an error; it never gives a wrong row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import starmap
from operator import and_

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from pyhudi_expr.arrays import (
    READ_ERRORS,
    AnyArray,
    AnyField,
    AnyScalar,
    BoolArray,
    arrow_constant,
    arrow_nulls,
)
from pyhudi_expr.computed_once import computed_once
from pyhudi_expr.errors import HudiError, UnsupportedTable
from pyhudi_expr.index.kept_rows import RowEvaluator
from pyhudi_expr.index.prune import PruneResult
from pyhudi_expr.index.rows.evaluation import RowRanges
from pyhudi_expr.index.spark_partition_values import PathColumns
from pyhudi_expr.rows.file_columns import (
    ByName,
    FileColumns,
    Reading,
    SchemaEvolution,
    file_reads_as_hudi,
    num_rows,
    readings,
)
from pyhudi_expr.rows.footer_trust import (
    ParquetFragment,
    counted_by_rows,
    matching_row_groups,
    with_evaluated_rows,
)
from pyhudi_expr.rows.key_columns import require_keys
from pyhudi_expr.rows.key_merged_slices import ColumnsOf, KeyMergedSlices
from pyhudi_expr.rows.row_filter import RowFilter
from pyhudi_expr.tables.hudi_names import RECORD_KEY
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import columns_without_nulls, hidden_columns, is_virtual
from pyhudi_expr.tables.parquet.calendars import INT96_UNIT
from pyhudi_expr.tables.slices.slice_files import LANCE, FileSlice, file_slices
from pyhudi_expr.tables.slices.slice_rows import (
    SliceReader,
    UnmergeableSlice,
    base_batches,
    parquet_file,
)

_FORMAT = ds.ParquetFileFormat(coerce_int96_timestamp_unit=INT96_UNIT)
_AT_ONCE = 64
"""Files whose footers are read at once."""


@dataclass(frozen=True)
class ReadAhead:
    """How much of the files is read before it is asked for.

    Attributes:
        footers: The number of footers that are read at first; twice as many each time.
        files: Files that are read at once.
        batches: Batches that are read at once.
    """

    footers: int
    files: int
    batches: int


#: pyarrow's own numbers.
EAGER = ReadAhead(_AT_ONCE, files=4, batches=16)
#: For a reader who stops early: the first file may be the last one.
CAUTIOUS = ReadAhead(footers=2, files=1, batches=1)


@dataclass(frozen=True)
class PrunedRows:
    """Rows of a table's kept slices.

    Attributes:
        schema: The schema of the returned rows.
        result: The kept slices.
        read: The columns to read, including those of the filter.
        path_columns: The partition columns whose values are those of paths.
        evolution: The history of the table's columns, if they were renamed or retyped.
        ahead: How much is read before it is asked for.
        trusts_footers: Whether pyarrow's own pruning by the filter loses no row.
    """

    schema: pa.Schema
    result: PruneResult
    table: HudiTable
    read: pa.Schema
    path_columns: PathColumns
    evolution: SchemaEvolution | None
    filter: RowFilter | None
    ahead: ReadAhead = EAGER
    trusts_footers: bool = False

    def batches(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Return batches of rows, each with the number of slices that begin with it.

        Raises:
            HudiError: A slice cannot be read.
        """
        merged, changed = self._merged(), self._changed()
        yield from self._plain_files(self.result.keep & ~merged & ~changed)
        for one in file_slices(self.result.listing.some(changed & ~merged)):
            assert one.base is not None
            path = one.path(one.base)
            yield from self._converted_file(path, self._columns_of.columns(one.base_instant, path))
        if merged.any():
            yield from self._merged_slices(merged)

    def count(self) -> int:
        """Return the number of rows of the kept slices, unfiltered. Of most, it reads the footers.

        Raises:
            HudiError: A slice cannot be read.
        """
        read = self._merged() if self._is_parquet else self.result.keep
        plain = self.result.keep & ~read
        in_files = num_rows(self._fragments(self._paths(plain)), self._sizes(plain))
        return in_files + sum(batch.num_rows for _, batch in self.of_slices(read).batches())

    def of_slices(self, slices: BoolArray) -> PrunedRows:
        """Return the rows of some of the kept slices, one flag for each slice."""
        return replace(self, result=replace(self.result, keep=slices))

    def filtered_dataset(self) -> ds.Dataset:
        """Return the filtered rows as a pyarrow dataset of the columns of `read`; see `Scan`.

        Raises:
            HudiError: A slice cannot be read.
        """
        schema = self.read
        fragments, held = self._readable(schema)
        whole = replace(self.of_slices(held), schema=schema, ahead=EAGER)
        batches = [batch for _, batch in whole.batches()]
        parts: list[ds.Dataset] = []
        if fragments:
            matching = matching_row_groups(fragments, self.result.predicate, self._unread)
            parts.append(self._dataset(matching, schema))
        if batches or not fragments:
            parts.append(ds.dataset(pa.Table.from_batches(batches, schema)))
        found = parts[0] if len(parts) == 1 else ds.dataset(parts, schema)
        # Rows in memory are filtered already; a union has one filter for all its parts.
        if self.filter is None or self.filter.arrow is None or not fragments:
            return found
        read = [field for field in schema if field.name not in self._unread]
        return found.filter(counted_by_rows(self.filter.arrow, narrowest(read)))

    def _readable(self, schema: pa.Schema) -> tuple[list[ParquetFragment], BoolArray]:
        """Return the files that pyarrow reads and filters as is, and the slices to read first."""
        held = self.result.keep.copy()
        if self.filter is not None and not (self.trusts_footers and self.filter.evaluated is None):
            return [], held
        plain = held & ~self._merged() & ~self._changed()
        fragments = self._fragments(self._paths(plain))
        readings = self._readings(fragments, plain, schema)
        converted = np.array([one is Reading.CONVERTED for one in readings], np.bool_)
        held[np.flatnonzero(plain)[~converted]] = False
        return _read_as_is(fragments, readings), held

    def _readings(
        self, fragments: list[ParquetFragment], slices: BoolArray, schema: pa.Schema
    ) -> list[Reading]:
        """Return how each file of slices is read.

        Raises:
            MissingKey: Rows have no virtual key.
            CorruptFile: A footer cannot be read.
        """
        found, label = readings(fragments, self._sizes(slices), schema), self.table.base_path
        present = [f for f, one in zip(fragments, found, strict=True) if one is not Reading.EMPTY]
        require_keys(present, columns_without_nulls(self.table.properties, label), label)
        return found

    def dataset(self) -> ds.Dataset:
        """Return the files as a pyarrow dataset with all columns and rows. Reads their footers.

        Raises:
            UnsupportedTable: Log files have to be merged into a slice, or columns were changed
                since a file was written.
        """
        if self._merged().any():
            raise UnsupportedTable(
                f"{self.table.base_path}: slices with log files cannot be files of a dataset; read "
                "batches, or the read-optimised view"
            )
        if not self._is_parquet:
            raise UnsupportedTable(
                f"{self.table.base_path}: Lance files are no files of a dataset; read batches"
            )
        schema = self.table.schema(self.result.instant)
        fragments = self._fragments(self._paths(self.result.keep))
        found = self._readings(fragments, self.result.keep, schema)
        if self._changed().any() or Reading.CONVERTED in found:
            raise UnsupportedTable(
                f"{self.table.base_path}: files from before columns were renamed or retyped are "
                "no files of a dataset; read batches"
            )
        return self._dataset(_read_as_is(fragments, found), schema)

    def _plain_files(self, slices: BoolArray) -> Iterator[tuple[int, pa.RecordBatch]]:
        positions, evaluate = np.flatnonzero(slices), RowEvaluator()
        for chosen in _portions(positions.tolist(), self.ahead.footers):
            part = self._only(chosen)
            some = self._paths(part)
            fragments = self._fragments(some)
            found = self._readings(fragments, part, self.read)
            plain = _read_as_is(fragments, found)
            seen: set[str] = set()
            plain = matching_row_groups(plain, self.result.predicate, self._unread)
            schema = self.table.schema(self.result.instant)
            rows = with_evaluated_rows(plain, self._evaluated(evaluate, part))
            dataset = self._dataset(rows, schema)
            for tagged in self._scanned(dataset):
                file: ParquetFragment = tagged.fragment
                new_slices = file.path not in seen
                seen.add(file.path)
                columns = tagged.record_batch.columns
                batch = pa.RecordBatch.from_arrays(columns, schema=self.read)
                yield from self._chosen(pa.Table.from_batches([batch]), int(new_slices))
            for path, reading in zip(some, found, strict=True):
                if reading is Reading.CONVERTED:
                    yield from self._converted_file(path, ByName().columns("", path))

    def _only(self, slices: Sequence[int]) -> BoolArray:
        """Return flags for some slices."""
        flags = np.zeros_like(self.result.keep)
        flags[slices] = True
        return flags

    def _evaluated(self, evaluate: RowEvaluator, slices: BoolArray) -> Mapping[str, RowRanges]:
        """Return the rows of large files of slices that can match, by the files' paths."""
        if self.filter is None:
            return {}
        found = evaluate.rows(replace(self.result, keep=slices), self.table)
        full = self.table.storage.full
        return {full(one.file.path): one for one in found.rows}

    def _scanned(self, dataset: ds.Dataset) -> Iterator[ds.TaggedRecordBatch]:
        try:
            scanner = dataset.scanner(
                columns=self.read.names,
                batch_readahead=self.ahead.batches,
                fragment_readahead=self.ahead.files,
            )
            yield from scanner.scan_batches()
        except READ_ERRORS as error:
            raise HudiError(f"{self.table.base_path}: a file cannot be read: {error}") from error

    def _converted_file(
        self, path: str, columns: FileColumns
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Read a base file that has other columns than the table has now."""
        new_slices = 1
        for batch in base_batches(self.table.storage, path, columns.roots(self.read)):
            rows = pa.Table.from_batches([columns.rows(batch, self.read)])
            yield from self._chosen(self._shown(rows, path.rpartition("/")[0]), new_slices)
            new_slices = 0

    def _merged_slices(self, slices: BoolArray) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Read slices with log files."""
        for one in file_slices(self.result.listing.some(slices)):
            if self._is_merged_here(one):
                rows = self._changed_slices.rows(one)
            else:
                rows = self._with_logs(one)
            yield from self._chosen(self._shown(rows, one.partition), 1)

    @computed_once
    def _changed_slices(self) -> KeyMergedSlices:
        return KeyMergedSlices.of(self.table, self.result.instant, self.read, self._columns_of)

    @property
    def _columns_of(self) -> ColumnsOf:
        return self.evolution or ByName()

    @property
    def _is_parquet(self) -> bool:
        return self.table.properties.base_file_format != LANCE

    @computed_once
    def _hudi_rs(self) -> SliceReader:
        return SliceReader.of(self.table, self.result.instant)

    def _is_merged_here(self, one: FileSlice) -> bool:
        """Return whether `KeyMergedSlices` merges a slice, and not hudi-rs.

        This is so if columns were changed, there is no base file or one of Lance, or hudi-rs reads
        a column differently. If record keys are not stored, `SliceReader` merges slices without a
        base file.
        """
        if self.evolution is not None or not self._is_parquet:
            return True
        if one.base is None:
            return self.table.properties.meta_fields
        with parquet_file(self.table.storage, one.path(one.base)) as file:
            return not file_reads_as_hudi(file.metadata, self.read)

    def _with_logs(self, one: FileSlice) -> pa.Table:
        """Merge by hudi-rs, or here if it cannot: nested types, columns that logs add or lack."""
        try:
            return self._by_hudi_rs(one)
        except UnmergeableSlice as refusal:
            try:
                return self._changed_slices.rows(one)
            except UnmergeableSlice:
                raise refusal from None

    def _by_hudi_rs(self, one: FileSlice) -> pa.Table:
        reader = self._hudi_rs
        if reader.by_keys is not None and any(map(pa.types.is_nested, self.read.types)):
            raise UnmergeableSlice(
                f"{self.table.base_path}: nested columns of {one.name}, whose record keys are not "
                "stored, cannot be merged here; read the read-optimised view"
            )
        return pa.concat_tables(
            pa.Table.from_arrays(list(map(_cast, columns, self.read.types)), schema=self.read)
            for columns in reader.columns(one, self.read.names)
        )

    @property
    def _unread(self) -> frozenset[str]:
        """The columns whose values in files are not what rows show."""
        return hidden_columns(self.table.properties) | self.path_columns.types.keys()

    def _shown(self, rows: pa.Table, partition: str) -> pa.Table:
        """Return the rows of a partition as Hudi for Spark shows its columns."""
        try:
            shown = self.path_columns.values(partition)
        except UnsupportedTable as error:
            raise UnsupportedTable(f"{self.table.base_path}: {error}") from None
        for name, value in shown.items():
            at = rows.schema.get_field_index(name)
            if at >= 0:
                rows = rows.set_column(at, rows.field(at), arrow_constant(len(rows), value))
        return rows

    def _chosen(self, rows: pa.Table, new_slices: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Filter rows and select the requested columns.

        Args:
            rows: The rows with the columns of `read`.
            new_slices: The number of slices that begin with them.
        """
        if RECORD_KEY in rows.column_names and is_virtual(self.table.properties):
            key = rows.schema.get_field_index(RECORD_KEY)
            rows = rows.set_column(
                key, rows.field(key), arrow_nulls(len(rows), rows.field(key).type)
            )
        if self.filter is not None:
            rows = self.filter.rows(rows)
        for batch in rows.select(self.schema.names).to_batches():
            yield new_slices, batch
            new_slices = 0
        if new_slices:
            yield new_slices, pa.RecordBatch.from_pylist([], schema=self.schema)

    def _merged(self) -> BoolArray:
        """The kept slices that have log files."""
        listing = self.result.listing
        flags: BoolArray = self.result.keep & listing.slice_has_logs
        return flags

    def _changed(self) -> BoolArray:
        """The kept slices with Lance files, or from before columns were renamed or retyped."""
        keep = self.result.keep
        if not self._is_parquet:
            return keep
        if self.evolution is None or not keep.any():
            return np.zeros_like(keep)
        flags: BoolArray = keep & self.evolution.changed(self.result.listing)
        return flags

    def _paths(self, slices: BoolArray) -> list[str]:
        listing = self.result.listing
        return listing.paths(listing.of_files(slices))

    def _sizes(self, slices: BoolArray) -> list[int]:
        listing = self.result.listing
        sizes: list[int] = listing.file_size[listing.of_files(slices)].tolist()
        return sizes

    def _fragments(self, paths: list[str]) -> list[ParquetFragment]:
        storage = self.table.storage
        # pyarrow fills a column of its guarantee without reading it: stored keys stay hidden.
        is_hidden = is_virtual(self.table.properties)
        known = pc.is_null(ds.field(RECORD_KEY)) if is_hidden else pc.scalar(True)
        partitions = [path.rpartition("/")[0] for path in paths]
        shown = {one: self.path_columns.values(one) for one in set(partitions)}
        guarantees = {
            partition: reduce(and_, starmap(_is, values.items()), known)
            for partition, values in shown.items()
        }
        return [
            _FORMAT.make_fragment(storage.full(path), storage.filesystem, guarantees[partition])
            for path, partition in zip(paths, partitions, strict=True)
        ]

    def _dataset(self, fragments: list[ParquetFragment], schema: pa.Schema) -> ds.Dataset:
        return ds.FileSystemDataset(fragments, schema, _FORMAT, self.table.storage.filesystem)


def narrowest(columns: Iterable[AnyField]) -> str:
    """Return the column with the narrowest values, to count rows by."""
    return min(columns, key=lambda field: _width(field.type)).name


def _width(type_: pa.DataType) -> int:
    try:
        return type_.bit_width
    except ValueError:  # texts and nested values have none
        return 1 << 30


def _is(name: str, value: AnyScalar) -> pc.Expression:
    return pc.field(name) == value if value.is_valid else pc.field(name).is_null()


def _portions(slices: list[int], size: int) -> Iterator[list[int]]:
    """Return slices in portions, each twice as large as the one before."""
    start = 0
    while start < len(slices):
        yield slices[start : start + size]
        start, size = start + size, min(2 * size, _AT_ONCE)


def _read_as_is(
    fragments: Sequence[ParquetFragment], found: Sequence[Reading]
) -> list[ParquetFragment]:
    pairs = zip(fragments, found, strict=True)
    return [fragment for fragment, reading in pairs if reading is Reading.AS_IS]


def _cast(column: AnyArray, type_: pa.DataType) -> AnyArray:
    return arrow_nulls(len(column), type_) if pa.types.is_null(column.type) else column.cast(type_)

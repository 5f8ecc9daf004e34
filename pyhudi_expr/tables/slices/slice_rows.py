"""Read the rows of a file slice, as a query sees them, column by column.

A slice without log files is its Parquet file, read by row group with only the requested columns. A
slice with log files is merged by hudi-rs (the package `hudi`), which holds its rows in memory. What
hudi-rs does not merge as Hudi does is refused. It does not merge slices without a base file, which
Flink's writers create, nor tables without stored keys: these are merged here by stored or computed
keys (`key_merging`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi_expr.arrays import DAMAGE_ERRORS, READ_ERRORS, AnyArray, BoolArray, without_dictionary
from pyhudi_expr.errors import CorruptFile, HudiError, UnsupportedTable
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import key_definition
from pyhudi_expr.tables.listing import FileListing
from pyhudi_expr.tables.mdt.log_files import BlockKind, LogBlock, LogFile
from pyhudi_expr.tables.parquet.calendars import INT96, INT96_UNIT, LegacyCalendar, stored_schema
from pyhudi_expr.tables.properties import SliceMerging, TableType, slice_merging
from pyhudi_expr.tables.schema import arrow_schema
from pyhudi_expr.tables.slices.key_merging import KeyMerger, has_delete_marker
from pyhudi_expr.tables.slices.log_rows import WITHOUT_ROWS, LogRows, read_log
from pyhudi_expr.tables.slices.slice_files import LANCE, FileSlice
from pyhudi_expr.tables.storage import Storage

_BATCH_ROWS = 64 * 1024
_LANCE_SUFFIX = f".{LANCE.lower()}"
WHAT_TO_DO = "compact the table, or use the store 'extension', which leaves such slices out"


class UnmergeableSlice(UnsupportedTable):
    """The log files of a slice cannot be merged here. Queries can, so its files have to be kept."""


class HudiRsError(HudiError):
    """hudi-rs cannot read a slice."""


@dataclass(frozen=True)
class SliceReader:
    """Reads slices of one table at one instant. Small; it is sent to tasks.

    Attributes:
        merges: Whether hudi-rs merges the table's slices as Hudi does.
        by_keys: Merges slices that hudi-rs does not. None: not supported.
        without_base: Merges slices without a base file. None: not supported.
        pending: Instants whose log blocks are skipped.
        storage_options: The options that the table was opened with, as pairs; may be secret.
    """

    base_uri: str
    instant: str
    merges: bool
    by_keys: KeyMerger | None = None
    without_base: KeyMerger | None = None
    pending: frozenset[str] = frozenset()
    storage_options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @staticmethod
    def of(table: HudiTable, instant: str | None, merger: KeyMerger | None = None) -> SliceReader:
        """Create a reader for slices of a listing at `instant`.

        Args:
            table: The table.
            instant: The instant; blocks of later ones do not count.
            merger: Merges all slices with log files, in place of hudi-rs.
        """
        if table.properties.base_file_format != "PARQUET":
            raise UnsupportedTable(f"{table.base_path}: its base files are not Parquet files")
        if table.has_schema_history:
            raise UnsupportedTable(
                f"{table.base_path}: columns were renamed or retyped by schema-on-read evolution, "
                "so the files do not say which column is which"
            )
        merges = slice_merging(table.properties) is SliceMerging.WHOLE_RECORDS
        by_keys = (merger or _key_merger(table)) if merges else None
        without_base = by_keys
        if without_base is None and not has_delete_marker(table.properties):
            without_base = KeyMerger.by_stored_keys(table.properties)
        pending = table.timeline.pending
        return SliceReader(
            table.base_path,
            instant or "",
            merges,
            by_keys,
            without_base,
            pending,
            tuple(table.storage.options.items()),
        )

    def storage(self) -> Storage:
        """The table's files."""
        return _storage(self.base_uri, self.storage_options)

    def columns(self, one: FileSlice, names: Sequence[str]) -> Iterator[list[AnyArray]]:
        """Return for each batch of the slice's rows the values of the columns.

        A column that the slice does not have is null (of type null).

        Args:
            one: The slice.
            names: Leaf columns, with dots where they are nested.

        Raises:
            HudiError: The slice cannot be read.
        """
        if one.logs or one.base is None:
            yield from self._merged(one, names)
            return
        path = one.path(one.base)
        with parquet_file(self.storage(), path) as file:
            yield from parquet_columns(file, names, f"{self.base_uri}/{path}")

    def _merged(self, one: FileSlice, names: Sequence[str]) -> Iterator[list[AnyArray]]:
        merger = self.without_base if one.base is None else self.by_keys
        if not self.merges or (one.base is None and merger is None):
            reason = "there is no base file" if self.merges else "the table's merger is unknown"
            raise UnmergeableSlice(
                f"{self.base_uri}: the log files of {one.name} cannot be merged here, as {reason}; "
                f"{WHAT_TO_DO}"
            )
        opened = {log: self._opened(one, log) for log in map(one.path, one.logs)}
        logs = {log: file for log, file in opened.items() if self._is_counted(file)}
        if merger is not None:
            yield self._merged_by_keys(one, list(logs), merger, names)
            return
        assert one.base is not None
        roots = list(dict.fromkeys(name.partition(".")[0] for name in names))
        self._require_all_columns(one, logs.values(), roots)
        base = one.path(one.base)
        try:
            rows = _by_hudi_rs(self.storage(), base, list(logs), roots, self.instant)
        except HudiRsError as error:
            raise UnmergeableSlice(
                f"{self.base_uri}: {one.name} cannot be merged: {error}; {WHAT_TO_DO}"
            ) from error
        yield [leaf(rows, name) for name in names]

    def counts(self, one: FileSlice, log: str) -> bool:
        """Return whether a log file is of the instant, and not of a later one.

        Raises:
            UnmergeableSlice: hudi-rs would read it differently than Hudi: it skips damage silently,
                and reads the blocks of later instants.
        """
        return self._is_counted(self._opened(one, log))

    def _opened(self, one: FileSlice, log: str) -> LogFile:
        """Open a log file that is read whole, or not at all, see `counts`."""
        with self.storage().open_input(log) as source:
            file = LogFile(source, source.size(), f"{self.base_uri}/{log}")
        damaged = any(block.kind is BlockKind.CORRUPT for block in file.blocks)
        if damaged or any(block.is_partial or block.replaces for block in file.blocks):
            holds = "damaged blocks" if damaged else "blocks of partial updates or log compactions"
            raise UnmergeableSlice(
                f"{self.base_uri}: {one.name} cannot be merged here: {log} holds {holds}; "
                f"{WHAT_TO_DO}"
            )
        if len({self._is_of_instant(block) for block in file.blocks}) > 1:
            raise UnmergeableSlice(
                f"{self.base_uri}: {one.name} cannot be merged here as of {self.instant}: {log} "
                "holds blocks of later instants, too"
            )
        return file

    def _is_of_instant(self, block: LogBlock) -> bool:
        return (block.instant or "") <= self.instant

    def _is_counted(self, file: LogFile) -> bool:
        return not file.blocks or self._is_of_instant(file.blocks[0])

    def _require_all_columns(
        self, one: FileSlice, logs: Iterable[LogFile], roots: Sequence[str]
    ) -> None:
        """Refuse log rows that lack a column, where Hudi has NULL and hudi-rs the former value."""
        blocks = (block for file in logs for block in file.blocks if block.kind not in WITHOUT_ROWS)
        schemas = {block.schema for block in blocks if block.schema is not None}
        parts = [_leaves(arrow_schema(schema), roots) for schema in schemas]
        names = frozenset().union(*parts)
        if all(part == names for part in parts) and names.issuperset(roots):
            return
        assert one.base is not None
        with parquet_file(self.storage(), one.path(one.base)) as file:
            names |= _leaves(file.schema_arrow, roots)
        lacking = sorted(frozenset().union(*(names - part for part in parts)))
        if lacking:
            raise UnmergeableSlice(
                f"{self.base_uri}: {one.name} cannot be merged by hudi-rs, as rows of its log "
                f"files lack {', '.join(lacking)}; {WHAT_TO_DO}"
            )

    def _merged_by_keys(
        self, one: FileSlice, log_paths: Sequence[str], merger: KeyMerger, names: Sequence[str]
    ) -> list[AnyArray]:
        every = (*names, *merger.needed)
        roots = list(dict.fromkeys(name.partition(".")[0] for name in every))
        first = self._base_rows(one, every)
        logs = [
            (
                part,
                [leaf(part.rows, name) for name in every] if isinstance(part, LogRows) else [],
            )
            for part in read_log(self.storage(), log_paths, self.pending, lambda instant: roots)
        ]
        own = len(names)
        kept = merger.remaining_rows(
            [column.combine_chunks() for column in first.columns[own:]],
            [(part, columns[own:]) for part, columns in logs],
        )
        rows = pa.concat_tables(
            [first, *(_numbered(columns) for _, columns in logs if columns)],
            promote_options="permissive",
        ).take(kept)
        return [column.combine_chunks() for column in rows.columns[:own]]

    def _base_rows(self, one: FileSlice, names: Sequence[str]) -> pa.Table:
        """Return numbered rows of the base file; no rows if there is none."""
        tables = []
        if one.base is not None:
            path = one.path(one.base)
            with parquet_file(self.storage(), path) as file:
                batches = parquet_columns(file, names, f"{self.base_uri}/{path}")
                tables = [_numbered(columns) for columns in batches]
        return pa.concat_tables(tables) if tables else _numbered([pa.nulls(0)] * len(names))


def _leaves(schema: pa.Schema, roots: Sequence[str]) -> frozenset[str]:
    """Return the names of columns, and with dots of fields in structs."""
    found, open_ = set(), [schema.field(name) for name in roots if name in schema.names]
    while open_:
        field_ = open_.pop()
        found.add(field_.name)
        if pa.types.is_struct(field_.type):
            open_ += [one.with_name(f"{field_.name}.{one.name}") for one in field_.type]
    return frozenset(found)


def _numbered(columns: Sequence[AnyArray]) -> pa.Table:
    return pa.table(list(columns), [str(number) for number in range(len(columns))])


def _key_merger(table: HudiTable) -> KeyMerger | None:
    """Return how slices of a merge-on-read table without stored keys are merged."""
    properties = table.properties
    if properties.meta_fields or properties.table_type is TableType.COPY_ON_WRITE:
        return None
    definition, schema = key_definition(properties, table.base_path), table.schema()
    types = [scalar_type(table, schema, column) for column in definition.columns]
    return KeyMerger.of(properties, definition, types)


def may_be_merged(table: HudiTable, listing: FileListing) -> BoolArray:
    """Return for each slice whether it can be read here, by the table and the file names alone."""
    logs = listing.slice_has_logs
    bases = listing.any_file_of_slice(~listing.file_is_log)
    merges = slice_merging(table.properties) is SliceMerging.WHOLE_RECORDS
    alone = not has_delete_marker(table.properties)
    flags: BoolArray = ~logs | (merges & (bases | alone))
    return flags


@lru_cache(maxsize=8)
def _storage(uri: str, options: tuple[tuple[str, str], ...]) -> Storage:
    """Open a table's storage once in a task, not for each file."""
    return Storage.open(uri, dict(options))


def parquet_file(storage: Storage, path: str) -> pq.ParquetFile:
    """Open a Parquet file as a context manager.

    Raises:
        HudiError: The file cannot be read.
    """
    source = storage.open_input(path)
    try:
        return pq.ParquetFile(source, coerce_int96_timestamp_unit=INT96_UNIT)
    except DAMAGE_ERRORS as error:
        source.close()
        raise CorruptFile(f"{storage.uri}/{path}", f"not a Parquet file: {error}") from error


def parquet_columns(
    file: pq.ParquetFile, names: Sequence[str], label: str
) -> Iterator[list[AnyArray]]:
    """Return the columns of an open file, see `SliceReader.columns`; `label` is its path."""
    known = {file.metadata.schema.column(i).path for i in range(file.metadata.num_columns)}
    requested = [name for name in names if name in known]
    try:
        if not requested:
            yield [pa.nulls(file.metadata.num_rows) for _ in names]
            return
        for batch in _batches(file, requested, label):
            yield [leaf(batch, name) for name in names]
    except READ_ERRORS as error:
        raise CorruptFile(label, f"cannot be read: {error}") from error


def _batches(file: pq.ParquetFile, columns: Sequence[str], label: str) -> Iterator[pa.RecordBatch]:
    """Read the rows by row group, with the values that Hudi's readers show.

    pyarrow holds the bytes of all row groups that one call reads, however few of their rows.
    """
    types = stored_schema(file.metadata)
    calendar = LegacyCalendar.of(label, file.metadata.metadata)
    for group in range(file.num_row_groups):
        for batch in file.iter_batches(_BATCH_ROWS, row_groups=[group], columns=list(columns)):
            values = [
                column.cast(INT96) if types.field(name).type == INT96 else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            if calendar is not None:
                values = list(map(calendar.today, values))
            yield pa.RecordBatch.from_arrays(values, batch.schema.names)


def base_batches(storage: Storage, path: str, roots: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Read the rows of a base file with the top-level columns that it has of `roots`.

    There may be other columns, too. Lance files are read by hudi-rs, into memory.

    Raises:
        HudiError: The file cannot be read.
    """
    if path.endswith(_LANCE_SUFFIX):
        yield _lance_rows(storage, path, roots)
        return
    with parquet_file(storage, path) as file:
        requested = [name for name in roots if name in file.schema_arrow.names]
        if not requested:
            yield pa.record_batch([pa.nulls(file.metadata.num_rows)], ["no column"])
            return
        try:
            yield from _batches(file, requested, f"{storage.uri}/{path}")
        except READ_ERRORS as error:
            raise CorruptFile(f"{storage.uri}/{path}", f"cannot be read: {error}") from error


def _lance_rows(storage: Storage, path: str, roots: Sequence[str]) -> pa.RecordBatch:
    try:
        return _by_hudi_rs(storage, path, [], roots)
    except HudiRsError:  # the file may lack a column, and does not say so beforehand
        try:
            return _by_hudi_rs(storage, path, [], None)
        except HudiRsError as error:
            raise CorruptFile(f"{storage.uri}/{path}", f"cannot be read: {error}") from error


def _by_hudi_rs(
    storage: Storage, base: str, logs: Sequence[str], roots: Sequence[str] | None, instant: str = ""
) -> pa.RecordBatch:
    """Read a slice with some top-level columns; None: all that it has.

    Raises:
        HudiRsError: hudi-rs cannot read it.
        HudiError: hudi-rs is not installed.
    """
    try:
        from hudi import HudiFileGroupReader, HudiReadOptions
    except ImportError as error:
        raise HudiError(
            f"{storage.uri}: to read {base}, with {len(logs)} log files, install the extra: "
            "pip install 'pyhudi-expr[reading]' (for a Spark job, where its executors run)"
        ) from error
    options = HudiReadOptions(projection=None if roots is None else list(roots))
    if instant:
        options = options.with_as_of_timestamp(instant)
    try:
        reader = HudiFileGroupReader(storage.uri, dict(storage.client_options))
        return reader.read_file_slice_from_paths(base, list(logs), options)
    except BaseException as error:
        # The bindings raise exceptions of several kinds; a panic of Rust is no `Exception`.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise HudiRsError(f"hudi-rs: {error}") from error


def leaf(rows: pa.RecordBatch, name: str) -> AnyArray:
    """Return a (nested) column; null where a parent is null, and all null if it is missing."""
    root, *fields = name.split(".")
    if root not in rows.schema.names:
        return pa.nulls(rows.num_rows)
    column = rows.column(root)
    for part in fields:
        if not pa.types.is_struct(column.type) or column.type.get_field_index(part) < 0:
            return pa.nulls(rows.num_rows)
        column = pc.struct_field(column, part)
    return without_dictionary(column)


def leaf_types(schema: pa.Schema) -> Mapping[str, pa.DataType]:
    """Return the types of a schema's scalar leaves by their dotted names."""
    found: dict[str, Any] = {}

    def visit(name: str, type_: pa.DataType) -> None:
        if pa.types.is_struct(type_):
            for field in type_:
                visit(f"{name}.{field.name}", field.type)
        elif not pa.types.is_nested(type_):
            found[name] = type_

    for column in schema:
        visit(column.name, column.type)
    return found


def scalar_type(table: HudiTable, schema: pa.Schema, column: str) -> pa.DataType:
    """Return the type of a column that can be indexed.

    Raises:
        HudiError: There is no such scalar column.
    """
    types = leaf_types(schema)
    if table.properties.drop_partition_columns and column in table.properties.partition_fields:
        raise HudiError(
            f"{table.base_path}: column {column!r} is kept in the partitions' paths only; "
            "its values need no index"
        )
    if column in types:
        return types[column]
    if column in schema.names:
        raise HudiError(
            f"{table.base_path}: column {column!r} is of type {schema.field(column).type}; "
            "an index needs a scalar column, such as a field of a struct"
        )
    raise HudiError(f"{table.base_path}: there is no column {column!r}")

"""Measure what `_hoodie_record_key` takes on disk, from the footers of a table's base files."""

from __future__ import annotations

import logging
from collections.abc import Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi_expr.arrays import READ_ERRORS, AnyArray, string_list
from pyhudi_expr.errors import CorruptFile, HudiError
from pyhudi_expr.tables.hudi_names import RECORD_KEY
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.keys.definition import is_virtual, key_definition
from pyhudi_expr.tables.listing import FileListing, StoredFiles, TableView
from pyhudi_expr.tables.storage import Storage

_LOG = logging.getLogger(__name__)
_THREADS = 16
_OLDEST_FILES = 4
_OLDER_FILES = 8
"""How many files of the past are looked at where the newest have no keys to be measured."""

_warned: set[str] = set()
_ignoring: dict[str, bool] = {}


@dataclass(frozen=True)
class BaseFile:
    """A base file's keys.

    Attributes:
        path: Path relative to the base path.
        size: Bytes of the file.
        keys: Number of rows with a stored key.
        key_bytes: Compressed bytes of the column `_hoodie_record_key`.
        source_bytes: Compressed bytes of the key's columns.
    """

    path: str
    size: int
    rows: int
    keys: int
    key_bytes: int
    source_bytes: int

    @property
    def has_keys(self) -> bool:
        """Whether any row has a stored key."""
        return self.keys > 0


@dataclass(frozen=True)
class KeyStorage:
    """What stored keys take in the table's newest file slices, in compressed bytes.

    Attributes:
        files: Number of base files.
        bytes: Size of all base files.
        rows: Number of rows in them.
        rows_with_keys: Number of rows that have a stored key.
        files_with_keys: Number of files that have such rows; after `enable` an update leaves rows
            of both kinds in one file.
        bytes_to_save: What the stored keys take.
        bytes_saved: What the keys of all other rows would take.
        is_measured: Whether this is by the bytes per row of stored keys; else by the key's columns.
        log_files: Number of log files, which are not read.
    """

    files: int
    bytes: int
    rows: int
    rows_with_keys: int
    files_with_keys: int
    bytes_saved: int
    bytes_to_save: int
    is_measured: bool
    log_files: int


def key_storage(table: HudiTable) -> KeyStorage:
    """Read the footer of every base file that a query sees.

    Raises:
        HudiError: A file cannot be read.
    """
    key_definition(table.properties, table.base_path)  # refuses a table without one
    stored = table.stored_files()
    listing = table.listing(files=stored)
    found = base_files(table, listing)
    with_keys = [file for file in found if file.has_keys]
    measured = with_keys or [file for file in _older(table, stored, listing) if file.has_keys]
    key_bytes, keys = sum(file.key_bytes for file in measured), sum(file.keys for file in measured)
    if keys:
        saved = sum(file.rows - file.keys for file in found) * key_bytes // keys
    else:
        saved = sum(file.source_bytes for file in found)
    saved -= sum(file.key_bytes for file in found if not file.has_keys)
    return KeyStorage(
        files=len(found),
        bytes=sum(file.size for file in found),
        rows=sum(file.rows for file in found),
        rows_with_keys=sum(file.keys for file in found),
        files_with_keys=len(with_keys),
        bytes_saved=max(saved, 0),
        bytes_to_save=sum(file.key_bytes for file in with_keys),
        is_measured=keys > 0,
        log_files=int(listing.file_is_log.sum()),
    )


def base_files(table: HudiTable, listing: FileListing) -> list[BaseFile]:
    """Read the footers of a listing's base files. Raises HudiError."""
    chosen = ~listing.file_is_log
    return _read(table, listing.paths(chosen), listing.file_size[chosen].tolist())


def _older(table: HudiTable, stored: StoredFiles, listing: FileListing) -> list[BaseFile]:
    """Return some base files that are not in the listing."""
    current = set(listing.file_name.to_pylist())
    partitions = stored.partitions.take(stored.partition)
    rows = zip(_paths(partitions, stored.name), string_list(stored.name), stored.size, strict=True)
    older = [
        (path, int(size))
        for path, name, size in rows
        if name.endswith(".parquet") and name not in current
    ][-_OLDER_FILES:]
    return _read(table, [path for path, _ in older], [size for _, size in older])


def _paths(partitions: AnyArray, names: AnyArray) -> list[str]:
    pairs = zip(string_list(partitions), string_list(names), strict=True)
    return [f"{partition}/{name}" if partition else name for partition, name in pairs]


def _read(table: HudiTable, paths: Sequence[str], sizes: Sequence[int]) -> list[BaseFile]:
    columns = table.properties.record_key_fields
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(partial(_base_file, table.storage, columns), paths, sizes))


def _base_file(storage: Storage, sources: Sequence[str], path: str, size: int) -> BaseFile:
    try:
        with storage.open_input(path) as source:
            file = pq.ParquetFile(source)
            keys = _num_keys(file)
    except READ_ERRORS as error:
        raise CorruptFile(f"{storage.uri}/{path}", f"not a Parquet file: {error}") from error
    metadata = file.metadata
    return BaseFile(
        path,
        size,
        metadata.num_rows,
        keys,
        sum(chunk.total_compressed_size for chunk in _chunks(metadata, {RECORD_KEY})),
        sum(chunk.total_compressed_size for chunk in _chunks(metadata, set(sources))),
    )


def _chunks(metadata: pq.FileMetaData, names: Set[str]) -> list[pq.ColumnChunkMetaData]:
    """Return the chunks of columns, those of one row group after those of the other."""
    numbers = [i for i in range(metadata.num_columns) if metadata.schema.column(i).path in names]
    return [
        metadata.row_group(group).column(i)
        for group in range(metadata.num_row_groups)
        for i in numbers
    ]


def _num_keys(file: pq.ParquetFile) -> int:
    """Return how many rows have a key, from the statistics; where these do not say it, by reading.

    An empty text is none: Hudi's row writer leaves it where others leave a null.
    """
    total = 0
    for group, chunk in enumerate(_chunks(file.metadata, {RECORD_KEY})):
        found = chunk.statistics
        nulls = None if found is None else found.null_count
        if found is None or nulls is None:
            total += _read_num_keys(file, group)
        elif nulls < chunk.num_values:
            may_be_empty = not (found.has_min_max and found.min)
            total += _read_num_keys(file, group) if may_be_empty else chunk.num_values - nulls
    return total


def _read_num_keys(file: pq.ParquetFile, group: int) -> int:
    return count_keys(file.read_row_group(group, [RECORD_KEY]).column(0))


def count_keys(column: AnyArray | pa.ChunkedArray[Any]) -> int:
    """Return how many values of `_hoodie_record_key` are keys: neither null nor empty."""
    return int(pc.sum(pc.greater(pc.binary_length(column), 0)).as_py() or 0)


def warn_of_stored_keys(table: HudiTable) -> bool:
    """Warn once for each table with virtual keys that stored keys exist, and are ignored.

    Returns:
        Whether a warning was logged.
    """
    if table.base_path in _warned:
        return False
    _warned.add(table.base_path)
    if not ignores_keys(table):
        return False
    _LOG.warning(
        "%s has virtual keys, and files with a stored %s: the stored values are ignored "
        "(`pyhudi virtual-keys rewrite` leaves them out)",
        table.base_path,
        RECORD_KEY,
    )
    return True


def ignores_keys(table: HudiTable) -> bool:
    """Return whether keys are virtual, and files have stored ones.

    The oldest base files are read, once for each table: those written since virtual keys were
    enabled have none.
    """
    if not is_virtual(table.properties):
        return False
    if table.properties.meta_fields:
        return True
    if table.base_path not in _ignoring:
        _ignoring[table.base_path] = _has_stored_keys(table)
    return _ignoring[table.base_path]


def _has_stored_keys(table: HudiTable) -> bool:
    try:
        return any(
            file.has_keys for file in _oldest(table, table.listing(TableView.READ_OPTIMIZED))
        )
    except HudiError:  # a query may do without that file; one that reads it will report the error
        return False


def _oldest(table: HudiTable, listing: FileListing) -> list[BaseFile]:
    instants = listing.slice_base_instant.take(listing.file_slice)
    order = pc.array_sort_indices(instants)[:_OLDEST_FILES].to_numpy()
    return _read(table, listing.paths(order), listing.file_size[order].tolist())

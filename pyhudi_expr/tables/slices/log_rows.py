"""Read the rows and deletes of log files, block by block, as they were written.

For tables whose slices hudi-rs does not merge. Data blocks hold Avro records or a Parquet file,
delete blocks hold keys with ordering values (Hudi's `HoodieLogBlock`s).
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.arrays import DAMAGE_ERRORS
from pyhudi_expr.errors import CorruptFile, UnsupportedTable
from pyhudi_expr.expr.nodes import PythonValue
from pyhudi_expr.tables.hudi_names import OPERATION, RECORD_KEY
from pyhudi_expr.tables.keys.key_storage import count_keys
from pyhudi_expr.tables.mdt.log_files import BlockKind, LogBlock, LogFile, without_rolled_back
from pyhudi_expr.tables.parsing.avro_values import RecordReader, record_reader, with_numbers
from pyhudi_expr.tables.parsing.budget import parse_json
from pyhudi_expr.tables.schema import arrow_schema
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline import Timeline

_VERSION_WITH_COUNT = 1
_DATA = frozenset({BlockKind.PARQUET, BlockKind.AVRO})
#: CDC blocks tell of changes, and no snapshot reads them.
WITHOUT_ROWS = frozenset({BlockKind.DELETE, BlockKind.COMMAND, BlockKind.CORRUPT, BlockKind.CDC})


@dataclass(frozen=True)
class LogRows:
    """The rows of a data block, with the requested columns that it has.

    Attributes:
        instant: The instant that wrote the block.
    """

    rows: pa.RecordBatch
    instant: str


@dataclass(frozen=True)
class LogDeletes:
    """A delete block.

    Attributes:
        ordering: The ordering value of each key; None if it has none.
    """

    keys: tuple[str, ...]
    ordering: tuple[Any, ...]


Written = LogRows | LogDeletes


def read_log(
    storage: Storage,
    logs: Sequence[str],
    pending: frozenset[str],
    roots: Callable[[str], Sequence[str]],
) -> list[Written]:
    """Read the contents of log files, in order.

    Args:
        storage: The table's storage.
        logs: Paths of the log files, in order.
        pending: Instants whose blocks are skipped; blocks that were rolled back are skipped as
            well.
        roots: Returns the top-level columns to read of what was written at an instant.

    Raises:
        HudiError: A file cannot be read.
    """
    blocks = _that_count(_blocks(storage, logs), pending)
    return [_content(file, block, roots) for file, block in blocks]


@dataclass(frozen=True)
class LogKeys:
    """The stored keys of log files.

    Attributes:
        rows: Number of rows, before merging.
        keys: How many of them have a key.
        instant: The newest one that wrote into them; empty if there is none.
        damaged: The log files with blocks that Hudi's readers skip, as they are damaged, each with
            the number of these. A writer that dies leaves one, too.
    """

    rows: int
    keys: int
    instant: str
    damaged: tuple[tuple[str, int], ...]


def log_keys(storage: Storage, logs: Sequence[str], pending: frozenset[str]) -> LogKeys:
    """Count the stored keys of log files.

    Rows that were rolled back, or put into other blocks by a log compaction, do not count.

    Raises:
        HudiError: A file cannot be read.
    """
    every = _blocks(storage, logs)
    blocks = _that_count(every, pending)
    replaced = {instant for _, block in blocks for instant in block.replaces}
    rows = keys = 0
    for file, block in blocks:
        if block.kind in _DATA and (block.replaces or block.instant not in replaced):
            batch = _rows(file, block, (RECORD_KEY,))
            rows += batch.num_rows
            keys += count_keys(batch.column(0)) if batch.num_columns else 0
    instant = max((block.instant or "" for _, block in blocks), default="")
    damaged = Counter(file.name for file, block in every if block.kind is BlockKind.CORRUPT)
    places = (name.removeprefix(f"{storage.uri}/") for name in damaged)
    return LogKeys(rows, keys, instant, tuple(zip(places, damaged.values(), strict=True)))


def log_values(storage: Storage, log: str, roots: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Return the rows of each data block of a log file, whoever wrote it and whatever came of it.

    Rows of partial updates, of log compactions and of writes that are not complete are there, too.

    Args:
        storage: The table's storage.
        log: The path of the log file.
        roots: The top-level columns to read, of those that a block has.

    Raises:
        HudiError: The file cannot be read.
    """
    for file, block in _blocks(storage, [log]):
        if block.kind not in WITHOUT_ROWS:
            yield _rows(file, block, roots)


_Blocks: TypeAlias = list[tuple[LogFile, LogBlock]]


def _blocks(storage: Storage, logs: Sequence[str]) -> _Blocks:
    """Return the blocks of log files, each with its file."""
    found: _Blocks = []
    for path in logs:
        with storage.open_input(path) as source:
            content = source.read()
        file = LogFile(pa.BufferReader(content), len(content), f"{storage.uri}/{path}")
        found += [(file, block) for block in file.blocks]
    return found


def _that_count(found: _Blocks, pending: frozenset[str]) -> _Blocks:
    """Return the blocks of completed writes that were not rolled back."""
    return [
        (file, block)
        for file, block in without_rolled_back(found, itemgetter(1))
        if block.kind is not BlockKind.CORRUPT and block.instant not in pending
    ]


def is_of_completed_writes(storage: Storage, log: str, timeline: Timeline) -> bool:
    """Return whether a log file has rows, or deletes, of a write that is complete.

    Up to version 6 of tables the name of a log file does not say who wrote it.

    Raises:
        HudiError: The file cannot be read.
    """
    return any(
        block.kind is not BlockKind.COMMAND and timeline.is_committed(block.instant or "")
        for block in _all_blocks(storage, log)
    )


def have_operations(storage: Storage, logs: Iterable[str]) -> frozenset[bool]:
    """Return whether rows in the log files have an operation, as in Flink's changelogs.

    Such a row may delete another one. The result has both values if some rows have one, and none if
    there are no rows.

    Raises:
        HudiError: A file cannot be read.
    """
    schemas = (schema for path in logs for schema in _schemas(storage, path))
    return frozenset(OPERATION in schema for schema in schemas)


def _schemas(storage: Storage, path: str) -> list[str]:
    blocks = _all_blocks(storage, path)
    return [block.schema for block in blocks if block.schema is not None]


def _all_blocks(storage: Storage, path: str) -> tuple[LogBlock, ...]:
    with storage.open_input(path) as source:
        return LogFile(source, source.size(), f"{storage.uri}/{path}").blocks


def _content(file: LogFile, block: LogBlock, roots: Callable[[str], Sequence[str]]) -> Written:
    if block.is_partial or block.replaces:
        raise UnsupportedTable(
            f"{file.name}: blocks of partial updates and of log compactions are not merged here; "
            "compact the table"
        )
    if block.kind is BlockKind.DELETE:
        deletes = file.deletes(block)
        keys = tuple(record["recordKey"] or "" for record in deletes)
        return LogDeletes(keys, tuple(_ordering(record) for record in deletes))
    instant = block.instant or ""
    return LogRows(_rows(file, block, roots(instant)), instant)


def _rows(file: LogFile, block: LogBlock, roots: Sequence[str]) -> pa.RecordBatch:
    if block.kind is BlockKind.PARQUET:
        return _parquet(file, block, roots)
    if block.kind is BlockKind.AVRO:
        return _avro(file, block, roots)
    raise UnsupportedTable(f"{file.name}: {block.kind.name} blocks are not merged here")


def _ordering(record: dict[str, Any]) -> PythonValue:
    wrapped = record["orderingVal"]
    return None if wrapped is None else wrapped["value"]


def _parquet(file: LogFile, block: LogBlock, roots: Sequence[str]) -> pa.RecordBatch:
    try:
        source = pq.ParquetFile(
            pa.BufferReader(file.content(block)), coerce_int96_timestamp_unit="us"
        )
        present = [name for name in roots if name in source.schema_arrow.names]
        # Without threads, see table/timeline/archive.py.
        return one_batch(source.read(present, use_threads=False))
    except DAMAGE_ERRORS as error:
        raise CorruptFile(file.name, f"a Parquet block cannot be read: {error}") from error


def _avro(file: LogFile, block: LogBlock, roots: Sequence[str]) -> pa.RecordBatch:
    if block.schema is None:
        raise CorruptFile(file.name, "an Avro block has no schema")
    try:
        schema = arrow_schema(block.schema)
    except UnsupportedTable as error:
        raise CorruptFile(file.name, f"the schema of a block cannot be read: {error}") from error
    requested = pa.schema([schema.field(name) for name in roots if name in schema.names])
    try:
        reader = record_reader(parse_json(block.schema, file.name), with_numbers)
        records = list(_records(file.content(block), reader, file.name))
        return one_batch(pa.Table.from_pylist(records, schema=requested))
    except (ValueError, TypeError, OverflowError, struct.error, pa.ArrowException) as error:
        raise CorruptFile(file.name, f"an Avro block cannot be read: {error!r}") from error


def _records(content: bytes, reader: RecordReader, file: str) -> Iterator[Any]:
    """Read the records: i32 version, i32 count, then each record with its length."""
    version, count = struct.unpack_from(">ii", content)
    if version < _VERSION_WITH_COUNT:
        raise ValueError(f"version {version} of data blocks is not known")
    at = 8
    for _ in range(count):
        (length,) = struct.unpack_from(">i", content, at)
        at += 4
        if length < 0:
            raise ValueError(f"a record has a length of {length}")
        yield reader.read(content[at : at + length], file)
        at += length


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """Combine a table's rows into one batch, also if there are none.

    Raises:
        UnsupportedTable: A text column has more than 2 GiB, which no batch holds.
    """
    batches = table.combine_chunks().to_batches()
    if len(batches) > 1:
        raise UnsupportedTable(
            f"the texts of {len(table)} rows are too large to be merged here; compact the table"
        )
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)

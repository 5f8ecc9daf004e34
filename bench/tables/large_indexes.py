"""Synthetic tables with a record index and a secondary index of any number of rows.

File `k` has the rows from `k * ROWS_PER_FILE` on. Row `i` has the id `10**9 + i`, which is the
record key, and the spread `10**9 + (i * A + B) mod rows`, the column of `secondary_index_spread`:
numbers of ten digits, so their texts sort like the numbers. There is no `column_stats`, so the
indexes are all that a query has. Both have the contents that Hudi 1.1 and later write.
"""

import hashlib
import math
import re
from collections.abc import Iterator
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.tables import key_tables, synthetic
from bench.tables.key_tables import SECONDARY_INDEX, index_directory, location, register
from bench.tables.synthetic import write_table
from devtools.runtime import WORK
from pyhudi_expr.arrays import string_list
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, PARTITION_STATS, RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.hfile.writer import LOOKUP_BLOCK_BYTES
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

ROWS_PER_FILE = 10_000
FIRST = 10**9
_STEP, _SHIFT = 7_368_787, 12_345
SHARDS = 64
_PARTITIONS = 10
_DIGITS = 10
_RANGE = 1_000_000
_PROCESSES = 2

Ints = npt.NDArray[np.int64]
Digits = npt.NDArray[np.uint8]


def ensure_written(rows: int, shards: int = SHARDS) -> Path:
    """Return the table of that many rows, written once by the current code."""
    digest = hashlib.sha256()
    for module in (__file__, key_tables.__file__, *synthetic.WRITERS):
        digest.update(Path(str(module)).read_bytes())
    table = WORK / "bench" / f"large-indexes-{rows}-{shards}"
    marker = table / "written-by"
    if not marker.is_file() or marker.read_text() != digest.hexdigest():
        _write(table, rows, shards)
        marker.write_text(digest.hexdigest())
    return table


def spread_of(row: int, rows: int) -> int:
    """Return the spread of a row."""
    return FIRST + (row * _STEP + _SHIFT) % rows


def files_of(rows: Ints) -> Ints:
    """Return the distinct numbers of the files that have some rows."""
    files: Ints = np.unique(rows // ROWS_PER_FILE)
    return files


def _write(table: Path, rows: int, shards: int) -> None:
    if math.gcd(_STEP, rows) != 1 or rows % (ROWS_PER_FILE * _PARTITIONS):
        raise ValueError(f"{rows} rows cannot be spread over the files")
    write_table(table, files=rows // ROWS_PER_FILE, partitions=_PARTITIONS)
    mdt = MetadataTable.open(HudiTable.open(str(table)))
    assert mdt is not None
    stored = mdt.stored_files()
    names = string_list(stored.name)
    partitions = string_list(stored.partitions.take(stored.partition))
    places = ByteStrings.of([location(*file) for file in zip(partitions, names, strict=True)])
    for index in (RECORD_INDEX, SECONDARY_INDEX):
        index_directory(table, index)
    tasks = [(table, rows, places, shards, part) for part in range(_PROCESSES)]
    with get_context("spawn").Pool(_PROCESSES) as pool:
        pool.starmap(_write_shards, tasks)
    register(table, partitions, names, ROWS_PER_FILE)
    properties = table / ".hoodie" / "hoodie.properties"
    unlisted = rf"({COLUMN_STATS}|{PARTITION_STATS}),?"
    listed = r"(hoodie\.table\.metadata\.partitions=)(.*)"
    text = properties.read_text()
    properties.write_text(
        re.sub(listed, lambda m: m[1] + re.sub(unlisted, "", m[2]).rstrip(","), text)
    )


def _write_shards(table: Path, rows: int, places: ByteStrings, shards: int, part: int) -> None:
    """Write every second shard of both indexes."""
    own = range(part, shards, _PROCESSES)
    records, values = _record_entries(rows, places, shards), _value_entries(rows, shards)
    _write_index(index_directory(table, RECORD_INDEX), own, records)
    _write_index(index_directory(table, SECONDARY_INDEX), own, values)


Batch = tuple[Ints, Digits, ByteStrings]
"""The shard of each entry, its key's characters, and its values."""


def _record_entries(rows: int, places: ByteStrings, shards: int) -> Iterator[Batch]:
    for start in range(0, rows, _RANGE):
        row = np.arange(start, min(start + _RANGE, rows))
        keys = _digits(FIRST + row)
        yield _shards_of(keys, shards), keys, places.take(row // ROWS_PER_FILE)


def _value_entries(rows: int, shards: int) -> Iterator[Batch]:
    entry = payloads.secondary_entry()
    back = pow(_STEP, -1, rows)
    for start in range(0, rows, _RANGE):
        value = np.arange(start, min(start + _RANGE, rows))
        row = (value - _SHIFT) % rows
        # In two parts, as the product of the whole exceeds 64 bits.
        row = (row * (back >> 14) % rows * (1 << 14) + row * (back & 0x3FFF)) % rows
        texts = np.hstack([_digits(FIRST + value), np.full((len(value), 1), ord("$"), np.uint8)])
        keys = np.hstack([texts, _digits(FIRST + row)])
        nothing = np.zeros(len(value), np.int64)
        yield _shards_of(texts, shards), keys, ByteStrings(entry, nothing, nothing + len(entry))


def _digits(numbers: Ints) -> Digits:
    """Return the ten digits of each number as characters."""
    columns = [numbers // 10**power % 10 for power in range(_DIGITS - 1, -1, -1)]
    return (np.stack(columns, axis=1) + ord("0")).astype(np.uint8)


def _shards_of(texts: Digits, shards: int) -> Ints:
    """Return the shards of ASCII texts, by Java's hash."""
    hashed = np.zeros(len(texts), np.uint32)
    for column in texts.T:
        hashed = hashed * np.uint32(31) + column
    found: Ints = np.abs(hashed.view(np.int32).astype(np.int64)) % shards
    return found


def _write_index(directory: Path, own: range, batches: Iterator[Batch]) -> None:
    instant = next((directory.parent / COLUMN_STATS).glob("*.hfile")).stem.rpartition("_")[2]
    prefix = directory.name.replace("_", "-")

    def name(number: int) -> str:
        return f"{prefix}-{number:04d}-0_{number}-1-{number}_{instant}.hfile"

    with ExitStack() as stack:
        sinks = {
            number: stack.enter_context((directory / name(number)).open("wb")) for number in own
        }
        writers = {
            number: hfile_writer.Writer(sink, LOOKUP_BLOCK_BYTES) for number, sink in sinks.items()
        }
        for shard, keys, values in batches:
            for number, writer in writers.items():
                chosen = np.flatnonzero(shard == number)
                text = keys[chosen]
                start = np.arange(len(chosen), dtype=np.int64) * text.shape[1]
                writer.extend(
                    ByteStrings(text.tobytes(), start, start + text.shape[1]), values.take(chosen)
                )
        for writer in writers.values():
            writer.finish(RECORD_SCHEMA.encode())

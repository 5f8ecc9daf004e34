"""Hudi tables of any size that exist in their metadata only: no data file is ever written.

The metadata is what Apache Hudi 1.1 and later writes for a copy-on-write table of version 9 right
after a compaction of its metadata table: timelines, properties, index definitions, and HFiles for
`files`, `column_stats` and `partition_stats`, each record under its key and in its shard.

File `k` of `files` holds 1,000 rows; all partitions have the same number of files:

==========  =================================================================================
id          long: from `k * 1,000` on, so that partitions have ranges of their own
spread      long: the same ranges in no order, so that every partition spans all of them
amount      double: `spread / 4` of another file, in no order
code        string, `item-<10 digits of spread / 10>-<a to z>`: in no order either
f00, f01 .. long, as many as are asked for: the same range in every file
day         string, the partition
==========  =================================================================================
"""

import hashlib
import json
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from devtools.runtime import WORK
from pyhudi_expr.expr.nodes import PythonValue
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, FILES, METADATA_DIR, PARTITION_STATS
from pyhudi_expr.tables.mdt.bytes.keys import ALL_PARTITIONS, id64, id128
from pyhudi_expr.tables.mdt.hfile import protobuf
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.records import payloads, value_types
from pyhudi_expr.tables.mdt.records import payloads as record_schema
from pyhudi_expr.tables.mdt.records.metadata_records import COLUMN_STATS as COLUMN_STATS_RECORD
from pyhudi_expr.tables.mdt.records.metadata_records import (
    PARTITION_STATS as PARTITION_STATS_RECORD,
)
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.records.value_types import value_type
from pyhudi_expr.tables.timeline_writer import commit_record

ROWS_PER_FILE = 1_000

WRITERS = (
    *(__file__, hfile_writer.__file__, payloads.__file__),
    *(record_schema.__file__, value_types.__file__),
)
"""The modules that a written table depends on."""

_NAME = "synthetic"
_COMMIT, _INDEXED, _COMMITTED = "20240601000000000", "20240601000000900", "20240601000001000"
_COMPACTION, _COMPACTED = "20240601000002000", "20240601000003000"
_FILE_BYTES = 8_000_000
_TIMELINE_LAYOUT = 2
_COLUMN_STATS_SHARDS = 2
_SEED = 27

_LONG, _DOUBLE, _STRING = 4, 6, 7  # HoodieValueTypeInfo.typeOrdinal
_ARROW_TYPES = {_LONG: pa.int64(), _DOUBLE: pa.float64(), _STRING: pa.string()}
_TYPES = {_LONG: "long", _DOUBLE: "double", _STRING: "string"}

Texts = npt.NDArray[np.str_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Column:
    """The minimum and maximum of a column in each file; lists of equal length."""

    name: str
    type_ordinal: int
    minimum: Sequence[Any]
    maximum: Sequence[Any]


@dataclass(frozen=True)
class _Files:
    """The table's files: partition paths, the partition of each file, and its name."""

    partitions: list[str]
    partition: Ints
    name: list[str]


def write_table(path: Path, *, files: int, partitions: int, fillers: int = 0) -> None:
    """Write the table's metadata to `path`; existing files are replaced.

    fillers: The number of columns f00, f01, ...

    Raises:
        ValueError: `files` is not a multiple of `partitions`.
    """
    if files % partitions:
        raise ValueError(f"{files} files cannot be spread evenly over {partitions} partitions")
    shutil.rmtree(path, ignore_errors=True)
    stored, columns = _files(files, partitions), columns_of(files, fillers)
    schema = table_schema(columns)
    _write_data_table(path / ".hoodie", columns, schema)
    metadata = path / METADATA_DIR
    _write_metadata_timeline(metadata / ".hoodie", schema)
    _write_group(metadata / FILES, "files", 0, sorted(_file_lists(stored)))
    for shard, cells in enumerate(_column_stats(stored, columns)):
        _write_group(metadata / COLUMN_STATS, "col-stats", shard, cells)
    _write_group(
        metadata / PARTITION_STATS, "partition-stats", 0, sorted(_partition_stats(stored, columns))
    )


def ensure_written(files: int, partitions: int, fillers: int = 0) -> Path:
    """Return the table of that size, written once by the current code."""
    digest = hashlib.sha256()
    for module in WRITERS:
        digest.update(Path(str(module)).read_bytes())
    table = WORK / "bench" / f"synthetic-{files}-{partitions}-{fillers}"
    marker = table / "written-by"
    if not marker.is_file() or marker.read_text() != digest.hexdigest():
        write_table(table, files=files, partitions=partitions, fillers=fillers)
        marker.write_text(digest.hexdigest())
    return table


def add_commit(table: Path, *, files: int, number: int) -> None:
    """Complete a commit that changes no file of a table with so many, and no columns f00, ..."""
    schema, started = table_schema(columns_of(files, 0)), int(_COMPACTED) + 10_000 * (number + 1)
    metadata, data = (one / ".hoodie/timeline" for one in (table / METADATA_DIR, table))
    write_instant(metadata, str(started), str(started + 1_000), "deltacommit", "UPSERT", schema)
    write_instant(data, str(started), str(started + 2_000), "commit", "UPSERT", schema)


def remove_commit(table: Path, number: int) -> None:
    """Remove what `add_commit` wrote, as a writer archives old commits."""
    for timeline in (one / ".hoodie/timeline" for one in (table, table / METADATA_DIR)):
        for file in timeline.glob(f"{int(_COMPACTED) + 10_000 * (number + 1)}*"):
            file.unlink()


def _files(files: int, partitions: int) -> _Files:
    ids = np.random.default_rng(_SEED).bytes(16 * files).hex()
    names = []
    for k in range(files):
        part = ids[32 * k : 32 * k + 32]
        uuid = f"{part[:8]}-{part[8:12]}-{part[12:16]}-{part[16:20]}-{part[20:]}"
        names.append(f"{uuid}-0_{k}-11-{k}_{_COMMIT}.parquet")
    days = [f"day={date(2020, 1, 1) + timedelta(days=p)}" for p in range(partitions)]
    return _Files(days, np.arange(files) // (files // partitions), names)


def table_schema(columns: Sequence[_Column]) -> str:
    """Return the Avro schema of a table with these columns, as JSON."""
    fields = [{"name": column.name, "type": _TYPES[column.type_ordinal]} for column in columns]
    name = {"type": "record", "name": f"{_NAME}_record", "namespace": f"hoodie.{_NAME}"}
    return json.dumps({**name, "fields": [*fields, {"name": "day", "type": "string"}]})


def columns_of(files: int, fillers: int) -> list[_Column]:
    """Return the columns of a table with so many files, and so many further columns."""
    first = np.arange(files, dtype=np.int64) * ROWS_PER_FILE
    random = np.random.default_rng(_SEED)
    spread, other = random.permutation(first), random.permutation(first)
    codes = [f"item-{value // 10:010d}" for value in spread.tolist()]
    last = ROWS_PER_FILE - 1
    return [
        _Column("id", _LONG, first.tolist(), (first + last).tolist()),
        _Column("spread", _LONG, spread.tolist(), (spread + last).tolist()),
        _Column("amount", _DOUBLE, (other / 4).tolist(), ((other + last) / 4).tolist()),
        _Column("code", _STRING, [f"{c}-a" for c in codes], [f"{c}-z" for c in codes]),
        *(
            _Column(f"f{n:02d}", _LONG, [n] * files, [n + ROWS_PER_FILE] * files)
            for n in range(fillers)
        ),
    ]


def _file_lists(files: _Files) -> Iterator[tuple[bytes, bytes]]:
    edges = np.searchsorted(files.partition, np.arange(len(files.partitions) + 1)).tolist()
    for path, start, end in zip(files.partitions, edges, edges[1:], strict=False):
        sizes = dict.fromkeys(files.name[start:end], _FILE_BYTES)
        yield path.encode(), payloads.file_list(sizes)
    yield ALL_PARTITIONS.encode(), payloads.partition_list(files.partitions)


def _column_stats(
    files: _Files, columns: Sequence[_Column]
) -> Iterator[Iterator[tuple[bytes, bytes]]]:
    """Return the cells of each shard, by ascending keys."""
    partition_ids = np.array([id64(path) for path in files.partitions])
    name_ids = np.array([id128(name) for name in files.name])
    suffixes = np.char.add(partition_ids[files.partition], name_ids)
    order = np.argsort(suffixes)
    ordered = sorted(columns, key=lambda column: id64(column.name))
    shards = {
        column.name: shards_of(np.char.add(id64(column.name), suffixes), _COLUMN_STATS_SHARDS)
        for column in columns
    }

    def cells(shard: int) -> Iterator[tuple[bytes, bytes]]:
        for column in ordered:
            prefix = id64(column.name)
            encode = _entry_encoder(column)
            for k in order[shards[column.name][order] == shard].tolist():
                record = encode(files.name[k], column.minimum[k], column.maximum[k])
                yield f"{prefix}{suffixes[k]}".encode(), record

    return (cells(shard) for shard in range(_COLUMN_STATS_SHARDS))


def _partition_stats(files: _Files, columns: Sequence[_Column]) -> Iterator[tuple[bytes, bytes]]:
    edges = np.searchsorted(files.partition, np.arange(len(files.partitions) + 1)).tolist()
    for column in columns:
        for path, start, end in zip(files.partitions, edges, edges[1:], strict=False):
            bounds = min(column.minimum[start:end]), max(column.maximum[start:end])
            key = (id64(column.name) + id64(path)).encode()
            yield key, _stats_record(PARTITION_STATS_RECORD, column, path, bounds, end - start)


def shards_of(keys: Texts, shards: int) -> Ints:
    """Compute `mdt.bytes.keys.shard` for ASCII keys of one length, all at once."""
    characters = keys.astype(bytes)
    units = characters.view(np.uint8).reshape(len(keys), characters.dtype.itemsize)
    hashes = np.zeros(len(keys), np.uint32)
    for position in range(units.shape[1]):
        hashes = hashes * np.uint32(31) + units[:, position]
    # The magnitude of Java's minimum int is 2^31.
    return np.abs(hashes.view(np.int32).astype(np.int64)) % shards


def _stats_record(
    kind: int, column: _Column, described: str, bounds: tuple[Any, Any], files: int
) -> bytes:
    type_ = value_type(_ARROW_TYPES[column.type_ordinal], "V2")
    assert type_ is not None
    low, high = (end.encode() if isinstance(end, str) else end for end in bounds)
    rows = files * ROWS_PER_FILE
    stats = payloads.Statistics(
        described=described,
        column=column.name,
        value_type=type_,
        bounds=(low, high),
        value_count=rows,
        null_count=0,
        size=rows * 8,
        uncompressed_size=rows * 8,
        is_tight=True,
    )
    return payloads.statistics(kind, stats)


def _entry_encoder(column: _Column) -> Callable[[str, Any, Any], bytes]:
    """Return a fast `_stats_record` of single files: only the name and the bounds change."""
    name, low, high = "the file's name", *_MARKS[column.type_ordinal]
    encode = _ENCODERS[column.type_ordinal]
    template = _stats_record(COLUMN_STATS_RECORD, column, name, (low, high), 1)
    head, rest = template.split(_text(name))
    before_low, rest = rest.split(encode(low))
    before_high, tail = rest.split(encode(high))

    def entry(name: str, low: PythonValue, high: PythonValue) -> bytes:
        parts = (head, _text(name), before_low, encode(low), before_high, encode(high), tail)
        return b"".join(parts)

    return entry


def _number(value: int) -> bytes:
    return protobuf.encode_varint(value << 1)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _number(len(encoded)) + encoded


_ENCODERS: dict[int, Callable[[Any], bytes]] = {
    _LONG: _number,
    _DOUBLE: struct.Struct("<d").pack,
    _STRING: _text,
}
_MARKS: dict[int, tuple[Any, Any]] = {
    _LONG: (987_654_321_012, 987_654_321_013),
    _DOUBLE: (987.654321, 987.654322),
    _STRING: ("the least", "the greatest"),
}


def _write_group(
    directory: Path, prefix: str, shard: int, cells: Sequence[tuple[bytes, bytes]] | Iterator[Any]
) -> None:
    directory.mkdir(exist_ok=True)
    marker = f"commitTime={_COMMIT}\npartitionDepth=1\n"
    (directory / ".hoodie_partition_metadata").write_text(marker)
    name = f"{prefix}-{shard:04d}-0_{shard}-1-{shard}_{_COMPACTION}.hfile"
    with (directory / name).open("wb") as sink:
        hfile_writer.write(sink, cells, RECORD_SCHEMA)


def _write_data_table(hoodie: Path, columns: Sequence[_Column], schema: str) -> None:
    write_instant(hoodie / "timeline", _COMMIT, _COMMITTED, "commit", "BULK_INSERT", schema)
    _write_properties(
        hoodie,
        _NAME,
        {
            "hoodie.table.type": "COPY_ON_WRITE",
            "hoodie.table.partition.fields": "day",
            "hoodie.table.keygenerator.type": "SIMPLE",
            "hoodie.table.recordkey.fields": "id",
            "hoodie.table.ordering.fields": "id",
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.datasource.write.partitionpath.urlencode": "false",
            "hoodie.table.metadata.partitions": ",".join((COLUMN_STATS, FILES, PARTITION_STATS)),
            "hoodie.table.metadata.partitions.inflight": "",
            "hoodie.table.index.defs.path": ".hoodie/.index_defs/index.json",
            "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
            "hoodie.table.create.schema": schema.replace(":", "\\:"),
        },
    )
    definition = {
        "indexName": COLUMN_STATS,
        "indexType": COLUMN_STATS,
        "indexFunction": COLUMN_STATS,
        "sourceFields": [column.name for column in columns],
        "indexOptions": {},
        "version": "V2",
    }
    (hoodie / ".index_defs").mkdir()
    definitions = {"indexDefinitions": {COLUMN_STATS: definition}}
    (hoodie / ".index_defs" / "index.json").write_text(json.dumps(definitions, indent=2))


def _write_metadata_timeline(hoodie: Path, schema: str) -> None:
    timeline = hoodie / "timeline"
    write_instant(timeline, _COMMIT, _INDEXED, "deltacommit", "UPSERT_PREPPED", schema)
    write_instant(timeline, _COMPACTION, _COMPACTED, "compaction", "COMPACT", schema)
    _write_properties(
        hoodie,
        f"{_NAME}_metadata",
        {
            "hoodie.table.type": "MERGE_ON_READ",
            "hoodie.table.base.file.format": "HFILE",
            "hoodie.table.keygenerator.type": "HOODIE_TABLE_METADATA",
            "hoodie.table.recordkey.fields": "key",
            "hoodie.compaction.payload.class": "org.apache.hudi.metadata.HoodieMetadataPayload",
            "hoodie.record.merge.mode": "CUSTOM",
            "hoodie.record.merge.strategy.id": "00000000-0000-0000-0000-000000000000",
            "hoodie.populate.meta.fields": "false",
        },
    )


def write_instant(
    timeline: Path, requested: str, completed: str, action: str, operation: str, schema: str
) -> None:
    """Write the files of one completed action to a timeline."""
    timeline.mkdir(parents=True, exist_ok=True)
    inflight = "inflight" if action == "commit" else f"{action}.inflight"
    (timeline / f"{requested}.{action}.requested").touch()
    (timeline / f"{requested}.{inflight}").touch()
    finished = "commit" if action == "compaction" else action
    content = commit_record(_TIMELINE_LAYOUT, [], operation, {"schema": schema})
    (timeline / f"{requested}_{completed}.{finished}").write_bytes(content)


def _write_properties(hoodie: Path, name: str, own: Mapping[str, str]) -> None:
    database = "default" if name == _NAME else ""
    properties = {
        "hoodie.table.name": name,
        "hoodie.database.name": database,
        "hoodie.table.version": "9",
        "hoodie.table.initial.version": "9",
        "hoodie.timeline.layout.version": "2",
        "hoodie.timeline.path": "timeline",
        "hoodie.timeline.history.path": "history",
        "hoodie.table.checksum": str(zlib.crc32(f"{database}.{name}".encode())),
        **own,
    }
    lines = "".join(f"{key}={value}\n" for key, value in properties.items())
    (hoodie / "hoodie.properties").write_text(lines)

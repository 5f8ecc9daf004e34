"""A small Hudi table with indexes to try the commands on, written without Spark."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi_expr.arrays import AnyArray, string_list
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.registry import note_of, register
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.index_plan import IndexPlan
from pyhudi_expr.manage.indexing.preparation import prepare_create
from pyhudi_expr.manage.indexing.statements import CreateIndex
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_names import (
    COLUMN_STATS,
    COMMIT_SEQNO,
    COMMIT_TIME,
    FILE_NAME,
    HOODIE_DIR,
    META_COLUMNS,
    METADATA_DIR,
    PARTITION_MARKER,
    PARTITION_PATH,
    PROPERTIES_FILE,
    RECORD_INDEX,
    RECORD_KEY,
)
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.keys import column_stats_key, partition_stats_key, secondary_key
from pyhudi_expr.tables.mdt.changes import async_indexing, bootstrap
from pyhudi_expr.tables.mdt.changes.partitions import NewPartition
from pyhudi_expr.tables.mdt.changes.rollback import rollback_on_failure
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.records import metadata_records, payloads
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.records.value_types import Bound, ValueType, value_type
from pyhudi_expr.tables.mdt.store import group_files
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline_writer import WrittenFile, commit_record

DAYS, FILES_OF_DAY, ROWS_OF_FILE = 10, 8, 2_000
INSTANT, _COMPLETED = "20240111000000000", "20240111000001000"
_LAYOUT = 2
_RIDERS = 100_000
ONE_RIDER = "R-27182"
"""A rider of one trip."""
_CITIES = ("Accra", "Berlin", "Lima", "Lisbon", "Nairobi", "Oslo", "Quito", "Zagreb")
_PROPERTIES = {
    hudi_names.TABLE_NAME: "trips",
    hudi_names.TABLE_TYPE: "COPY_ON_WRITE",
    hudi_names.TABLE_VERSION: "8",
    hudi_names.TIMELINE_LAYOUT_VERSION: str(_LAYOUT),
    hudi_names.RECORDKEY_FIELDS: "id",
    hudi_names.PARTITION_FIELDS: "day",
    hudi_names.KEY_GENERATOR_TYPE: "SIMPLE",
    hudi_names.HIVE_STYLE_PARTITIONING: "true",
    hudi_names.POPULATE_META_FIELDS: "true",
    # Hudi's own readers fail without it in a table of version 8.
    hudi_names.RECORD_MERGE_MODE: "COMMIT_TIME_ORDERING",
    hudi_names.CREATE_SCHEMA: (
        '{"type"\\:"record","name"\\:"trips","fields"\\:['
        '{"name"\\:"id","type"\\:"long"},{"name"\\:"ts","type"\\:'
        '{"type"\\:"long","logicalType"\\:"timestamp-micros"}},{"name"\\:"city","type"\\:"string"},'
        '{"name"\\:"rider","type"\\:"string"},'
        '{"name"\\:"fare","type"\\:{"type"\\:"bytes","logicalType"\\:"decimal","precision"\\:9,'
        '"scale"\\:2}},{"name"\\:"day","type"\\:"string"}]}'
    ),
}

_TIME, _MONEY = pa.timestamp("us", tz="UTC"), pa.decimal128(9, 2)


def write_demo_table(path: Path) -> None:
    """Write a copy-on-write table of version 8 with a partition for each day, to a new directory.

    Each file of a day has one city, and fares in ascending ranges, so that both prune. Riders are
    in files at random, so that only an index of values prunes them. There is no metadata table, see
    `write_demo_indexes`.

    Raises:
        HudiError: The directory is not empty.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise HudiError(f"{path}: there is something already; name another directory")
    timeline = path / HOODIE_DIR / "timeline"
    timeline.mkdir(parents=True)
    lines = "".join(f"{name}={value}\n" for name, value in _PROPERTIES.items())
    (path / PROPERTIES_FILE).write_text(lines)
    rng = np.random.default_rng(2024)
    files = [file for number in range(DAYS) for file in _write_day(path, number, rng)]
    for state in ("requested", "inflight"):
        (timeline / f"{INSTANT}.commit.{state}").touch()
    commit = commit_record(_LAYOUT, files, "BULK_INSERT", {})
    (timeline / f"{INSTANT}_{_COMPLETED}.commit").write_bytes(commit)


def _write_day(path: Path, number: int, rng: np.random.Generator) -> Iterator[WrittenFile]:
    day = datetime(2024, 1, 1 + number, tzinfo=timezone.utc)
    partition = f"day={day:%Y-%m-%d}"
    (path / partition).mkdir()
    (path / partition / PARTITION_MARKER).write_text(
        f"#partition metadata\ncommitTime={INSTANT}\npartitionDepth=1\n"
    )
    for place, city in enumerate(_CITIES):
        group = f"{number:02d}{place:02d}0000-0000-4000-8000-000000000000-0"
        name = f"{group}_0-1-0_{INSTANT}.parquet"
        own = _rows(day, number * FILES_OF_DAY + place, city, 2_000 * place, rng)
        rows = _with_meta_fields(own, partition, name)
        pq.write_table(rows, path / partition / name)
        size = (path / partition / name).stat().st_size
        yield WrittenFile(group, f"{partition}/{name}", size, ROWS_OF_FILE)


def _rows(
    day: datetime, file: int, city: str, least_cents: int, rng: np.random.Generator
) -> pa.Table:
    first = file * ROWS_OF_FILE
    seconds = rng.integers(0, 86_400, ROWS_OF_FILE).tolist()
    cents = rng.integers(least_cents, least_cents + 3_000, ROWS_OF_FILE).tolist()
    riders = rng.integers(0, _RIDERS, ROWS_OF_FILE).tolist()
    return pa.table(
        {
            "id": pa.array(range(first, first + ROWS_OF_FILE)),
            "ts": pa.array([day + timedelta(seconds=s) for s in seconds], _TIME),
            "city": pa.array([city] * ROWS_OF_FILE),
            "rider": pa.array([f"R-{rider:05d}" for rider in riders]),
            "fare": pa.array([Decimal(each) / 100 for each in cents], _MONEY),
            "day": pa.array([f"{day:%Y-%m-%d}"] * ROWS_OF_FILE),
        }
    )


def _with_meta_fields(rows: pa.Table, partition: str, file: str) -> pa.Table:
    """Put Hudi's meta columns before the others."""
    keys = rows.column("id").cast(pa.string())
    same = {COMMIT_TIME: INSTANT, PARTITION_PATH: partition, FILE_NAME: file}
    meta = {name: pa.array([same.get(name)] * rows.num_rows, pa.string()) for name in META_COLUMNS}
    sequence = pa.array([f"{INSTANT}_0_{row}" for row in range(rows.num_rows)])
    return pa.table(
        {**meta, COMMIT_SEQNO: sequence, RECORD_KEY: keys}
        | dict(zip(rows.column_names, rows.columns, strict=True))
    )


_OPTIONS = BuildOptions(wait=5)
_SHARD = 0
_WRITE_TOKEN = "0-0-0"
_MILLISECONDS = 1_704_931_200_000  # of the table's commit, since 1970
_INDEXES = (
    CreateIndex("column_stats", "", COLUMN_STATS, ("id", "ts", "city", "rider", "fare", "day")),
    CreateIndex("record_index", "", RECORD_INDEX),
    CreateIndex("riders", "", columns=("rider",)),
)

Entries = list[tuple[bytes, bytes]]


def write_demo_indexes(path: Path | str) -> None:
    """Add a metadata table with column_stats, record_index and a secondary index of the riders.

    The table, a path or a URI, is that of `demo_table`. What is written is what Hudi's own writers
    maintain.

    Raises:
        HudiError: The table cannot be changed.
    """
    table = HudiTable.open(str(path))
    bootstrap.ensure_metadata_table(table, _OPTIONS.lock(table.storage))
    files = list(_files(table))
    for index in _INDEXES:
        request = CreateIndex(index.name, str(path), index.kind, index.columns)
        work = prepare_create(request, _OPTIONS)
        assert work is not None
        _build(work.table, work.planned, files)


@dataclass(frozen=True)
class _File:
    """A base file of the table.

    Attributes:
        rows: All its columns.
    """

    partition: str
    name: str
    file_id: str
    rows: pa.Table


def _files(table: HudiTable) -> Iterator[_File]:
    listing = table.listing()
    for place in listing.paths(~listing.file_is_log):
        partition, _, name = place.rpartition("/")
        file_id = name.partition("_")[0]
        with table.storage.open_input(place) as content:
            yield _File(partition, name, file_id, pq.ParquetFile(content).read())


def _build(table: HudiTable, planned: IndexPlan, files: Sequence[_File]) -> None:
    """Build an index by Hudi's protocol of asynchronous indexing."""
    lock = _OPTIONS.lock(table.storage)
    new = [
        NewPartition(each.name, 1, each.definition if each.is_listed else None)
        for each in planned.partitions
    ]
    note = note_of([planned.registered([each.name for each in planned.partitions])])
    announced = async_indexing.announce(table, new, lock, note)
    with rollback_on_failure(lambda: async_indexing.abort(announced, lock)):
        metadata = table.storage.child(METADATA_DIR)
        schema = table.schema()
        written = [
            _written(metadata, announced.instant, one.name, _entries(one.definition, schema, files))
            for one in planned.partitions
        ]
        async_indexing.publish(
            announced, written, lock, _OPTIONS.wait, lambda _table, _instant: [], register
        )


def _written(metadata: Storage, instant: str, partition: str, entries: Entries) -> WrittenFile:
    content = io.BytesIO()
    size = hfile_writer.write(content, sorted(entries), RECORD_SCHEMA)
    group = group_files.file_id(partition, _SHARD)
    path = f"{partition}/{group_files.base_file(group, _WRITE_TOKEN, instant)}"
    metadata.write(path, content.getvalue())
    return WrittenFile(group, path, size, len(entries))


def _entries(definition: IndexDefinition, schema: pa.Schema, files: Sequence[_File]) -> Entries:
    match definition.name:
        case hudi_names.COLUMN_STATS:
            return list(_of_files(definition, schema, files))
        case hudi_names.PARTITION_STATS:
            return list(_of_partitions(definition, schema, files))
        case hudi_names.RECORD_INDEX:
            return list(_locations(files))
    return list(_values(definition.fields[0], files))


def _of_files(
    definition: IndexDefinition, schema: pa.Schema, files: Sequence[_File]
) -> Iterator[tuple[bytes, bytes]]:
    for column, type_ in _types(definition, schema):
        for file in files:
            entry = _statistics(file.name, column, type_, [file], is_tight=False)
            key = column_stats_key(column, file.partition, file.name)
            yield key.encode(), payloads.statistics(metadata_records.COLUMN_STATS, entry)


def _of_partitions(
    definition: IndexDefinition, schema: pa.Schema, files: Sequence[_File]
) -> Iterator[tuple[bytes, bytes]]:
    for column, type_ in _types(definition, schema):
        for partition in dict.fromkeys(file.partition for file in files):
            own = [file for file in files if file.partition == partition]
            entry = _statistics(partition, column, type_, own, is_tight=True)
            key = partition_stats_key(column, partition)
            yield key.encode(), payloads.statistics(metadata_records.PARTITION_STATS, entry)


def _types(definition: IndexDefinition, schema: pa.Schema) -> Iterator[tuple[str, ValueType]]:
    for column in definition.fields:
        found = value_type(schema.field(column).type, definition.version)
        assert found is not None
        yield column, found


def _statistics(
    described: str, column: str, type_: ValueType, files: Sequence[_File], *, is_tight: bool
) -> payloads.Statistics:
    values = [file.rows.column(column).combine_chunks() for file in files]
    every = [bound for array in values for bound in _bounds(array)]
    return payloads.Statistics(
        described=described,
        column=column,
        value_type=type_,
        bounds=(min(every), max(every)),
        value_count=sum(map(len, values)),
        null_count=sum(array.null_count for array in values),
        size=sum(array.nbytes for array in values),
        uncompressed_size=sum(array.nbytes for array in values),
        is_tight=is_tight,
    )


def _bounds(values: AnyArray) -> tuple[Bound, Bound]:
    """Return the least and the greatest value, as statistics have them."""
    if pa.types.is_timestamp(values.type):
        values = values.view(pa.int64())
    ends = pc.min_max(values)
    low, high = (_bound(ends[side].as_py()) for side in ("min", "max"))
    return low, high


def _bound(value: object) -> Bound:
    match value:
        case str():
            return value.encode()
        case Decimal():
            return int(value.scaleb(-int(value.as_tuple().exponent)))
        case int():
            return value
    raise TypeError(f"{value!r} is of no type of the demo's table")


def _locations(files: Sequence[_File]) -> Iterator[tuple[bytes, bytes]]:
    for file in files:
        entry = payloads.location(file.partition, file.file_id, _MILLISECONDS)
        for key in string_list(file.rows.column(RECORD_KEY)):
            yield key.encode(), entry


def _values(column: str, files: Sequence[_File]) -> Iterator[tuple[bytes, bytes]]:
    entry = payloads.secondary_entry()
    for file in files:
        keys, values = (string_list(file.rows.column(name)) for name in (RECORD_KEY, column))
        for key, value in zip(keys, values, strict=True):
            yield secondary_key(value, key).encode(), entry

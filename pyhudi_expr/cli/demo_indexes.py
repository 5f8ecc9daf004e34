"""The indexes of the demo's table, written without Spark: column_stats, and riders' values."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi_expr.arrays import AnyArray, string_list
from pyhudi_expr.index.catalog.registry import note_of, register
from pyhudi_expr.manage.indexing.build_options import BuildOptions
from pyhudi_expr.manage.indexing.index_plan import IndexPlan
from pyhudi_expr.manage.indexing.preparation import prepare_create
from pyhudi_expr.manage.indexing.statements import CreateIndex
from pyhudi_expr.tables import hudi_names
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, METADATA_DIR, RECORD_INDEX, RECORD_KEY
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.keys import column_stats_key, partition_stats_key, secondary_key
from pyhudi_expr.tables.mdt.changes import async_indexing, bootstrap
from pyhudi_expr.tables.mdt.changes.index_definitions import IndexDefinition
from pyhudi_expr.tables.mdt.changes.partitions import NewPartition
from pyhudi_expr.tables.mdt.changes.rollback import rollback_on_failure
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.records import metadata_records, payloads
from pyhudi_expr.tables.mdt.records.schema import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.records.value_types import Bound, ValueType, value_type
from pyhudi_expr.tables.mdt.store import file_group_names
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline.action_records import WrittenFile

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
    group = file_group_names.file_id(partition, _SHARD)
    path = f"{partition}/{file_group_names.base_file(group, _WRITE_TOKEN, instant)}"
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

"""Certify indexes of keys and values: in Spark's tasks, or in this process if they are small.

Each shard is read by one task. For a secondary index the tasks deal the keys of both indexes out by
their hashes, so a task compares those of one range; its memory is that of some million hashes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from pyhudi_expr.arrays import AnyArray, arrow_schema_of, combined
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import metadata_of
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.manage.certifying import EntryReader
from pyhudi_expr.spark.jobs.batch_runner import LOCAL_BYTES, Row, SparkRunner
from pyhudi_expr.spark.jobs.job_errors import translate_spark_errors
from pyhudi_expr.tables.hudi_names import RECORD_INDEX, SECONDARY_INDEX_PREFIX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes.keys import Hashes
from pyhudi_expr.tables.mdt.certificates import stored
from pyhudi_expr.tables.mdt.certificates.certificates import (
    EntrySums,
    RecordCertificate,
    ValueCertificate,
    count_entries,
)
from pyhudi_expr.tables.mdt.certificates.pairing import ENTRY, Pairs, entries_of, keys_of
from pyhudi_expr.tables.mdt.certificates.states import IndexState, state_of
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

_BYTES_OF_A_TASK = 16 << 20
_SUMS = "group string, count bigint, low bigint, high bigint"
_OF_GROUP = ("count", "low", "high")
_KEYS = "hash bigint, place binary, low bigint, high bigint, is_text boolean"
_KEYS_SCHEMA = arrow_schema_of(
    [
        pa.field("hash", pa.int64()),
        pa.field("place", pa.binary()),
        pa.field("low", pa.int64()),
        pa.field("high", pa.int64()),
        pa.field("is_text", pa.bool_()),
    ]
)
_SUMS_SCHEMA = arrow_schema_of(
    [pa.field("group", pa.string()), *(pa.field(name, pa.int64()) for name in _OF_GROUP)]
)
_FLAGS = ("is_doubtful", "has_others", "are_shared", "is_text")
_PAIRS = "group binary, count bigint, low bigint, high bigint, " + ", ".join(
    f"{flag} boolean" for flag in _FLAGS
)
_PAIRS_SCHEMA = arrow_schema_of(
    [
        pa.field("group", pa.binary()),
        *(pa.field(name, pa.int64()) for name in _OF_GROUP),
        *(pa.field(flag, pa.bool_()) for flag in _FLAGS),
    ]
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shards:
    """The shards of indexes, in the states that they are certified in.

    Attributes:
        base_path: The table.
        store: Which metadata table holds the indexes.
        states: The state of each index by its metadata partition.
    """

    base_path: str
    store: Store
    states: Mapping[str, IndexState]

    @property
    def items(self) -> pa.Table:
        """One row for each shard, to be dealt out to tasks."""
        every = [(name, n) for name, state in self.states.items() for n in range(len(state.shards))]
        names, numbers = zip(*every, strict=True)
        return pa.table({"partition": list(names), "shard": list(numbers)})

    def opened(self, items: Iterable[Row]) -> Iterator[tuple[str, FileGroup]]:
        """Open shards in a task.

        Raises:
            HudiError: A shard is not in its state any more: what is read is not of one state.
        """
        mdt = metadata_of(HudiTable.open(self.base_path), self.store)
        if mdt is None:
            raise HudiError(f"{self.base_path}: the metadata table is gone")
        for item in items:
            name, number = item["partition"], item["shard"]
            shard = mdt.groups(name)[number]
            if state_of([shard]).shards != self.states[name].shards[number : number + 1]:
                raise HudiError(f"{self.base_path}: {name} has changed while it was certified")
            yield name, shard


def certify(spark: SparkSession, table: HudiTable, store: Store) -> None:
    """Write the certificates of all indexes of keys and values that have none for their state.

    A certificate makes look-ups faster and changes no answer, so an error is only logged.
    """
    try:
        with translate_spark_errors():
            _certify(spark, table, store)
    except HudiError as error:
        _log.warning("%s: no certificates of its indexes are written: %s", table.base_path, error)


def _certify(spark: SparkSession, table: HudiTable, store: Store) -> None:
    mdt = metadata_of(table, store)
    if mdt is None or RECORD_INDEX not in mdt.partitions:
        return
    records = stored.record_certificate(mdt) or counted(spark, table, store, mdt)
    stored.write_certificate(mdt, RECORD_INDEX, records)
    for name in sorted(n for n in mdt.partitions if n.startswith(SECONDARY_INDEX_PREFIX)):
        values = stored.value_certificate(mdt, name)
        stored.write_certificate(mdt, name, values or paired(spark, table, store, mdt, name))


def reader(spark: SparkSession, base_path: str, store: Store) -> EntryReader:
    """Return what reads the entries of a table's indexes in Spark's tasks."""
    table = HudiTable.open(base_path)
    return EntryReader(partial(counted, spark, table, store), partial(paired, spark, table, store))


def counted(
    spark: SparkSession, table: HudiTable, store: Store, mdt: MetadataTable
) -> RecordCertificate:
    """Count the entries of the record index in a snapshot of its metadata table.

    Raises:
        HudiError: It cannot be read, or has changed since the snapshot.
    """
    if mdt.stored_bytes(RECORD_INDEX) <= LOCAL_BYTES:
        return stored.certify_records(mdt)
    state = state_of(mdt.groups(RECORD_INDEX))
    shards = Shards(table.base_path, store, {RECORD_INDEX: state})
    sums = SparkRunner(spark).each(shards.items, partial(_counts, shards), _SUMS)
    tasks = spark.sparkContext.defaultParallelism
    rows = sums.together(tasks, "group").then(partial(_summed, _SUMS_SCHEMA), _SUMS).rows()
    return RecordCertificate(state, _sums(rows, pa.large_string()))


def _counts(shards: Shards, items: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    for _, shard in shards.opened(items):
        sums = count_entries([shard], lambda: None).sums
        groups = sums.groups.cast(pa.string())
        yield pa.record_batch([groups, *_numbers(sums)], schema=_SUMS_SCHEMA)


def _summed(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add up the rows of each group."""
    whole = pa.Table.from_batches(batches, schema)
    flags = [name for name in _FLAGS if name in schema.names]
    total = whole.group_by("group").aggregate(
        [*((name, "sum") for name in _OF_GROUP), *((name, "any") for name in flags)]
    )
    names = ["group", *(f"{name}_sum" for name in _OF_GROUP), *(f"{name}_any" for name in flags)]
    yield pa.record_batch([combined(total.column(name)) for name in names], schema=schema)


def _numbers(sums: EntrySums) -> list[AnyArray]:
    """Return the columns of sums as Spark can hold them: its integers have signs."""
    return [pa.array(sums.counts), *map(pa.array, sums.digests.view(np.int64).T)]


def _sums(rows: Sequence[Row], type_: pa.DataType) -> EntrySums:
    counts, low, high = (np.array([row[name] for row in rows], np.int64) for name in _OF_GROUP)
    digests = np.stack([low, high], axis=1).view(np.uint64)
    return EntrySums(pa.array([row["group"] for row in rows], type_), counts, digests)


def paired(
    spark: SparkSession, table: HudiTable, store: Store, mdt: MetadataTable, index: str
) -> ValueCertificate:
    """Compare the entries of a secondary index with its record index, see `counted`."""
    size = mdt.stored_bytes(RECORD_INDEX) + mdt.stored_bytes(index)
    if size <= LOCAL_BYTES:
        return stored.certify_values(mdt, index)
    states = {name: state_of(mdt.groups(name)) for name in (RECORD_INDEX, index)}
    shards = Shards(table.base_path, store, states)
    keys = SparkRunner(spark).each(shards.items, partial(_keys, shards), _KEYS)
    tasks = max(spark.sparkContext.defaultParallelism, size // _BYTES_OF_A_TASK)
    pairs = keys.together(tasks, "hash").then(_paired, _PAIRS)
    summed = pairs.together(spark.sparkContext.defaultParallelism, "group")
    found = summed.then(partial(_summed, _PAIRS_SCHEMA), _PAIRS).rows()
    groups = [row for row in found if row["group"] is not None]
    doubtful = [row["group"] for row in groups if row["is_doubtful"]]
    has_others, are_shared, is_text = (any(row[flag] for row in found) for flag in _FLAGS[1:])
    sums = _sums(groups, pa.binary())
    whole = Pairs(pa.array(doubtful, pa.binary()), sums, has_others, not are_shared)
    return whole.certificate(states[index], states[RECORD_INDEX], not is_text)


def _keys(shards: Shards, items: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Return the keys of shards: with their locations, or of values without one."""
    for partition, shard in shards.opened(items):
        if partition == RECORD_INDEX:
            for own, places in keys_of(shard):
                nothing = np.zeros(len(own), np.int64)
                yield _key_batch(own, places, nothing, nothing, False)
        else:
            for rows, are_numbers in entries_of(shard):
                nowhere = pa.nulls(len(rows), pa.binary())
                yield _key_batch(rows["hash"], nowhere, rows["low"], rows["high"], not are_numbers)


def _key_batch(
    own: Hashes,
    places: AnyArray,
    low: npt.NDArray[np.generic],
    high: npt.NDArray[np.generic],
    is_text: bool,
) -> pa.RecordBatch:
    hashed = [pa.array(np.ascontiguousarray(one).view(np.int64)) for one in (own, low, high)]
    flags = pa.array(np.full(len(own), is_text))
    return pa.record_batch([hashed[0], places, *hashed[1:], flags], schema=_KEYS_SCHEMA)


def _paired(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return what the entries of some keys are, by location; null: whatever their location."""
    whole = pa.Table.from_batches(batches, _KEYS_SCHEMA)
    places = combined(whole.column("place"))
    is_key = np.asarray(places.is_valid())
    named = np.empty(len(whole) - int(is_key.sum()), ENTRY)
    for name in ENTRY.names or ():
        named[name] = np.asarray(whole.column(name)).view(np.uint64)[~is_key]
    own = np.asarray(whole.column("hash")).view(np.uint64)[is_key]
    found = Pairs.of(own, places.drop_null().dictionary_encode(), named)
    groups = found.sums.groups
    no = pa.array(np.zeros(len(groups), np.bool_))
    is_doubtful = pc.is_in(groups, found.doubtful)
    of_groups = [groups, *_numbers(found.sums), is_doubtful, no, no, no]
    yield pa.record_batch(of_groups, schema=_PAIRS_SCHEMA)
    is_text = bool(np.asarray(whole.column("is_text")).any())
    flags = (False, found.has_others, not found.are_told_apart, is_text)
    row = {"group": None, **dict.fromkeys(_OF_GROUP, 0), **dict(zip(_FLAGS, flags, strict=True))}
    yield pa.RecordBatch.from_pylist([row], _PAIRS_SCHEMA)

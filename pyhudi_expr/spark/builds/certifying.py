"""Certify indexes of keys and values: in Spark's tasks, or in this process if they are small.

Each shard is read by one task. For a secondary index the tasks deal the keys of both indexes out by
their hashes, so a task compares those of one range; its memory is that of some million hashes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from pyhudi_expr.arrays import AnyArray, Int64Array, arrow_schema_of, combined
from pyhudi_expr.errors import HudiError
from pyhudi_expr.index.catalog.index_catalog import metadata_of
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.manage.certifying import EntryReader
from pyhudi_expr.spark.jobs.batch_runner import LOCAL_BYTES, Row, SparkRunner
from pyhudi_expr.spark.jobs.job_errors import translate_spark_errors
from pyhudi_expr.tables.hudi_names import RECORD_INDEX, SECONDARY_INDEX_PREFIX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.certificates import stored
from pyhudi_expr.tables.mdt.certificates.certificates import (
    RecordCertificate,
    ValueCertificate,
    count_entries,
    named_groups,
)
from pyhudi_expr.tables.mdt.certificates.pairing import (
    keys_of,
    keys_of_values,
    keys_without_one_value,
)
from pyhudi_expr.tables.mdt.certificates.states import IndexState, state_of
from pyhudi_expr.tables.mdt.store.file_group import FileGroup
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

_BYTES_OF_A_TASK = 16 << 20
_COUNTS = "group string, entries bigint"
_COUNTS_SCHEMA = arrow_schema_of([pa.field("group", pa.string()), pa.field("entries", pa.int64())])
_KEYS = "hash bigint, place binary, is_text boolean"
_KEYS_SCHEMA = arrow_schema_of(
    [pa.field("hash", pa.int64()), pa.field("place", pa.binary()), pa.field("is_text", pa.bool_())]
)
_DOUBTFUL = "place binary, is_text boolean"
_DOUBTFUL_SCHEMA = arrow_schema_of(
    [pa.field("place", pa.binary()), pa.field("is_text", pa.bool_())]
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
    counts = SparkRunner(spark).each(shards.items, partial(_counts, shards), _COUNTS)
    tasks = spark.sparkContext.defaultParallelism
    rows = counts.together(tasks, "group").then(_summed, _COUNTS).rows()
    return RecordCertificate(
        state,
        pa.array([row["group"] for row in rows], pa.large_string()),
        np.array([row["entries"] for row in rows], np.int64),
    )


def _counts(shards: Shards, items: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    for _, shard in shards.opened(items):
        found = count_entries([shard], lambda: None)
        groups = found.groups.cast(pa.string())
        yield pa.record_batch([groups, pa.array(found.entries)], schema=_COUNTS_SCHEMA)


def _summed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    whole = pa.Table.from_batches(batches, _COUNTS_SCHEMA)
    total = whole.group_by("group").aggregate([("entries", "sum")])
    yield pa.record_batch(
        [combined(total.column("group")), combined(total.column("entries_sum"))],
        schema=_COUNTS_SCHEMA,
    )


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
    rows = keys.together(tasks, "hash").then(_doubtful, _DOUBTFUL).rows()
    places = {row["place"] for row in rows if row["place"] is not None}
    names = named_groups(pa.array([bytes(place) for place in places], pa.binary()))
    return ValueCertificate(
        states[index],
        states[RECORD_INDEX],
        pa.array(names, pa.large_string()),
        not any(row["is_text"] for row in rows),
    )


def _keys(shards: Shards, items: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Return the keys of shards: with their locations, or of values without one."""
    for partition, shard in shards.opened(items):
        if partition == RECORD_INDEX:
            for own, places in keys_of(shard):
                yield _key_batch(own.view(np.int64), places, False)
        else:
            for own, are_numbers in keys_of_values(shard):
                yield _key_batch(
                    own.view(np.int64), pa.nulls(len(own), pa.binary()), not are_numbers
                )


def _key_batch(own: Int64Array, places: AnyArray, is_text: bool) -> pa.RecordBatch:
    flags = pa.array(np.full(len(own), is_text))
    return pa.record_batch([pa.array(own), places, flags], schema=_KEYS_SCHEMA)


def _doubtful(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the locations of keys without exactly one value, and whether there is a text."""
    whole = pa.Table.from_batches(batches, _KEYS_SCHEMA)
    places = combined(whole.column("place"))
    own = np.asarray(whole.column("hash")).view(np.uint64)
    is_key = np.asarray(places.is_valid())
    wrong = keys_without_one_value(own[is_key], own[~is_key])
    found = places.drop_null().take(pa.array(wrong)).unique()
    yield pa.record_batch(
        [found, pa.array(np.zeros(len(found), np.bool_))], schema=_DOUBTFUL_SCHEMA
    )
    if np.asarray(whole.column("is_text")).any():
        yield pa.record_batch([pa.nulls(1, pa.binary()), pa.array([True])], schema=_DOUBTFUL_SCHEMA)

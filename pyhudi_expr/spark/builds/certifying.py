"""Certify indexes of keys and values: in Spark's tasks, or in this process if they are small.

Each shard is read by one task. For a secondary index the tasks deal the keys of both indexes out by
their hashes, so a task compares those of one range; its memory is that of some million hashes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from pyhudi_expr.arrays import AnyArray, Int64Array, arrow_schema_of, combined
from pyhudi_expr.index.catalog.index_catalog import metadata_of
from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.mdt.certificates import stored
from pyhudi_expr.mdt.certificates.certificates import RecordCertificate, ValueCertificate
from pyhudi_expr.mdt.certificates.counting import count_entries, named_groups
from pyhudi_expr.mdt.certificates.pairing import keys_of, keys_of_values, keys_without_one_value
from pyhudi_expr.mdt.certificates.states import state_of
from pyhudi_expr.mdt.store.metadata_table import MetadataTable
from pyhudi_expr.spark.jobs.batch_runner import LOCAL_BYTES, Row, SparkRunner
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_names import RECORD_INDEX, SECONDARY_INDEX_PREFIX
from pyhudi_expr.table.hudi_table import HudiTable

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


def certify(spark: SparkSession, table: HudiTable, store: Store) -> None:
    """Write the certificates of all indexes of keys and values that have none for their state.

    A certificate makes look-ups faster and changes no answer, so an error is only logged.
    """
    try:
        mdt = metadata_of(table, store)
        if mdt is None or RECORD_INDEX not in mdt.partitions:
            return
        names = sorted(n for n in mdt.partitions if n.startswith(SECONDARY_INDEX_PREFIX))
        records = stored.record_certificate(mdt) or _counted(spark, table, store, mdt)
        stored.write_certificate(mdt, RECORD_INDEX, records)
        for name in names:
            values = stored.value_certificate(mdt, name)
            values = values or _paired(spark, table, store, mdt, name)
            stored.write_certificate(mdt, name, values)
    except HudiError as error:
        _log.warning("%s: no certificates of its indexes are written: %s", table.base_path, error)


def _counted(
    spark: SparkSession, table: HudiTable, store: Store, mdt: MetadataTable
) -> RecordCertificate:
    if mdt.stored_bytes(RECORD_INDEX) <= LOCAL_BYTES:
        return stored.certify_records(mdt)
    groups = mdt.groups(RECORD_INDEX)
    runner = SparkRunner(spark)
    counted = runner.each(
        pa.table({"shard": range(len(groups))}), partial(_counts, table.base_path, store), _COUNTS
    )
    tasks = spark.sparkContext.defaultParallelism
    rows = counted.together(tasks, "group").then(_summed, _COUNTS).rows()
    return RecordCertificate(
        state_of(groups),
        pa.array([row["group"] for row in rows], pa.large_string()),
        np.array([row["entries"] for row in rows], np.int64),
    )


def _counts(base_path: str, store: Store, items: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    mdt = _opened(base_path, store)
    for item in items:
        found = count_entries([mdt.groups(RECORD_INDEX)[item["shard"]]], lambda: None)
        groups = found.groups.cast(pa.string())
        yield pa.record_batch([groups, pa.array(found.entries)], schema=_COUNTS_SCHEMA)


def _summed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    whole = pa.Table.from_batches(batches, _COUNTS_SCHEMA)
    total = whole.group_by("group").aggregate([("entries", "sum")])
    yield pa.record_batch(
        [combined(total.column("group")), combined(total.column("entries_sum"))],
        schema=_COUNTS_SCHEMA,
    )


def _paired(
    spark: SparkSession, table: HudiTable, store: Store, mdt: MetadataTable, index: str
) -> ValueCertificate:
    size = mdt.stored_bytes(RECORD_INDEX) + mdt.stored_bytes(index)
    if size <= LOCAL_BYTES:
        return stored.certify_values(mdt, index)
    records, values = mdt.groups(RECORD_INDEX), mdt.groups(index)
    shards = [
        (name, n)
        for name, own in ((RECORD_INDEX, records), (index, values))
        for n in range(len(own))
    ]
    items = pa.table({"partition": [name for name, _ in shards], "shard": [n for _, n in shards]})
    keys = SparkRunner(spark).each(items, partial(_keys, table.base_path, store), _KEYS)
    tasks = max(spark.sparkContext.defaultParallelism, size // _BYTES_OF_A_TASK)
    rows = keys.together(tasks, "hash").then(_doubtful, _DOUBTFUL).rows()
    places = {row["place"] for row in rows if row["place"] is not None}
    names = named_groups(pa.array([bytes(place) for place in places], pa.binary()))
    return ValueCertificate(
        state_of(values),
        state_of(records),
        pa.array(names, pa.large_string()),
        not any(row["is_text"] for row in rows),
    )


def _keys(base_path: str, store: Store, items: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Return the keys of shards: with their locations, or of values without one."""
    mdt = _opened(base_path, store)
    for item in items:
        shard = mdt.groups(item["partition"])[item["shard"]]
        if item["partition"] == RECORD_INDEX:
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


def _opened(base_path: str, store: Store) -> MetadataTable:
    mdt = metadata_of(HudiTable.open(base_path), store)
    if mdt is None:
        raise HudiError(f"{base_path}: the metadata table is gone")
    return mdt

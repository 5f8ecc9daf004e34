"""Entries as Arrow batches, in the schema `shards.ENTRY_SCHEMA`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi_expr.arrays import AnyArray
from pyhudi_expr.spark.jobs.shard_writer import ENTRY_SCHEMA
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import shards as shards_of

ANY_VERSION = 0
"""The version of entries whose payloads follow from their keys."""


def entry_batch(
    keys: AnyArray, values: AnyArray, shards: int, version: int = ANY_VERSION
) -> pa.RecordBatch:
    """Return entries whose shard is the hash of the whole key."""
    return _batch(keys, values, _shards(keys, shards), version)


def constant_entries(
    keys: AnyArray,
    value: bytes,
    shards: int,
    *,
    shard_keys: AnyArray | None = None,
    version: int = ANY_VERSION,
) -> pa.RecordBatch:
    """Return entries with one payload; `shard_keys` are hashed, if not the keys."""
    values = pa.repeat(pa.scalar(value, pa.binary()), len(keys))
    chosen = keys if shard_keys is None else shard_keys
    return _batch(keys, values, _shards(chosen, shards), version)


def text_entries(entries: Sequence[tuple[str, bytes]], shards: int) -> pa.RecordBatch:
    """Return entries of pairs of key and payload."""
    keys = pa.array([key for key, _ in entries], pa.string())
    return entry_batch(keys, pa.array([value for _, value in entries], pa.binary()), shards)


def _shards(keys: AnyArray, count: int) -> AnyArray:
    strings = ByteStrings.from_arrow(keys.cast(pa.large_binary()))
    return pa.array(shards_of(strings, count).astype(np.int32))


def _batch(keys: AnyArray, values: AnyArray, shard: AnyArray, version: int) -> pa.RecordBatch:
    versions = pa.repeat(pa.scalar(version, pa.int64()), len(keys))
    columns = [shard, pc.cast(keys, pa.binary()), values, versions]
    return pa.record_batch(columns, schema=ENTRY_SCHEMA)

"""Partitions of Hudi's metadata tables, built step by step."""

from __future__ import annotations

import io
import json
from pathlib import Path

import fastavro

from pyhudi_expr.tables.hudi_names import COLUMN_STATS, METADATA_DIR
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.locks import TableLock
from pyhudi_expr.tables.mdt.bytes.keys import shard
from pyhudi_expr.tables.mdt.changes import async_indexing, partitions
from pyhudi_expr.tables.mdt.changes import recovery as index_recovery
from pyhudi_expr.tables.mdt.changes.async_indexing import Finish
from pyhudi_expr.tables.mdt.changes.partitions import NewPartition
from pyhudi_expr.tables.mdt.changes.rollback import rollback_on_failure
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store import group_files
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable, Records
from pyhudi_expr.tables.storage import Storage
from pyhudi_expr.tables.timeline_writer import WrittenFile

SHARDS = 3
NOTE = "what it is for"
STATISTICS = NewPartition(COLUMN_STATS, SHARDS)
_PARSED_SCHEMA = fastavro.parse_schema(json.loads(RECORD_SCHEMA))
TABLES = [
    "cow_v9_txns_simple_meta",
    "mor_v6_metadata_pending_compaction",
    "mor_v8_metadata_pending_compaction",
]


def timeline_of(path: str) -> str:
    return HudiTable.open(path).properties.timeline_dir


def _nothing(_table: HudiTable, _note: str) -> None:
    pass


def build(path: str, records: Records, partition: NewPartition, finish: Finish = _nothing) -> None:
    """Publishes the records as the partition's base files."""
    table = HudiTable.open(path)
    announced = async_indexing.announce(table, [partition], lock(path), NOTE)
    with rollback_on_failure(lambda: async_indexing.abort(announced, lock(path))):
        async_indexing.wait_for_writers(announced, wait=1)
        files = write_shards(Storage.open(path).child(METADATA_DIR), records, announced.instant)
        async_indexing.publish(announced, files, lock(path), 0.2, no_later_files, finish)


def no_later_files(_table: HudiTable, _instant: str) -> list[WrittenFile]:
    return []


def recover(path: str, finish: Finish = _nothing) -> None:
    index_recovery.recover(HudiTable.open(path), lock(path), finish)


def write_shards(metadata: Storage, records: Records, instant: str) -> list[WrittenFile]:
    files = []
    for number in range(SHARDS):
        cells = [
            (key.encode(), encoded(payload))
            for key, payload in zip(records.keys, records.payloads, strict=True)
            if shard(key, SHARDS) == number
        ]
        content = io.BytesIO()
        hfile_writer.write(content, cells, RECORD_SCHEMA)
        group = group_files.file_id(COLUMN_STATS, number)
        name = f"{COLUMN_STATS}/{group_files.base_file(group, f'{number}-1-{number}', instant)}"
        metadata.write(name, content.getvalue())
        files.append(WrittenFile(group, name, len(content.getvalue()), len(cells)))
    return files


def encoded(payload: object) -> bytes:
    target = io.BytesIO()
    fastavro.schemaless_writer(target, _PARSED_SCHEMA, payload)
    return target.getvalue()


def entries(path: str) -> Records:
    metadata = MetadataTable.open(HudiTable.open(path))
    assert metadata is not None
    return metadata.scan(COLUMN_STATS)


def complete(path: str) -> frozenset[str]:
    return HudiTable.open(path).properties.metadata_partitions


def pending(path: str, action: str) -> list[str]:
    instants = HudiTable.open(path).timeline.instants
    return [i.requested for i in instants if i.action == action and not i.is_completed]


def drop(path: str) -> None:
    partitions.drop(HudiTable.open(path), [COLUMN_STATS], lock(path))


def lock(path: str) -> TableLock:
    return TableLock(Storage.open(path), wait=0.2)


def unlock(path: str) -> None:
    """Simulates the passing of time: the lock of a dead process expires."""
    for leftover in lock_files(path):
        leftover.unlink()


def lock_files(path: str) -> list[Path]:
    return list(Path(path).glob(".hoodie/**/lock"))

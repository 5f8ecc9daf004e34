"""Put faults into a table's metadata, one at a time."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyhudi_expr.index.catalog.registry import Store
from pyhudi_expr.manage.audit.findings import Fault, Reader
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, PARTITION_STATS
from pyhudi_expr.tables.mdt.bytes.keys import column_stats_key, partition_stats_key, secondary_key
from pyhudi_expr.tables.mdt.extension_changes import Extension
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.metadata_records import Payload, decode
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.compaction import compact_group
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable
from tests.manage.audit.living_metadata import shard_of
from tests.manage.audit.living_rows import Group
from tests.manage.audit.living_table import LivingTable

Records = dict[bytes, Payload]
_WRAPPER = "org.apache.hudi.avro.model."
HUDI, OURS = Reader.HUDI, Reader.PYHUDI
EXTENSION_VALUES = "secondary_index_by_name"


@dataclass(frozen=True)
class Expected:
    """What an audit has to find.

    Attributes:
        file: A part of the file's path.
        readers: Whose queries lose rows.
        along: Further findings that follow from the fault: partition and kind.
    """

    partition: str
    fault: Fault
    file: str
    readers: tuple[Reader, ...] = ()
    store: Store = Store.HUDI
    along: tuple[tuple[str, Fault], ...] = ()


Seed = Callable[[LivingTable], Expected]
FAULTS: dict[str, Seed] = {}


def fault(seed: Seed) -> Seed:
    FAULTS[seed.__name__] = seed
    return seed


@contextmanager
def tampered(table: LivingTable, partition: str, store: Store = Store.HUDI) -> Iterator[Records]:
    """All records of a metadata partition, to be changed: they are written back to its files."""
    records = opened(table, store)
    groups = records.groups(partition)
    found: Records = {}
    of_group: dict[bytes, int] = {}
    for number, group in enumerate(groups):
        for keys, values in compact_group(group):
            decoded = decode(RECORD_SCHEMA, values.to_list(), partition)
            found |= dict(zip(keys.to_list(), decoded, strict=True))
            of_group |= dict.fromkeys(keys.to_list(), number)
    yield found
    for number, group in enumerate(groups):
        cells = sorted(
            (key, payloads.encoded(payload))
            for key, payload in found.items()
            if of_group.get(key, _shard(partition, key, len(groups))) == number
        )
        content = io.BytesIO()
        hfile_writer.write(content, cells, RECORD_SCHEMA)
        assert group.base is not None
        assert not [log for log, _ in group.logs if not log.path.endswith("0-0-0")]
        records.metadata.storage.write(group.base.path, content.getvalue())


def opened(table: LivingTable, store: Store = Store.HUDI) -> MetadataTable:
    if store is Store.EXTENSION:
        extension = Extension.open(table.open())
        assert extension is not None
        return extension.records
    found = MetadataTable.open(table.open())
    assert found is not None
    return found


def _shard(partition: str, key: bytes, count: int) -> int:
    return 0 if count == 1 else shard_of(partition, key)


@contextmanager
def stats_of(table: LivingTable, group: Group, column: str) -> Iterator[Payload]:
    """The statistics of a column in a group's file."""
    with tampered(table, COLUMN_STATS) as records:
        key = column_stats_key(column, group.part, group.name).encode()
        yield records[key]["ColumnStatsMetadata"]


@contextmanager
def stats_of_part(table: LivingTable, column: str) -> Iterator[Payload]:
    """The statistics of a column in the partition `a`."""
    with tampered(table, PARTITION_STATS) as records:
        yield records[partition_stats_key(column, "a").encode()]["ColumnStatsMetadata"]


def value(stats: Payload, end: str) -> Any:
    return stats[end][1]["value"]


def put(stats: Payload, end: str, changed: Any, wrapper: str = "") -> None:
    """Set a bound."""
    name = f"{_WRAPPER}{wrapper}" if wrapper else stats[end][0]
    stats[end] = (name, {"value": changed})


def first(table: LivingTable) -> Group:
    """The first file: it has values of all kinds, nulls, NaN, and texts beyond ASCII."""
    return next(iter(table.groups.values()))


def last(table: LivingTable) -> Group:
    """A file of another partition: it has neither nulls nor NaN."""
    return list(table.groups.values())[-1]


def metadata_file(table: LivingTable, partition: str, store: Store = Store.HUDI) -> Path:
    """The base file of the partition's first file group."""
    records = opened(table, store)
    base = records.groups(partition)[0].base
    assert base is not None
    return Path(records.metadata.base_path) / base.path


def stats_fault(
    name: Fault, group: Group, *readers: Reader, along: tuple[tuple[str, Fault], ...] = ()
) -> Expected:
    return Expected(COLUMN_STATS, name, group.name, readers, along=along)


def part_fault(name: Fault, *readers: Reader) -> Expected:
    return Expected(PARTITION_STATS, name, "a", readers)


def key_in(group: Group) -> bytes:
    return str(next(iter(group.rows))).encode()


def entry_in(group: Group, column: str) -> bytes:
    key, row = next(iter(group.rows.items()))
    text = None if row[column] is None else str(row[column])
    return secondary_key(text, str(key)).encode()

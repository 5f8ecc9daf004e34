"""Synthetic tables with a record index and a secondary index of every row.

Row `j` of file `k` of `bench.tables.synthetic` has the id `1,000 k + j`, the record key, and the
spread `spread of k + j`, the column of `secondary_index_spread`. Both indexes have ten shards, as
in Hudi, and the contents that Hudi 1.1 and later write.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bench.tables import synthetic
from bench.tables.synthetic import ROWS_PER_FILE, write_table
from devtools.runtime import WORK
from pyhudi_expr.arrays import AnyArray, string_list
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, METADATA_DIR, RECORD_INDEX
from pyhudi_expr.tables.hudi_table import HudiTable
from pyhudi_expr.tables.mdt.bytes import keys as key_shards
from pyhudi_expr.tables.mdt.bytes.byte_strings import ByteStrings
from pyhudi_expr.tables.mdt.bytes.keys import column_prefix, shards
from pyhudi_expr.tables.mdt.hfile import writer as hfile_writer
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.payloads import RECORD_SCHEMA
from pyhudi_expr.tables.mdt.store.metadata_table import MetadataTable

SECONDARY_INDEX = "secondary_index_spread"

_SHARDS = 10
_WRITE_STAT = {
    "type": "record",
    "name": "HoodieWriteStat",
    "fields": [
        {"name": "path", "type": "string"},
        {"name": "numWrites", "type": "long"},
        {"name": "numInserts", "type": "long"},
        {"name": "numDeletes", "type": "long"},
    ],
}
_COMMIT_SCHEMA = {
    "type": "record",
    "name": "HoodieCommitMetadata",
    "fields": [
        {"name": "extraMetadata", "type": {"type": "map", "values": "string"}},
        {"name": "operationType", "type": "string"},
        {
            "name": "partitionToWriteStats",
            "type": {"type": "map", "values": {"type": "array", "items": _WRITE_STAT}},
        },
    ],
}

Texts = npt.NDArray[np.bytes_]
Ints = npt.NDArray[np.int64]


def ensure_written(files: int, partitions: int) -> Path:
    """Return the table of that size, written once by the current code."""
    digest = hashlib.sha256()
    for module in (__file__, key_shards.__file__, *synthetic.WRITERS):
        digest.update(Path(str(module)).read_bytes())
    table = WORK / "bench" / f"keys-{files}-{partitions}"
    marker = table / "written-by"
    if not marker.is_file() or marker.read_text() != digest.hexdigest():
        write_table(table, files=files, partitions=partitions)
        add_key_indexes(table)
        marker.write_text(digest.hexdigest())
    return table


def add_key_indexes(path: Path) -> None:
    """Add both indexes to a table of `bench.tables.synthetic`, and their files to the commit."""
    mdt = MetadataTable.open(HudiTable.open(str(path)))
    if mdt is None:
        raise ValueError(f"{path}: the table has no metadata table")
    stored = mdt.stored_files()
    names = string_list(stored.name)
    partitions = string_list(stored.partitions.take(stored.partition))
    id_of_file, spread_of_file = (_first(mdt, column, stored.name) for column in ("id", "spread"))
    rows = np.arange(ROWS_PER_FILE)
    file = np.repeat(np.arange(len(names)), ROWS_PER_FILE)
    ids = (id_of_file[:, np.newaxis] + rows).reshape(-1).astype(bytes)
    spreads = (spread_of_file[:, np.newaxis] + rows).reshape(-1).astype(bytes)

    locations = [location(*place) for place in zip(partitions, names, strict=True)]
    _write_index(path, RECORD_INDEX, "record-index", ids, shards_of(ids), locations, file)
    shard = shards_of(np.char.add(spreads, b"$"))
    keys = np.char.add(np.char.add(spreads, b"$"), ids)
    prefix = SECONDARY_INDEX.replace("_", "-")
    _write_index(
        path,
        SECONDARY_INDEX,
        prefix,
        keys,
        shard,
        [payloads.secondary_entry()],
        np.zeros_like(file),
    )
    register(path, partitions, names, ROWS_PER_FILE)


def shards_of(keys: Texts) -> Ints:
    """Return the shards of keys without NUL characters."""
    width = keys.dtype.itemsize
    start = np.arange(len(keys), dtype=np.int64) * width
    strings = ByteStrings(keys.tobytes(), start, start + np.char.str_len(keys))
    return shards(strings, _SHARDS)


def _first(mdt: MetadataTable, column: str, names: AnyArray) -> Ints:
    """Return the minimum of the column in each file."""
    found = mdt.statistics(COLUMN_STATS, [column_prefix(column)])
    position = pc.index_in(names, pa.array(found.file_name, pa.string())).to_numpy()
    least: Ints = found.minimum["LongWrapper"].to_numpy(zero_copy_only=False)[position]
    return least


def _write_index(
    path: Path,
    index: str,
    prefix: str,
    keys: Texts,
    shard: Ints,
    values: Sequence[bytes],
    value: Ints,
) -> None:
    directory = index_directory(path, index)
    instant = next((directory.parent / COLUMN_STATS).glob("*.hfile")).stem.rpartition("_")[2]
    for number in range(_SHARDS):
        chosen = np.flatnonzero(shard == number)
        chosen = chosen[np.argsort(keys[chosen])]
        cells = ((keys[row], values[value[row]]) for row in chosen)
        name = f"{prefix}-{number:04d}-0_{number}-1-{number}_{instant}.hfile"
        with (directory / name).open("wb") as sink:
            hfile_writer.write(sink, _as_bytes(cells), RECORD_SCHEMA)


def index_directory(path: Path, index: str) -> Path:
    """Return the directory of an index, created at the first call."""
    directory = path / METADATA_DIR / index
    directory.mkdir(exist_ok=True)
    for marker in (directory.parent / COLUMN_STATS).glob(".hoodie_partition_metadata"):
        (directory / marker.name).write_bytes(marker.read_bytes())
    return directory


def _as_bytes(cells: Iterator[tuple[Any, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    return ((bytes(key), value) for key, value in cells)


def location(partition: str, name: str) -> bytes:
    """Return the entry of a key in a file."""
    return payloads.location(partition, name.partition("_")[0], 1717200000000)


def register(
    path: Path, partitions: Sequence[str], names: Sequence[str], rows_per_file: int
) -> None:
    """Enter the indexes in the properties and the definitions, and the files in the commit."""
    properties = path / ".hoodie" / "hoodie.properties"
    listed = f"hoodie.table.metadata.partitions={RECORD_INDEX},{SECONDARY_INDEX},"
    text = properties.read_text().replace("hoodie.table.metadata.partitions=", listed)
    properties.write_text(text)
    definitions = path / ".hoodie" / ".index_defs" / "index.json"
    content = json.loads(definitions.read_text())
    own = {"indexName": SECONDARY_INDEX, "indexType": "secondary_index", "version": "V2"}
    own |= {"indexFunction": "identity"}
    content["indexDefinitions"][SECONDARY_INDEX] = {
        **own,
        "sourceFields": ["spread"],
        "indexOptions": {},
    }
    definitions.write_text(json.dumps(content, indent=2))
    commit = next(
        file
        for file in (path / ".hoodie" / "timeline").glob("*.commit")
        if re.fullmatch(r"\d+_\d+\.commit", file.name)
    )
    with commit.open("rb") as source:
        record: Any = next(iter(fastavro.reader(source)))
    stats: dict[str, list[dict[str, Any]]] = {partition: [] for partition in partitions}
    counts = {"numWrites": rows_per_file, "numInserts": rows_per_file, "numDeletes": 0}
    for partition, name in zip(partitions, names, strict=True):
        stats[partition].append({"path": f"{partition}/{name}", **counts})
    with commit.open("wb") as sink:
        schema = fastavro.parse_schema(_COMMIT_SCHEMA)
        fastavro.writer(sink, schema, [{**record, "partitionToWriteStats": stats}])

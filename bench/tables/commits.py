"""Commits on top of a synthetic table: new files, as log files of the metadata table list them."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from bench.tables import synthetic
from pyhudi_expr.tables.hudi_names import COLUMN_STATS, FILES, METADATA_DIR
from pyhudi_expr.tables.mdt import log_files as log_writer
from pyhudi_expr.tables.mdt.bytes.keys import column_stats_key, shard
from pyhudi_expr.tables.mdt.records import payloads
from pyhudi_expr.tables.mdt.records.metadata_records import COLUMN_STATS as COLUMN_STATS_RECORD
from pyhudi_expr.tables.mdt.records.value_types import value_type

_SHARDS = 2
_PARTITION = "day=2020-01-01"
_COLUMNS = ("id", "spread")
_LONG = value_type(pa.int64(), "V2")
_FILE_BYTES = 8_000_000


def add_files(table: Path, *, files: int, number: int) -> None:
    """Commit so many files to the first partition; `number` is that of the commit, from 0 on."""
    assert _LONG is not None
    instant, completed = f"202407010{number:05d}000", f"202407010{number:05d}500"
    names = [f"{number:04d}{file:08d}-0_0-1-1_{instant}.parquet" for file in range(files)]
    rows = synthetic.ROWS_PER_FILE
    form = payloads.Statistics("", "", _LONG, None, rows, 0, 8 * rows, 8 * rows, is_tight=True)
    cells: dict[int, list[tuple[bytes, bytes]]] = defaultdict(list)
    for column in _COLUMNS:
        for place, name in enumerate(names):
            key = column_stats_key(column, _PARTITION, name)
            stats = replace(form, described=name, column=column, bounds=(place, place + rows))
            record = payloads.statistics(COLUMN_STATS_RECORD, stats)
            cells[shard(key, _SHARDS)].append((key.encode(), record))
    metadata = table / METADATA_DIR
    for own, held in cells.items():
        log = metadata / COLUMN_STATS / f".col-stats-{own:04d}-0_{instant}.log.1_0-1-2"
        log.write_bytes(log_writer.records(instant, sorted(held)))
    listed = payloads.file_list(dict.fromkeys(names, _FILE_BYTES))
    log = metadata / FILES / f".files-0000-0_{instant}.log.1_0-1-2"
    log.write_bytes(log_writer.records(instant, [(_PARTITION.encode(), listed)]))
    schema = synthetic.table_schema(synthetic.columns_of(1, 0))
    for hoodie, action in ((metadata / ".hoodie", "deltacommit"), (table / ".hoodie", "commit")):
        synthetic.write_instant(hoodie / "timeline", instant, completed, action, "INSERT", schema)

"""A small Hudi table to try the commands on, written without Spark: trips of ten days."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.errors import HudiError
from pyhudi_expr.tables import config_keys
from pyhudi_expr.tables.hudi_names import (
    COMMIT_SEQNO,
    COMMIT_TIME,
    FILE_NAME,
    HOODIE_DIR,
    META_COLUMNS,
    PARTITION_MARKER,
    PARTITION_PATH,
    PROPERTIES_FILE,
    RECORD_KEY,
)
from pyhudi_expr.tables.timeline.action_records import WrittenFile, commit_record

DAYS, FILES_OF_DAY, ROWS_OF_FILE = 10, 8, 2_000
INSTANT, _COMPLETED = "20240111000000000", "20240111000001000"
_LAYOUT = 2
_RIDERS = 100_000
ONE_RIDER = "R-27182"
"""A rider of one trip."""
_CITIES = ("Accra", "Berlin", "Lima", "Lisbon", "Nairobi", "Oslo", "Quito", "Zagreb")
_PROPERTIES = {
    config_keys.TABLE_NAME: "trips",
    config_keys.TABLE_TYPE: "COPY_ON_WRITE",
    config_keys.TABLE_VERSION: "8",
    config_keys.TIMELINE_LAYOUT_VERSION: str(_LAYOUT),
    config_keys.RECORDKEY_FIELDS: "id",
    config_keys.PARTITION_FIELDS: "day",
    config_keys.KEY_GENERATOR_TYPE: "SIMPLE",
    config_keys.HIVE_STYLE_PARTITIONING: "true",
    config_keys.POPULATE_META_FIELDS: "true",
    # Hudi's own readers fail without it in a table of version 8.
    config_keys.RECORD_MERGE_MODE: "COMMIT_TIME_ORDERING",
    config_keys.CREATE_SCHEMA: (
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
    `demo_indexes`.

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

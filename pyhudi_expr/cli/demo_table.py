"""A small Hudi table to try the commands on, written without Spark: trips of ten days."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi_expr.table import config_keys
from pyhudi_expr.table.errors import HudiError
from pyhudi_expr.table.hudi_names import HOODIE_DIR, PARTITION_MARKER, PROPERTIES_FILE

DAYS, FILES_OF_DAY, ROWS_OF_FILE = 10, 8, 2_000
_INSTANT, _COMPLETED = "20240111000000000", "20240111000001000"
_CITIES = ("Berlin", "Lima", "Nairobi", "Oslo", "Pune", "Quito", "Rome", "Zagreb")
_PROPERTIES = {
    config_keys.TABLE_NAME: "trips",
    config_keys.TABLE_TYPE: "COPY_ON_WRITE",
    config_keys.TABLE_VERSION: "8",
    config_keys.TIMELINE_LAYOUT_VERSION: "2",
    config_keys.RECORDKEY_FIELDS: "id",
    config_keys.PARTITION_FIELDS: "day",
    config_keys.KEY_GENERATOR_TYPE: "SIMPLE",
    config_keys.HIVE_STYLE_PARTITIONING: "true",
    config_keys.POPULATE_META_FIELDS: "false",
    # Hudi's own readers fail without it in a table of version 8.
    config_keys.RECORD_MERGE_MODE: "COMMIT_TIME_ORDERING",
    config_keys.CREATE_SCHEMA: (
        '{"type"\\:"record","name"\\:"trips","fields"\\:['
        '{"name"\\:"id","type"\\:"long"},{"name"\\:"ts","type"\\:'
        '{"type"\\:"long","logicalType"\\:"timestamp-micros"}},{"name"\\:"city","type"\\:"string"},'
        '{"name"\\:"fare","type"\\:{"type"\\:"bytes","logicalType"\\:"decimal","precision"\\:9,'
        '"scale"\\:2}},{"name"\\:"day","type"\\:"string"}]}'
    ),
}

_TIME, _MONEY = pa.timestamp("us", tz="UTC"), pa.decimal128(9, 2)


def write_demo_table(path: Path) -> None:
    """Write a copy-on-write table of version 8 with a partition for each day, to a new directory.

    Each file of a day has one city, and fares in ascending ranges, so that both prune.

    Raises:
        HudiError: The directory is not empty.
    """
    if path.exists():
        raise HudiError(f"{path}: there is something already; name another directory")
    timeline = path / HOODIE_DIR / "timeline"
    timeline.mkdir(parents=True)
    lines = "".join(f"{name}={value}\n" for name, value in _PROPERTIES.items())
    (path / PROPERTIES_FILE).write_text(lines)
    rng = np.random.default_rng(2024)
    for number in range(DAYS):
        day = datetime(2024, 1, 1 + number, tzinfo=timezone.utc)
        _write_day(path / f"day={day:%Y-%m-%d}", day, number, rng)
    (timeline / f"{_INSTANT}_{_COMPLETED}.commit").write_bytes(b"")


def _write_day(directory: Path, day: datetime, number: int, rng: np.random.Generator) -> None:
    directory.mkdir()
    (directory / PARTITION_MARKER).write_text("partitionDepth=1\n")
    for place, city in enumerate(_CITIES):
        first = (number * FILES_OF_DAY + place) * ROWS_OF_FILE
        seconds = rng.integers(0, 86_400, ROWS_OF_FILE).tolist()
        cents = rng.integers(2_000 * place, 2_000 * place + 3_000, ROWS_OF_FILE).tolist()
        fares = pa.array([Decimal(each) / 100 for each in cents], _MONEY)
        rows = pa.table(
            {
                "id": pa.array(range(first, first + ROWS_OF_FILE)),
                "ts": pa.array([day + timedelta(seconds=s) for s in seconds], _TIME),
                "city": pa.array([city] * ROWS_OF_FILE),
                "fare": fares,
                "day": pa.array([f"{day:%Y-%m-%d}"] * ROWS_OF_FILE),
            }
        )
        name = f"{number:02d}{place:02d}0000-0000-4000-8000-000000000000-0_0-1-0_{_INSTANT}.parquet"
        pq.write_table(rows, directory / name)

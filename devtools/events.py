"""Large tables of many small files, for the demo and the benchmarks: a log of events by day.

File `k` of `files` holds the ids from `k * rows_per_file` on. The days are consecutive, and each
has the same number of files. How a column's values depend on `k`:

=========  =================================================================================
id         bigint, the record key: consecutive
ts         timestamp within the row's day: consecutive
user_id    bigint, scattered over every file: no range can prune it
city       string, one of 24 names, the same in all of a file
amount     decimal(12,2): a range of its own in each file, in no order
score      double between 0 and 1, scattered
ok         boolean: true, and false in some rows of each fortieth file
note       string: null, and set in each twenty-fifth file
device     struct<os: string, build: int>: build 1000 + k
payload    string, 64 characters; no index can prune by it
day        string `YYYY-MM-DD` from 2024-01-01 on, the partition
=========  =================================================================================
"""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert

CITIES = (
    *("Accra", "Bergen", "Cusco", "Dakar", "Essen", "Fukuoka", "Ghent", "Hanoi", "Izmir", "Jaipur"),
    *("Kyoto", "Lima", "Malmö", "Nantes", "Oslo", "Porto", "Quito", "Recife", "Split", "Turin"),
    *("Utrecht", "Vienna", "Wrocław", "Zürich"),
)

_STATS_COLUMNS = (
    *("id", "ts", "user_id", "city", "amount", "score", "ok", "note"),
    *("device.os", "device.build", "day"),
)
_DAY_ZERO = "2024-01-01"


def events_spec(name: str, type: TableType, version: int = 9) -> TableSpec:
    """Return an events table that is partitioned by day, with `column_stats` of useful columns."""
    return TableSpec(
        name,
        type=type,
        version=version,
        ordering="ts",
        partitions=("day",),
        stats_columns=_STATS_COLUMNS,
    )


def write_events(
    spark: SparkSession,
    parent: Path,
    spec: TableSpec,
    *,
    files: int,
    rows_per_file: int,
    days: int,
) -> HudiTable:
    """Write the table in one commit: `files` base files in `days` partitions.

    Raises:
        ValueError: `files` is not a multiple of `days`.
    """
    if files % days:
        raise ValueError(f"{files} files cannot be spread evenly over {days} days")
    frame = _events(spark, files=files, rows_per_file=rows_per_file, days=days)
    return create(frame, spec, parent)


def change_events(spark: SparkSession, table: HudiTable, *, rows_per_file: int, every: int) -> None:
    """Write two more commits that change every `every`-th file: updates, then deletes.

    In a changed file, ten rows get an amount over a million, and the next ten are deleted.
    """
    frame = spark.read.format("hudi").load(str(table.path)).select(*table.schema.names)
    touched = frame.where(f"(id div {rows_per_file}) % {every} = 0")
    place = f"id % {rows_per_file}"
    raised = f"cast(1000000 + {place} as decimal(12,2))"
    amounts = [raised if name == "amount" else name for name in table.schema.names]
    rows = touched.where(f"{place} < 10").selectExpr(
        *(f"{value} AS {name}" for value, name in zip(amounts, table.schema.names, strict=True))
    )
    upsert(table, rows.coalesce(2))
    delete(table, touched.where(f"{place} between 10 and 19").coalesce(2))


def _events(spark: SparkSession, *, files: int, rows_per_file: int, days: int) -> DataFrame:
    rows = files * rows_per_file
    per_day = rows // days
    cities = ", ".join(f"'{city}'" for city in CITIES)
    # 7919 is prime and divides no number of files in use: the ranges are shuffled.
    columns = {
        "id": "id",
        "ts": f"timestamp_micros(unix_micros(timestamp'{_DAY_ZERO} 00:00:00')"
        f" + (id div {per_day}) * 86400000000L + (id % {per_day}) * 86400000000L div {per_day})",
        "user_id": "pmod(xxhash64(id), 100000)",
        "city": f"element_at(array({cities}), cast(k % {len(CITIES)} as int) + 1)",
        "amount": f"cast((k * 7919 % {files}) * 1000 + pmod(xxhash64(id, 1), 100000) / 100"
        " as decimal(12,2))",
        "score": "pmod(xxhash64(id, 2), 1000000) / 1000000D",
        "ok": "not (k % 40 = 0 and id % 50 = 0)",
        "note": "case when k % 25 = 0 then concat('checked by ', k) end",
        "device": "named_struct('os', element_at(array('android', 'ios', 'web'),"
        " cast(k % 3 as int) + 1), 'build', cast(1000 + k as int))",
        "payload": "concat(md5(cast(id as string)), md5(cast(-id as string)))",
        "day": f"cast(date_add(date'{_DAY_ZERO}', cast(id div {per_day} as int)) as string)",
    }
    # A range's partitions are consecutive and equal: partition k, and so file k, holds its ids.
    return (
        spark.range(0, rows, 1, files)
        .selectExpr("id", f"id div {rows_per_file} AS k")
        .selectExpr(*(f"{value} AS {name}" for name, value in columns.items()))
    )

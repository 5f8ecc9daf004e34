"""Random tables that Hudi writes: a few commits each, of every kind that its writers offer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from devtools.tables import PartitionStyle, TableSpec, TableType, create, delete, upsert
from tests.rows.columns import COLUMNS, Column, rows_of

ANY_VALUES = {
    **{
        f"spark.sql.parquet.{kind}RebaseModeIn{way}": "CORRECTED"
        for kind in ("datetime", "int96")
        for way in ("Read", "Write")
    },
    "spark.hadoop.parquet.avro.write-old-list-structure": "false",
}
"""Settings of sessions that write and read days before 1582, and NULL in lists."""

_KEYS = 30
_MERGING = {
    "EVENT_TIME_ORDERING": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    "COMMIT_TIME_ORDERING": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
}
_PARTITIONS: Mapping[str, Column] = {
    "p_text": Column("p_text", pa.string(), lambda rng: rng.choice(["a", "b", "c d", "é"]), repr),
    "p_int": Column("p_int", pa.int32(), lambda rng: rng.randrange(3), str),
    **{
        f"p_{kind}": replace(
            next(one for one in COLUMNS if one.name == f"c_{kind}"), name=f"p_{kind}"
        )
        for kind in ("date", "double", "decimal")
    },
}
_KEY = Column("id", pa.int64(), lambda rng: rng.randrange(_KEYS), str)
_ORDERING = Column("ordering", pa.int64(), lambda rng: rng.randrange(100), str)


@dataclass(frozen=True)
class State:
    """A table as it is after its last commit.

    Attributes:
        columns: The columns in their last types.
        described: What is special about it, for messages.
    """

    path: Path
    columns: tuple[Column, ...]
    described: str


def _spec(name: str, rng: random.Random) -> TableSpec:
    merging = rng.choice(list(_MERGING))
    version = rng.choice([6, 8, 9])
    partitions = tuple(rng.sample(list(_PARTITIONS), rng.choice([0, 1, 1, 2])))
    extra = {
        "hoodie.record.merge.mode": merging,
        "hoodie.datasource.write.payload.class": _MERGING[merging],
        "hoodie.datasource.write.row.writer.enable": rng.choice(["true", "false"]),
    }
    return TableSpec(
        name,
        type=rng.choice(list(TableType)),
        version=version,
        ordering="ordering",
        partitions=partitions,
        partition_style=rng.choice(list(PartitionStyle)),
        stats_columns=rng.choice([(), None]),
        extra=extra if version > 6 else {k: v for k, v in extra.items() if "mode" not in k},
    )


def write_state(spark: SparkSession, root: Path, number: int, rng: random.Random) -> State:
    """Write a table of some commits with Hudi, in a directory of `root`."""
    spec = _spec(f"t{number}", rng)
    of_partitions = [_PARTITIONS[name] for name in spec.partitions]
    own = rng.sample(list(COLUMNS), rng.randrange(3, 8))
    columns = [_KEY, _ORDERING, *own, *of_partitions]
    rows = _rows(columns, list(range(_KEYS)), rng)
    places = rows.select([*spec.partitions]) if spec.partitions else None
    table = create(_frame(spark, root, rows), spec, root)
    steps = ["bulk_insert"]
    for _ in range(rng.randrange(4)):
        step = rng.choice(["upsert", "upsert", "delete", "new column", "wider"])
        columns = _evolved(step, columns)
        keys = rng.sample(range(_KEYS + 5), rng.randrange(1, 8))
        changed = _in_place(_rows(columns, keys, rng), places, keys)
        frame = _frame(spark, root, changed)
        (delete if step == "delete" else upsert)(table, frame)
        steps.append(step)
    described = (
        f"{spec.type.value} of version {spec.version}, {dict(spec.extra)}, partitioned by "
        f"{spec.partitions} {spec.partition_style.value}, {' '.join(steps)}: "
        f"{', '.join(f'{one.name} {one.type}' for one in columns)}"
    )
    return State(table.path, tuple(columns), described)


def _evolved(step: str, columns: Sequence[Column]) -> list[Column]:
    names = {column.name for column in columns}
    if step == "new column":
        further = [column for column in COLUMNS if column.name not in names]
        before_partitions = [one for one in columns if not one.name.startswith("p_")]
        return [*before_partitions, *further[:1], *columns[len(before_partitions) :]]
    if step == "wider":
        return [
            replace(column, type=pa.int64()) if column.name == "c_int" else column
            for column in columns
        ]
    return list(columns)


def _rows(columns: Sequence[Column], keys: Sequence[int], rng: random.Random) -> pa.Table:
    """Return a row for each key; keys, orderings and partition values are never NULL."""
    values = rows_of(columns, len(keys), rng)
    values["id"] = pa.array(keys, pa.int64())
    for column in columns:
        if column.name.startswith("p_") or column.name == "ordering":
            values[column.name] = pa.array([column.draw(rng) for _ in keys], column.type)
    return pa.table(values)


def _in_place(rows: pa.Table, places: pa.Table | None, keys: Sequence[int]) -> pa.Table:
    """Give rows of keys that are there the partition in which they are."""
    if places is None:
        return rows
    for name in places.column_names:
        then, now = places[name].to_pylist(), rows[name].to_pylist()
        values = [then[key] if key < len(then) else one for key, one in zip(keys, now, strict=True)]
        field = rows.schema.field(name)
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, field, pa.array(values, field.type))
    return rows


def _frame(spark: SparkSession, root: Path, rows: pa.Table) -> DataFrame:
    """Return rows as a DataFrame, by way of a Parquet file: no conversion changes a value."""
    inputs = root / "inputs"
    inputs.mkdir(exist_ok=True)
    path = inputs / f"{len(list(inputs.iterdir()))}.parquet"
    pq.write_table(rows, path)
    return spark.read.parquet(str(path))

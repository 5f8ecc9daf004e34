"""Random queries of Hive: tables of random rows with every index, conditions, and sessions."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from devtools.spark import session_settings
from devtools.tables import HudiTable, TableSpec, TableType, create, delete, upsert
from tests.truth import values
from tests.truth.engine import SessionOptions
from tests.truth.predicates import Grammar
from tests.truth.templates import HIVE
from tests.truth.witnesses import MANY, Values, hive_settings, predicates
from tests.truth.zones import Zones

FILES, ROWS_OF_A_FILE = 24, 5
INDEXES = (
    "INDEX of_s ON {0} (s)",
    "INDEX years ON {0} USING column_stats(ts) OPTIONS(expr='year')",
)
MDT = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    # Without it Hudi fails to update the ranges of functions.
    "hoodie.embed.timeline.server": "true",
}
#: For such a range Hive's planner lists all integers until its heap is full
#: (`StatsRulesProcFactory.rewriteBetweenToIn` subtracts the ends, and overflows).
_ENDLESS_RANGE = re.compile(r"BETWEEN.*\d{17,}", re.DOTALL)
_ZONE = "hive.local.time.zone"
#: Else Hive reads a table once for all parts of a query, with their conditions joined by OR.
APART = {"hive.optimize.shared.work": "false"}
#: Types that Hudi's writer supports.
AS_HUDI = {"i1": "int", "i2": "int", "tn": "timestamp", "tm": "timestamp"}
#: Values are written unchanged: in the proleptic calendar only.
AS_THEY_ARE = {
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.session.timeZone": "UTC",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}


def written(
    spark: SparkSession,
    name: str,
    type_: TableType,
    parent: Path,
    rng: random.Random,
    moments: Sequence[int] = (),
) -> HudiTable:
    """Writes a table with every index.

    A fifth of the rows is written again with other values, and some rows are deleted.

    moments: seconds since 1970, around which some of the times are.
    """
    with session_settings(spark, AS_THEY_ARE):
        return _written(spark, name, type_, parent, rng, moments)


def _written(
    spark: SparkSession,
    name: str,
    type_: TableType,
    parent: Path,
    rng: random.Random,
    moments: Sequence[int],
) -> HudiTable:
    rows = values.rows(FILES * ROWS_OF_A_FILE, rng.getrandbits(32), moments)
    table = create(
        frame(spark, rows, parent / f"{name}.parquet", rng),
        TableSpec(name, type_, partitions=("p",), extra=MDT),
        parent,
    )
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{table.path}'")
    for index in INDEXES:
        spark.sql(f"CREATE {index.format(name)}")
    newer = values.rows(FILES * ROWS_OF_A_FILE, rng.getrandbits(32), moments)
    again = frame(spark, newer, parent / f"{name}_newer.parquet", rng)
    old = spark.read.format("hudi").load(str(table.path)).select("id", "p")
    upsert(table, again.drop("p").where("id % 5 = 0").join(old, "id").select(*table.schema.names))
    delete(table, again.drop("p").where("id % 17 = 3").join(old, "id").select(*table.schema.names))
    return table


def frame(spark: SparkSession, rows: pa.Table, path: Path, rng: random.Random) -> DataFrame:
    """The rows in `FILES` partitions, each with neighbours in the order of some column."""
    left, number_of = list(range(len(rows))), {}
    for number in range(FILES):
        name = rng.choice(rows.schema.names)
        cells = rows[name].to_pylist() if name not in ("ts", "tu", "tn", "tm") else None
        order = sorted(left, key=lambda row: repr(cells[row]) if cells else row)
        begin = rng.randrange(max(1, len(order) - ROWS_OF_A_FILE))
        for row in order[begin : begin + ROWS_OF_A_FILE]:
            number_of[row] = number
            left.remove(row)
    numbered = rows.append_column("id", pa.array(range(len(rows)), pa.int32()))
    files = pa.array([number_of[row] for row in range(len(rows))], pa.int32())
    pq.write_table(numbered.append_column("file", files), path)
    written_rows = spark.read.parquet(str(path))
    written_rows = written_rows.withColumns(
        {name: written_rows[name].cast(type_) for name, type_ in AS_HUDI.items()}
    )
    written_rows = written_rows.selectExpr("*", "concat('p', file % 3) AS p")
    pieces = written_rows.repartitionByRange(FILES, "file").drop("file")
    return pieces.select("id", *[name for name in pieces.columns if name != "id"])


def session_of(zone: str, rng: random.Random) -> dict[str, str]:
    """The settings of a session in a zone."""
    return {**hive_settings(rng), _ZONE: zone}


def conditions(engine: Values, zones: Zones, shown_in: str, rng: random.Random) -> list[str]:
    """Draws conditions with values that terms take for rows like those of the tables.

    shown_in: the zone in which instants are written.
    """
    rules = zones.rules[shown_in]
    moments = zones.moments(shown_in, rng, FILES)
    rows = values.rows(FILES * ROWS_OF_A_FILE, rng.getrandbits(32), moments)
    options = SessionOptions(shown_in)
    found = predicates(Grammar(HIVE, rng), engine, rows, options, rng, rules, MANY)
    return [one.text for one in found if not _ENDLESS_RANGE.search(one.text)]

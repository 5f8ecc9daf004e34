"""The soundness harness's random predicates through ordinary queries of a Hudi table.

Its sessions as well: some run what another session has analysed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from devtools.spark import session_settings
from devtools.tables import HudiTable, TableSpec, create
from tests.example_counts import SEED, examples
from tests.spark.extension.conftest import UNPRUNED
from tests.spark.extension.scans import ids, load, slices_read, whole
from tests.truth import templates, values
from tests.truth.engine import Analysis, SessionOptions
from tests.truth.engines.spark import SparkEngine
from tests.truth.predicates import Grammar
from tests.truth.witnesses import MANY, predicates, spark_session_options
from tests.truth.zones import NAMED, Zones

pytestmark = pytest.mark.spark

ROWS, FILES = 300, 20
#: Some of the rows are around changes of the clocks of as many zones.
ZONES_NEARBY, MOMENTS = 8, 10
#: Parquet files of Hudi's writer have no such columns.
_LEFT_OUT = ("i1", "i2", "tn", "tm")
_CALENDAR = {
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
}


@pytest.fixture(scope="module")
def rows(zones: Zones) -> pa.Table:
    rng = random.Random(f"{SEED}/rows")
    nearby = [zones.draw(rng, NAMED) for _ in range(ZONES_NEARBY)]
    moments = [second for zone in nearby for second in zones.moments(zone, rng, MOMENTS)]
    return values.rows(ROWS, rng.getrandbits(32), moments)


@pytest.fixture(scope="module")
def table(
    spark: SparkSession, rows: pa.Table, tmp_path_factory: pytest.TempPathFactory
) -> HudiTable:
    """The rows in files by the order of one column, with statistics of all of them."""
    parent = tmp_path_factory.mktemp("random")
    kept = rows.drop_columns(list(_LEFT_OUT)).append_column("id", pa.array(range(ROWS)))
    pq.write_table(kept, parent / "rows.parquet")
    spec = TableSpec("random", stats_columns=tuple(kept.column_names))
    with session_settings(spark, _CALENDAR):
        frame = spark.read.parquet(str(parent / "rows.parquet"))
        return create(frame.repartitionByRange(FILES, "i4", "s"), spec, parent)


def settings_of(zone: str, options: SessionOptions | Analysis) -> Mapping[str, str]:
    return {**options.settings, **_CALENDAR, "spark.sql.session.timeZone": zone}


@dataclass(frozen=True)
class Analysed:
    """A predicate's rows, out of all files and out of those that are not skipped."""

    text: str
    every: DataFrame
    pruned: DataFrame


def analysed(spark: SparkSession, path: Path, texts: Sequence[str]) -> Iterator[Analysed]:
    """Frames of predicates that Spark's analyser accepts."""
    for text in texts:
        with suppress(PySparkException, Py4JError):
            with session_settings(spark, UNPRUNED):
                every = whole(spark, path).where(text)
            yield Analysed(text, every, load(spark, path).where(text))


def ids_of_all(one: Analysed, spark: SparkSession) -> list[int] | None:
    """The rows without pruning; None if Spark refuses to evaluate the predicate for one."""
    try:
        with session_settings(spark, UNPRUNED):
            return ids(one.every)
    except (PySparkException, Py4JError):
        return None


@pytest.mark.parametrize("number", range(examples(8)))
def test_rows_are_those_of_a_full_scan(
    extended: SparkSession,
    zones: Zones,
    rows: pa.Table,
    table: HudiTable,
    tmp_path: Path,
    number: int,
) -> None:
    print("PYHUDI_SEED", SEED)
    rng = random.Random(f"{SEED}/{number}")
    engine = SparkEngine(extended, tmp_path)
    options = spark_session_options(rng, zones)
    running = settings_of(options.zone, options)
    analysis = options.analysis
    analysing = running if analysis is None else settings_of(analysis.zone, analysis)
    shown_in = zones.rules[options.zone]
    cases = predicates(Grammar(templates.SPARK, rng), engine, rows, options, rng, shown_in, MANY)
    texts = rng.sample([case.text for case in cases], 40)
    with session_settings(extended, analysing):
        frames = list(analysed(extended, table.path, texts))
    compared = skipping = 0
    with session_settings(extended, running):
        for one in frames:
            expected = ids_of_all(one, extended)
            if expected is not None:
                assert ids(one.pruned) == expected, f"{one.text} in {options}"
                compared += 1
                skipping += len(slices_read(one.pruned)) < FILES
    print(f"{compared} conditions in {options}, {skipping} skip files")
    # With ANSI's rules many conditions fail for a row.
    assert compared > 5

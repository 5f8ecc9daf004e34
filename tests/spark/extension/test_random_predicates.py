"""The soundness harness's random predicates through ordinary queries of a Hudi table.

Its sessions as well: some run what another session has analysed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
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
from tests.spark.extension.scans import ids_by_text, load, slices_read, truths, whole
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


class Queries:
    """Queries of a table that one session analyses and another one runs."""

    def __init__(
        self,
        spark: SparkSession,
        path: Path,
        analysing: Mapping[str, str],
        running: Mapping[str, str],
    ) -> None:
        self._spark = spark
        self._analysing, self._running = analysing, running
        with session_settings(spark, UNPRUNED):
            self._whole = whole(spark, path)
        self._pruned = load(spark, path)
        self.slices = len(slices_read(self._whole))

    def refused(self, text: str) -> bool:
        """Whether Spark's analyser refuses a predicate."""
        try:
            with session_settings(self._spark, self._analysing):
                self._whole.where(text)
        except (PySparkException, Py4JError):
            return True
        return False

    def expected(self, texts: Sequence[str]) -> dict[str, list[int]]:
        """The rows of each predicate by one look at all rows; not of those that fail for a row."""
        if not texts:
            return {}
        with session_settings(self._spark, self._analysing):
            frame = truths(self._whole, texts)
        try:
            with session_settings(self._spark, self._running):
                return ids_by_text(frame, texts)
        except (PySparkException, Py4JError):
            if len(texts) == 1:
                return {}
            middle = len(texts) // 2
            return self.expected(texts[:middle]) | self.expected(texts[middle:])

    def found(self, text: str) -> tuple[list[int] | None, int]:
        """The rows of a predicate by a query that skips files, and how many slices it reads.

        None if Spark fails for a row.
        """
        return self._found(self._pruned, text)

    def unpruned(self, text: str) -> list[int] | None:
        """The rows of the same query without pruning.

        Spark evaluates a filter otherwise than a column of truths: its parts in any order, so that
        it fails for other rows; and its reader of Parquet loses days that the Julian calendar
        lacks.
        """
        with session_settings(self._spark, UNPRUNED):
            return self._found(self._whole, text)[0]

    def _found(self, table: DataFrame, text: str) -> tuple[list[int] | None, int]:
        try:
            with session_settings(self._spark, self._analysing):
                frame = table.where(text).select("id")
            with session_settings(self._spark, self._running):
                return sorted(row.id for row in frame.collect()), len(slices_read(frame))
        except PySparkException:
            return None, self.slices


@pytest.mark.smoke("0")
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
    queries = Queries(extended, table.path, analysing, running)
    texts = [
        one for one in rng.sample([case.text for case in cases], 40) if not queries.refused(one)
    ]
    compared = skipping = 0
    for text, by_truths in queries.expected(texts).items():
        found, slices = queries.found(text)
        if found != by_truths:
            assert found == queries.unpruned(text), f"{text} in {options}"
            print(f"Spark filters otherwise than it evaluates: {text}")
        compared += 1
        skipping += slices < queries.slices
    print(f"{compared} conditions in {options}, {skipping} skip files")
    # With ANSI's rules many conditions fail for a row.
    assert compared > 5

"""The soundness harness's random predicates through ordinary queries of a Hudi table."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from devtools.spark import session_settings
from devtools.tables import HudiTable, TableSpec, create
from tests.marks import long
from tests.spark.extension.conftest import UNPRUNED
from tests.spark.extension.scans import ids, load, matching_ids, slices_read, whole
from tests.truth import templates, values
from tests.truth.engines.spark import SparkEngine
from tests.truth.predicates import Grammar
from tests.truth.witnesses import SparkOracle, predicates

pytestmark = pytest.mark.spark

ROWS, FILES = 300, 20
_SEED = 30
#: Parquet files of Hudi's writer have no such columns.
_LEFT_OUT = ("i1", "i2", "tn", "tm")
_CALENDAR = {
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
}


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return values.rows(ROWS, _SEED)


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


def matching(frame: DataFrame, texts: Sequence[str]) -> dict[str, list[int]]:
    """The rows of each predicate; not of one that Spark refuses to evaluate."""
    try:
        return matching_ids(frame, texts)
    except (PySparkException, Py4JError):
        if len(texts) == 1:
            return {}
    middle = len(texts) // 2
    return {**matching(frame, texts[:middle]), **matching(frame, texts[middle:])}


@pytest.mark.parametrize("seed", [*range(8), *(long(seed) for seed in range(8, 16))])
def test_rows_are_those_of_a_full_scan(
    extended: SparkSession, rows: pa.Table, table: HudiTable, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(f"extension/{seed}")
    engine = SparkEngine(extended, tmp_path)
    options = SparkOracle(engine).session_options(rng, rng.choice(values.ZONES))
    cases = predicates(Grammar(templates.SPARK, rng), engine, rows, options, rng)
    settings = {**_CALENDAR, "spark.sql.session.timeZone": options.zone, **options.settings}
    with session_settings(extended, settings):
        texts = rng.sample([case.text for case in cases], 40)
        with session_settings(extended, UNPRUNED):
            expected = matching(whole(extended, table.path), texts)
        skipping = 0
        for text, rows_of_all in expected.items():
            frame = load(extended, table.path).where(text)
            assert ids(frame) == rows_of_all, text
            skipping += len(slices_read(frame)) < FILES
    assert len(expected) > 20
    assert skipping

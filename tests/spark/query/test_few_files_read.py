"""Tight pruning by Spark's analysed conditions on numbers and times."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from pyhudi_expr.spark.query.predicates import predicate_of
from tests.expr.kept_files import kept
from tests.index.prune.test_few_files_read import TYPES, table

pytestmark = pytest.mark.spark

ASKED = [
    ("dt + INTERVAL 1 MONTH = DATE '2019-07-05'", 2),
    ("dt - INTERVAL 1 YEAR > DATE '2019-07-31'", 1),
    ("dt + INTERVAL 3 DAY = DATE '2019-06-08'", 1),
    ("ts + INTERVAL 1 DAY > TIMESTAMP '2020-08-02 00:00:00'", 1),
    ("ts - INTERVAL '1 02:03:04' DAY TO SECOND > TIMESTAMP '2020-08-01 00:00:00'", 1),
    ("ts + INTERVAL 1 MONTH > TIMESTAMP '2020-09-01 00:00:00'", 1),
    ("date_trunc('MONTH', ts) = TIMESTAMP '2019-06-01 00:00:00'", 1),
    ("months_between(dt, DATE '2020-01-01') > 7.5", 1),
    ("CAST(ts AS DOUBLE) >= 1596240000", 1),
    ("to_date(s) = DATE '2019-06-05'", 1),
    ("dt > current_date()", 0),
    ("ts > current_timestamp()", 0),
    ("dt >= current_date() - 30", 0),
    ("w / 2 = 252.5", 1),
    ("floor(w) = 505", 1),
    ("round(w, 2) = 505.00", 1),
    ("i div 100 = 5", 1),
    ("sqrt(i) = 22.0", 1),
    ("power(i, 2) = 255025", 1),
    ("ln(i) > 7.56", 1),
    ("sign(i - 1950) = 1", 1),
    ("CAST(d AS INT) = 505", 1),
]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    types = "i INT, l BIGINT, f FLOAT, d DOUBLE, w DECIMAL(38,10), n DECIMAL(12,2), dt DATE"
    return spark.createDataFrame([], f"{types}, ts TIMESTAMP, s STRING")


@pytest.mark.smoke("CAST(ts AS DOUBLE", "ln(i) > 7.56")
@pytest.mark.parametrize(("condition", "most"), ASKED)
def test_few_files_without_a_match_are_kept(frame: DataFrame, condition: str, most: int) -> None:
    predicate = predicate_of(frame, condition)
    assert (
        len(kept(predicate.expression, TYPES, *table(), zone=predicate.semantics.zone.name)) <= most
    )

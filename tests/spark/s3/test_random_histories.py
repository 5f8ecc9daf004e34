"""Random histories of tables in a bucket whose server is overloaded: no matching row is lost.

Of the requests of pruning, builds and refreshes 5% are answered 503, and the bodies of as many
answers are cut. TEST_LIVES=N runs N histories instead of one.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from devtools.s3.proxy import RecordingProxy
from devtools.s3.recording import Fault
from devtools.s3.server import S3Server
from pyhudi_expr.index.planner import LookupCost, RemainingRead
from tests.index.prune.changes.test_random_histories import LIVES, TableHistory, run_histories
from tests.spark.builds.test_random_histories import IndexedTableHistory

pytestmark = [pytest.mark.spark, pytest.mark.s3, pytest.mark.long, pytest.mark.timeout(0)]

_SHARE, _SEED = 0.05, 24


@pytest.fixture
def overloaded_bucket(
    spark_on_s3: SparkSession, s3_server: S3Server, s3_proxy: RecordingProxy, s3_bucket: str
) -> Iterator[str]:
    """The URI of a bucket; Hudi's own requests go to its server directly, and do not fail."""
    hadoop = spark_on_s3._jsc.hadoopConfiguration()
    hadoop.set(f"fs.s3a.bucket.{s3_bucket}.endpoint", s3_server.endpoint)
    with s3_proxy.faults(_SHARE, _SEED):
        yield f"s3a://{s3_bucket}"
    seen = [request.fault for request in s3_proxy.requests]
    assert seen.count(Fault.SLOW_DOWN) > _SHARE / 2 * len(seen)
    assert Fault.CUT in seen


def test_random_histories_lose_no_row(spark: SparkSession, overloaded_bucket: str) -> None:
    class History(TableHistory):
        pass

    History.spark, History.root = spark, overloaded_bucket
    run_histories(History, LIVES)


def test_random_histories_with_indexes_lose_no_row(
    spark: SparkSession, overloaded_bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class History(IndexedTableHistory):
        pass

    def always(_look_up: LookupCost, _left: RemainingRead) -> bool:
        return True

    # Every index is used, though reading the small files would cost less.
    monkeypatch.setattr(LookupCost, "is_worth", always)
    History.spark, History.root, History.patch = spark, overloaded_bucket, monkeypatch
    run_histories(History, LIVES)

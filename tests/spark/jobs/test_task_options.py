"""Storage options reach Spark's tasks, and their values are shown nowhere."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from devtools.s3.server import S3Server
from pyhudi_expr.errors import HudiError
from pyhudi_expr.spark.indexes import execute
from pyhudi_expr.spark.jobs.batch_runner import Row, SparkRunner, each_item
from pyhudi_expr.spark.jobs.job_errors import jvm, translate_spark_errors
from pyhudi_expr.tables.storage import Storage, block_options, using_storage_options
from tests.stored_files import StoredFiles

pytestmark = [pytest.mark.spark, pytest.mark.s3]

_TABLE = "cow_v9_timebasedkeygen_nonhivestyle"
_WRONG = "wr0ng-cr3dential"


def options_of_task(_row: Row) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"options": [str(dict(block_options()))]})


def files_in(row: Row) -> Iterator[pa.RecordBatch]:
    files = [entry.path for entry in Storage.open(row["uri"]).list(recursive=True)]
    yield pa.record_batch({"files": [len(files)]})


@pytest.mark.smoke
def test_tasks_have_the_options_of_the_block_in_which_they_are_planned(
    spark: SparkSession,
) -> None:
    items = pa.table({"number": [1]})

    def seen() -> str:
        (row,) = SparkRunner(spark).each(items, each_item(options_of_task), "options string").rows()
        return str(row["options"])

    with using_storage_options({"region": "outer", "endpoint": "http://a"}):
        with using_storage_options({"region": "inner"}):
            assert seen() == str({"endpoint": "http://a", "region": "inner"})
        assert seen() == str({"region": "outer", "endpoint": "http://a"})
    assert seen() == "{}"


def test_secrets_are_in_no_plan_event_log_or_error(
    spark: SparkSession,
    s3_server: S3Server,
    s3_bucket: str,
    golden: Mapping[str, Path],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    options, uri = s3_server.storage_options(), f"s3a://{s3_bucket}/table"
    StoredFiles.of_directory(golden[_TABLE]).restore(Storage.open(uri, options))
    events, log = tmp_path / "events", tmp_path / "log"
    caplog.set_level(logging.DEBUG)
    with (
        recorded_events(spark, events),
        recorded_log(spark, log, "DEBUG"),
        using_storage_options(options),
    ):
        execute(spark, f"CREATE INDEX accounts ON '{uri}' USING secondary_index (account_id)")
        with using_storage_options({"secret_access_key": _WRONG}):
            reading = SparkRunner(spark).each(
                pa.table({"uri": [uri]}), each_item(files_in), "files int"
            )
        denied = pytest.raises(HudiError, match="access is denied")
        with denied as refused, translate_spark_errors():
            reading.rows()
    execution = reading.frame._jdf.queryExecution()
    (event_file,) = events.iterdir()
    shown = {
        "plan": (execution.toString(), "MapInArrow"),
        "plan as JSON": (execution.logical().toJSON(), "MapInArrow"),
        "error": ("".join(traceback.format_exception(refused.value)), "files_in"),
        "events": (event_file.read_text(), "MapInArrow"),
        "log of the JVM": (log.read_text(), "Lost task"),
        "log of the driver": (caplog.text, "pythonMapInArrow"),
    }
    assert [name for name, (text, expected) in shown.items() if expected not in text] == []
    secrets = (_WRONG, s3_server.secret_key, s3_server.access_key)
    found = {name: [one for one in secrets if one in text] for name, (text, _) in shown.items()}
    assert found == {name: [] for name in shown}


@contextmanager
def recorded_events(spark: SparkSession, directory: Path) -> Iterator[None]:
    """Writes Spark's events to a file, from which its history server makes its pages."""
    directory.mkdir()
    context, java = spark.sparkContext._jsc.sc(), jvm(spark)
    settings = context.getConf().set("spark.eventLog.compress", "false")
    listener = java.org.apache.spark.scheduler.EventLoggingListener(
        "secrets", java.scala.Option.empty(), java.java.net.URI(directory.as_uri()), settings
    )
    listener.start()
    context.addSparkListener(listener)
    try:
        yield
        context.listenerBus().waitUntilEmpty()
    finally:
        context.removeSparkListener(listener)
        listener.stop()


@contextmanager
def recorded_log(spark: SparkSession, file: Path, level: str) -> Iterator[None]:
    """Writes what the JVM logs from a level on to a file."""
    log4j = jvm(spark).org.apache.logging.log4j
    appender = (
        log4j.core.appender.FileAppender.newBuilder()
        .setName("secrets")
        .withFileName(str(file))
        .setLayout(log4j.core.layout.PatternLayout.createDefaultLayout())
        .build()
    )
    root = log4j.LogManager.getRootLogger()
    appender.start()
    root.addAppender(appender)
    spark.sparkContext.setLogLevel(level)
    try:
        yield
    finally:
        spark.sparkContext.setLogLevel("ERROR")
        root.removeAppender(appender)
        appender.stop()

"""HiveServer2 and a pruning service over tables in S3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from devtools.ddl import create_with_handler
from devtools.events import change_events, events_spec, write_events
from devtools.s3.hadoop import hive_server, upload
from devtools.s3.proxy import RecordingProxy
from devtools.s3.server import S3Server
from devtools.service import ServiceProcess
from devtools.tables import TableType
from tests.hive.query_results import Hive
from tests.hive.s3.hive_on_s3 import BUCKET, FILES, ROWS_PER_FILE, HiveOnS3


@pytest.fixture(scope="session")
def hive_on_s3(
    s3_server: S3Server,
    spark,
    table_root: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[HiveOnS3]:
    """Hive with the tables `s3_events` (copy on write) and `s3_returns` (merge on read)."""
    s3_server.create_bucket(BUCKET)
    sizes = {"files": FILES, "rows_per_file": ROWS_PER_FILE, "days": 5}
    events = write_events(spark, table_root, events_spec("s3_events", TableType.COW), **sizes)
    returns = write_events(spark, table_root, events_spec("s3_returns", TableType.MOR), **sizes)
    change_events(spark, returns, rows_per_file=ROWS_PER_FILE, every=4)
    run = tmp_path_factory.mktemp("hive-s3")
    with (
        pytest.MonkeyPatch.context() as environment,
        RecordingProxy(s3_server.port) as proxy,
    ):
        for name, value in s3_server.environment().items():
            environment.setenv(name, value)
        server = hive_server(run / "hs2", s3_server.environment(), proxy.endpoint)
        with ServiceProcess(run) as service, server, Hive(server, service, run / "scans") as hive:
            for table in (events, returns):
                hive.run(create_with_handler(table.name, upload(table.path, BUCKET)))
            yield HiveOnS3(hive, proxy)

"""The first query about a table that the service does not know, in a slow storage: it is announced
while Hive plans, and a service of an older version is told once only, and answers as before.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from thrift.Thrift import TApplicationException

from devtools.ddl import create_with_handler
from devtools.s3.hadoop import upload
from devtools.s3.proxy import RecordingProxy
from devtools.s3.server import S3Server
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.protocol.generated import ttypes
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.settings import ServiceSettings
from tests.hive.s3.hive_on_s3 import BUCKET, FILES, ROWS_PER_FILE, HiveOnS3
from tests.service.running_server import running_server

pytestmark = [pytest.mark.hive, pytest.mark.s3, pytest.mark.spark, pytest.mark.long]

_ID = 7 * ROWS_PER_FILE + 11
_SERVICE_DELAY = 0.3  # seconds for each request
# A look for changes takes one such wait and is in time, to open a table takes two and is not.
_SLOW_DELAY = 1.2
_LISTED_BY_HIVE = 5  # requests of HiveServer2, at least, if it lists a table by itself


class OlderHandler(PruningHandler):
    """Answers as the service did before there were announcements."""

    def __init__(self, pruner: Pruner, settings: ServiceSettings) -> None:
        super().__init__(pruner, settings)
        self.announcements = 0

    def announce(self, request: ttypes.PruneRequest) -> int:
        self.announcements += 1
        raise TApplicationException(TApplicationException.UNKNOWN_METHOD, "announce")


@contextmanager
def slow_service(
    kind: type[PruningHandler], s3_server: S3Server, delay: float
) -> Iterator[tuple[str, PruningHandler]]:
    """A service whose requests to S3 wait; its address."""
    with RecordingProxy(s3_server.port) as proxy:
        proxy.delay = delay
        options = {**s3_server.storage_options(), "endpoint": proxy.endpoint}
        handler = kind(Pruner(storage_options=options), ServiceSettings())
        with running_server(handler) as server:
            yield f"127.0.0.1:{server.port}", handler


@pytest.mark.parametrize("kind", [PruningHandler, OlderHandler])
def test_the_first_query_about_a_table(
    hive_on_s3: HiveOnS3,
    s3_server: S3Server,
    table_root: Path,
    tmp_path: Path,
    kind: type[PruningHandler],
) -> None:
    table = tmp_path / f"s3_cold_{kind.__name__.lower()}"
    shutil.copytree(table_root / "s3_events", table)
    hive = hive_on_s3.hive
    hive.run(create_with_handler(table.name, upload(table, BUCKET)))
    query = f"SELECT id, ts, city, amount FROM {table.name} WHERE id = {_ID}"
    with slow_service(kind, s3_server, _SERVICE_DELAY) as (address, handler):
        settings = {"hudi.pruning.service.addresses": address}
        first = hive.query(query, settings=settings)
        second = hive.query(query, settings=settings)
    assert first.files == second.files == (FILES, 1)
    assert repr(first.rows) == repr(second.rows) == repr(hive.query(query, pruning=False).rows)
    assert len(first.rows) == 1
    if isinstance(handler, OlderHandler):
        assert handler.announcements == 1


def test_the_first_query_is_pruned_in_a_slow_storage(
    hive_on_s3: HiveOnS3, s3_server: S3Server, table_root: Path, tmp_path: Path
) -> None:
    """It is, as its planning opens the table; an announced one is planned in time, too.

    Without an announcement the planner's question about the table's size is answered too late, and
    HiveServer2 lists the files by itself.
    """
    hive, requests = hive_on_s3.hive, {}
    for kind in (PruningHandler, OlderHandler):
        table = tmp_path / f"s3_slow_{kind.__name__.lower()}"
        shutil.copytree(table_root / "s3_events", table)
        hive.run(create_with_handler(table.name, upload(table, BUCKET)))
        query = f"SELECT id, ts, city, amount FROM {table.name} WHERE id = {_ID}"
        with slow_service(kind, s3_server, _SLOW_DELAY) as (address, _):
            hive_on_s3.proxy.delay = _SLOW_DELAY
            try:
                settings = {"hudi.pruning.service.addresses": address}
                first, recording = hive_on_s3.requests(query, settings=settings)
            finally:
                hive_on_s3.proxy.delay = 0
        assert first.scan.outcomes == ("PRUNED",), recording.summary()
        assert first.files == (FILES, 1)
        assert repr(first.rows) == repr(hive.query(query, pruning=False).rows)
        requests[kind] = len(recording.requests)
    assert requests[PruningHandler] + _LISTED_BY_HIVE <= requests[OlderHandler], requests

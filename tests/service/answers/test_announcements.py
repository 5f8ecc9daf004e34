"""A table that is announced is loaded before it is asked about; nobody waits for that."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from devtools.s3.proxy import RecordingProxy
from devtools.s3.server import S3Server
from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.generated.ttypes import PruneStatus
from pyhudi_expr.service.handler import PruningHandler, RefusingHandler
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.tables.storage import Storage
from tests.service.running_server import PATIENCE, running_server
from tests.stored_files import StoredFiles

_PREDICATE = parse_predicate("amount > 100")
_DELAY = 0.2


@pytest.fixture
def slow_table(
    golden: Mapping[str, Path], s3_server: S3Server, s3_bucket: str, s3_proxy: RecordingProxy
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """A table's URI, and the storage options for a slow way to it."""
    uri = f"s3://{s3_bucket}/table"
    table = Storage.open(uri, s3_server.storage_options())
    StoredFiles.of_directory(golden["cow_v9_txns_simple_meta"]).restore(table)
    s3_proxy.delay = _DELAY
    yield uri, {**s3_server.storage_options(), "endpoint": s3_proxy.endpoint}
    s3_proxy.reset()


@pytest.mark.s3
@pytest.mark.parametrize("is_announced", [True, False])
def test_what_was_announced_is_not_read_again(
    slow_table: tuple[str, Mapping[str, str]], s3_proxy: RecordingProxy, is_announced: bool
) -> None:
    uri, options = slow_table
    handler = PruningHandler(Pruner(storage_options=options), ServiceSettings())
    with (
        running_server(handler) as server,
        PruningClient("127.0.0.1", server.port, PATIENCE) as client,
    ):
        if is_announced:
            with capture_logs() as logs:
                started = time.monotonic()
                assert client.announce(uri, _PREDICATE) == PruneStatus.OK
                assert time.monotonic() - started < _DELAY
                while not any(line["event"] == "announced" for line in logs):
                    assert time.monotonic() < started + PATIENCE
                    time.sleep(0.02)
        with s3_proxy.recording() as recording:
            answer = client.prune(uri, _PREDICATE)
    assert answer.status == PruneStatus.OK
    assert answer.counts.filesDropped > 0
    assert recording.waves == 1 if is_announced else recording.waves > 1, recording.summary()


@pytest.mark.s3
def test_a_question_waits_for_what_is_being_loaded(
    slow_table: tuple[str, Mapping[str, str]], s3_proxy: RecordingProxy
) -> None:
    uri, options = slow_table
    handler = PruningHandler(Pruner(storage_options=options), ServiceSettings())
    with (
        running_server(handler) as server,
        PruningClient("127.0.0.1", server.port, PATIENCE) as client,
        s3_proxy.recording() as recording,
    ):
        client.announce(uri, _PREDICATE)
        assert client.prune(uri, _PREDICATE).counts.filesDropped > 0
    read = [request.path for request in recording.requests if request.range]
    assert len(read) == len(set(read)) > 10, recording.summary()


def test_only_tables_below_the_roots_are_loaded(golden: Mapping[str, Path], tmp_path: Path) -> None:
    table = str(golden["cow_v9_txns_simple_meta"])
    pruner = Pruner()
    handler = PruningHandler(pruner, ServiceSettings(table_roots=(str(tmp_path),)))
    with (
        running_server(handler) as server,
        PruningClient("127.0.0.1", server.port, PATIENCE) as client,
    ):
        assert client.announce(table, _PREDICATE) == PruneStatus.BAD_REQUEST
        time.sleep(0.3)
        assert pruner.held()[0] == 0


def test_a_table_that_cannot_be_loaded_is_no_failure(tmp_path: Path) -> None:
    with (
        running_server(PruningHandler(Pruner(), ServiceSettings())) as server,
        PruningClient("127.0.0.1", server.port, PATIENCE) as client,
    ):
        for _ in range(20):  # more than are loaded at once
            assert client.announce(str(tmp_path / "none"), _PREDICATE) == PruneStatus.OK
        assert client.prune(str(tmp_path / "none"), _PREDICATE).status == PruneStatus.NOT_PRUNED


def test_a_service_that_refuses_loads_nothing(golden: Mapping[str, Path]) -> None:
    handler = RefusingHandler("busy", "too many wait", Metrics())
    with (
        running_server(handler) as server,
        PruningClient("127.0.0.1", server.port, PATIENCE) as client,
    ):
        table = str(golden["cow_v9_txns_simple_meta"])
        assert client.announce(table, _PREDICATE) == PruneStatus.NOT_PRUNED

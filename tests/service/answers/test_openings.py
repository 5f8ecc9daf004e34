"""A question about a table that is being opened is answered in the caller's time."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi_expr.expr.frontend.sql.parser import parse_predicate
from pyhudi_expr.index.prune import Pruner
from pyhudi_expr.index.prune import PruneRequest as Question
from pyhudi_expr.protocol.client import PruningClient
from pyhudi_expr.protocol.conversion.encoder import encode
from pyhudi_expr.protocol.generated.constants import PROTOCOL_VERSION
from pyhudi_expr.protocol.generated.ttypes import (
    PruneRequest,
    PruneResponse,
    PruneStatus,
    TableView,
)
from pyhudi_expr.service.answers.openings import Openings
from pyhudi_expr.service.handler import PruningHandler
from pyhudi_expr.service.metrics import Metrics
from pyhudi_expr.service.settings import ServiceSettings
from pyhudi_expr.tables.storage.file_system import LocalBackend
from tests.service.running_server import PATIENCE, running_server

ALMOST_NONE, AMPLE = 1, int(PATIENCE * 1000)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """A local disk that answers once this is set: it is slow, but for that it is the real one."""
    opened = threading.Event()
    read_if_present, names = LocalBackend.read_if_present, LocalBackend.names

    def slow_read(self: LocalBackend, path: str) -> bytes | None:
        assert opened.wait(PATIENCE)
        return read_if_present(self, path)

    def slow_names(self: LocalBackend, path: str) -> object:
        assert opened.wait(PATIENCE)
        return names(self, path)

    monkeypatch.setattr(LocalBackend, "read_if_present", slow_read)
    monkeypatch.setattr(LocalBackend, "names", slow_names)
    return opened


def ask(client: PruningClient, table: Path, patience: int | None) -> PruneResponse:
    predicate = encode(parse_predicate("region = 'us'"))
    return client.send(
        PruneRequest(
            PROTOCOL_VERSION,
            "1",
            str(table),
            predicate,
            TableView.SNAPSHOT,
            patienceMillis=patience,
        )
    )


def test_a_table_that_is_being_opened_is_not_pruned_yet_and_opening_goes_on(
    golden: Mapping[str, Path], gate: threading.Event
) -> None:
    table, metrics = golden["cow_v9_txns_simple_meta"], Metrics()
    handler = PruningHandler(Pruner(), ServiceSettings(), metrics)
    with (
        running_server(handler) as server,
        PruningClient("127.0.0.1", server.port, PATIENCE) as client,
    ):
        for _ in range(2):
            answer = ask(client, table, ALMOST_NONE)
            assert answer.status == PruneStatus.NOT_PRUNED
            assert "is being opened" in answer.message
            assert str(table) in answer.message
        opening = [one for one in threading.enumerate() if one.name == "opening"]
        assert len(opening) == 1
        gate.set()
        opening[0].join(PATIENCE)
        answer = ask(client, table, ALMOST_NONE)
        assert answer.status == PruneStatus.OK
        assert answer.counts.filesDropped == 3


@pytest.mark.parametrize("patience", [None, AMPLE])
def test_a_caller_with_time_waits_for_the_table(
    golden: Mapping[str, Path], gate: threading.Event, patience: int | None
) -> None:
    threading.Timer(0.1, gate.set).start()
    with (
        running_server(PruningHandler(Pruner(), ServiceSettings())) as server,
        PruningClient("127.0.0.1", server.port, PATIENCE) as client,
    ):
        answer = ask(client, golden["cow_v9_txns_simple_meta"], patience)
    assert answer.status == PruneStatus.OK
    assert answer.counts.filesDropped == 3


def test_a_caller_of_many_tables_gets_no_thread_for_each(
    golden: Mapping[str, Path], gate: threading.Event
) -> None:
    pruner, question = Pruner(), Question(parse_predicate("region = 'us'"))
    openings, tables = Openings(pruner, at_once=2), [str(path) for path in golden.values()][:5]
    assert [openings.open(one, question, 0) for one in tables] == [False, False, True, True, True]
    opening = [one for one in threading.enumerate() if one.name == "opening"]
    assert len(opening) == 2
    gate.set()
    for one in opening:
        one.join(PATIENCE)
    assert openings.open(tables[2], question, PATIENCE)
    assert pruner.has_opened(tables[2], question)


def test_a_table_that_cannot_be_opened_is_told_with_its_reason(tmp_path: Path) -> None:
    with (
        running_server(PruningHandler(Pruner(), ServiceSettings())) as server,
        PruningClient("127.0.0.1", server.port, PATIENCE) as client,
    ):
        answer = ask(client, tmp_path, AMPLE)
    assert answer.status == PruneStatus.NOT_PRUNED
    assert "no Hudi table here" in answer.message
